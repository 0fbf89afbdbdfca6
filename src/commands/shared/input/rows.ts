// Reads rows of input line by line: texts, JSON objects, a JSON array, or CSV with a header; each with the line in which it begins.

import { parse } from 'csv-parse/sync';
import { isObject, JsonError, parseJson } from '../../../json/parse.js';
import { splitArray } from '../../../json/text.js';

/** What a row says: the fields of an object or of a record of CSV, or a text that is neither. */
export interface InputRow {
  /** From 1 on. */
  line: number;
  value: { [field: string]: unknown } | string;
  /** Whether it is a record of CSV: its cells are texts, and null where they are empty. */
  isRecord?: true;
}

/** What a file says that cannot be read, and in which line. */
export class Unreadable extends Error {
  readonly line: number;

  constructor(message: string, line: number) {
    super(message);
    this.name = 'Unreadable';
    this.line = line;
  }
}

export interface RowOptions {
  /** Whether the first line is a header of CSV with these names, in lower case; else every line is a text. Throws Unreadable for a wrong one. */
  isHeader(names: readonly string[], line: number): boolean;
  /** Lines that begin with # say nothing. */
  hasComments: boolean;
}

/** More than any header has. */
const HEADER_CHARACTERS = 64 * 1024;

/** What may stand between two cells: spreadsheets of half of Europe write semicolons. */
const DELIMITERS = [',', ';', '\t'] as const;

/** The delimiter of a CSV text: the one that its first line has most of outside quotes, the comma if none. */
export function findDelimiter(text: string): string {
  const line = text.slice(0, HEADER_CHARACTERS).replace(/"[^"]*"/g, '');
  const counts = DELIMITERS.map((delimiter) => line.split(delimiter).length);
  return DELIMITERS[counts.indexOf(Math.max(...counts))] ?? ',';
}

interface Header {
  delimiter: string;
  names: string[];
}

/** What is kept of an array, or of an object of many lines, until it ends. */
const LONGEST_VALUE_CHARACTERS = 64 * 1024 * 1024;

/** Reads the rows of lines that come without their ends. Throws Unreadable. */
export async function* readRows(
  lines: AsyncIterable<string>,
  { isHeader, hasComments }: RowOptions,
): AsyncGenerator<InputRow, void, undefined> {
  let number = 0;
  let format: 'lines' | 'array' | Header | undefined;
  let separator: string | undefined;
  /** The lines of what is not closed yet, how long they are, and the number of the first. */
  let open: string[] = [];
  let openedAt = 0;
  let length = 0;
  for await (const line of lines) {
    number += 1;
    const text = line.trim();
    if (open.length === 0) {
      // Below a header that does not begin with the UUID, `#7` is a name.
      const mayBeName = typeof format === 'object' && format.names[0] !== 'uuid';
      if (text === '' || (hasComments && !mayBeName && text.startsWith('#'))) continue;
      openedAt = number;
      length = 0;
      if (format === undefined && separator === undefined && /^sep=[^"]$/i.test(text)) {
        separator = text.at(-1);
        continue;
      }
      if (format === undefined) {
        format = findFormat(line, text, separator);
        if (typeof format === 'object' && !isHeader(format.names, number)) format = 'lines';
        if (typeof format === 'object') continue;
      }
    }
    length += line.length + 1;
    if (length > LONGEST_VALUE_CHARACTERS)
      throw new Unreadable('it is larger than 64 MB', openedAt);
    open.push(line);
    if (format === 'array') continue;
    if (typeof format === 'object') {
      if (hasOpenQuote(open)) continue;
      yield {
        line: openedAt,
        value: readRecord(open.join('\n'), format, openedAt),
        isRecord: true,
      };
    } else if (text.startsWith('{') || open.length > 1) {
      const value = readObject(open, text, openedAt);
      if (value === undefined) continue;
      yield { line: openedAt, value };
    } else yield { line: number, value: text };
    open = [];
  }
  if (open.length === 0) return;
  if (format === 'array') yield* readArray(open.join('\n'), openedAt);
  else if (typeof format === 'object')
    throw new Unreadable('a quote is opened here and never closed', openedAt);
  else throw new Unreadable('incomplete JSON', openedAt);
}

function findFormat(
  line: string,
  text: string,
  separator: string | undefined,
): 'array' | 'lines' | Header {
  if (text.startsWith('[')) return 'array';
  if (text.startsWith('{')) return 'lines';
  const delimiter = separator ?? findDelimiter(text);
  return {
    delimiter,
    names: splitRecord(line, delimiter).map((name) => name.trim().toLowerCase()),
  };
}

/** A line with an odd number of quotes opens a record of several lines, and the next such line closes it. */
function hasOpenQuote(open: readonly string[]): boolean {
  const isTurn = (line: string | undefined) => (line ?? '').split('"').length % 2 === 0;
  return open.length === 1 ? isTurn(open[0]) : !isTurn(open.at(-1));
}

function readRecord(record: string, { names, delimiter }: Header, line: number): InputRow['value'] {
  const cells = splitRecord(record, delimiter, line);
  if (cells.length > names.length)
    throw new Unreadable(`more cells than the header has columns (${names.length})`, line);
  return Object.fromEntries(names.map((name, index) => [name, cells[index] || null]));
}

const CSV_WORDS: { readonly [code: string]: string } = {
  CSV_QUOTE_NOT_CLOSED: 'a quote is opened here and never closed',
  INVALID_OPENING_QUOTE: 'a quote inside a cell that is not quoted',
  CSV_INVALID_CLOSING_QUOTE: 'text after a closing quote',
};

/** The cells of a record (RFC 4180). */
function splitRecord(record: string, delimiter: string, line = 1): string[] {
  // Most lines have no quotes, and need no reader.
  if (!record.includes('"')) return record.split(delimiter);
  try {
    // The whole is one record, whatever its cells hold.
    const records = parse(`${record}\n`, {
      delimiter,
      record_delimiter: '\n',
      relax_column_count: true,
    });
    return (records as string[][])[0] ?? [];
  } catch (error) {
    const words = CSV_WORDS[(error as { code?: string }).code ?? ''];
    if (words === undefined) throw error;
    throw new Unreadable(words, line);
  }
}

/** The object of some lines; undefined where it goes on in the next one. */
function readObject(
  open: readonly string[],
  last: string,
  line: number,
): { [field: string]: unknown } | undefined {
  // It ends where a bracket does: what ends otherwise need not be tried again and again.
  if (open.length > 1 && !last.endsWith('}')) return undefined;
  try {
    const value = parseJson(open.join('\n'));
    if (isObject(value)) return value;
    throw new Unreadable('an object is expected', line);
  } catch (error) {
    if (!(error instanceof JsonError)) throw error;
    if (error.isCutOff) return undefined;
    throw new Unreadable(error.message, line);
  }
}

const countEnds = (text: string) => text.split('\n').length - 1;

/** The elements of an array that begins in that line: objects, or texts. */
function* readArray(text: string, openedAt: number): Generator<InputRow, void, undefined> {
  let items: string[] | undefined;
  try {
    parseJson(text);
    items = splitArray(text, text.indexOf('['))?.texts;
  } catch (error) {
    throw error instanceof JsonError ? new Unreadable(error.message, openedAt) : error;
  }
  let at = 0;
  let line = openedAt;
  for (const item of items ?? []) {
    const start = text.indexOf(item, at);
    line += countEnds(text.slice(at, start));
    const value = parseJson(item);
    if (!isObject(value) && typeof value !== 'string')
      throw new Unreadable('an object is expected', line);
    yield { line, value };
    line += countEnds(item);
    at = start + item.length;
  }
}
