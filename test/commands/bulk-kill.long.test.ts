// The long campaign of killed runs: other seeds, more bicycles, more kills; FLEET_CAMPAIGNS and FLEET_CAMPAIGN_SEED say how many and where from.

import { expect, test } from 'vitest';
import { type CampaignResult, runCampaign } from '../support/campaign.js';

const CAMPAIGNS = Number(process.env['FLEET_CAMPAIGNS'] ?? 20);
const FIRST_SEED = Number(process.env['FLEET_CAMPAIGN_SEED'] ?? 100);

/** As many at once as a small machine bears. */
const LANES = 2;

test(`${CAMPAIGNS} campaigns of twelve kills: none acted on twice, none wrongly done, all reported`, {
  timeout: 3_600_000,
}, async () => {
  const results: (CampaignResult & { seed: number })[] = [];
  let next = FIRST_SEED;
  const work = async () => {
    while (next < FIRST_SEED + CAMPAIGNS) {
      const seed = next++;
      const input = seed % 2 === 0 ? 'bicycles' : 'uuids';
      const result = await runCampaign({ seed, bicycles: 120, kills: 12, input });
      results.push({ seed, ...result });
      expect(result.wrong).toEqual([]);
    }
  };
  await Promise.all(Array.from({ length: LANES }, work));
  console.table(
    results.map(({ seed, kills, stops, attempts, outcomes }) => ({
      seed,
      kills,
      stops,
      attempts,
      ...outcomes,
    })),
  );
});
