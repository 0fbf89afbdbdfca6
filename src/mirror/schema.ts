// Creates and upgrades the tables of a mirror, and refuses databases that are not a mirror.
//
// Names, columns and views are the same in SQLite and PostgreSQL, so that a query works in both.
// The names of time columns end in `_utc`, or are words such as `at` and `started`. PostgreSQL
// stores times as timestamptz. SQLite stores them as sortable text of a fixed width
// (2026-11-21T12:00:00.000000Z).

import { configError, FleetError } from '../errors.js';
import type { Database } from './database.js';
import { DIALECTS, type Dialect } from './dialect.js';
import { utcOfMs } from './rows.js';

/** The schema number that this version of fleet writes. */
export const SCHEMA_NUMBER = 6;
/** The oldest schema number that can be upgraded. Fleet 0.1.0 wrote it. */
export const SCHEMA_BEFORE = 3;
/**
 * The schema number before the table `names` was added. Development versions after 0.1.0 wrote it.
 */
const SCHEMA_WITHOUT_NAMES = 5;

/**
 * Returns the statements that create the tables. `upgrade` returns the statements for the views and
 * for later changes of the tables.
 *
 * - `bicycles` and `alerts` have the fields of interface.md sections 2.1 and 2.2. A column
 *   `…_text` contains the original number. `followed` is the organization of the list or topic that
 *   contained the bicycle. `organization` is the bicycle's own organization, or `followed` when the
 *   bicycle has none.
 * - `changes` has one row for each changed field. `old` and `new` are JSON. `old` is NULL when the
 *   field was not known. The field `*` means a new bicycle; then `new` is the whole bicycle. The
 *   field `gone` means that a bicycle left the list or returned to it. A `state` of null means that
 *   the bicycle left its state but the service published no new state.
 * - `writers` has one row for each organization: its writer, the writer's position, and whether
 *   all alerts were read.
 * - `listed` contains the bicycles that the current read of the whole list has returned so far.
 */
export function tablesOf({ utc, decimal, integer, json, id, newest }: Dialect): string[] {
  return [
    'CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL)',
    `CREATE TABLE bicycles (
      uuid TEXT PRIMARY KEY, organization TEXT, followed TEXT,
      created TEXT, created_utc ${utc}, modified TEXT, modified_utc ${utc},
      latitude ${decimal}, latitude_text TEXT, longitude ${decimal}, longitude_text TEXT,
      latest_gps_accuracy ${decimal}, latest_gps_accuracy_text TEXT,
      latest_gps_timestamp TEXT, latest_gps_timestamp_utc ${utc},
      state_of_charge ${decimal}, state_of_charge_text TEXT,
      name TEXT, description TEXT, model TEXT, bleid TEXT, device_type TEXT, lock TEXT, image_url TEXT, serial_number TEXT, state TEXT,
      concurrency_version ${integer}, gone ${utc}, first_seen ${utc} NOT NULL, last_seen ${utc} NOT NULL, raw ${json} NOT NULL)`,
    'CREATE INDEX bicycles_state ON bicycles (state, gone)',
    // A look-up by name, serial number or bleid needs only the columns in this index. The look-up
    // therefore does not read the rows of the table.
    'CREATE INDEX bicycles_name ON bicycles (name, serial_number, bleid, uuid)',
    // Provides the default order of a list.
    `CREATE INDEX bicycles_created ON bicycles (created_utc ${newest}, uuid DESC)`,
    `CREATE TABLE alerts (
      uuid TEXT PRIMARY KEY, created TEXT, created_utc ${utc}, modified TEXT, modified_utc ${utc}, roles ${json},
      "user" TEXT, causality TEXT, alert_type TEXT, message TEXT, extra ${json}, bicycle TEXT, bicycle_uuid TEXT,
      organization TEXT, organization_uuid TEXT, url TEXT, state TEXT,
      first_seen ${utc} NOT NULL, last_seen ${utc} NOT NULL, raw ${json} NOT NULL)`,
    'CREATE INDEX alerts_bicycle ON alerts (bicycle_uuid)',
    'CREATE INDEX alerts_created ON alerts (created_utc)',
    `CREATE TABLE changes (
      id ${id}, at ${utc} NOT NULL, received ${utc} NOT NULL, bicycle TEXT NOT NULL, version ${integer},
      field TEXT NOT NULL, old TEXT, new TEXT, source TEXT NOT NULL)`,
    'CREATE INDEX changes_at ON changes (at)',
    'CREATE INDEX changes_bicycle ON changes (bicycle, id)',
    "CREATE INDEX changes_state ON changes (bicycle, at, id) WHERE field = 'state'",
    `CREATE TABLE gaps (
      id ${id}, started ${utc} NOT NULL, ended ${utc}, reason TEXT NOT NULL, found ${integer} NOT NULL DEFAULT 0, organization TEXT)`,
    `CREATE TABLE writers (organization TEXT PRIMARY KEY, owner TEXT, host TEXT, pid ${integer}, heartbeat ${utc}, state TEXT, alerts TEXT)`,
    'CREATE TABLE listed (uuid TEXT, writer TEXT, pass INTEGER NOT NULL, PRIMARY KEY (writer, uuid))',
  ];
}

