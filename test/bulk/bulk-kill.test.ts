// Kills runs at random moments, with a changing fleet and a faulty gateway, for fixed seeds.
// bulk-kill.long.test.ts uses more seeds.

import { expect, test } from 'vitest';
import { runCampaign } from '../support/campaign.js';

test.concurrent.each([
  { seed: 1, bicycles: 30, kills: 2, input: 'bicycles' },
  { seed: 2, bicycles: 30, kills: 1, input: 'uuids' },
] as const)(
  'acts on no bicycle twice and reports every outcome after $kills kills (seed $seed)',
  async (campaign) => {
    const { wrong, kills } = await runCampaign(campaign);
    expect(wrong).toEqual([]);
    expect(kills).toBeGreaterThanOrEqual(campaign.kills);
  },
);
