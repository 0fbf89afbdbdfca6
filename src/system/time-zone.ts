// Time zones, either the machine's or a named one. Converts between instants and local times.

import { DAY_MS, MINUTE_MS } from './time-units.js';

/**
 * The offset of a time zone changes only at quarter-hour boundaries. Therefore one offset is cached
 * for each quarter of an hour.
 */
const QUARTER_MS = 15 * MINUTE_MS;

export interface TimeZone {
  /** The IANA name; undefined for the machine's own zone. */
  readonly name: string | undefined;
  /**
   * Returns the offset of local time from UTC in minutes. It is positive when local time is ahead
   * of UTC. `atMs` is in milliseconds since the epoch.
   */
  offsetMinutes(atMs: number): number;
}

/** A date and a time of day. Months and days count from 1. */
export interface LocalTime {
  year: number;
  month: number;
  day: number;
  hour: number;
  minute: number;
  second: number;
  millisecond: number;
}

/** The machine's zone. `TZ` or the system sets it. */
export const MACHINE_ZONE: TimeZone = {
  name: undefined,
  offsetMinutes: (atMs) => -new Date(atMs).getTimezoneOffset(),
};

/** Returns the usual spelling of an IANA name, or undefined when the zone does not exist. */
export function canonicalTimeZone(text: string): string | undefined {
  // Some versions of Node accept `+02:00` as a time zone. fleet refuses it, because such a zone
  // does not follow daylight saving time.
  if (!/^[a-z]/i.test(text.trim())) return undefined;
  try {
    const typed = text.trim();
    const { timeZone } = new Intl.DateTimeFormat('en', { timeZone: typed }).resolvedOptions();
    const isOtherName = timeZone.toLowerCase() !== typed.toLowerCase();
    // Keeps the spelling of an alias. For example, Asia/Kolkata does not become Asia/Calcutta.
    return isOtherName && /^[A-Z]/.test(typed) ? typed : timeZone;
  } catch {
    return undefined;
  }
}

/**
 * Opens a zone by its IANA name. Without a name, opens the machine's zone. Throws a RangeError for
 * an unknown name.
 */
export function openTimeZone(name: string | undefined): TimeZone {
  if (name === undefined) return MACHINE_ZONE;
  const format = new Intl.DateTimeFormat('en-US', {
    timeZone: name,
    calendar: 'gregory',
    numberingSystem: 'latn',
    hourCycle: 'h23',
    era: 'short',
    year: 'numeric',
    month: 'numeric',
    day: 'numeric',
    hour: 'numeric',
    minute: 'numeric',
    second: 'numeric',
  });
  let known: { quarter: number; offset: number } | undefined;
  return {
    name,
    offsetMinutes(atMs) {
      const quarter = Math.floor(atMs / QUARTER_MS);
      if (known?.quarter !== quarter) known = { quarter, offset: readOffset(format, atMs) };
      return known.offset;
    },
  };
}

function readOffset(format: Intl.DateTimeFormat, atMs: number): number {
  const wholeSecondsMs = Math.floor(atMs / 1000) * 1000;
  const parts = new Map(
    format.formatToParts(wholeSecondsMs).map(({ type, value }) => [type, value]),
  );
  const numberOf = (type: Intl.DateTimeFormatPartTypes) => Number(parts.get(type));
  const year = parts.get('era') === 'BC' ? 1 - numberOf('year') : numberOf('year');
  const localMs = utcMs({
    year,
    month: numberOf('month'),
    day: numberOf('day'),
    hour: numberOf('hour'),
    minute: numberOf('minute'),
    second: numberOf('second'),
    millisecond: 0,
  });
  // Before 1900, offsets include seconds.
  return (localMs - wholeSecondsMs) / MINUTE_MS;
}

