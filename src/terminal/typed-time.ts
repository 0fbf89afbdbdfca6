// Reads times as people type them. A time without a zone is local; see docs/conditions.md.

import { usageError } from '../errors.js';
import { DAY_MS } from '../system/time-units.js';
import {
  instantOf,
  isPossible,
  type LocalTime,
  localTimeAt,
  startOfDay,
  type TimeZone,
} from '../system/time-zone.js';
import { parseDuration, readTime } from './time.js';

/** The current time and the time zone, which are used to interpret a typed time. */
export interface Now {
  /** Milliseconds since the epoch. */
  ms: number;
  zone: TimeZone;
}

/**
 * A parsed time that the user typed. It is a function, because the result is not fixed. An age such
 * as `2h` and a word such as `today` depend on the current time, and a local time depends on the
 * time zone.
 */
export type TypedTime = (now: Now) => number;

type CalendarDay = Pick<LocalTime, 'year' | 'month' | 'day'>;
type ClockTime = Pick<LocalTime, 'hour' | 'minute' | 'second' | 'millisecond'>;

const AGE = /^-?(\d+(?:\.\d+)?(?:ms|s|m|h|d|w))$/;
const ISO_DATE = /^(\d{4})-(\d\d)-(\d\d)$/;
const POINTED_DATE = /^(\d{1,2})\.(\d{1,2})\.(\d{4})$/;
const CLOCK = /^(\d{1,2}):(\d\d)(?::(\d\d)(?:[.,](\d{1,9}))?)?$/;
const WEEKDAYS = ['sunday', 'monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday'];
/** Longer strings are refused without parsing. */
const LONGEST_CHARACTERS = 60;

const FORMS =
  'for example yesterday, monday, 2h, 7d, 1w, 2026-11-23, "2026-11-23 08:00", 23.11.2026 or 2026-11-23T08:00:00Z';

/**
 * Parses a typed time: an age (`2h`, `-2h`, `1w`); a day (`today`, `yesterday`, `monday`,
 * `2026-11-23`, `23.11.2026`), optionally followed by a time of day (`monday 08:00`); or ISO 8601
 * with a zone. Returns undefined for any other input, including a date that does not exist.
 */
export function parseTypedTime(typed: string): TypedTime | undefined {
  const text = typed.trim();
  if (text.length > LONGEST_CHARACTERS) return undefined;
  const age = AGE.exec(text)?.[1];
  if (age !== undefined) {
    const milliseconds = parseDuration(age);
    return ({ ms }) => ms - milliseconds;
  }
  if (text.toLowerCase() === 'now') return ({ ms }) => ms;
  return parseZoned(text) ?? parseLocal(text);
}

/** Parses a flag's time. Throws a usage error that names the flag. */
export function readTimeFlag(flag: string, text: string, now: Now): number {
  const time = parseTypedTime(text);
  if (time !== undefined) return time(now);
  const isDate = ISO_DATE.test(text.trim()) || POINTED_DATE.test(text.trim());
  const reason = isDate
    ? `: there is no such date as ${text.trim()}`
    : ` must be a time, not "${text}"`;
  throw usageError(`${flag}${reason}`, FORMS);
}

/** ISO 8601 with `Z` or an offset. */
function parseZoned(text: string): TypedTime | undefined {
  const [, day = '', rest = ''] = /^(\d{4}-\d\d-\d\d)[T ](.*)$/i.exec(text) ?? [];
  if (!/(?:Z|[+-]\d\d(?::?\d\d)?)$/i.test(rest)) return undefined;
  const calendarDay = parseCalendarDay(day);
  if (calendarDay === undefined) return undefined;
  const ms = readTime(text.replace(/([+-]\d\d)$/, '$1:00'));
  return ms === undefined ? undefined : () => ms;
}

/** Reads a day, or a day with a time of day, in the time zone. */
function parseLocal(text: string): TypedTime | undefined {
  const [, dayText = '', clockText] = /^(.*?)(?:(?:\s+|(?<=\d)T)(\d{1,2}:.*))?$/i.exec(text) ?? [];
  const day = parseDay(dayText.trim());
  if (day === undefined) return undefined;
  if (clockText === undefined) return (now) => startOfDay(day(now), now.zone);
  const clock = parseClock(clockText);
  return clock && ((now) => instantOf({ ...day(now), ...clock }, now.zone));
}

function parseDay(text: string): ((now: Now) => CalendarDay) | undefined {
  const word = text.toLowerCase();
  if (word === 'today') return ({ ms, zone }) => localTimeAt(ms, zone);
  if (word === 'yesterday') return (now) => daysBefore(now, 1);
  const weekday = WEEKDAYS.indexOf(word);
  if (weekday >= 0) return (now) => daysBefore(now, (weekdayOf(now) - weekday + 7) % 7);
  const date = parseCalendarDay(text);
  return date && (() => date);
}

/** The day of the week, Sunday is 0. */
function weekdayOf({ ms, zone }: Now): number {
  const { year, month, day } = localTimeAt(ms, zone);
  return new Date(Date.UTC(year, month - 1, day)).getUTCDay();
}

/**
 * Returns the date that is this number of days before today. Every day counts as one day, even if
 * it has 23 or 25 hours.
 */
function daysBefore({ ms, zone }: Now, days: number): CalendarDay {
  const { year, month, day } = localTimeAt(ms, zone);
  const date = new Date(Date.UTC(year, month - 1, day) - days * DAY_MS);
  return {
    year: date.getUTCFullYear(),
    month: date.getUTCMonth() + 1,
    day: date.getUTCDate(),
  };
}

function parseCalendarDay(text: string): CalendarDay | undefined {
  const [, isoYear, isoMonth, isoDay] = ISO_DATE.exec(text) ?? [];
  const [, pointedDay, pointedMonth, pointedYear] = POINTED_DATE.exec(text) ?? [];
  const date = {
    year: Number(isoYear ?? pointedYear),
    month: Number(isoMonth ?? pointedMonth),
    day: Number(isoDay ?? pointedDay),
  };
  const midnight = { ...date, hour: 0, minute: 0, second: 0, millisecond: 0 };
  return isPossible(midnight) ? date : undefined;
}

function parseClock(text: string): ClockTime | undefined {
  const match = CLOCK.exec(text.trim());
  if (match === null) return undefined;
  const [, hour, minute, second = '0', fraction = ''] = match;
  const clock = {
    hour: Number(hour),
    minute: Number(minute),
    second: Number(second),
    millisecond: Number(fraction.padEnd(3, '0').slice(0, 3)),
  };
  return isPossible({ year: 2000, month: 1, day: 1, ...clock }) ? clock : undefined;
}