/**
 * Locks a row, so that no other process creates or drops tables of the mirror during the
 * transaction. An advisory lock is not used, because a read-only query could take it.
 */
const ALONE = "SELECT value FROM meta WHERE key = 'schema' FOR UPDATE";

/**
 * The statements that convert `changes` to a partitioned table. The existing rows are not copied:
 * their table becomes the first partition. The statements run in the transaction of the upgrade.
 */
const PARTITIONED: readonly string[] = [
  'ALTER TABLE changes RENAME TO changes_before',
  'ALTER TABLE changes_before ALTER id DROP IDENTITY, DROP CONSTRAINT changes_pkey',
  'DROP INDEX changes_at',
  ...['bicycle', 'state'].map(
    (name) => `ALTER INDEX changes_${name} RENAME TO changes_before_${name}`,
  ),
  'CREATE SEQUENCE changes_ids',
  "SELECT setval('changes_ids', coalesce((SELECT max(id) FROM changes_before), 0) + 1, false)",
  `CREATE TABLE changes (
    id bigint NOT NULL DEFAULT nextval('changes_ids'), at timestamptz NOT NULL, received timestamptz NOT NULL, bicycle TEXT NOT NULL,
    version bigint, field TEXT NOT NULL, old TEXT, new TEXT, source TEXT NOT NULL, PRIMARY KEY (at, id)) PARTITION BY RANGE (at)`,
  'CREATE INDEX changes_bicycle ON changes (bicycle, id)',
  "CREATE INDEX changes_state ON changes (bicycle, at, id) WHERE field = 'state'",
  `DO $$ BEGIN EXECUTE format('ALTER TABLE changes ATTACH PARTITION changes_before FOR VALUES FROM (MINVALUE) TO (%L)',
    date_trunc('month', greatest(now(), (SELECT max(at) FROM changes_before)), 'UTC') + interval '1 month'); END $$`,
  // The default partition, for dates outside the other partitions.
  'CREATE TABLE changes_other PARTITION OF changes DEFAULT',
];

/**
 * Returns the statements that upgrade the tables. They drop the index on `bicycles.modified`: every
 * message changes this column, so PostgreSQL would update all indexes of the row each time. They
 * create the views last. A view that existed before a table was renamed would keep reading the old
 * table under its new name.
 */
function upgrade(dialect: Dialect): string[] {
  const postgres = [...PARTITIONED, 'ALTER TABLE bicycles SET (fillfactor = 70)'];
  return [
    ...(dialect === DIALECTS.postgres ? postgres : []),
    'DROP INDEX IF EXISTS bicycles_modified',
    ...Object.entries(views(dialect)).flatMap(([name, select]) =>
      dialect.replaceView(name, select),
    ),
  ];
}

/**
 * The SQL that creates the table with the names of organizations, zones and models. `kind` is
 * `organization`, `zone` or `model`.
 */
const NAMES =
  'CREATE TABLE names (kind TEXT, uuid TEXT, name TEXT NOT NULL, PRIMARY KEY (kind, uuid))';

/**
 * Returns the statements that upgrade the schema from version `number`. `number` is undefined for a
 * new database.
 */
function statementsFor(number: number | undefined, dialect: Dialect): string[] {
  if (number === SCHEMA_NUMBER) return [];
  if (number === SCHEMA_WITHOUT_NAMES) return [NAMES];
  const made = number === undefined ? tablesOf(dialect) : [];
  return [...made, NAMES, ...upgrade(dialect)];
}

/**
 * Returns the SQL for a value from the row `n`. This row is the first state change of the bicycle
 * after the row `s`. `what` is the SQL expression for the value.
 */
