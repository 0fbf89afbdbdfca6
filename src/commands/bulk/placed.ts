// Reads CSV and JSON files and keeps for every value its line and column, so that what is wrong can be pointed at.

import { DEPTH_LIMIT } from '../../json/parse.js';

/** Where something stands in a file, both counted from 1; columns in UTF-16 units, as editors count them. */
export interface Spot {
  line: number;
  column: number;
}

/** One object of a file: what it says, and where it says so. */
export interface PlacedRow {
  spot: Spot;
  fields: PlacedField[];
}

export interface PlacedField {
  name: string;
  value: unknown;
  nameSpot: Spot;
  valueSpot: Spot;
}

/** What a file says that cannot be read, and where. */
export class Unreadable extends Error {
  readonly spot: Spot;

  constructor(message: string, spot: Spot) {
    super(message);
    this.name = 'Unreadable';
    this.spot = spot;
  }
}

/** Turns offsets into lines and columns; offsets must not go down. Lines end with LF, CR LF or CR. */
function openSpots(text: string): (offset: number) => Spot {
  let line = 1;
  let lineStart = 0;
  let seen = 0;
  return (offset) => {
    for (; seen < offset; seen++) {
      const isEnd = text[seen] === '\n' || (text[seen] === '\r' && text[seen + 1] !== '\n');
      if (!isEnd) continue;
      line += 1;
      lineStart = seen + 1;
    }
    return { line, column: offset - lineStart + 1 };
  };
}

export interface CsvCell {
  text: string;
  spot: Spot;
}

/** What may stand between two cells: spreadsheets of half of Europe write semicolons. */
const DELIMITERS = [',', ';', '\t'] as const;

/** The delimiter of a CSV text: the one that its first line has most of outside quotes, the comma if none. */
export function findDelimiter(text: string): string {
  const counts = DELIMITERS.map(() => 0);
  let isQuoted = false;
  for (let index = 0; index < text.length; index++) {
    const character = text[index] ?? '';
    if (character === '"') isQuoted = !isQuoted;
    else if (!isQuoted && isLineEnd(character)) break;
    else if (!isQuoted) {
      const at = (DELIMITERS as readonly string[]).indexOf(character);
      if (at !== -1) counts[at] = (counts[at] ?? 0) + 1;
    }
  }
  return DELIMITERS[counts.indexOf(Math.max(...counts))] ?? ',';
}

/**
 * The records of a CSV text (RFC 4180), each cell with its place. Records end with LF, CR LF or CR; empty lines are no records. Throws
 * Unreadable for a quote that is never closed, or that is neither at the edge of its cell nor doubled.
 */
export function readCsv(text: string, delimiter: string): CsvCell[][] {
  const spotAt = openSpots(text);
  const records: CsvCell[][] = [];
  let record: CsvCell[] = [];
  let index = 0;
  while (index < text.length) {
    const spot = spotAt(index);
    let cell = '';
    if (text[index] === '"') {
      index += 1;
      for (;;) {
        const quote = text.indexOf('"', index);
        if (quote === -1) throw new Unreadable('a quote is opened here and never closed', spot);
        cell += text.slice(index, quote);
        index = quote + 1;
        if (text[index] !== '"') break;
        cell += '"';
        index += 1;
      }
    } else {
      const start = index;
      while (index < text.length && text[index] !== delimiter && !isLineEnd(text[index])) {
        if (text[index] === '"') throw new Unreadable('a quote inside a cell that is not quoted', spotAt(index));
        index += 1;
      }
      cell = text.slice(start, index);
    }
    const isLast = index >= text.length || isLineEnd(text[index]);
    if (!isLast && text[index] !== delimiter) throw new Unreadable('text behind a closing quote', spotAt(index));
    record.push({ text: cell, spot });
    if (!isLast) {
      index += 1;
      // A delimiter at the very end is followed by an empty cell.
      if (index < text.length) continue;
      record.push({ text: '', spot: spotAt(index) });
    }
    const isEmptyLine = record.length === 1 && cell === '' && text[index - 1] !== '"';
    if (!isEmptyLine) records.push(record);
    record = [];
    if (text[index] === '\r' && text[index + 1] === '\n') index += 1;
    index += 1;
  }
  return records;
}

function isLineEnd(character: string | undefined): boolean {
  return character === '\n' || character === '\r';
}

/** The line with which some spreadsheets say what stands between cells. */
const SEPARATOR_LINE = /^sep=(.)\r?\n/i;

/**
 * The rows of a CSV text with a header, whose names are trimmed and in lower case; a first line `sep=;` says the delimiter. Throws
 * Unreadable also for a row with more cells than the header.
 */
