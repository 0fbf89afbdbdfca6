// 200 random plans and their undos, with kills and changes of other users. FLEET_TEST_SEED repeats a
// campaign, FLEET_TEST_PLANS sets its length.

import { expect, test } from 'vitest';
import { runPlanCampaign } from '../support/plan-campaign.js';

test('200 random plans never repeat a request or overwrite a later change', async () => {
  const seed = Number(process.env['FLEET_TEST_SEED'] ?? Date.now() % 1_000_000);
  const result = await runPlanCampaign(seed, Number(process.env['FLEET_TEST_PLANS'] ?? 200));
  console.log(JSON.stringify({ seed, ...result }));
  expect(result).toMatchObject({
    sentTwice: 0,
    sentAlthoughChanged: 0,
    wrongOutcomes: [],
    lostByUndo: [],
  });
}, 3_600_000);
