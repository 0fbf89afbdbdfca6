// The mirror under random trouble: seeds that nobody has tried yet, on both databases.

import { describe, expect, test } from 'vitest';
import { useEngines } from '../support/mirror.js';
import { runTrial } from '../support/mirror-trial.js';

const MINUTES = Number(process.env['FLEET_TEST_MINUTES'] ?? 10);
const MOST_FAULTS = 10;

describe.concurrent.each(useEngines())('%s', (_kind, newDatabase) => {
  test(
    `rows equal the list, changes give the last state, gaps cover what they lack, in ${MINUTES} minutes`,
    async () => {
      const endAt = performance.now() + MINUTES * 60_000;
      const wrong: string[] = [];
      const sums = { trials: 0, made: 0, recorded: 0, gaps: 0, kills: 0 };
      for (let seed = Date.now() % 1_000_000; performance.now() < endAt && wrong.length < MOST_FAULTS; seed++) {
        const verdict = await runTrial({ seed, to: await newDatabase(), durationMs: 8_000, bicycles: 150 });
        wrong.push(...verdict.faults.map((fault) => `seed ${seed}: ${fault}`));
        if (verdict.faults.length > 0) console.log(verdict.stderr);
        sums.trials++;
        for (const name of ['made', 'recorded', 'gaps', 'kills'] as const) sums[name] += verdict[name];
      }
      console.log(JSON.stringify(sums));
      expect(wrong).toEqual([]);
    },
    MINUTES * 60_000 + 180_000,
  );
});
