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

/** The rows of a CSV text with a header. Throws Unreadable also for a row with more cells than the header. */
export function readCsvRows(text: string): { header: CsvCell[]; rows: PlacedRow[] } {
  const [header = [], ...records] = readCsv(text, findDelimiter(text));
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

/**
 * The objects of a JSON text: of one array, of JSON lines, or one object alone. Fields of objects inside are values as they are.
 * Throws Unreadable for what is no JSON, for what is no object, and for more than 500 levels of brackets.
 */
export function readJsonRows(text: string): PlacedRow[] {
  const reader = openJsonReader(text);
  const rows: PlacedRow[] = [];
  if (reader.skip('[')) {
    if (!reader.skip(']')) {
      do rows.push(reader.readRow());
      while (reader.skip(','));
      if (!reader.skip(']')) reader.fail('a comma or ] is expected');
    }
    if (!reader.isAtEnd()) reader.fail('something stands behind the array');
    return rows;
  }
  while (!reader.isAtEnd()) rows.push(reader.readRow());
  return rows;
}

/** A reader that knows where it stands; JSON.parse says so in words alone, and differently in each Node. */
function openJsonReader(text: string) {
  const spotAt = openSpots(text);
  let index = 0;
  let depth = 0;

  const fail = (message: string): never => {
    throw new Unreadable(index >= text.length ? `${message}, but the file ends here` : message, spotAt(index));
  };
  const take = (pattern: RegExp): string | undefined => {
    pattern.lastIndex = index;
    const found = pattern.exec(text)?.[0];
    index += found?.length ?? 0;
    return found;
  };
  const skip = (character: string): boolean => {
    take(SPACE);
    if (text[index] !== character) return false;
    index += 1;
    return true;
  };
  /** Reads what stands between brackets, the opening one of which was passed. */
  const readAll = (end: string, readOne: () => void): void => {
    depth += 1;
    if (depth > DEPTH_LIMIT) fail(`brackets more than ${DEPTH_LIMIT} levels deep`);
    if (!skip(end)) {
      do readOne();
      while (skip(','));
      if (!skip(end)) fail(`a comma or ${end} is expected`);
    }
    depth -= 1;
  };

  function readString(): string {
    if (text[index] !== '"') fail('a text in double quotes is expected');
    const end = skipString(text, index);
    try {
      const value = JSON.parse(text.slice(index, end)) as string;
      index = end;
      return value;
    } catch {
      return fail('a text that is not closed, or with a character that JSON escapes');
    }
  }

  function readValue(): unknown {
    take(SPACE);
    if (text[index] === '"') return readString();
    if (text[index] === '{') return Object.fromEntries(readObject().map(({ name, value }) => [name, value]));
    if (!skip('[')) return JSON.parse(take(SCALAR) ?? fail('a value is expected'));
    const items: unknown[] = [];
    readAll(']', () => items.push(readValue()));
    return items;
  }

  function readObject(): PlacedField[] {
    const fields: PlacedField[] = [];
    index += 1;
    readAll('}', () => {
      take(SPACE);
      const nameSpot = spotAt(index);
      const name = readString();
      if (!skip(':')) fail('a colon is expected');
      take(SPACE);
      const valueSpot = spotAt(index);
      fields.push({ name, value: readValue(), nameSpot, valueSpot });
    });
    return fields;
  }

  return {
    fail,
    skip,
    isAtEnd(): boolean {
      take(SPACE);
      return index >= text.length;
    },
    readRow(): PlacedRow {
      take(SPACE);
      if (text[index] !== '{') fail('an object is expected');
      const spot = spotAt(index);
      return { spot, fields: readObject() };
    },
  };
}

/** The index behind the string that opens at `at`, the end of the text where it is not closed. */
function skipString(text: string, at: number): number {
  for (let index = at + 1; index < text.length; index++) {
    if (text[index] === '\\') index += 1;
    else if (text[index] === '"') return index + 1;
  }
  return text.length;
}
