// A short campaign of random plans with kills and changes of other users. The long one is in
// plan-campaign.long.test.ts.

import { expect, test } from 'vitest';
import { runPlanCampaign } from '../support/plan-campaign.js';

test('random plans never repeat a request or overwrite a later change', async () => {
  const result = await runPlanCampaign(20261128, 4);
  expect(result).toMatchObject({
    sentTwice: 0,
    sentAlthoughChanged: 0,
    wrongOutcomes: [],
    lostByUndo: [],
  });
});
