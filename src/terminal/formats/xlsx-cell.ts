// Chooses the type of a workbook cell for a value: number, date, boolean or text.

import { writtenNumber } from '../../json/exact.js';
import { MINUTE_MS } from '../../system/time-units.js';
import { canonicalTimeZone, openTimeZone, type TimeZone } from '../../system/time-zone.js';
import { cleanCell } from '../clean.js';
import { readTime } from '../time.js';
import { textOf } from '../values.js';
import { isTimeField } from './columns.js';

export type XlsxCell =
  | { readonly kind: 'empty' }
  | { readonly kind: 'number'; readonly value: number }
  | { readonly kind: 'boolean'; readonly value: boolean }
  /** The local time in milliseconds since 1970, treated as if it were UTC. */
  | { readonly kind: 'time'; readonly localMs: number }
  /** A link: text that opens a URL when the user clicks it. */
  | { readonly kind: 'link'; readonly url: string; readonly text: string }
  | {
      readonly kind: 'text';
      readonly text: string;
      /** Whether the text was truncated because it does not fit into a cell. */
      readonly isCut: boolean;
      /** Whether the value is a number that Excel cannot store, so it was converted to a string. */
      readonly isNumber: boolean;
    };

/** Excel's limit for one cell, in UTF-16 units. */
export const LONGEST_CELL_CHARACTERS = 32_767;
/** Excel shows and keeps 15 digits of an integer. */
const SMALLEST_INEXACT_INTEGER = 1e15;
/** Excel turns smaller numbers into 0. */
const SMALLEST_NUMBER = 1e-300;
/**
 * Longer strings are never converted to numbers. Every double is shorter than this, even when all
 * its digits are written.
 */
const LONGEST_NUMBER_CHARACTERS = 400;
const FIRST_SAFE_DAY_MS = Date.UTC(1900, 2, 1);
const BEHIND_LAST_DAY_MS = Date.UTC(10_000, 0, 1);

const EMPTY: XlsxCell = { kind: 'empty' };

/**
 * Returns the cell for a field's value. A number becomes a string when a double cannot hold it
 * exactly. A time becomes a local time when the field's name says that the field contains times.
 */
export function xlsxCellOf(value: unknown, field: string, timezone: string): XlsxCell {
  if (value === null || value === undefined || value === '') return EMPTY;
  if (typeof value === 'boolean') return { kind: 'boolean', value };
  const number = typeof value === 'number' ? String(value) : writtenNumber(value);
  if (number !== undefined) {
    if (isSpreadsheetNumber(number)) return { kind: 'number', value: Number(number) };
    return textCell(number, true);
  }
  const localMs = isTimeField(field) ? localTimeOf(value, timezone) : undefined;
  if (localMs !== undefined) return { kind: 'time', localMs };
  return textCell(cleanCell(textOf(value) ?? ''), false);
}

/** Excel refuses longer strings in a formula. */
const LONGEST_LINK_CHARACTERS = 255;

/** Returns the cell for a URL: a link with a short text, or the URL as plain text. */
export function linkCellOf(value: unknown): XlsxCell {
  if (typeof value !== 'string' || value === '') return EMPTY;
  if (value.length > LONGEST_LINK_CHARACTERS) return textCell(cleanCell(value), false);
  return { kind: 'link', url: value, text: 'Map' };
}

function textCell(text: string, isNumber: boolean): XlsxCell {
  const cut = cutText(text);
  return { kind: 'text', text: cut, isCut: cut.length < text.length, isNumber };
}

/**
 * Returns the text that `readWorkbook` returns for a value after it was written into a workbook; or
 * null for an empty cell. Times have the format `2026-03-01T08:30:00` in the time zone.
 */
export function xlsxCellText(value: unknown, field: string, timezone: string): string | null {
  const cell = xlsxCellOf(value, field, timezone);
  switch (cell.kind) {
    case 'empty':
      return null;
    case 'number':
      // Turns -0 into 0, because Excel does not have a negative zero.
      return String(cell.value + 0);
    case 'boolean':
      return String(cell.value);
    case 'time':
      return new Date(cell.localMs).toISOString().replace(/(?:\.000)?Z$/, '');
    case 'text':
    case 'link':
      return cell.text;
  }
}