function next(what: string): string {
  return `(SELECT ${what} FROM changes n WHERE n.bicycle = s.bicycle AND n.field = 'state' AND n.at >= s.at AND (n.at > s.at OR n.id > s.id)
    ORDER BY n.at, n.id LIMIT 1)`;
}

/**
 * Returns the SQL of the views. New columns must come last. Otherwise PostgreSQL cannot replace a
 * view that other programs use.
 */
function views({ utc, plain, seconds, now }: Dialect) {
  return {
    latest: `SELECT uuid, name, state, state_of_charge, latitude, longitude, latest_gps_timestamp_utc,
        latest_gps_accuracy, organization, model, device_type, bleid, serial_number, modified_utc, last_seen
        FROM bicycles WHERE gone IS NULL`,
    // `next` looks up the next state separately for each row. A query with a condition on `started`
    // therefore reads only a part of the history. Each bicycle also gets a first row with an
    // unknown start. Its state is the old state of the first recorded change, or the current state
    // if no change was recorded.
    state_durations: `WITH spans AS (
        SELECT s.bicycle, s.at AS started, ${plain('s.new')} AS state, ${next('n.at')} AS until, ${next(plain('n.new'))} AS next_state
        FROM changes s WHERE s.field = 'state'
        UNION ALL
        SELECT b.uuid, cast(NULL AS ${utc}), CASE WHEN c.id IS NULL THEN b.state ELSE ${plain('c.old')} END, c.at, ${plain('c.new')}
        FROM bicycles b LEFT JOIN changes c ON c.bicycle = b.uuid AND c.id = (
          SELECT f.id FROM changes f WHERE f.bicycle = b.uuid AND f.field = 'state' ORDER BY f.at, f.id LIMIT 1)
      )
      SELECT s.bicycle, b.name, s.state, s.started, coalesce(s.until, b.gone) AS ended,
        ${seconds('s.started', `coalesce(s.until, b.gone, ${now})`)} AS seconds, s.next_state,
        s.started IS NOT NULL AS start_known
      FROM spans s LEFT JOIN bicycles b ON b.uuid = s.bicycle WHERE s.state IS NOT NULL`,
    rentals: `SELECT bicycle, name, started, ended, seconds, next_state AS returned_as, start_known
        FROM state_durations WHERE state = 'rented'`,
    silent: `SELECT uuid, name, state, organization, latest_gps_timestamp_utc AS last_position,
        round(${seconds('latest_gps_timestamp_utc', now)} / 3600, 1) AS hours, latest_gps_timestamp_utc IS NULL AS never
        FROM bicycles WHERE gone IS NULL`,
  };
}

/** The tables and views that every mirror has, whatever its schema number. */
const OWN = [
  'meta',
  'bicycles',
  'alerts',
  'changes',
  'gaps',
  'latest',
  'state_durations',
  'rentals',
  'silent',
];

/**
 * Returns the schema number of a mirror, or undefined for a database without tables. Throws for a
 * database that is not a mirror, and for a mirror with a newer schema.
 */
export async function readSchema(database: Database): Promise<number | undefined> {
  const tables = await database.all(`${database.dialect.tables} LIMIT 10000`);
  const own = OWN.filter((name) => tables.some((table) => table['name'] === name));
  // A PostgreSQL database may also contain tables that belong to other programs.
  if (tables.length === 0 || (database.kind === 'postgres' && own.length === 0)) return undefined;
  if (own.length < OWN.length)
    throw configError(
      'the database has other tables and is not a mirror',
      'choose another database with --to',
    );
  const number = Number((await readMeta(database))['schema']);
  if (number > SCHEMA_NUMBER) {
    const what = `the mirror has schema ${number}, and this version of fleet supports up to ${SCHEMA_NUMBER}`;
    throw configError(what, 'use the newer fleet that wrote it, or another database with --to');
  }
  if ([SCHEMA_BEFORE, SCHEMA_WITHOUT_NAMES, SCHEMA_NUMBER].includes(number)) return number;
  throw configError(
    `the mirror has schema ${number}, and this version of fleet upgrades only schema ${SCHEMA_BEFORE} (fleet 0.1.0)`,
    'to start a new mirror, move this one away or pass another database to --to, and run "fleet mirror run"; the old history stays in the old database',
  );
}

/**
 * Upgrades a database to the current schema in one transaction. Returns the earlier schema number,
 * or undefined for a new database.
 */
