// The history in PostgreSQL is a partition a month: a day's query reads one of them, and what is forgotten is dropped whole.

import type { Database } from './database.js';
import { utcOfMs } from './rows.js';

/** Nobody else makes or drops tables of the mirror before the transaction ends. */
export const ALONE = 'SELECT pg_advisory_xact_lock(723511)';

/**
 * Makes `changes` a partitioned table, whose key is its index for times; what it held is its first partition, to the end of the month, as it
 * lies on the disk. All of it is one transaction with the rest of the upgrade.
 */
export const PARTITIONED: readonly string[] = [
  'ALTER TABLE changes RENAME TO changes_before',
  'ALTER TABLE changes_before ALTER id DROP IDENTITY, DROP CONSTRAINT changes_pkey',
  'DROP INDEX changes_at',
  ...['bicycle', 'state'].map((name) => `ALTER INDEX changes_${name} RENAME TO changes_before_${name}`),
  'CREATE SEQUENCE changes_ids',
  "SELECT setval('changes_ids', coalesce((SELECT max(id) FROM changes_before), 0) + 1, false)",
  `CREATE TABLE changes (
    id bigint NOT NULL DEFAULT nextval('changes_ids'), at timestamptz NOT NULL, received timestamptz NOT NULL, bicycle TEXT NOT NULL,
    version bigint, field TEXT NOT NULL, old TEXT, new TEXT, source TEXT NOT NULL, PRIMARY KEY (at, id)) PARTITION BY RANGE (at)`,
  'CREATE INDEX changes_bicycle ON changes (bicycle, id)',
  "CREATE INDEX changes_state ON changes (bicycle, at, id) WHERE field = 'state'",
  `DO $$ BEGIN EXECUTE format('ALTER TABLE changes ATTACH PARTITION changes_before FOR VALUES FROM (MINVALUE) TO (%L)',
    date_trunc('month', greatest(now(), (SELECT max(at) FROM changes_before)), 'UTC') + interval '1 month'); END $$`,
  // What is dated beyond the months that were made.
  'CREATE TABLE changes_other PARTITION OF changes DEFAULT',
];

/** Partitions with the moment at which each ends, in milliseconds since the epoch; the one for the rest has none. */
async function readPartitions(database: Database): Promise<{ name: string; untilMs: number }[]> {
  const rows = await database.all(
    `SELECT c.relname::text AS name, substring(pg_get_expr(c.relpartbound, c.oid) from 'TO [(]''([^'']+)') AS until
      FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid WHERE i.inhparent = 'changes'::regclass`,
  );
  return rows.flatMap(({ name, until }) =>
    typeof until === 'string' ? [{ name: String(name), untilMs: Date.parse(until) }] : [],
  );
}

/** The beginning of the month after that of a moment, UTC. */
function nextMonthMs(ms: number): number {
  const date = new Date(ms);
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1);
}

/** Makes the partitions up to the end of the next month, and drops those that ended before a moment. What cannot be had now is tried the next time. */
export async function turnPartitions(database: Database, nowMs: number, beforeMs = -Infinity): Promise<void> {
  if (database.kind === 'sqlite') return;
  const turning = database.transaction(async () => {
    await database.all(ALONE);
    // Who reads for long keeps the others waiting for no longer.
    await database.all("SET LOCAL lock_timeout = '2s'");
    const partitions = await readPartitions(database);
    const lastMs = nextMonthMs(nextMonthMs(nowMs));
    for (let fromMs = Math.max(...partitions.map(({ untilMs }) => untilMs)); fromMs < lastMs; ) {
      const from = utcOfMs(fromMs);
      fromMs = nextMonthMs(fromMs);
      const name = `changes_${from.slice(0, 7).replace('-', '_')}`;
      await database.all(
        `CREATE TABLE ${name} PARTITION OF changes FOR VALUES FROM ('${from}') TO ('${utcOfMs(fromMs)}')`,
      );
    }
    for (const { name, untilMs } of partitions) if (untilMs <= beforeMs) await database.all(`DROP TABLE ${name}`);
  });
  await turning.catch(() => undefined);
}
