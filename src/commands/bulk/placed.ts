// Reads CSV and JSON files and keeps for every value its line and column, so that what is wrong can be pointed at.

import { parse } from 'csv-parse/sync';
import { type JSONVisitor, printParseErrorCode, visit } from 'jsonc-parser';
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

export interface CsvCell {
  text: string;
  spot: Spot;
}

/** What may stand between two cells: spreadsheets of half of Europe write semicolons. */
const DELIMITERS = [',', ';', '\t'] as const;

/** More than any header has. */
const HEADER_CHARACTERS = 64 * 1024;

/** The delimiter of a CSV text: the one that its first line has most of outside quotes, the comma if none. */
export function findDelimiter(text: string): string {
  const [line = ''] = text
    .slice(0, HEADER_CHARACTERS)
    .replace(/"[^"]*"/g, '')
    .split(/[\r\n]/, 1);
  const counts = DELIMITERS.map((delimiter) => line.split(delimiter).length);
  return DELIMITERS[counts.indexOf(Math.max(...counts))] ?? ',';
}

/**
 * The records of a CSV text (RFC 4180), each cell with its place. Records end with LF, CR LF or CR; empty lines are no records. Throws
 * Unreadable for a quote that is never closed, or that is neither at the edge of its cell nor doubled.
 */
export function readCsv(text: string, delimiter: string): CsvCell[][] {
  const bytes = Buffer.from(text);
  const spotAt = openSpots(bytes);
  /** The byte behind the last cell. */
  let end = 0;
  const startOf = (index: number): number => {
    if (index > 0) return end + Buffer.byteLength(delimiter);
    // Between two records there are line ends alone.
    while (bytes[end] === CARRIAGE_RETURN || bytes[end] === LINE_FEED) end += 1;
    return end;
  };
  const cast = (cell: string, context: { index: number; bytes: number }) => {
    const start = startOf(context.index);
    end = context.bytes;
    return { text: cell, spot: spotAt(start) };
  };
  try {
    return parse(bytes, {
      cast,
      delimiter,
      record_delimiter: ['\r\n', '\n', '\r'],
      relax_column_count: true,
      skip_empty_lines: true,
    }) as unknown as CsvCell[][];
  } catch (error) {
    const { code, index, field } = error as { code?: string; index: number; field?: unknown };
    const start = startOf(index);
    if (code === 'CSV_QUOTE_NOT_CLOSED') throw new Unreadable('a quote is opened here and never closed', spotAt(start));
    if (code === 'INVALID_OPENING_QUOTE') {
      const spot = spotAt(start + Buffer.byteLength(String(field)));
      throw new Unreadable('a quote inside a cell that is not quoted', spot);
    }
    if (code !== 'CSV_INVALID_CLOSING_QUOTE') throw error;
    let quote = bytes.indexOf(QUOTE, start + 1);
    while (bytes[quote + 1] === QUOTE) quote = bytes.indexOf(QUOTE, quote + 2);
    throw new Unreadable('text after a closing quote', spotAt(quote + 1));
  }
}

const LINE_FEED = 0x0a;
const CARRIAGE_RETURN = 0x0d;
const QUOTE = 0x22;

/** Turns offsets in UTF-8 into lines and columns; offsets must not go down. Lines end with LF, CR LF or CR. */
function openSpots(bytes: Buffer): (offset: number) => Spot {
  let line = 1;
  let column = 1;
  let seen = 0;
  return (offset) => {
    for (; seen < offset; seen++) {
      const byte = bytes[seen] ?? 0;
      const isEnd = byte === LINE_FEED || (byte === CARRIAGE_RETURN && bytes[seen + 1] !== LINE_FEED);
      if (isEnd) {
        line += 1;
        column = 1;
      } else if (byte >= 0xf0) column += 2;
      else if ((byte & 0xc0) !== 0x80) column += 1;
    }
    return { line, column };
  };
}

