// Determines the status of a mirror: its age, completeness and gaps, and whether it is up to date.

import { readTime } from '../terminal/time.js';
import type { Database, Value } from './database.js';
import { readMeta } from './schema.js';
import { databaseTime, isAlive, type Lease, readLeases } from './writers.js';

/** A mirror that is further behind the service than this is not up to date. */
export const MOST_BEHIND_MS = 10_000;
/**
 * The maximum age of the last read of the whole list. It applies to a token whose role does not see
 * every bicycle. With such a token, only a read of the whole list reveals deletions. A mirror whose
 * last such read is older is not up to date.
 */
export const MOST_LIST_AGE_MS = 10 * 60_000;

export type RecordedGap = Awaited<ReturnType<typeof readGaps>>[number];

export type MirrorStatus = Awaited<ReturnType<typeof readStatus>>;

/** Returns the status of an organization's writer. */
function conditionOf(lease: Lease, now: string) {
  const { heartbeat, owner, state } = lease;
  const isWritten = isAlive(lease, now);
  // A new writer that has not written a batch yet. The time before its first batch will be recorded
  // as a gap.
  const isStarting = isWritten && state?.owner !== owner;
  const receivedMs =
    (isWritten && !isStarting ? readTime(heartbeat) : state?.heardMs) ?? Number.NaN;
  const behindMs = state?.behindMs ?? 0;
  // The delay is subtracted even after the writer has ended. The writer's last messages arrived
  // with this delay, so the mirror is complete only up to that earlier time.
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
  // A writer stores the same `proven` value for each of its organizations. The map keeps one value
  // per writer, so that totals do not count it twice.
  const proven = [...new Map(states.map((state) => [state?.owner, state?.proven])).values()];
  const provenMs = known(Math.min(...proven.map((each) => each?.atMs ?? Number.NaN)));
  const isHidden = states.some((state) => state?.seesAll === false);
  const isListOld = isHidden && !(nowMs - (provenMs ?? Number.NaN) <= MOST_LIST_AGE_MS);
  const total = known(proven.reduce((sum, each) => sum + (each?.total ?? Number.NaN), 0));
  return {
    /** The writers, one for each organization. */
    writers,
    /** Whether every organization has a running writer. */
    isWritten,
    /** Whether the whole list was read at least once. */
    isWhole,
    /** Whether all alerts were read at least once. */
    hasAlerts: writers.every(({ hasAlerts }) => hasAlerts),
    /**
     * The time up to which the mirror is accurate, in milliseconds since the epoch. Undefined when
     * no such time is known.
     */
    asOfMs,
    ageMs: asOfMs === undefined ? undefined : nowMs - asOfMs,
    /** How far the mirror is behind the service, judging by the times in the messages. */
    behindMs,
    isBehind,
    /** When the whole list was last read, and how many bicycles the service counted then. */
    proven: provenMs === undefined ? undefined : { atMs: provenMs, total },
    /**
     * Whether the last read of the whole list is too long ago. This matters only for a role that
     * does not see every bicycle.
     */
    isListOld,
    openGaps,
    /** The time since which the history is kept. */
    keptSince: (await readMeta(database))['kept_since'],
    /** Whether a writer was started but has not written anything yet. */
    isStarting,
    /**
     * Whether the mirror can answer in place of the service. This requires that all writers run,
     * the whole list was read, no gap is open, and the mirror is not behind.
     */
    isCurrent:
      isWritten && !isStarting && isWhole && openGaps.length === 0 && !isBehind && !isListOld,
  };
}

/** Returns the number, or undefined when it is not finite. */
function known(figure: number): number | undefined {
  return Number.isFinite(figure) ? figure : undefined;
}

/**
 * Reads gaps. `found` is the number of changes that happened in the gap and were found later.
 * `tail` is SQL with the conditions, the order and the limit.
 */
export async function readGaps(database: Database, tail: string, ...values: readonly Value[]) {
  const rows = await database.all(
    `SELECT DISTINCT started, ended, reason, found FROM gaps ${tail}`,
    values,
  );
  return rows.map(({ started, ended, reason, found }) => ({
    ...{ started: String(started), reason: String(reason), found: Number(found) },
    /** The end of the gap, or null while it is open. */
    ended: ended === null ? null : String(ended),
  }));
}
