// Runs the alert commands under random failures with fixed seeds. alerts-random.long.test.ts uses
// new seeds.

import { expect, test } from 'vitest';
import { runAlertsTrial } from '../support/alerts-trial.js';

test.concurrent.each([
  ['watch', 1],
  ['listen', 2],
] as const)(
  '`alerts %s` prints every version, and repeats one only after a kill (seed %i)',
  async (verb, seed) => {
    const { faults, stderr, versions } = await runAlertsTrial(verb, seed, 90);
    expect(faults, stderr).toEqual([]);
    expect(versions).toBeGreaterThan(50);
  },
  900_000,
);
