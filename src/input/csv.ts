// Parses CSV records (RFC 4180) with commas, semicolons or tabs.

import { parse } from 'csv-parse/sync';
import { splitTimeHeader } from '../terminal/formats/xlsx-cell.js';
import { type RowPlace, UnreadableInput } from './row.js';

/** The maximum number of header characters that are searched for the delimiter. */
const HEADER_CHARACTERS = 64 * 1024;

/** The accepted delimiters. Spreadsheets use semicolons in many European locales. */
const DELIMITERS = [',', ';', '\t'] as const;

/** The parsed header of a CSV file. */
export interface Header {
  delimiter: string;
  /** The column names in lower case; '' for a column without a name. */
  names: readonly string[];
}

/**
 * Returns the most frequent delimiter in the header, outside quotes. Returns a comma when the
 * header has no delimiter.
 */
export function findDelimiter(text: string): string {
  const line = text.slice(0, HEADER_CHARACTERS).replace(/"[^"]*"/g, '');
  const counts = DELIMITERS.map((delimiter) => line.split(delimiter).length);
  return DELIMITERS[counts.indexOf(Math.max(...counts))] ?? ',';
}

/**
 * Parses the header of a CSV file. `separator` is the delimiter from a line `sep=;` before the
 * header.
 */
export function readHeader(line: string, place: RowPlace, separator: string | undefined): Header {
  const delimiter = separator ?? findDelimiter(line);
  const names = splitRecord(line, delimiter, place).map(normalizeHeading);
  return { delimiter, names };
}

/**
 * Normalizes a heading for comparisons: trims it, and converts it to lower case. Removes the time
 * zone that fleet adds in its workbooks: `created (Europe/Berlin)`.
 */
export function normalizeHeading(heading: string): string {
  return splitTimeHeader(heading.trim()).field.trim().toLowerCase();
}

/**
 * Whether a line has an odd number of quotes. Such a line begins or ends a quoted cell that
 * contains line breaks.
 */
export function hasOddQuotes(line: string): boolean {
  return line.split('"').length % 2 === 0;
}

/**
 * Parses one record. Returns its cells by column name; empty cells are null. Throws UnreadableInput
 * for invalid quotes, and for text in a cell to the right of the last column.
 */
export function readRecord(record: string, { names, delimiter }: Header, place: RowPlace) {
  return cellsByName(names, splitRecord(record, delimiter, place), place);
}

/**
 * Returns the cells of a row by column name; empty cells are null. Throws UnreadableInput for text
 * in a column without a name, but ignores empty cells there.
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

/** Splits one record into its cells. */
function splitRecord(record: string, delimiter: string, place: RowPlace): string[] {
  // Records without quotes do not need the parser.
  if (!record.includes('"')) return record.split(delimiter);
  try {
    // The parser needs a line break at the end of the record.
    const options = { delimiter, record_delimiter: '\n', relax_column_count: true };
    const records: string[][] = parse(`${record}\n`, options);
    return records[0] ?? [];
  } catch (error) {
    const reason = REASONS[(error as { code?: string }).code ?? ''];
    if (reason === undefined) throw error;
    throw new UnreadableInput(reason, place);
  }
}

/**
 * Matches text that Excel and `--excel` protect with an apostrophe, because it starts like a
 * formula.
 */
const GUARDED = /^'+[=+\-@\t\r]/;

/**
 * Removes the apostrophe that `--excel` writes before text that a spreadsheet would evaluate as a
 * formula.
 */
export function removeFormulaGuard(cell: string): string {
  return GUARDED.test(cell) ? cell.slice(1) : cell;
}
