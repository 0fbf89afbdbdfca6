// A watch under random trouble, held against an oracle: half an hour of seeds that nobody has tried yet.

import { expect, test } from 'vitest';
import { runScenario, wildTraits } from '../support/watch-oracle.js';

const MINUTES = Number(process.env['FLEET_TEST_MINUTES'] ?? 30);
const QUARTER_OF_AN_HOUR_MS = 15 * 60_000;
/** After so many faults the rest would be the same. */
const MOST_FAULTS = 20;

test(
  `watch reports no change twice, misses none and invents none in ${MINUTES} minutes`,
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
