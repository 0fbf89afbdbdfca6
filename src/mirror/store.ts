// The writer's way into the database: what it finds at its start, and one transaction a batch.

import type { Alert } from '../api/alert.js';
import type { Resumed } from '../follower/events.js';
import type { OpenGap } from '../follower/open-gap.js';
import type { Meeting } from '../follower/store.js';
import type { Item } from '../http/types.js';
import { readExact } from '../json/exact.js';
import { readTime } from '../terminal/time.js';
import type { Database, Row, Value } from './database.js';
import { DIALECTS } from './dialect.js';
import { keepLease, type Writer } from './lease.js';
import { CHANGE_COLUMNS, type WriteStep, type Writes } from './ledger.js';
import { ALERT_COLUMNS, alertRow, BICYCLE_COLUMNS, utcOfMs } from './rows.js';
import { addressOf, checkBaseUrl, migrate, readMeta, type Snapshot, writeMeta } from './schema.js';

export interface MirrorIdentity {
  readonly baseUrl: URL;
  readonly profile: string;
  readonly organizations: readonly string[];
}

/** What a writer finds at its start. */
export interface Found extends Resumed {
  /** Bicycles that are not gone. */
  readonly rows: number;
  /** Organizations that are followed no more; their bicycles are gone. */
  readonly left: readonly string[];
}

export interface Commit {
  /** Counted by the writer, from 1. */
  readonly batch: number;
  readonly writes: Writes;
  /** The gap that is open now, and the one that was after the batch before. */
  readonly gap: OpenGap | undefined;
  readonly gapBefore: OpenGap | undefined;
  readonly snapshot: Snapshot;
  readonly snapshotBefore: Snapshot | undefined;
  /** Until when everything was heard, and compared with the list, by the machine's date. */
  readonly heardMs: number;
  readonly comparedToMs: number;
  /** How far what is written is behind the service, by the messages' own times. */
  readonly behindMs: number;
  readonly nowMs: number;
  /** Whether to say that the writer lives. */
  readonly beats: boolean;
}

/** Whether there is nothing to write, but that the writer lives. */
export function isEmpty({ writes, gap, gapBefore, snapshot, snapshotBefore }: Commit): boolean {
  const rows = writes.bicycles.length + writes.steps.length;
  return rows === 0 && gap === gapBefore && JSON.stringify(snapshot) === JSON.stringify(snapshotBefore);
}

const NOTHING_READ: Snapshot = { isWhole: false, suspected: null, reading: null };

const NEAR_MS = 60_000;

/** Rows that one statement deletes. */
const PRUNED_ROWS = 10_000;

/** Brings the database up to the schema. Throws a FleetError of kind `config` for that of another service or a newer program. */
export async function prepare(database: Database, { baseUrl }: MirrorIdentity): Promise<void> {
  await migrate(database);
  checkBaseUrl((await readMeta(database)).base_url, baseUrl);
}

/** Says where to go on, once the lease is taken. */
export async function adopt(
  database: Database,
  writer: Writer,
  identity: MirrorIdentity,
  nowMs: number,
): Promise<Found> {
  const { snapshot = NOTHING_READ, organizations: before = [], position } = await readMeta(database);
  const left = before.filter((organization) => !identity.organizations.includes(organization));
  const isGrown = identity.organizations.some((organization) => !before.includes(organization));
  const isSame = left.length === 0 && !isGrown;
  // The bicycles of an organization that is new were not read yet; an interrupted reading was of other lists.
  const next = isSame
    ? snapshot
    : { ...snapshot, isWhole: snapshot.isWhole && !isGrown, suspected: null, reading: null };
  await database.transaction(async () => {
    await keepLease(database, writer, true);
    const { profile, organizations } = identity;
    await writeMeta(database, { base_url: addressOf(identity.baseUrl), profile, organizations, snapshot: next });
    for (const organization of left) await markGone(database, 'followed = ?', [organization], nowMs);
  });
  const [gap] = await database.all('SELECT started, reason FROM gaps WHERE ended IS NULL ORDER BY id LIMIT 1');
  const [heardMs, checkedMs] = [readTime(position?.heard), readTime(position?.checked)];
  const startedMs = gap === undefined ? undefined : Date.parse(String(gap['started']));
  const moments = [heardMs, checkedMs, startedMs].filter((ms) => ms !== undefined);
  return {
    heardMs,
    checkedMs,
    gap: startedMs === undefined ? undefined : { startedMs, reason: String(gap?.['reason']) },
    isWhole: next.isWhole,
    suspectedMs: next.suspected === null ? undefined : Date.parse(next.suspected),
    reading: next.reading ?? undefined,
    proven: next.proven ? { atMs: Date.parse(next.proven.at), total: next.proven.count ?? undefined } : undefined,
    modifiedMs: moments.length === 0 ? undefined : await newestAt(database, Math.min(...moments)),
    rows: await countRows(database),
    left,
  };
}

