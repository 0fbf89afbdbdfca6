// How old a mirror is, how complete, and which gaps it has: whether it is current.

import { readTime } from '../terminal/time.js';
import type { Database, Value } from './database.js';
import { readMeta } from './schema.js';
import { databaseTime, isAlive, type Lease, readLeases } from './writers.js';

/** A mirror that is further behind is not current. */
export const MOST_BEHIND_MS = 10_000;

export type RecordedGap = Awaited<ReturnType<typeof readGaps>>[number];

export type MirrorStatus = Awaited<ReturnType<typeof readStatus>>;

/** The state of the writer of an organization. */
function conditionOf(lease: Lease, now: string) {
  const { heartbeat, owner, state } = lease;
  const isWritten = isAlive(lease, now);
  // The time before its first batch is recorded as a gap with that batch.
  const isStarting = isWritten && state?.owner !== owner;
  const receivedMs =
    (isWritten && !isStarting ? readTime(heartbeat) : state?.heardMs) ?? Number.NaN;
  const behindMs = state?.behindMs ?? 0;
  // What was received then had happened as much earlier as the writer was behind, also when it ended.
  return {
    ...lease,
    isWritten,
    isStarting,
    asOfMs: receivedMs - behindMs,
    behindMs: isWritten ? behindMs : 0,
  };
}

export async function readStatus(database: Database) {
  const now = await databaseTime(database);
  const writers = (await readLeases(database)).map((lease) => conditionOf(lease, now));
  const openGaps = await readGaps(database, 'WHERE ended IS NULL ORDER BY started LIMIT 100');
  const states = writers.map(({ state }) => state);
  const isWritten = writers.length > 0 && writers.every((each) => each.isWritten);
  const isWhole = writers.length > 0 && states.every((state) => state?.isWhole === true);
  const isStarting = writers.some((each) => each.isStarting);
  const nowMs = readTime(now) ?? Number.NaN;
  const moments = [
    nowMs,
    ...openGaps.map(({ started }) => Date.parse(started)),
    ...writers.map((each) => each.asOfMs),
  ];
  const asOfMs = writers.length === 0 ? undefined : known(Math.min(...moments));
  const behindMs = Math.max(0, ...writers.map((each) => each.behindMs));
  const isBehind = behindMs > MOST_BEHIND_MS;
  // Each writer has written the same for all of its organizations.
  const proven = [...new Map(states.map((state) => [state?.owner, state?.proven])).values()];
  const provenMs = known(Math.min(...proven.map((each) => each?.atMs ?? Number.NaN)));
  const total = known(proven.reduce((sum, each) => sum + (each?.total ?? Number.NaN), 0));
  return {
    /** A row an organization. */
    writers,
    /** Whether somebody writes each organization. */
    isWritten,
    /** Whether the first reading of the whole list is in. */
    isWhole,
    /** Whether all alerts were read once. */
    hasAlerts: writers.every(({ hasAlerts }) => hasAlerts),
    /** Until when it is true, in milliseconds since the epoch; undefined when it never was. */
    asOfMs,
    ageMs: asOfMs === undefined ? undefined : nowMs - asOfMs,
    /** How far what is written is behind the service, by the messages' own times. */
    behindMs,
    isBehind,
    /** When the whole list was last read, and what the service counted. */
    proven: provenMs === undefined ? undefined : { atMs: provenMs, total },
    openGaps,
    /** Since when changes are kept. */
    keptSince: (await readMeta(database))['kept_since'],
    /** A writer has written nothing yet. */
    isStarting,
    /** Live writers, the whole fleet, and no open gap: it can be taken for the service. */
    isCurrent: isWritten && !isStarting && isWhole && openGaps.length === 0 && !isBehind,
  };
}

/** Undefined where a part of it is not known, or there is none. */
function known(figure: number): number | undefined {
  return Number.isFinite(figure) ? figure : undefined;
}

/** Gaps, with how many changes were found afterwards; `tail` is what stands behind the table: which, in which order, how many. */
export async function readGaps(database: Database, tail: string, ...values: readonly Value[]) {
  const rows = await database.all(
    `SELECT DISTINCT started, ended, reason, found FROM gaps ${tail}`,
    values,
  );
  return rows.map(({ started, ended, reason, found }) => ({
    ...{ started: String(started), reason: String(reason), found: Number(found) },
    /** Null while it is open. */
    ended: ended === null ? null : String(ended),
  }));
}
