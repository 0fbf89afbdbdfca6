// Compares a watch under random failures with an oracle, on a simulated clock, for fixed seeds and
// seeds that failed once.

import { describe, expect, test } from 'vitest';
import { isLong } from '../support/often.js';
import { runScenario, wildTraits } from '../support/watch-scenario.js';

const QUARTER_OF_AN_HOUR_MS = 15 * 60_000;

const SEEDS = isLong ? 80 : 40;

describe('`watch` shows each change once, or the final state after a gap', () => {
  test(`\`watch\` shows every change in ${SEEDS} random runs with deleted bicycles and stale replicas`, () => {
    const wrong: string[] = [];
    const sums = { changes: 0, gaps: 0, caughtUp: 0, removed: 0 };
    for (let seed = 1; seed <= SEEDS; seed++) {
      const { faults, changes, gaps, caughtUp, removed } = runScenario({
        seed,
        durationMs: QUARTER_OF_AN_HOUR_MS,
      });
      wrong.push(...faults.slice(0, 3).map((fault) => `seed ${seed}: ${fault}`));
      sums.changes += changes;
      sums.gaps += gaps;
      sums.caughtUp += caughtUp;
      sums.removed += removed;
    }
    expect(wrong.slice(0, 20)).toEqual([]);
    // Check that the scenario contains changes.
    expect(sums.changes).toBeGreaterThan(250 * SEEDS);
    expect(sums.gaps).toBeGreaterThan(10 * SEEDS);
    expect(sums.caughtUp).toBeGreaterThan(25 * SEEDS);
    expect(sums.removed).toBeGreaterThan(SEEDS);
  }, 120_000);
});

/**
 * Seeds that failed once: clocks that step back, stale replicas, hidden bicycles, failed readings
 * with long delays, silent topics, repeated messages about deleted bicycles, and second looks that
 * another reading replaced.
 */
const ONCE_FAILED = [
  143, 1199, 123, 165, 372, 416, 1202, 1300, 195221, 915509, 813097, 907459, 973669, 1754, 4952,
  7797, 11442,
];

test('`watch` shows every change for randomly generated services and roles', () => {
  const seeds = [...Array.from({ length: SEEDS }, (_, index) => index + 1), ...ONCE_FAILED];
  const wrong = seeds.flatMap((seed) => {
    const { faults } = runScenario({ seed, durationMs: QUARTER_OF_AN_HOUR_MS }, wildTraits(seed));
    return faults.slice(0, 3).map((fault) => `seed ${seed}: ${fault}`);
  });
  expect(wrong.slice(0, 20)).toEqual([]);
}, 120_000);
