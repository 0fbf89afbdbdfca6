// A watch under random trouble, held against an oracle: half an hour of seeds that nobody has tried yet, of the machines and of the program.

import { expect, test } from 'vitest';
import { runScenario } from '../support/watch-oracle.js';
import { runProcessScenario } from '../support/watch-process.js';

const MINUTES = Number(process.env['FLEET_TEST_MINUTES'] ?? 30);
const QUARTER_OF_AN_HOUR_MS = 15 * 60_000;
/** After so many faults the rest would be the same. */
const MOST_FAULTS = 20;

/** Tries one seed after the other until the time is over; resolves with what went wrong. */
async function tryMany(attempt: (seed: number) => Promise<readonly string[]>): Promise<string[]> {
  const endAt = performance.now() + MINUTES * 60_000;
  const firstSeed = Date.now() % 1_000_000;
  const wrong: string[] = [];
  let seed = firstSeed;
  for (; performance.now() < endAt && wrong.length < MOST_FAULTS; seed++) {
    wrong.push(...(await attempt(seed)).map((fault) => `seed ${seed}: ${fault}`));
  }
  console.log(`${seed - firstSeed} scenarios from seed ${firstSeed} on`);
  return wrong;
}

test.concurrent(
  `the machines: no change is swallowed, doubled or made up in ${MINUTES} minutes`,
  async () => {
    const wrong = await tryMany(async (seed) => {
      const { faults } = runScenario({ seed, durationMs: QUARTER_OF_AN_HOUR_MS });
      // The program beside it wants its turn.
      await new Promise((resolve) => setTimeout(resolve, 10));
      return faults;
    });
    expect(wrong).toEqual([]);
  },
  MINUTES * 60_000 + 180_000,
);

test.concurrent(
  `the program, over real sockets: the same in ${MINUTES} minutes`,
  async () => {
    const peaks: number[] = [];
    const ends: number[] = [];
    const wrong = await tryMany(async (seed) => {
      const { faults, peakMb, endMs } = await runProcessScenario({ seed, durationMs: QUARTER_OF_AN_HOUR_MS });
      peaks.push(peakMb);
      ends.push(endMs);
      return faults;
    });
    console.log(`at most ${Math.round(Math.max(...peaks))} MB, ended within ${Math.round(Math.max(...ends))} ms`);
    expect(wrong).toEqual([]);
    expect(Math.max(...peaks)).toBeLessThan(250);
  },
  MINUTES * 60_000 + 180_000,
);
