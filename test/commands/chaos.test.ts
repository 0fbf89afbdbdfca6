// Runs watch, mirror and page under random failures over real sockets for a short time.
// chaos.long.test.ts runs longer.

import { describe, expect, test } from 'vitest';
import { runMirror } from '../support/chaos-mirror.js';
import { runPage } from '../support/chaos-page.js';
import { runWatch } from '../support/chaos-watch.js';
import { useEngines } from '../support/mirror.js';

const TWO_MINUTES_MS = 2 * 60_000;
const LIMIT_MS = 900_000;
const [sqlite, postgres] = useEngines();

describe.concurrent('commands during network faults, suspensions and clock changes', () => {
  test.each([1, 2])(
    '`watch` shows each change once, or only the final state after a gap (seed %i)',
    async (seed) => {
      const { faults, changes, stderr } = await runWatch({ seed, durationMs: TWO_MINUTES_MS });
      expect(faults, stderr).toEqual([]);
      // The number of changes depends on the machine, but it is never 0.
      expect(changes).toBeGreaterThan(0);
    },
    LIMIT_MS,
  );

  test.each(
    [sqlite, postgres].flatMap((engine, at) =>
      engine === undefined ? [] : [[...engine, at + 1] as const],
    ),
  )(
    'after kill -9, the mirror records a gap for all missing changes (%s)',
    async (_kind, newDatabase, seed) => {
      const { faults, changes, stderr } = await runMirror(
        { seed, durationMs: TWO_MINUTES_MS },
        await newDatabase(),
      );
      expect(faults, stderr).toEqual([]);
      expect(changes).toBeGreaterThan(10);
    },
    LIMIT_MS,
  );

  test(
    '`map --serve` shows the current fleet after it is killed and restarted',
    async () => {
      const { faults, changes, stderr } = await runPage({ seed: 1, durationMs: TWO_MINUTES_MS });
      expect(faults, stderr).toEqual([]);
      expect(changes).toBeGreaterThan(10);
    },
    LIMIT_MS,
  );
});
