// Runs many campaigns of killed runs with new seeds, more bicycles and more kills. FLEET_CAMPAIGNS
// and FLEET_CAMPAIGN_SEED set their number and the first seed.

import { expect, test } from 'vitest';
import { type Campaign, type CampaignResult, runCampaign } from '../support/campaign.js';

const CAMPAIGNS = Number(process.env['FLEET_CAMPAIGNS'] ?? 20);
const FIRST_SEED = Number(process.env['FLEET_CAMPAIGN_SEED'] ?? 100);

/** A small machine can run this many campaigns at once. */
const LANES = 2;

const COMMANDS = ['act', 'edit', 'create'] as const;

/** Varies the command, the service, the disk and the input with the seed. */
function campaignOf(seed: number): Campaign {
  return {
    seed,
    bicycles: 60,
    kills: 6,
    input: seed % 2 === 0 ? 'bicycles' : 'uuids',
    command: COMMANDS[seed % 3] ?? 'act',
    isTrimming: seed % 4 < 2,
    service: seed % 3 === 2 && seed % 5 < 2 ? 'interface' : 'observed',
    hasSlowDisk: seed % 7 === 0,
  };
}

test(`bulk runs killed at random times never send a change twice (${CAMPAIGNS} series)`, {
  timeout: 3_600_000,
}, async () => {
  const results: (CampaignResult & Campaign)[] = [];
  let next = FIRST_SEED;
  const work = async () => {
    while (next < FIRST_SEED + CAMPAIGNS) {
      const seed = next++;
      const campaign = campaignOf(seed);
      const result = await runCampaign(campaign);
      results.push({ ...campaign, ...result });
      console.log(JSON.stringify({ ...campaign, ...result }));
    }
  };
  await Promise.all(Array.from({ length: LANES }, work));
  expect(results.flatMap(({ seed, wrong }) => wrong.map((one) => `${seed}: ${one}`))).toEqual([]);
  console.table(
    results.map(({ seed, command, kills, stops, interruptions, hangs, attempts, outcomes }) => ({
      seed,
      command,
      kills,
      stops,
      interruptions,
      hangs,
      attempts,
      ...outcomes,
    })),
  );
});