/** The header of a column of local times: `created (Europe/Berlin)`. */
export function timeHeader(field: string, timezone: string): string {
  return `${field} (${timezone})`;
}

/**
 * Splits a header that `timeHeader` wrote into a field and a time zone. Any other header is treated
 * as a field name.
 */
export function splitTimeHeader(header: string): { field: string; timezone: string | undefined } {
  const start = header.lastIndexOf(' (');
  if (start <= 0 || !header.endsWith(')')) return { field: header, timezone: undefined };
  const timezone = header.slice(start + 2, -1);
  if (canonicalTimeZone(timezone) === undefined) return { field: header, timezone: undefined };
  return { field: header.slice(0, start), timezone };
}

/** The name of the machine's time zone; UTC when the zone has no name that fleet can read back. */
export function machineTimezone(): string {
  const name = Intl.DateTimeFormat().resolvedOptions().timeZone ?? '';
  return canonicalTimeZone(name) === undefined ? 'UTC' : name;
}

/** Whether Excel can hold the decimal number exactly, so that fleet reads the same value back. */
function isSpreadsheetNumber(written: string): boolean {
  // The patterns below take quadratic time for long numbers.
  if (written.length > LONGEST_NUMBER_CHARACTERS) return false;
  const value = Number(written);
  const size = Math.abs(value);
  if (size >= SMALLEST_INEXACT_INTEGER || (size < SMALLEST_NUMBER && size > 0)) return false;
  const shortest = String(value);
  return shortest === written || normalizeDecimal(shortest) === normalizeDecimal(written);
}

/**
 * Writes equal decimal numbers in the same way: `100.0`, `1e2` and `100` become `+1e3`, which means
 * 0.1 × 10³.
 */
function normalizeDecimal(decimal: string): string {
  const [mantissa = '', exponent = '0'] = decimal.toLowerCase().split('e');
  const sign = mantissa.startsWith('-') ? '-' : '+';
  const [integer = '', fraction = ''] = mantissa.replace(/^[+-]/, '').split('.');
  const digits = `${integer}${fraction}`;
  const significant = digits.replace(/^0+/, '');
  if (significant === '') return '0';
  const leadingZeros = digits.length - significant.length;
  const pointPosition = integer.length - leadingZeros + Number(exponent);
  return `${sign}${significant.replace(/0+$/, '')}e${pointPosition}`;
}

function cutText(text: string): string {
  if (text.length <= LONGEST_CELL_CHARACTERS) return text;
  const code = text.charCodeAt(LONGEST_CELL_CHARACTERS - 1);
  const splitsPair = code >= 0xd800 && code <= 0xdbff;
  return text.slice(0, LONGEST_CELL_CHARACTERS - (splitsPair ? 1 : 0));
}

/**
 * Returns the local time of a value that contains a date and a time of day. Returns undefined for
 * any other value, and for years that Excel does not support.
 */
function localTimeOf(value: unknown, timezone: string): number | undefined {
  if (typeof value !== 'string' || !/^\d{4}-\d{2}-\d{2}[T ]/i.test(value)) return undefined;
  const time = readTime(value);
  if (time === undefined) return undefined;
  const localMs = time + zoneOffset(time, timezone);
  return localMs >= FIRST_SAFE_DAY_MS && localMs < BEHIND_LAST_DAY_MS ? localMs : undefined;
}

const zones = new Map<string, TimeZone>();

/** Returns the offset of the time zone from UTC at this time, in milliseconds. */
function zoneOffset(time: number, timezone: string): number {
  let zone = zones.get(timezone);
  if (zone === undefined) {
    zone = openTimeZone(timezone);
    zones.set(timezone, zone);
  }
  return zone.offsetMinutes(time) * MINUTE_MS;
}
