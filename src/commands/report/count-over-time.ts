// Counts the changes and alerts of each hour, day or week in the history of the mirror.

import type { Mirror } from '../../mirror/open.js';
import { utcOfMs } from '../../mirror/rows.js';
import type { TimeZone } from '../../system/time-zone.js';
import { readTime } from '../../terminal/time.js';
import type { OverTimeRow } from '../../views/over-time.js';
import { coverageOf } from './figures.js';
import { readSight, type Sight } from './gaps.js';
import { type Interval, splitByTime, type TimePart, type TimePartKind } from './parts.js';

/** The counts of a period, divided into hours, days or weeks. */
export interface CountsOverTime {
  readonly by: TimePartKind;
  readonly period: Interval;
  readonly timezone: string;
  /** The share of the period for which the mirror has data, in percent. */
  readonly coverage: number;
  /** The times for which the mirror has no data. */
  readonly unseen: readonly Interval[];
  readonly rows: readonly OverTimeRow[];
}

const RENTED = '"rented"';
const CHANGES =
  "SELECT at, old, new, source FROM changes WHERE field = 'state' AND at >= ? AND at < ?";
const ALERTS = 'SELECT created_utc FROM alerts WHERE created_utc >= ? AND created_utc < ?';

interface Tally {
  rentals: number;
  returns: number;
  changes: number;
  alerts: number;
  /**
   * Whether a change in this part of the period was found only by reading the list. If so, earlier
   * changes may have been missed.
   */
  hasListChange: boolean;
}

export async function countOverTime(
  { database, status: readStatus }: Mirror,
  { period, by, zone }: { period: Interval; by: TimePartKind; zone: TimeZone },
): Promise<CountsOverTime> {
  const parts = splitByTime(period, by, zone);
  const status = await readStatus();
  // A current mirror is treated as complete, because it is only a few seconds behind the service.
  const seenUntilMs = status.isCurrent
    ? Number.POSITIVE_INFINITY
    : (status.asOfMs ?? Number.NEGATIVE_INFINITY);
  const sight = await readSight(database, status.keptSince, seenUntilMs);
  const tallies = parts.map(
    (): Tally => ({ rentals: 0, returns: 0, changes: 0, alerts: 0, hasListChange: false }),
  );
  const tallyAt = (time: unknown) => tallies[indexAt(parts, readTime(time) ?? Number.NaN)];
  const limits = [utcOfMs(period.fromMs), utcOfMs(period.untilMs)];
  for await (const changes of database.each(CHANGES, limits)) {
    for (const { at, old, new: state, source } of changes) {
      const tally = tallyAt(at);
      if (tally === undefined) continue;
      tally.changes += 1;
      if (state === RENTED) tally.rentals += 1;
      if (old === RENTED && state !== RENTED) tally.returns += 1;
      if (source === 'list') tally.hasListChange = true;
    }
  }
  for await (const alerts of database.each(ALERTS, limits)) {
    for (const { created_utc: created } of alerts) {
      const tally = tallyAt(created);
      if (tally !== undefined) tally.alerts += 1;
    }
  }
  return {
    by,
    period,
    timezone: zone.name ?? Intl.DateTimeFormat().resolvedOptions().timeZone,
    coverage: coverageOf(period, sight),
    unseen: sight.unseenIn(period),
    rows: parts.map((part, index) =>
      rowOf(part, tallies[index] as Tally, { sight, hasAlerts: status.hasAlerts }),
    ),
  };
}

/**
 * Returns the index of the part that contains a time, or -1. The parts are consecutive and have no
 * gaps.
 */
function indexAt(parts: readonly TimePart[], ms: number): number {
  let [low, high] = [0, parts.length - 1];
  while (low <= high) {
    const middle = Math.floor((low + high) / 2);
    const part = parts[middle];
    if (part === undefined || Number.isNaN(ms)) return -1;
    if (ms < part.fromMs) high = middle - 1;
    else if (ms >= part.untilMs) low = middle + 1;
    else return middle;
  }
  return -1;
}

/** Returns the output row for a part of the period. Counts that are unknown are null. */
function rowOf(
  part: TimePart,
  { rentals, returns, changes, alerts, hasListChange }: Tally,
  { sight, hasAlerts }: { sight: Sight; hasAlerts: boolean },
): OverTimeRow {
  const coverage = coverageOf(part, sight);
  const isKnown = coverage > 0 || changes > 0;
  const known = (count: number) => (isKnown ? count : null);
  return {
    part: part.name,
    from: new Date(part.fromMs).toISOString(),
    until: new Date(part.untilMs).toISOString(),
    rentals: known(rentals),
    returns: known(returns),
    changes: known(changes),
    alerts: hasAlerts ? alerts : null,
    coverage,
    certain: sight.sawWhole(part.fromMs, part.untilMs) && !hasListChange,
  };
}
