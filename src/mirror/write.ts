// The database functions of the mirror's writer. When it starts, the writer reads the position of
// the last writer and continues from there. It then writes each batch in one transaction.

import type { Alert } from '../api/alert.js';
import type { Resumed } from '../follower/events.js';
import type { ListPass, Meeting } from '../follower/fleet-store.js';
import type { OpenGap } from '../follower/open-gap.js';
import type { Item } from '../http/types.js';
import { readExact } from '../json/exact.js';
import { readTime } from '../terminal/time.js';
import type { Database, Value } from './database.js';
import { CHANGE_COLUMNS, type WriteStep, type Writes } from './ledger.js';
import { ALERT_COLUMNS, alertRow, BICYCLE_COLUMNS, utcOfMs } from './rows.js';
import { addressOf, checkBaseUrl, migrate, readMeta, writeMeta } from './schema.js';
import {
  type Lease,
  quoted,
  readLeases,
  SetBack,
  type State,
  type Writer,
  writeAs,
  writeState,
} from './writers.js';

/**
 * The ids of the last batches that were written, one for each organization, in the order of the
 * leases. An id is undefined before the first batch is written, and when an older version of fleet
 * wrote the data.
 */
export type BatchIds = readonly (string | undefined)[];

/** The data that a writer finds in the database at its start. */
export type Found = Awaited<ReturnType<typeof resume>>;

export interface Batch {
  readonly writes: Writes;
  /**
   * The gap that is still open, if there is one. `isSameGap` is true when the previous batch has
   * already written this gap.
   */
  readonly gap: OpenGap | undefined;
  readonly isSameGap: boolean;
  readonly state: State;
  /**
   * The ids of the last batches that this writer wrote. Before its first batch, they are the ids
   * that it found in the database. Other ids in the database show that an older copy of the
   * database was restored.
   */
  readonly previousBatchIds: BatchIds;
  readonly nowMs: number;
  /**
   * Returns how many milliseconds the batch has waited for the database since `state.behindMs` was
   * measured. Without this function, the wait is assumed to be 0.
   */
  readonly waitedMs?: () => number;
}

/** The maximum number of history rows that one statement deletes. */
const PRUNED_ROWS = 10_000;

/**
 * Upgrades the database and records the service. Throws a FleetError of kind `config` for a mirror
 * of another service or of a newer version of fleet.
 */
export async function prepare(database: Database, baseUrl: URL): Promise<void> {
  await migrate(database);
  const { base_url: found } = await readMeta(database);
  checkBaseUrl(found, baseUrl);
  if (found === undefined) await writeMeta(database, { base_url: addressOf(baseUrl) });
}

/** Returns the position from which the writer continues. The writer must have the lease. */
export async function resume(database: Database, writer: Writer) {
  const leases = await readLeases(database, writer.organizations);
  const before = join(leases, writer);
  const sql = `SELECT started, reason FROM gaps WHERE ${openGapsOf(writer)} ORDER BY started LIMIT 1`;
  const [gap] = await database.all(sql);
  const startedMs = readTime(gap?.['started']);
  return {
    ...before,
    batchIds: leases.map(({ state }) => state?.batchId),
    gap: startedMs === undefined ? undefined : { startedMs, reason: String(gap?.['reason']) },
    /** The number of bicycles that are not gone, and their newest `modified`. */
    ...(await readRows(database, writer, least([before.heardMs, before.checkedMs, startedMs]))),
  };
}

type Before = Omit<Resumed, 'gap' | 'modifiedMs'> & Pick<State, 'leaving'>;

/**
 * Merges the positions of several writers. Returns the last position that every writer has reached.
 */
function join(leases: readonly Lease[], { organizations }: Writer): Before {
  const states = leases.map(({ state }) => state);
  const [first] = states;
  const isSame = (state: State | undefined) =>
    state?.owner === first?.owner && `${state?.organizations}` === `${organizations}`;
  return {
    heardMs: least(states.map((state) => state?.heardMs)),
    checkedMs: least(states.map((state) => state?.checkedMs)),
    // False while an organization is new and its list has not been read.
    isWhole: states.length > 0 && states.every((state) => state?.isWhole === true),
    proven: states.every(isSame) ? first?.proven : undefined,
    leaving: states.flatMap((state) => state?.leaving ?? []),
  };
}

/** Returns the earliest of the known times. */
function least(moments: readonly (number | undefined)[]): number | undefined {
  const known = moments.filter((ms) => ms !== undefined);
  return known.length === 0 ? undefined : Math.min(...known);
}

function openGapsOf({ organizations }: Writer): string {
  return `ended IS NULL AND organization IN (${quoted(organizations)})`;
}

/** Returns the SQL condition for the bicycles of the writer's organizations. */
function bicyclesOf({ organizations }: Writer): string {
  return `gone IS NULL AND followed IN (${quoted(organizations)})`;
}