/** A `modified` further ahead of the moment that it was seen is a mistake. */
const AHEAD_MS = 5_000;

/** The newest `modified` of what was known at that moment of the machine's date. */
async function newestAt(database: Database, wallMs: number): Promise<number | undefined> {
  const [row] = await database.all(
    'SELECT modified_utc FROM bicycles WHERE modified_utc <= ? AND last_seen <= ? ORDER BY modified_utc DESC LIMIT 1',
    [utcOfMs(wallMs + AHEAD_MS), utcOfMs(wallMs)],
  );
  return row === undefined ? undefined : readTime(row['modified_utc']);
}

async function countRows(database: Database): Promise<number> {
  const [row] = await database.all('SELECT count(*) AS rows FROM bicycles WHERE gone IS NULL');
  return Number(row?.['rows']);
}

/**
 * Writes a batch, whole or not at all. Throws a FleetError of kind `config` where another writer took over. Resolves with how many bicycles it
 * marked as gone. A batch that is written already, whose answer was lost, is not written again.
 */
export async function commit(database: Database, writer: Writer, batch: Commit, isRetry: boolean): Promise<number> {
  return database.transaction(async () => {
    await keepLease(database, writer, batch.beats || isRetry);
    const { position: written } = isRetry ? await readMeta(database) : {};
    if (written?.owner === writer.owner && written.batch >= batch.batch) return 0;
    await database.write('bicycles', BICYCLE_COLUMNS, batch.writes.bicycles, ['uuid']);
    await database.write('changes', CHANGE_COLUMNS, batch.writes.changes);
    let gone = 0;
    for (const step of batch.writes.steps) {
      if (step.type === 'mark-gone')
        gone += await markGone(database, goneTo(step.seesAll), [step.started], batch.nowMs);
      else if (step.type !== 'verify') await store(database, step);
    }
    const { gap, gapBefore, snapshot } = batch;
    if (gap !== gapBefore) {
      await database.all('DELETE FROM gaps WHERE ended IS NULL');
      if (gap !== undefined)
        await database.write('gaps', ['started', 'reason'], [[utcOfMs(gap.startedMs), gap.reason]]);
    }
    const [heard, checked] = [utcOfMs(batch.heardMs), utcOfMs(batch.comparedToMs)];
    const behind = Math.round(batch.behindMs / 1000);
    const position = { heard, checked, behind, owner: writer.owner, batch: batch.batch };
    await writeMeta(database, { snapshot, position });
    return gone;
  });
}

async function store(
  database: Database,
  effect: Exclude<WriteStep, { type: 'mark-gone' | 'verify' }>,
): Promise<unknown> {
  switch (effect.type) {
    case 'clear-listed':
      return database.all('DELETE FROM listed');
    case 'listed': {
      // A list may show a bicycle twice.
      const rows = [...new Set(effect.uuids)].map((uuid) => [uuid, effect.pass]);
      return database.write('listed', ['uuid', 'pass'], rows, ['uuid']);
    }
    case 'gap-moment':
      if (await widenGap(database, effect)) return;
  }
  const row = [utcOfMs(effect.startedMs), utcOfMs(effect.endedMs), effect.reason, effect.found];
  return database.write('gaps', ['started', 'ended', 'reason', 'found'], [row]);
}

/** Moments that are near each other are one row: false where there is none yet. */
async function widenGap(
  database: Database,
  { startedMs, endedMs, reason }: WriteStep & { type: 'gap-close' | 'gap-moment' },
): Promise<boolean> {
  const [last] = await database.all('SELECT id FROM gaps WHERE reason = ? AND started <= ? AND ended >= ? LIMIT 1', [
    reason,
    utcOfMs(endedMs + NEAR_MS),
    utcOfMs(startedMs - NEAR_MS),
  ]);
  if (last === undefined) return false;
  const [id = 0, started, ended] = [last['id'], utcOfMs(startedMs), utcOfMs(endedMs)];
  await database.all('UPDATE gaps SET started = ? WHERE id = ? AND started > ?', [started, id, started]);
  await database.all('UPDATE gaps SET ended = ? WHERE id = ? AND ended < ?', [ended, id, ended]);
  return true;
}

/** What a whole reading did not show, and no message either since it began. */
const MISSING = 'last_seen < ? AND NOT EXISTS (SELECT 1 FROM listed WHERE listed.uuid = bicycles.uuid)';

/** No bicycle that the list shows is in another state. */
const AVAILABLE_ALONE = `NOT EXISTS (SELECT 1 FROM listed JOIN bicycles AS other ON other.uuid = listed.uuid
  WHERE other.gone IS NULL AND other.state <> 'available')`;

