// Alerts under random trouble, the short form: the same seeds each time; seeds that nobody has tried are for alerts-random.long.test.ts.

import { expect, test } from 'vitest';
import { runAlertsTrial } from '../support/alerts-trial.js';

test.concurrent.each([
  ['watch', 1],
  ['listen', 2],
] as const)(
  'alerts %s, seed %i: every version is printed, and twice only after a kill',
  async (verb, seed) => {
    const { faults, stderr, versions } = await runAlertsTrial(verb, seed, 90);
    expect(faults, stderr).toEqual([]);
    expect(versions).toBeGreaterThan(50);
  },
);
