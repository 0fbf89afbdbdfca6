// Compares a watch under random failures with an oracle for half an hour, with new seeds.

import { expect, test } from 'vitest';
import { runScenario, wildTraits } from '../support/watch-scenario.js';

const MINUTES = Number(process.env['FLEET_TEST_MINUTES'] ?? 30);
const QUARTER_OF_AN_HOUR_MS = 15 * 60_000;
/** Stops after this many errors, because later errors would probably repeat them. */
const MOST_FAULTS = 20;

test(
  `\`watch\` reports no change twice, misses no change and invents no change in ${MINUTES} minutes`,
  async () => {
    const endAt = performance.now() + MINUTES * 60_000;
    const firstSeed = Date.now() % 1_000_000;
    const wrong: string[] = [];
    let seed = firstSeed;
    for (; performance.now() < endAt && wrong.length < MOST_FAULTS; seed++) {
      const { faults } = runScenario(
        { seed, durationMs: QUARTER_OF_AN_HOUR_MS },
        seed % 2 === 0 ? undefined : wildTraits(seed),
      );
      wrong.push(...faults.map((fault) => `seed ${seed}: ${fault}`));
    }
    console.log(`${seed - firstSeed} scenarios from seed ${firstSeed} on`);
    expect(wrong).toEqual([]);
  },
  MINUTES * 60_000 + 180_000,
);