export async function migrate(database: Database): Promise<number | undefined> {
  const found = await readSchema(database);
  if (found === SCHEMA_NUMBER) return found;
  const creating = database.transaction(async () => {
    if (database.kind === 'postgres' && found !== undefined) await database.all(ALONE);
    // Another writer may have upgraded the database meanwhile.
    const number = await readSchema(database);
    for (const statement of statementsFor(number, database.dialect)) await database.all(statement);
    await writeMeta(database, { schema: String(SCHEMA_NUMBER) });
  });
  await creating.catch(async (error: unknown) => {
    // Two writers may create the tables at the same time. The slower writer's error is ignored.
    if (found === undefined && (await readSchema(database)) === SCHEMA_NUMBER) return;
    throw error instanceof FleetError && error.kind === 'internal' ? unsuitable(error) : error;
  });
  return found;
}

/**
 * Returns the error for a database that cannot have these tables, for example because it does not
 * support partitions.
 */
function unsuitable(error: FleetError): FleetError {
  const what = `the database cannot be used for a mirror: ${error.message}`;
  return configError(what, 'choose another database with --to', error);
}

/**
 * Throws when the mirror belongs to another service. A mirror without a recorded base URL belongs
 * to no service yet.
 */
export function checkBaseUrl(found: string | undefined, baseUrl: URL): void {
  if (found === undefined || found === addressOf(baseUrl)) return;
  const hint =
    'choose another database with --to, or use the profile of the service that the database belongs to';
  throw configError(`the mirror belongs to ${found}, not to ${addressOf(baseUrl)}`, hint);
}

/** Returns a base URL as `meta` stores it: without a trailing slash. */
export function addressOf(baseUrl: URL): string {
  return baseUrl.href.replace(/\/+$/, '');
}

/**
 * Reads the table `meta`. It contains `schema`, `base_url` once a writer has recorded it, and
 * `kept_since`. `kept_since` is the UTC time before which `--keep` deleted the history.
 */
export async function readMeta(database: Database): Promise<Readonly<Record<string, string>>> {
  const rows = await database.all('SELECT key, value FROM meta');
  return Object.fromEntries(rows.map(({ key, value }) => [key, String(value)]));
}

export async function writeMeta(
  database: Database,
  meta: Readonly<Record<string, string>>,
): Promise<void> {
  await database.write('meta', ['key', 'value'], Object.entries(meta), ['key']);
}

/** Returns the name of the monthly partition for a time in UTC. */
function partitionOf(utc: string): string {
  return `changes_${utc.slice(0, 7).replace('-', '_')}`;
}

/**
 * Creates the partitions of this month and the next one. Drops the partitions that end before
 * `beforeMs`. Ignores failures, because the next call repeats the work.
 */
export async function turnPartitions(
  database: Database,
  nowMs: number,
  beforeMs = 0,
): Promise<void> {
  if (database.kind === 'sqlite') return;
  const now = new Date(nowMs);
  const monthAt = (ahead: number) =>
    utcOfMs(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + ahead));
  const turning = database.transaction(async () => {
    await database.all(ALONE);
    // Gives up after two seconds when long-running queries hold locks.
    await database.all("SET LOCAL lock_timeout = '2s'");
    for (const ahead of [0, 1]) {
      const [from, until] = [monthAt(ahead), monthAt(ahead + 1)];
      const made = `CREATE TABLE IF NOT EXISTS ${partitionOf(from)} PARTITION OF changes FOR VALUES FROM ('${from}') TO ('${until}')`;
      // This statement fails in two cases, and both failures are ignored. The month may overlap the
      // first partition, or the default partition may already contain changes from that month.
      await database.all(
        `DO $$ BEGIN ${made}; EXCEPTION WHEN invalid_object_definition OR check_violation THEN END $$`,
      );
    }
    const oldest = partitionOf(utcOfMs(beforeMs));
    const months = await database.all(
      "SELECT relname::text AS name FROM pg_class JOIN pg_inherits ON oid = inhrelid WHERE inhparent = 'changes'::regclass AND relname ~ '[0-9]$' AND relname <= ?",
      [oldest],
    );
    // `changes_before` ends where the oldest monthly partition begins. If a monthly partition is
    // old enough to be dropped, `changes_before` is too.
    const over = months.length === 0 ? [] : ['changes_before', ...months.map(({ name }) => name)];
    for (const name of over)
      if (name !== oldest) await database.all(`DROP TABLE IF EXISTS ${name}`);
  });
  await turning.catch(() => undefined);
}
