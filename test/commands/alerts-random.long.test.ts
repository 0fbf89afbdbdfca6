// Runs the alert commands under random failures with new seeds.

import { expect, test } from 'vitest';
import { runAlertsTrial } from '../support/alerts-trial.js';

const MINUTES = Number(process.env['FLEET_TEST_MINUTES'] ?? 10);
const MOST_FAULTS = 10;

test.each(['watch', 'listen'] as const)(
  `\`alerts %s\` prints every version of every alert, and repeats a version only after a kill, in ${MINUTES} minutes`,
  async (verb) => {
    const endAt = performance.now() + (MINUTES * 60_000) / 2;
    const wrong: string[] = [];
    const sums = {
      verb,
      trials: 0,
      versions: 0,
      printed: 0,
      repeats: 0,
      kills: 0,
      restarts: 0,
      webhooks: 0,
    };
    for (
      let seed = Date.now() % 1_000_000;
      performance.now() < endAt && wrong.length < MOST_FAULTS;
      seed++
    ) {
      const { faults, stderr, ...counts } = await runAlertsTrial(verb, seed, 400);
      wrong.push(...faults.map((fault) => `seed ${seed}: ${fault}`));
      if (faults.length > 0) console.log(stderr);
      sums.trials++;
      for (const name of [
        'versions',
        'printed',
        'repeats',
        'kills',
        'restarts',
        'webhooks',
      ] as const)
        sums[name] += counts[name];
    }
    console.log(JSON.stringify(sums));
    expect(wrong).toEqual([]);
  },
  MINUTES * 60_000 + 180_000,
);