/** Returns the milliseconds since the epoch for a time in UTC. */
function utcMs({ year, month, day, hour, minute, second, millisecond }: LocalTime): number {
  const date = new Date(0);
  // Date.UTC interprets the years 0 to 99 as 1900 to 1999.
  date.setUTCFullYear(year, month - 1, day);
  date.setUTCHours(hour, minute, second, millisecond);
  return date.getTime();
}

/** Returns the zone's local date and time at an instant. */
export function localTimeAt(atMs: number, zone: TimeZone): LocalTime {
  const date = new Date(atMs + zone.offsetMinutes(atMs) * MINUTE_MS);
  return {
    year: date.getUTCFullYear(),
    month: date.getUTCMonth() + 1,
    day: date.getUTCDate(),
    hour: date.getUTCHours(),
    minute: date.getUTCMinutes(),
    second: date.getUTCSeconds(),
    millisecond: date.getUTCMilliseconds(),
  };
}

/** Whether the date and time exist in the calendar. 31 February and 24:00 do not. */
export function isPossible(time: LocalTime): boolean {
  const date = new Date(utcMs(time));
  return (
    date.getUTCFullYear() === time.year &&
    date.getUTCMonth() + 1 === time.month &&
    date.getUTCDate() === time.day &&
    date.getUTCHours() === time.hour &&
    date.getUTCMinutes() === time.minute &&
    date.getUTCSeconds() === time.second
  );
}

/**
 * Returns the instant of a local time, in milliseconds since the epoch. A local time that occurs
 * twice (when the clock is set back) means its first occurrence. A local time that is skipped (when
 * the clock is set forward) is moved forward by the same amount: 02:30 becomes 03:30.
 */
export function instantOf(time: LocalTime, zone: TimeZone): number {
  const localMs = utcMs(time);
  const [before, after] = [localMs - DAY_MS, localMs + DAY_MS].map((ms) => zone.offsetMinutes(ms));
  const instants = [before, after]
    .map((offset = 0) => ({ ms: localMs - offset * MINUTE_MS, offset }))
    .filter(({ ms, offset }) => zone.offsetMinutes(ms) === offset)
    .map(({ ms }) => ms);
  if (instants.length > 0) return Math.min(...instants);
  return localMs - (before ?? 0) * MINUTE_MS;
}

/**
 * Returns the first instant of a date in the zone. This instant is later than midnight when the
 * clock skips midnight.
 */
export function startOfDay(
  { year, month, day }: Pick<LocalTime, 'year' | 'month' | 'day'>,
  zone: TimeZone,
): number {
  const midnight = { year, month, day, hour: 0, minute: 0, second: 0, millisecond: 0 };
  const localMs = utcMs(midnight);
  const found = instantOf(midnight, zone);
  const isMidnight = found + zone.offsetMinutes(found) * MINUTE_MS === localMs;
  if (isMidnight) return found;
  // The clock skips midnight, so the day begins at the clock change. Searches the previous 24 hours
  // for the clock change.
  let [early, late] = [found - DAY_MS, found];
  while (late - early > 1) {
    const middle = Math.floor((early + late) / 2);
    const isInDay = middle + zone.offsetMinutes(middle) * MINUTE_MS >= localMs;
    if (isInDay) late = middle;
    else early = middle;
  }
  return late;
}

const twoDigits = (number: number) => String(number).padStart(2, '0');

/** Formats the time of day in the zone: `14:03:59`. */
export function showClock(atMs: number, zone: TimeZone): string {
  const { hour, minute, second } = localTimeAt(atMs, zone);
  return [hour, minute, second].map(twoDigits).join(':');
}

/** Formats the date and time in the zone as people read and type them: `2026-11-28 14:03:59`. */
export function showLocalTime(atMs: number, zone: TimeZone): string {
  const { year, month, day } = localTimeAt(atMs, zone);
  const date = [String(year).padStart(4, '0'), twoDigits(month), twoDigits(day)].join('-');
  return `${date} ${showClock(atMs, zone)}`;
}
