// The mirror under random trouble, held against the service and against what happened: the short run.

import { describe, expect, test } from 'vitest';
import { useEngines } from '../support/mirror.js';
import { runTrial } from '../support/mirror-trial.js';

describe.concurrent.each(useEngines())('%s', (kind, newDatabase) => {
  test('killed again and again: rows equal the list, changes give the last state, gaps cover what they lack', async () => {
    const seed = kind === 'sqlite' ? 1 : 2;
    const trial = { seed, to: await newDatabase(), durationMs: 4_000, bicycles: 60 };
    const { faults, made, recorded, stderr } = await runTrial(trial);
    expect(faults, stderr).toEqual([]);
    expect(made).toBeGreaterThan(50);
    expect(recorded).toBeGreaterThan(20);
  }, 120_000);
});
