// Determines the age, the completeness and the gaps of a mirror, and whether it is current.

import { readTime } from '../terminal/time.js';
import type { Database, Value } from './database.js';
import { readMeta } from './schema.js';
import { databaseTime, isAlive, type Lease, readLeases } from './writers.js';

/** A mirror that is further behind the service than this is not current. */
export const MOST_BEHIND_MS = 10_000;
/**
 * For a role that does not see every bicycle, a mirror is not current when its last reading of the
 * whole list is older than this, because only such readings show deletions.
 */
export const MOST_LIST_AGE_MS = 10 * 60_000;

export type RecordedGap = Awaited<ReturnType<typeof readGaps>>[number];

export type MirrorStatus = Awaited<ReturnType<typeof readStatus>>;

/** Returns the state of an organization's writer. */
function conditionOf(lease: Lease, now: string) {
  const { heartbeat, owner, state } = lease;
  const isWritten = isAlive(lease, now);
  // The first batch records the time before it as a gap.
  const isStarting = isWritten && state?.owner !== owner;
  const receivedMs =
    (isWritten && !isStarting ? readTime(heartbeat) : state?.heardMs) ?? Number.NaN;
  const behindMs = state?.behindMs ?? 0;
  // Messages that were received at that time are older by the delay of the writer, even when the
  // writer has ended.
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
  // Each writer records the same value for all of its organizations.
  const proven = [...new Map(states.map((state) => [state?.owner, state?.proven])).values()];
  const provenMs = known(Math.min(...proven.map((each) => each?.atMs ?? Number.NaN)));
  const isHidden = states.some((state) => state?.seesAll === false);
  const isListOld = isHidden && !(nowMs - (provenMs ?? Number.NaN) <= MOST_LIST_AGE_MS);
  const total = known(proven.reduce((sum, each) => sum + (each?.total ?? Number.NaN), 0));
  return {
    /** One entry per organization. */
    writers,
    /** Whether every organization has a live writer. */
    isWritten,
    /** Whether the first reading of the whole list is complete. */
    isWhole,
    /** Whether all alerts were read once. */
    hasAlerts: writers.every(({ hasAlerts }) => hasAlerts),
    /**
     * Until when the mirror is accurate, in milliseconds since the epoch; undefined when it never
     * was.
     */
    asOfMs,
    ageMs: asOfMs === undefined ? undefined : nowMs - asOfMs,
    /** How far the mirror is behind the service, by the times of the messages. */
    behindMs,
    isBehind,
    /** When the whole list was last read, and the service's count. */
    proven: provenMs === undefined ? undefined : { atMs: provenMs, total },
    /** Whether the last whole reading is too old for a role that does not see every bicycle. */
    isListOld,
    openGaps,
    /** Since when changes are kept. */
    keptSince: (await readMeta(database))['kept_since'],
    /** Whether a writer has not written anything yet. */
    isStarting,
    /**
     * Whether the mirror can replace the service: live writers, the whole fleet, no open gap, and
     * not behind.
     */
    isCurrent:
      isWritten && !isStarting && isWhole && openGaps.length === 0 && !isBehind && !isListOld,
  };
}

/** Returns undefined for a figure that is not finite. */
function known(figure: number): number | undefined {
  return Number.isFinite(figure) ? figure : undefined;
}

/**
 * Reads gaps with the number of changes that were found afterwards. `tail` is the SQL for
 * conditions, order and limit.
 */
export async function readGaps(database: Database, tail: string, ...values: readonly Value[]) {
  const rows = await database.all(
    `SELECT DISTINCT started, ended, reason, found FROM gaps ${tail}`,
    values,
  );
  return rows.map(({ started, ended, reason, found }) => ({
    ...{ started: String(started), reason: String(reason), found: Number(found) },
    /** Null while the gap is open. */
    ended: ended === null ? null : String(ended),
  }));
}
