// The built program in random trouble over real sockets: watch, mirror and page, the short run; the long one is beside it.

import { describe, expect, test } from 'vitest';
import { runMirror } from '../support/chaos-mirror.js';
import { runPage } from '../support/chaos-page.js';
import { runWatch } from '../support/chaos-watch.js';
import { useEngines } from '../support/mirror.js';

const TWO_MINUTES_MS = 2 * 60_000;
const LIMIT_MS = 180_000;
const [sqlite, postgres] = useEngines();

describe.concurrent('cut, stalled, refused, stopped, its date moved', () => {
  test.each([1, 2])(
    'seed %i: a watch shows each change once, or its end after a gap',
    async (seed) => {
      const { faults, changes, stderr } = await runWatch({ seed, durationMs: TWO_MINUTES_MS });
      expect(faults, stderr).toEqual([]);
      // How many fit into the time depends on the machine; that there are some does not.
      expect(changes).toBeGreaterThan(0);
    },
    LIMIT_MS,
  );

  test.each(
    [sqlite, postgres].flatMap((engine, at) =>
      engine === undefined ? [] : [[...engine, at + 1] as const],
    ),
  )(
    'and killed, a mirror in %s has the list, and gaps that cover what its changes lack',
    async (_kind, newDatabase, seed) => {
      const { faults, changes, stderr } = await runMirror(
        { seed, durationMs: TWO_MINUTES_MS / 2 },
        await newDatabase(),
      );
      expect(faults, stderr).toEqual([]);
      expect(changes).toBeGreaterThan(10);
    },
    LIMIT_MS,
  );

  test(
    'and killed, a served page has the fleet',
    async () => {
      const { faults, changes, stderr } = await runPage({ seed: 1, durationMs: TWO_MINUTES_MS });
      expect(faults, stderr).toEqual([]);
      expect(changes).toBeGreaterThan(10);
    },
    LIMIT_MS,
  );
});