/**
 * Returns the key under which this writer stores rows in the table `listed`, quoted for SQL. The
 * key stays the same when the writer is restarted after a crash.
 */
function keyOf({ organizations: [first = ''] }: Writer): string {
  return quoted([first]);
}

/**
 * The maximum time by which a `modified` value may be later than the message or list that contains
 * it. A value that is later than this must be wrong and is ignored.
 */
const AHEAD_MS = 5_000;

/**
 * Returns the number of bicycles, and the newest `modified` time that was already known at
 * `wallMs`, a time on the system clock. Reads the whole table once.
 */
async function readRows(database: Database, writer: Writer, wallMs: number | undefined) {
  const [row] = await database.all(
    `SELECT count(*) AS rows, max(CASE WHEN modified_utc <= ? AND last_seen <= ? THEN modified_utc END) AS newest FROM bicycles WHERE ${bicyclesOf(writer)}`,
    wallMs === undefined ? [null, null] : [utcOfMs(wallMs + AHEAD_MS), utcOfMs(wallMs)],
  );
  return { rows: Number(row?.['rows']), modifiedMs: readTime(row?.['newest']) };
}

/**
 * Writes a batch atomically. Returns the number of bicycles that it marked as gone. Skips a batch
 * that is already in the database: its earlier commit succeeded, but the confirmation was lost.
 * Throws Replaced when another writer took over, and SetBack when the database lacks the previous
 * batch.
 */
export async function commit(database: Database, writer: Writer, batch: Batch): Promise<number> {
  const { writes, gap, isSameGap, state, previousBatchIds, nowMs } = batch;
  return writeAs(database, writer, async (states) => {
    const ids = states.map((each) => each?.batchId);
    if (ids.every((id) => id === state.batchId)) return 0;
    if (ids.some((id, index) => id !== previousBatchIds[index])) throw new SetBack();
    await database.write('bicycles', BICYCLE_COLUMNS, writes.bicycles, ['uuid']);
    await database.write('changes', CHANGE_COLUMNS, writes.changes);
    let gone = 0;
    for (const step of writes.steps) {
      if (!('reading' in step)) await store(database, writer, step);
      else if (step.type === 'mark-gone')
        gone += await markGone(
          database,
          nowMs,
          missingOf(writer, step.reading),
          utcOfMs(step.reading.started.wallMs),
        );
    }
    if (!isSameGap) {
      await database.all(`DELETE FROM gaps WHERE ${openGapsOf(writer)}`);
      if (gap !== undefined)
        await writeGap(database, writer, [utcOfMs(gap.startedMs), null, gap.reason, 0]);
    }
    // The heartbeat shows the current time, but the batch had to wait for the database. The delay
    // includes this wait.
    const behindMs = state.behindMs + Math.round(batch.waitedMs?.() ?? 0);
    await writeState(database, writer, { ...state, behindMs });
    return gone;
  });
}

/** Writes a gap. Each organization of the writer gets its own row. */
async function writeGap(
  database: Database,
  { organizations }: Writer,
  row: readonly Value[],
): Promise<void> {
  const rows = organizations.map((each) => [...row, each]);
  await database.write('gaps', ['started', 'ended', 'reason', 'found', 'organization'], rows);
}

type Step = Exclude<WriteStep, { reading: ListPass }>;

async function store(database: Database, writer: Writer, step: Step): Promise<unknown> {
  if (step.type === 'clear-listed')
    return database.all(`DELETE FROM listed WHERE writer = ${keyOf(writer)}`);
  if (step.type !== 'listed')
    return writeGap(database, writer, [
      utcOfMs(step.startedMs),
      utcOfMs(step.endedMs),
      step.reason,
      step.found,
    ]);
  // Duplicates are removed, because a list may contain a bicycle twice.
  const rows = [...new Set(step.uuids)].map((uuid) => [
    uuid,
    writer.organizations[0] ?? '',
    step.pass,
  ]);
  return database.write('listed', ['uuid', 'writer', 'pass'], rows, ['writer', 'uuid']);
}

/**
 * The SQL condition for bicycles that a list may omit, because their current state came from a
 * message and not from a list.
 */
const HIDDEN = `state <> 'available' AND 'push' = (SELECT source FROM changes WHERE bicycle = bicycles.uuid AND field = 'state' ORDER BY at DESC, id DESC LIMIT 1)`;

/**
 * Returns the SQL condition for bicycles that no longer exist. These are missing from the complete
 * list, and no message about them has arrived since the list was requested. The parameter `?` is
 * the time of the request.
 */
