// The periods of a report, and its parts by local day, week or month.

import { usageError } from '../../errors.js';
import { localTimeAt, startOfDay, type TimeZone } from '../../system/time-zone.js';

export const PARTS = ['day', 'week', 'month', 'model', 'zone'] as const;
export type PartKind = (typeof PARTS)[number];

/** From the first moment up to but not including the second, in milliseconds since the epoch. */
export interface Interval {
  readonly fromMs: number;
  readonly untilMs: number;
}

export interface TimePart extends Interval {
  /** The local date on which it starts, such as `2026-11-23`; of a month only `2026-11`. */
  readonly name: string;
}

/** More parts are a mistake and would not be readable. */
const MOST_PARTS = 400;

/** Returns the period before, which has the same length. */
export function intervalBefore({ fromMs, untilMs }: Interval): Interval {
  return { fromMs: fromMs - (untilMs - fromMs), untilMs: fromMs };
}

/**
 * Splits the period at local midnights. The first and the last part can be shorter than a day, week
 * or month. Weeks start on Monday.
 */
export function splitByTime(
  { fromMs, untilMs }: Interval,
  kind: 'day' | 'week' | 'month',
  zone: TimeZone,
): TimePart[] {
  const parts: TimePart[] = [];
  let startMs = fromMs;
  while (startMs < untilMs) {
    const { year, month, day } = localTimeAt(startMs, zone);
    const nextMs = startOfDay(nextStart({ year, month, day }, kind), zone);
    const date = new Date(Date.UTC(year, month - 1, day)).toISOString().slice(0, 10);
    const name = kind === 'month' ? date.slice(0, 7) : date;
    parts.push({ name, fromMs: startMs, untilMs: Math.min(nextMs, untilMs) });
    if (parts.length > MOST_PARTS)
      throw usageError(
        `--by ${kind} would have more than ${MOST_PARTS} parts`,
        'choose a shorter period, or --by month',
      );
    startMs = nextMs;
  }
  return parts;
}

interface CalendarDate {
  year: number;
  month: number;
  day: number;
}

/** Returns the date on which the next day, week or month starts. */
function nextStart({ year, month, day }: CalendarDate, kind: 'day' | 'week' | 'month') {
  if (kind === 'month') return dateOf(Date.UTC(year, month, 1));
  const weekday = new Date(Date.UTC(year, month - 1, day)).getUTCDay();
  const days = kind === 'day' ? 1 : 7 - ((weekday + 6) % 7);
  return dateOf(Date.UTC(year, month - 1, day + days));
}

function dateOf(utcMs: number): CalendarDate {
  const date = new Date(utcMs);
  return {
    year: date.getUTCFullYear(),
    month: date.getUTCMonth() + 1,
    day: date.getUTCDate(),
  };
}
