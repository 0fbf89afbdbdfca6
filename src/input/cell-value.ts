// Converts the stored values of workbook cells to strings.

import { DAY_MS } from '../system/time-units.js';
import type { FormatPart, NumberFormat } from './number-format.js';

/** A cell's text, or the reason why the cell cannot be read exactly. */
export type CellText = { readonly text: string } | { readonly problem: string };

/** The base year for a workbook's dates. Old Excel for Mac counts from 1904. */
export type DateSystem = 1900 | 1904;

/** The serial number of 1900-02-29. Excel has this date, although 1900 was not a leap year. */
const MISSING_LEAP_DAY = 60;
const LAST_DAY_MS = Date.UTC(9999, 11, 31);
/**
 * Excel keeps only 15 digits of an integer. It cannot store integers of this size or larger
 * exactly.
 */
const SMALLEST_INEXACT_INTEGER = 1e15;
/** The maximum number of decimal digits needed to identify a double. */
const MOST_DIGITS = 17;
const LONGEST_NUMBER_CHARACTERS = 400;

/**
 * Reads a stored number according to its number format. Returns the shortest decimal text with the
 * same value: `0.29` for `0.28999999999999998`, which is how Excel stores 0.29.
 */
export function readNumberCell(raw: string, format: NumberFormat, dates: DateSystem): CellText {
  const stored = raw.trim();
  if (!isDecimal(stored)) return { problem: `"${raw.slice(0, 30)}" is not a number` };
  const value = Number(stored);
  const reading = format.readingOf(value);
  if (reading.kind === 'refused') return { problem: `${stored} (${reading.reason})` };
  if (reading.kind === 'date') return readDate(value, stored, reading.hasClock, dates);
  if (reading.kind === 'time')
    return { problem: `a time of day or duration without a date (stored as ${stored})` };
  if (Math.abs(value) >= SMALLEST_INEXACT_INTEGER)
    return { problem: `${stored} (more than 15 digits, which Excel does not keep)` };
  if (significantDigits(stored) > MOST_DIGITS)
    return { problem: `${stored} (more digits than Excel keeps)` };
  if (reading.kind === 'number') return { text: value === 0 ? '0' : String(value) };
  if (!Number.isInteger(value))
    return { problem: `${stored} (its number format shows an integer)` };
  return { text: pad(value, reading.parts, reading.addsSign) };
}

/**
 * Whether the text is a decimal number. This is the `double` of XML Schema without special values
 * such as INF.
 */
function isDecimal(text: string): boolean {
  return (
    text.length <= LONGEST_NUMBER_CHARACTERS &&
    /^[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?$/.test(text)
  );
}

function significantDigits(decimal: string): number {
  const [mantissa = ''] = decimal.toLowerCase().split('e');
  const digits = mantissa.replace(/[+.-]/g, '');
  return digits.replace(/^0+/, '').replace(/0+$/, '').length;
}

/** Fills the digit places of a number format with the digits of an integer, from right to left. */
function pad(value: number, parts: readonly FormatPart[], addsSign: boolean): string {
  const places = parts.filter((part) => 'digit' in part).length;
  const digits = String(Math.abs(value)).padStart(places, '0');
  let used = digits.length - places;
  let isFirst = true;
  const shown = parts.map((part) => {
    if ('literal' in part) return part.literal;
    const from = isFirst ? 0 : used;
    isFirst = false;
    used++;
    return digits.slice(from, used);
  });
  return `${addsSign ? '-' : ''}${shown.join('')}`;
}

function readDate(serial: number, stored: string, hasClock: boolean, dates: DateSystem): CellText {
  if (serial >= 0 && serial < 1)
    return { problem: `a time of day without a date (stored as ${stored})` };
  const time = Math.round(timeOfSerial(serial, dates));
  const isLeapDay = dates === 1900 && Math.floor(serial) === MISSING_LEAP_DAY;
  if (serial < 0 || isLeapDay || !(time < LAST_DAY_MS + DAY_MS))
    return { problem: `a date that does not exist (stored as ${stored})` };
  const iso = new Date(time).toISOString();
  const isMidnight = time % DAY_MS === 0;
  return { text: isMidnight && !hasClock ? iso.slice(0, 10) : localTimeOf(iso) };
}

/** Converts the serial number of a date to milliseconds since 1970 in UTC. */
function timeOfSerial(serial: number, dates: DateSystem): number {
  if (dates === 1904) return Date.UTC(1904, 0, 1) + serial * DAY_MS;
  const dayZero = serial < MISSING_LEAP_DAY ? Date.UTC(1899, 11, 31) : Date.UTC(1899, 11, 30);
  return dayZero + serial * DAY_MS;
}

/**
 * Returns a time without zone: `2026-03-01T08:30:00`. Omits the milliseconds when they are zero.
 */
function localTimeOf(iso: string): string {
  return iso.replace(/(?:\.000)?Z$/, '');
}

/**
 * Reads a date that is stored as ISO 8601 text: `2026-03-01` or `2026-03-01T08:30:00`. Workbooks in
 * the strict format store dates in this way.
 */
export function readIsoDateCell(raw: string, format: NumberFormat): CellText {
  const stored = raw.trim();
  const match = /^(\d{4}-\d{2}-\d{2})(?:T(\d{2}:\d{2}:\d{2}(?:\.\d{1,9})?)Z?)?$/.exec(stored);
  const [, day, clock] = match ?? [];
  if (day === undefined || !isRealTime(day, clock ?? '00:00:00'))
    return { problem: `"${stored.slice(0, 40)}" is not a date` };
  const reading = format.readingOf(1);
  const showsClock = reading.kind === 'date' && reading.hasClock;
  const hasTime = clock !== undefined && /[1-9]/.test(clock);
  if (!hasTime && !showsClock) return { text: day };
  return { text: `${day}T${(clock ?? '00:00:00').replace(/\.0+$/, '')}` };
}

/**
 * Whether the date and the time exist. Without this check, `Date` would turn 2026-02-30 into
 * 2026-03-02.
 */
function isRealTime(day: string, clock: string): boolean {
  const time = Date.parse(`${day}T${clock}Z`);
  if (Number.isNaN(time)) return false;
  return new Date(time).toISOString().startsWith(`${day}T${clock.slice(0, 8)}`);
}

/**
 * Decodes escapes such as `_x000D_` (ST_Xstring of ECMA-376). The escape `_x005F_` is an
 * underscore, so `_x005F_x0041_` stands for the literal text `_x0041_`.
 */
export function decodeEscapes(text: string): string {
  if (!text.includes('_x')) return text;
  return text.replace(/_x([0-9A-Fa-f]{4})_/g, (_escape, code: string) =>
    String.fromCharCode(Number.parseInt(code, 16)),
  );
}