/** The line with which some spreadsheets say what stands between cells. */
const SEPARATOR_LINE = /^sep=([^"])\r?\n/i;

/**
 * The rows of a CSV text with a header, whose names are trimmed and in lower case; a first line `sep=;` says the delimiter. Throws
 * Unreadable also for a row with more cells than the header.
 */
export function readCsvRows(text: string): { header: CsvCell[]; rows: PlacedRow[] } {
  const [line = '', separator] = SEPARATOR_LINE.exec(text) ?? [];
  // An empty line keeps the places of everything behind it.
  const body = line === '' ? text : `\n${text.slice(line.length)}`;
  const [written = [], ...records] = readCsv(body, separator ?? findDelimiter(body));
  const header = written.map(({ text: name, spot }) => ({ text: name.trim().toLowerCase(), spot }));
  const rows = records.map((record) => {
    const extra = record[header.length];
    if (extra !== undefined)
      throw new Unreadable(`more cells than the header has columns (${header.length})`, extra.spot);
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

/** An object or array that is not closed yet; what stands in an array has no name. */
interface Open {
  bracket: '{' | '[';
  spot: Spot;
  fields: PlacedField[];
  name: string;
  nameSpot: Spot;
}

const A_NAME = 'a text in double quotes is expected';
const AN_OBJECT = 'an object is expected';
const A_VALUE = 'a value is expected';

/** What the scanner says of a text that is none, and what that means. */
const BROKEN_TEXTS = ['InvalidUnicode', 'InvalidEscapeCharacter', 'UnexpectedEndOfString', 'InvalidCharacter'];
const BROKEN_TEXT = 'a text that is not closed, or with a character that JSON escapes';

/**
 * The objects of a JSON text: of one array, of JSON lines, or one object alone. Fields of objects inside are values as they are.
 * Throws Unreadable for what is no JSON, for what is no object, and for more than 500 levels of brackets.
 */
export function readJsonRows(text: string): PlacedRow[] {
  const isArray = /^\s*\[/.test(text);
  const rows: PlacedRow[] = [];
  // Objects one after the other are read as an array that lacks its commas.
  visit(isArray ? text : `[${text}]`, openVisitor(rows, text.length, isArray ? 0 : 1), { disallowComments: true });
  return rows;
}

/** Where the tokens of a text stand, around which a bracket was put when `shift` is 1; it is `length` long without it. */
function openPlaces(length: number, shift: 0 | 1) {
  const spotOf = (line: number, column: number): Spot => ({
    line: line + 1,
    column: column + 1 - (line === 0 ? shift : 0),
  });
  return {
    spotOf,
    fail(message: string, offset: number, line: number, column: number): never {
      const isAtEnd = offset - shift >= length;
      throw new Unreadable(isAtEnd ? `${message}, but the file ends here` : message, spotOf(line, column));
    },
  };
}

/** Fills `rows` with the objects of an array, or of lines in a bracket that `shift` is 1 for. */
function openVisitor(rows: PlacedRow[], length: number, shift: 0 | 1): JSONVisitor {
  const { spotOf, fail } = openPlaces(length, shift);
  const open: Open[] = [];
  let wanted = AN_OBJECT;
  const isOuter = () => open.length === 1;
  const take = (value: unknown, spot: Spot): void => {
    const into = open.at(-1);
    into?.fields.push({ name: into.name, value, nameSpot: into.nameSpot, valueSpot: spot });
    wanted = `a comma or ${into?.bracket === '{' ? '}' : ']'} is expected`;
  };
  const begin = (bracket: Open['bracket']) => (offset: number, _length: number, line: number, column: number) => {
    if (isOuter() && bracket === '[') fail(AN_OBJECT, offset, line, column);
    if (open.length === DEPTH_LIMIT + shift)
      fail(`brackets more than ${DEPTH_LIMIT} levels deep`, offset, line, column);
    const spot = spotOf(line, column);
    open.push({ bracket, spot, fields: [], name: '', nameSpot: spot });
    wanted = bracket === '{' ? A_NAME : isOuter() ? AN_OBJECT : A_VALUE;
  };
  const end = (offset: number, tokenLength: number, line: number, column: number): void => {
    // Where the text breaks off, everything that is open ends, too.
    const isEarly = isOuter() && shift === 1 && offset !== length + 1;
    if (tokenLength === 0 || isEarly) fail(wanted, offset, line, column);
    const { bracket, spot, fields } = open.pop() as Open;
    if (open.length === 0) wanted = 'text after the array';
    else if (!isOuter()) take(contentOf(bracket, fields), spot);
    else {
      rows.push({ spot, fields });
      wanted = shift === 1 ? AN_OBJECT : 'a comma or ] is expected';
    }
  };
  return {
    onObjectBegin: begin('{'),
    onArrayBegin: begin('['),
    onObjectEnd: end,
    onArrayEnd: end,
    onObjectProperty(name, _offset, _length, line, column) {
      Object.assign(open.at(-1) ?? {}, { name, nameSpot: spotOf(line, column) });
      wanted = 'a colon is expected';
    },
    onSeparator(character, offset, _length, line, column) {
      if (isOuter() && shift === 1) fail(AN_OBJECT, offset, line, column);
      const isName = character === ',' && open.at(-1)?.bracket === '{';
      wanted = isName ? A_NAME : isOuter() ? AN_OBJECT : A_VALUE;
    },
    onLiteralValue(value, offset, _length, line, column) {
      if (isOuter()) fail(AN_OBJECT, offset, line, column);
      take(value, spotOf(line, column));
    },
    onError(error, offset, _length, line, column) {
      const code = printParseErrorCode(error);
      if (code === 'CommaExpected' && isOuter() && shift === 1) return;
      fail(BROKEN_TEXTS.includes(code) ? BROKEN_TEXT : wanted, offset, line, column);
    },
  };
}

function contentOf(bracket: Open['bracket'], fields: readonly PlacedField[]): unknown {
  if (bracket === '[') return fields.map(({ value }) => value);
  return Object.fromEntries(fields.map(({ name, value }) => [name, value]));
}
