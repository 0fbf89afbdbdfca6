// The text of one value in a csv or tsv file, and the comparison of this text with a value.

import { writtenNumber } from '../../json/exact.js';
import { cleanCell } from '../clean.js';
import { isJsonNumber, textOf } from '../values.js';
import { LONGEST_CELL_CHARACTERS, xlsxCellText } from './xlsx-cell.js';

/**
 * Returns a value as text for a file. Null and missing values are empty, objects are compact JSON,
 * and numbers have the digits that the service sent. Line breaks and tabs are kept; other control
 * characters are replaced as in tables.
 */
export function cellText(value: unknown): string {
  return cleanCell(textOf(value) ?? '');
}

/**
 * Puts an apostrophe before text that a spreadsheet would evaluate as a formula, as `--excel` does.
 * Text that already has such an apostrophe, like `'=1`, gets a second one. An import can then
 * recognise which apostrophe was added.
 */
export function guardFormula(text: string): string {
  return /^'*[=+\-@\t\r]/.test(text) ? `'${text}` : text;
}

/**
 * Whether a cell of an exported file (csv, tsv or xlsx, with or without `--excel`) contains the
 * same value as the service. Numbers with a decimal point are compared as numbers. Spreadsheets
 * change line endings, so the CR of a line ending is ignored.
 */
export function isExportOf(cell: string, value: unknown): boolean {
  if (value === null || value === undefined) return cell === '';
  if (typeof value === 'boolean') return cell.toLowerCase() === String(value);
  if (typeof value === 'number' || writtenNumber(value) !== undefined)
    return isSameNumber(cell.trim(), textOf(value) ?? '');
  const exported = withoutCarriageReturns(cellText(value));
  const read = withoutCarriageReturns(cell);
  if (read === exported || read === guardFormula(exported)) return true;
  // A workbook cell contains only the start of a very long string.
  return (
    cell.length > SHORTEST_CUT_CELL_CHARACTERS &&
    cell.length < exported.length &&
    cell === xlsxCellText(value, '', 'UTC')
  );
}

/** Strings up to this length are never truncated in a workbook. */
const SHORTEST_CUT_CELL_CHARACTERS = LONGEST_CELL_CHARACTERS - 2;

function withoutCarriageReturns(text: string): string {
  return text.replace(/\r\n?/g, '\n');
}

/**
 * Whether two strings represent the same number. `100.0` equals `100`. Digits beyond the precision
 * of a double are also compared.
 */
export function isSameNumber(one: string, other: string): boolean {
  if (one === other) return true;
  if (!isJsonNumber(one) || !isJsonNumber(other)) return false;
  return normalizeNumber(one) === normalizeNumber(other);
}

/**
 * Returns the same string for all notations of a number: its sign, its digits without zeros at
 * either end, and a power of ten.
 */
function normalizeNumber(text: string): string {
  const [mantissa = '', exponent = '0'] = text.toLowerCase().split('e');
  const sign = mantissa.startsWith('-') ? '-' : '';
  const [whole = '', fraction = ''] = mantissa.replace('-', '').split('.');
  const digits = (whole + fraction).replace(/^0+/, '');
  if (digits === '') return '0';
  const significant = digits.replace(/0+$/, '');
  const power =
    BigInt(exponent) - BigInt(fraction.length) + BigInt(digits.length - significant.length);
  return `${sign}${significant}e${power}`;
}