export function readCsvRows(text: string): { header: CsvCell[]; rows: PlacedRow[] } {
  const [line = '', separator] = SEPARATOR_LINE.exec(text) ?? [];
  // Spaces keep the places of everything behind it.
  const body = line === '' ? text : line.replace(/[^\r\n]/g, ' ') + text.slice(line.length);
  const all = readCsv(body, separator ?? findDelimiter(body));
  const [written = [], ...records] = line === '' ? all : all.slice(1);
  const header = written.map(({ text: name, spot }) => ({ text: name.trim().toLowerCase(), spot }));
  const rows = records.map((record) => {
    const extra = record[header.length];
    if (extra !== undefined)
      throw new Unreadable(`a cell more than the header has columns (${header.length})`, extra.spot);
    const fields = record.map(({ text: value, spot }, index) => ({
      name: header[index]?.text ?? '',
      value: value === '' ? null : value,
      nameSpot: header[index]?.spot ?? spot,
      valueSpot: spot,
    }));
    return { spot: record[0]?.spot ?? { line: 1, column: 1 }, fields };
  });
  return { header, rows };
}

const SPACE = /[ \t\r\n]*/y;
const SCALAR = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null/y;

/** Where the reading of a JSON text stands. */
interface Cursor {
  readonly text: string;
  readonly spotAt: (offset: number) => Spot;
  index: number;
  depth: number;
}

/**
 * The objects of a JSON text: of one array, of JSON lines, or one object alone. Fields of objects inside are values as they are.
 * Throws Unreadable for what is no JSON, for what is no object, and for more than 500 levels of brackets.
 */
export function readJsonRows(text: string): PlacedRow[] {
  const cursor: Cursor = { text, spotAt: openSpots(text), index: 0, depth: 0 };
  const rows: PlacedRow[] = [];
  if (skip(cursor, '[')) {
    readItems(cursor, ']', () => rows.push(readRow(cursor)));
    if (!isAtEnd(cursor)) fail(cursor, 'something stands behind the array');
    return rows;
  }
  while (!isAtEnd(cursor)) rows.push(readRow(cursor));
  return rows;
}

/** JSON.parse says where it failed in words alone, and differently in each Node. */
function fail({ text, index, spotAt }: Cursor, message: string): never {
  throw new Unreadable(index >= text.length ? `${message}, but the file ends here` : message, spotAt(index));
}

function take(cursor: Cursor, pattern: RegExp): string | undefined {
  pattern.lastIndex = cursor.index;
  const found = pattern.exec(cursor.text)?.[0];
  cursor.index += found?.length ?? 0;
  return found;
}

function skip(cursor: Cursor, character: string): boolean {
  take(cursor, SPACE);
  if (cursor.text[cursor.index] !== character) return false;
  cursor.index += 1;
  return true;
}

function isAtEnd(cursor: Cursor): boolean {
  take(cursor, SPACE);
  return cursor.index >= cursor.text.length;
}

/** Reads what stands between brackets, the opening one of which was passed. */
function readItems(cursor: Cursor, end: string, readOne: () => void): void {
  cursor.depth += 1;
  if (cursor.depth > DEPTH_LIMIT) fail(cursor, `brackets more than ${DEPTH_LIMIT} levels deep`);
  if (!skip(cursor, end)) {
    do readOne();
    while (skip(cursor, ','));
    if (!skip(cursor, end)) fail(cursor, `a comma or ${end} is expected`);
  }
  cursor.depth -= 1;
}

function readRow(cursor: Cursor): PlacedRow {
  take(cursor, SPACE);
  if (cursor.text[cursor.index] !== '{') fail(cursor, 'an object is expected');
  const spot = cursor.spotAt(cursor.index);
  return { spot, fields: readObject(cursor) };
}

function readObject(cursor: Cursor): PlacedField[] {
  const fields: PlacedField[] = [];
  cursor.index += 1;
  readItems(cursor, '}', () => {
    take(cursor, SPACE);
    const nameSpot = cursor.spotAt(cursor.index);
    const name = readString(cursor);
    if (!skip(cursor, ':')) fail(cursor, 'a colon is expected');
    take(cursor, SPACE);
    const valueSpot = cursor.spotAt(cursor.index);
    fields.push({ name, value: readValue(cursor), nameSpot, valueSpot });
  });
  return fields;
}

function readValue(cursor: Cursor): unknown {
  take(cursor, SPACE);
  const character = cursor.text[cursor.index];
  if (character === '"') return readString(cursor);
  if (character === '{') return Object.fromEntries(readObject(cursor).map(({ name, value }) => [name, value]));
  if (!skip(cursor, '[')) return JSON.parse(take(cursor, SCALAR) ?? fail(cursor, 'a value is expected'));
  const items: unknown[] = [];
  readItems(cursor, ']', () => items.push(readValue(cursor)));
  return items;
}

function readString(cursor: Cursor): string {
  const { text, index } = cursor;
  if (text[index] !== '"') fail(cursor, 'a text in double quotes is expected');
  const end = endOfString(text, index);
  try {
    const value = JSON.parse(text.slice(index, end)) as string;
    cursor.index = end;
    return value;
  } catch {
    return fail(cursor, 'a text that is not closed, or with a character that JSON escapes');
  }
}

/** The index behind the string that opens at `at`, the end of the text where it is not closed. */
function endOfString(text: string, at: number): number {
  for (let index = at + 1; index < text.length; index++) {
    if (text[index] === '\\') index += 1;
    else if (text[index] === '"') return index + 1;
  }
  return text.length;
}