/** Where a list hides bicycles from this token, those that were pushed in another state are hidden, not gone. */
const HIDDEN = `state <> 'available' AND 'push' = (SELECT source FROM changes WHERE bicycle = bicycles.uuid AND field = 'state' ORDER BY at DESC, id DESC LIMIT 1)`;

/** What is gone, for a token to which the list shows every bicycle, or not; undefined: as the list itself lets see. */
function goneTo(seesAll: boolean | undefined): string {
  if (seesAll === true) return MISSING;
  return `${MISSING} AND NOT coalesce(${HIDDEN}${seesAll === undefined ? ` AND ${AVAILABLE_ALONE}` : ''}, false)`;
}

async function markGone(
  database: Database,
  condition: string,
  values: readonly Value[],
  nowMs: number,
): Promise<number> {
  const where = `WHERE gone IS NULL AND ${condition}`;
  const [row] = await database.all(`SELECT count(*) AS rows FROM bicycles ${where}`, values);
  const at = utcOfMs(nowMs);
  const time = `cast(? AS ${DIALECTS[database.kind].utc})`;
  await database.all(
    `INSERT INTO changes (${CHANGE_COLUMNS.join(', ')})
      SELECT ${time}, ${time}, uuid, concurrency_version, 'gone', 'null', cast(? AS TEXT), 'list' FROM bicycles ${where}`,
    [at, at, JSON.stringify(at), ...values],
  );
  await database.all(`UPDATE bicycles SET gone = ${time} ${where}`, [at, ...values]);
  return Number(row?.['rows']);
}

/** Holds a whole reading, which began at `started` (UTC), against the table. */
export async function verify(
  database: Database,
  { pass, started, seesAll }: WriteStep & { type: 'verify' },
): Promise<Meeting> {
  const number = async (sql: string, values: readonly Value[] = []) =>
    Number((await database.all(sql, values))[0]?.['n'] ?? 0);
  const met = await number('SELECT count(*) AS n FROM listed WHERE pass = ?', [pass]);
  const unlisted = await number(`SELECT count(*) AS n FROM bicycles WHERE gone IS NULL AND ${MISSING}`, [started]);
  const known = await countRows(database);
  if (unlisted === 0) return { met, missing: 0, hidden: 0, known };
  const missing = await number(`SELECT count(*) AS n FROM bicycles WHERE gone IS NULL AND ${goneTo(seesAll)}`, [
    started,
  ]);
  return { met, missing, hidden: unlisted - missing, known };
}

/**
 * Writes a page of alerts; resolves with how many were new or changed. Of news there may be more on the next page: until that is read,
 * only those of the organizations `read` count as read to the end. Throws as `commit`.
 */
export async function storeAlerts(
  database: Database,
  writer: Writer,
  items: readonly Item<Alert>[],
  read: Iterable<string>,
  nowMs: number,
): Promise<number> {
  const named = new Map(
    items.flatMap((item) => (typeof item.value.uuid === 'string' ? [[item.value.uuid.toLowerCase(), item]] : [])),
  );
  return database.transaction(async () => {
    await keepLease(database, writer, false);
    const known = new Map<unknown, Row>();
    const sql = `SELECT uuid, first_seen, raw FROM alerts WHERE uuid IN (${DIALECTS[database.kind].texts})`;
    for (const row of await database.all(sql, [JSON.stringify([...named.keys()])])) known.set(row['uuid'], row);
    const now = utcOfMs(nowMs);
    const changed: Value[][] = [];
    for (const [uuid, { json }] of named) {
      const before = known.get(uuid);
      if (before?.['raw'] === json) continue;
      const firstSeen = String(before?.['first_seen'] ?? now);
      const alert = readExact(json) as { [field: string]: unknown };
      changed.push(alertRow(alert, { uuid, firstSeen, lastSeen: now, raw: json }));
    }
    await database.write('alerts', ALERT_COLUMNS, changed, ['uuid']);
    if (changed.length > 0) await writeMeta(database, { alerts: [...read] });
    return changed.length;
  });
}

/** Forgets history before a moment, a part each time: true when there may be more. */
export async function prune(database: Database, writer: Writer, beforeMs: number): Promise<boolean> {
  const before = utcOfMs(beforeMs);
  return database.transaction(async () => {
    await keepLease(database, writer, false);
    const rows = await database.all(
      `DELETE FROM changes WHERE id IN (SELECT id FROM changes WHERE at < ? ORDER BY at LIMIT ${PRUNED_ROWS}) RETURNING 1 AS one`,
      [before],
    );
    await database.all('DELETE FROM gaps WHERE ended < ?', [before]);
    await writeMeta(database, { kept_since: before });
    return rows.length === PRUNED_ROWS;
  });
}
