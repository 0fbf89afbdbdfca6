// Reads records of CSV (RFC 4180) with commas, semicolons or tabs.

import { parse } from 'csv-parse/sync';
import { splitTimeHeader } from '../terminal/formats/xlsx-cell.js';
import { type RowPlace, UnreadableInput } from './row.js';

/** More than any header has. */
const HEADER_CHARACTERS = 64 * 1024;

/** Spreadsheets in many European locales write semicolons. */
const DELIMITERS = [',', ';', '\t'] as const;

/** The first line of a CSV file. */
export interface Header {
  delimiter: string;
  /** The names of the columns, in lower case; empty for a column without a name. */
  names: readonly string[];
}

/**
 * Returns the delimiter that occurs most often outside quotes in the first line; by default a
 * comma.
 */
export function findDelimiter(text: string): string {
  const line = text.slice(0, HEADER_CHARACTERS).replace(/"[^"]*"/g, '');
  const counts = DELIMITERS.map((delimiter) => line.split(delimiter).length);
  return DELIMITERS[counts.indexOf(Math.max(...counts))] ?? ',';
}

/** Reads the header. `separator` is the delimiter of a `sep=;` line above it. */
export function readHeader(line: string, place: RowPlace, separator: string | undefined): Header {
  const delimiter = separator ?? findDelimiter(line);
  const names = splitRecord(line, delimiter, place).map(normalizeHeading);
  return { delimiter, names };
}

/**
 * Returns a heading in the form in which headings are compared: trimmed, and in lower case. Removes
 * the time zone that fleet's own workbooks add to a heading: `created (Europe/Berlin)`.
 */
export function normalizeHeading(heading: string): string {
  return splitTimeHeader(heading.trim()).field.trim().toLowerCase();
}

/** Whether a line opens or closes a quoted cell that spans several lines. */
export function hasOddQuotes(line: string): boolean {
  return line.split('"').length % 2 === 0;
}

/**
 * Reads the cells of one record by the names of their columns. Empty cells are null. Throws
 * UnreadableInput for broken quotes, and for a cell with text behind the last column.
 */
export function readRecord(record: string, { names, delimiter }: Header, place: RowPlace) {
  return cellsByName(names, splitRecord(record, delimiter, place), place);
}

/**
 * Pairs the cells of a row with the names of their columns. Empty cells are null, and empty cells
 * without a column are ignored. Throws UnreadableInput for a cell with text but without a column.
 */
export function cellsByName(
  names: readonly string[],
  cells: readonly (string | null)[],
  place: RowPlace,
): { [column: string]: string | null } {
  const fields: [string, string | null][] = [];
  for (const [index, name] of names.entries()) {
    const cell = cells[index] || null;
    if (name !== '') fields.push([name, cell]);
    else if (cell !== null && cell.trim() !== '')
      throw new UnreadableInput(`column ${index + 1} has a value but no heading`, place);
  }
  const excess = cells.slice(names.length).some((cell) => cell !== null && cell.trim() !== '');
  if (excess)
    throw new UnreadableInput(`more cells than the header has columns (${names.length})`, place);
  return Object.fromEntries(fields);
}

const REASONS: { readonly [code: string]: string } = {
  CSV_QUOTE_NOT_CLOSED: 'a quote is opened here and never closed',
  INVALID_OPENING_QUOTE: 'a quote inside a cell that is not quoted',
  CSV_INVALID_CLOSING_QUOTE: 'text after a closing quote',
};

/** The cells of one record. */
function splitRecord(record: string, delimiter: string, place: RowPlace): string[] {
  // Records without quotes do not need the parser.
  if (!record.includes('"')) return record.split(delimiter);
  try {
    // The parser gets one record, which ends with one line break.
    const options = { delimiter, record_delimiter: '\n', relax_column_count: true };
    const records: string[][] = parse(`${record}\n`, options);
    return records[0] ?? [];
  } catch (error) {
    const reason = REASONS[(error as { code?: string }).code ?? ''];
    if (reason === undefined) throw error;
    throw new UnreadableInput(reason, place);
  }
}

/** Excel and `--excel` write an apostrophe before a text that looks like a formula. */
const GUARDED = /^'+[=+\-@\t\r]/;

/** Removes the apostrophe that `--excel` puts before a text that a spreadsheet would evaluate as a formula. */
export function removeFormulaGuard(cell: string): string {
  return GUARDED.test(cell) ? cell.slice(1) : cell;
}
