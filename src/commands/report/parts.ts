// The period of a report, and its parts: days, weeks or months in local time.

import { usageError } from '../../errors.js';
import { HOUR_MS, MINUTE_MS } from '../../system/time-units.js';
import { localTimeAt, startOfDay, type TimeZone } from '../../system/time-zone.js';

export const PARTS = ['day', 'week', 'month', 'model', 'zone'] as const;
export type PartKind = (typeof PARTS)[number];

/** The time units by which `bicycles stats` can divide its counts. */
export const TIME_PARTS = ['hour', 'day', 'week'] as const;
export type TimePartKind = (typeof TIME_PARTS)[number];

/** All time units into which a report can be divided. */
type AnyTimePart = TimePartKind | 'month';

/** A period in milliseconds since the epoch. It includes its start and excludes its end. */
export interface Interval {
  readonly fromMs: number;
  readonly untilMs: number;
}

export interface TimePart extends Interval {
  /**
   * The local date on which the part starts, such as `2026-11-23`. For a month, only the year and
   * the month, such as `2026-11`.
   */
  readonly name: string;
}

/** The maximum number of parts. A report with more parts would not be readable. */
const MOST_PARTS = 400;
/**
 * Maps each unit to the next longer unit. The error about a report with too many parts suggests it.
 * Every command that divides a report into parts accepts these units.
 */
const LONGER: { readonly [kind: string]: string } = { hour: 'day', day: 'week' };

/** Returns the previous period of the same length. */
export function intervalBefore({ fromMs, untilMs }: Interval): Interval {
  return { fromMs: fromMs - (untilMs - fromMs), untilMs: fromMs };
}

/**
 * Splits the period at local midnights. The first and the last part can be shorter than a day, week
 * or month. A week starts on Monday.
 */
export function splitByTime(
  { fromMs, untilMs }: Interval,
  kind: AnyTimePart,
  zone: TimeZone,
): TimePart[] {
  const parts: TimePart[] = [];
  let startMs = fromMs;
  while (startMs < untilMs) {
    const nextMs = endOfPart(startMs, kind, zone);
    const name = nameOfPart(startMs, kind, zone);
    parts.push({ name, fromMs: startMs, untilMs: Math.min(nextMs, untilMs) });
    if (parts.length > MOST_PARTS)
      throw usageError(
        `--by ${kind} would divide the period into more than ${MOST_PARTS} parts`,
        `choose a shorter period${LONGER[kind] === undefined ? '' : `, or --by ${LONGER[kind]}`}`,
      );
    startMs = nextMs;
  }
  return kind === 'hour'
    ? parts.map((part, index) => nameClearly(parts, index, part, zone))
    : parts;
}

/**
 * Adds the UTC offset to the name of an hour when a neighbouring hour has the same name. This
 * happens when the clocks are set back.
 */
function nameClearly(
  parts: readonly TimePart[],
  index: number,
  part: TimePart,
  zone: TimeZone,
): TimePart {
  const isTwice = [parts[index - 1], parts[index + 1]].some((other) => other?.name === part.name);
  return isTwice ? { ...part, name: `${part.name}${showOffset(part.fromMs, zone)}` } : part;
}

/** Formats the offset from UTC: `+02:00`. */
function showOffset(atMs: number, zone: TimeZone): string {
  const minutes = zone.offsetMinutes(atMs);
  const two = (value: number) => String(Math.trunc(Math.abs(value))).padStart(2, '0');
  return `${minutes < 0 ? '-' : '+'}${two(minutes / 60)}:${two(minutes % 60)}`;
}

/** Returns the local start of the hour, day or week that contains a time. */
export function startOfPart(atMs: number, kind: TimePartKind, zone: TimeZone): number {
  if (kind === 'hour') return startOfHour(atMs, zone);
  const { year, month, day } = localTimeAt(atMs, zone);
  if (kind === 'day') return startOfDay({ year, month, day }, zone);
  const weekday = new Date(Date.UTC(year, month - 1, day)).getUTCDay();
  return startOfDay(dateOf(Date.UTC(year, month - 1, day - ((weekday + 6) % 7))), zone);
}

/** Returns the start of the local hour. Some time zone offsets are not a whole number of hours. */
function startOfHour(atMs: number, zone: TimeZone): number {
  const offsetMs = zone.offsetMinutes(atMs) * MINUTE_MS;
  return Math.floor((atMs + offsetMs) / HOUR_MS) * HOUR_MS - offsetMs;
}

function endOfPart(startMs: number, kind: AnyTimePart, zone: TimeZone): number {
  if (kind === 'hour') return startOfHour(startMs, zone) + HOUR_MS;
  const { year, month, day } = localTimeAt(startMs, zone);
  return startOfDay(nextStart({ year, month, day }, kind), zone);
}

function nameOfPart(startMs: number, kind: AnyTimePart, zone: TimeZone): string {
  const { year, month, day, hour, minute } = localTimeAt(startMs, zone);
  const time = new Date(Date.UTC(year, month - 1, day, hour, minute)).toISOString();
  if (kind === 'hour') return `${time.slice(0, 10)} ${time.slice(11, 16)}`;
  return kind === 'month' ? time.slice(0, 7) : time.slice(0, 10);
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
