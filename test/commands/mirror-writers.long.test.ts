// Kills and suspends writers of eight organizations in one database at random, each with a standby.

import { afterAll, describe, expect, test } from 'vitest';
import { announcePostgres } from '../support/postgres.js';
import { runWritersTrial } from '../support/writers-trial.js';

const MINUTES = Number(process.env['FLEET_TEST_MINUTES'] ?? 10);
const organizations = Number(process.env['FLEET_TEST_ORGANIZATIONS'] ?? 8);
const processes = Number(process.env['FLEET_TEST_PROCESSES'] ?? 2);
const stopPostgres =
  process.env['FLEET_TEST_POSTGRES'] === undefined ? announcePostgres() : () => {};
const { useEngines } = await import('../support/mirror.js');

/** Links may be five minutes old; only then must the rows equal the list. */
const SETTLING_MS = 10 * 60_000;

describe.each(useEngines().filter(([kind]) => kind === 'postgres'))('%s', (_kind, newDatabase) => {
  test(
    'each organization has one writer, and a standby takes over within 20 s',
    async () => {
      const seed = Date.now() % 1_000_000;
      const to = await newDatabase();
      const verdict = await runWritersTrial({
        seed,
        to,
        durationMs: MINUTES * 60_000,
        organizations,
        processes,
      });
      const { stderr, faults, ...sums } = verdict;
      console.log(JSON.stringify({ seed, ...sums }));
      expect(faults, stderr).toEqual([]);
      // When the standby is killed too, another one starts within 3 s.
      expect(sums.silentMs).toBeLessThan(23_000);
    },
    MINUTES * 60_000 + SETTLING_MS,
  );
});

afterAll(stopPostgres);