function missingOf(writer: Writer, { seesAll }: ListPass): string {
  const isListed = `SELECT 1 FROM listed WHERE listed.uuid = bicycles.uuid AND writer = ${keyOf(writer)}`;
  const unlisted = `${bicyclesOf(writer)} AND last_seen < ? AND NOT EXISTS (${isListed})`;
  return seesAll ? unlisted : `${unlisted} AND NOT coalesce(${HIDDEN}, false)`;
}

async function markGone(
  database: Database,
  nowMs: number,
  condition: string,
  ...values: readonly Value[]
) {
  const at = utcOfMs(nowMs);
  const sql = `UPDATE bicycles SET gone = cast(? AS ${database.dialect.utc}) WHERE ${condition} RETURNING uuid, concurrency_version`;
  const marked = await database.all(sql, [at, ...values]);
  const [old, now] = ['null', JSON.stringify(at)];
  const changes = marked.map((row) => [at, at, ...Object.values(row), 'gone', old, now, 'list']);
  await database.write('changes', CHANGE_COLUMNS, changes);
  return marked.length;
}

/** Compares the complete list of bicycles, as it was read, with the table. */
export async function verify(
  database: Database,
  writer: Writer,
  reading: ListPass,
): Promise<Meeting> {
  const among = (condition: string) => `SELECT count(*) FROM bicycles WHERE ${condition}`;
  const [row = {}] = await database.all(
    `SELECT (SELECT count(*) FROM listed WHERE writer = ${keyOf(writer)} AND pass = ?) AS met, (${among(bicyclesOf(writer))}) AS known,
      (${among(missingOf(writer, reading))}) AS missing`,
    [reading.pass, utcOfMs(reading.started.wallMs)],
  );
  const [met = 0, known = 0, missing = 0] = Object.values(row).map(Number);
  return { met, known, missing };
}

/**
 * Writes a page of an organization's alerts. Returns the number of new or changed alerts. This
 * number includes alerts that an earlier attempt wrote if its commit was not confirmed. If the
 * number is not 0, the alerts are not marked as completely read, because the next page may contain
 * changes too. Throws the same errors as `commit`.
 */
export async function storeAlerts(
  database: Database,
  writer: Writer,
  {
    organization,
    items,
    nowMs,
  }: { organization: string; items: readonly Item<Alert>[]; nowMs: number },
) {
  const named = new Map(
    items.flatMap((item) =>
      typeof item.value.uuid === 'string' ? [[item.value.uuid.toLowerCase(), item]] : [],
    ),
  );
  return writeAs(database, writer, async () => {
    const sql = `SELECT uuid, first_seen, last_seen, raw FROM alerts WHERE uuid IN (${database.dialect.texts})`;
    const rows = await database.all(sql, [JSON.stringify([...named.keys()])]);
    const known = new Map(rows.map((row) => [row['uuid'], row]));
    const now = utcOfMs(nowMs);
    const changed = [...named].flatMap(([uuid, { json }]) => {
      const before = known.get(uuid);
      if (before?.['raw'] === json && readTime(before['last_seen']) !== nowMs) return [];
      const firstSeen = String(before?.['first_seen'] ?? now);
      const alert = readExact(json) as { [field: string]: unknown };
      return [alertRow(alert, { uuid, firstSeen, lastSeen: now, raw: json })];
    });
    await database.write('alerts', ALERT_COLUMNS, changed, ['uuid']);
    if (changed.length > 0) await setAlertsRead(database, organization, false);
    return changed.length;
  });
}

/** Whether all alerts of an organization were read. */
export async function areAlertsRead(database: Database, organization: string): Promise<boolean> {
  const [row] = await database.all('SELECT alerts FROM writers WHERE organization = ?', [
    organization,
  ]);
  return row?.['alerts'] === 'read';
}

/**
 * Records whether all alerts were read. The column stays NULL until they have been read for the
 * first time.
 */
export async function setAlertsRead(
  database: Database,
  organization: string,
  isRead: boolean,
): Promise<void> {
  const sql = `UPDATE writers SET alerts = ? WHERE organization = ? ${isRead ? '' : 'AND alerts IS NOT NULL'}`;
  await database.all(sql, [isRead ? 'read' : 'more', organization]);
}

/**
 * Deletes some of the history rows that are older than a time. Returns true when more may remain.
 */
export async function prune(
  database: Database,
  writer: Writer,
  beforeMs: number,
): Promise<boolean> {
  const before = utcOfMs(beforeMs);
  return writeAs(database, writer, async () => {
    const rows = await database.all(
      `DELETE FROM changes WHERE at < ? AND (at, id) IN (SELECT at, id FROM changes WHERE at < ? ORDER BY at, id LIMIT ${PRUNED_ROWS}) RETURNING 1 AS one`,
      [before, before],
    );
    await database.all('DELETE FROM gaps WHERE ended < ?', [before]);
    await writeMeta(database, { kept_since: before });
    return rows.length === PRUNED_ROWS;
  });
}
