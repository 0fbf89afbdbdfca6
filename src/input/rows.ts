// Reads the rows of an input. Detects its format: plain lines, CSV, JSON, JSON lines, YAML, GeoJSON
// or an Excel workbook.

import { fieldOfHeading } from '../api/headings.js';
import {
  cellsByName,
  type Header,
  hasOddQuotes,
  normalizeHeading,
  readHeader,
  readRecord,
} from './csv.js';
import { isFeatureCollection, readArray, readFeatures, readObjectLines } from './json-rows.js';
import type { TextLine } from './lines.js';
import { type InputRow, type RowPlace, type SheetRow, UnreadableInput } from './row.js';
import type { MergedRange } from './sheet.js';
import { isYamlItem, readYamlItem } from './yaml-rows.js';

export interface RowOptions {
  /**
   * Returns whether the first line is a header. It receives the cells of the line in lower case. If
   * it returns false, each line is read as plain text. Throws UnreadableInput for an unusable
   * header.
   */
  isHeader(names: readonly string[], place: RowPlace): boolean;
  /** Whether lines that begin with `#` are ignored. */
  hasComments: boolean;
  /** The fields from `--map` by heading. The headings are in lower case. */
  headings?: ReadonlyMap<string, string> | undefined;
  /**
   * Whether Excel or `--excel` wrote the file. In such a file, an apostrophe before text that looks
   * like a formula is not part of the value. For example, the value of `'-1` is `-1`.
   */
  isFromExcel?: boolean;
}

/**
 * The maximum length of a value that spans several lines. The limit is needed because the value is
 * kept in memory until its end is read.
 */
const LONGEST_VALUE_CHARACTERS = 64 * 1024 * 1024;

interface Line extends TextLine {
  place: RowPlace;
}

/** Reads lines sequentially. The caller can put lines back and read them again. */
interface LineReader {
  next(): Promise<Line | undefined>;
  putBack(lines: readonly Line[]): void;
}

/** Yields the rows of the text. Throws UnreadableInput with the line number. */
export async function* readRows(
  lines: AsyncIterable<TextLine>,
  options: RowOptions,
): AsyncGenerator<InputRow, void, undefined> {
  const iterator = lines[Symbol.asyncIterator]();
  try {
    yield* readFormat(openLineReader(iterator), options);
  } finally {
    // When the reader stops early, this closes the file or stdin.
    await iterator.return?.();
  }
}

function openLineReader(iterator: AsyncIterator<TextLine>): LineReader {
  let number = 0;
  const waiting: Line[] = [];
  return {
    async next() {
      const known = waiting.shift();
      if (known !== undefined) return known;
      const { done, value } = await iterator.next();
      if (done === true) return undefined;
      number += 1;
      return { text: value.text, end: value.end, place: { unit: 'line', number } };
    },
    putBack(lines) {
      waiting.unshift(...lines);
    },
  };
}

async function* readFormat(
  reader: LineReader,
  options: RowOptions,
): AsyncGenerator<InputRow, void, undefined> {
  let separator: string | undefined;
  for (;;) {
    const line = await reader.next();
    if (line === undefined) return;
    const text = line.text.trim();
    if (text === '' || (options.hasComments && text.startsWith('#'))) continue;
    // A YAML document may start with `---`.
    if (text === '---') continue;
    separator ??= readSeparatorLine(line.text);
    if (readSeparatorLine(line.text) !== undefined) continue;
    reader.putBack([line]);
    if (text.startsWith('[')) return yield* readJsonArray(reader);
    if (text.startsWith('{')) return yield* readTextLines(reader, options);
    if (isYamlItem(line.text)) return yield* readYaml(reader);
    const header = await findHeader(reader, separator, options);
    if (header === undefined) return yield* readTextLines(reader, options);
    return yield* readCsv(reader, header, options);
  }
}

/**
 * Returns the delimiter from a line such as `sep=;`, or undefined for any other line. Excel accepts
 * this line before a header. The delimiter may be a tab.
 */
function readSeparatorLine(text: string): string | undefined {
  return /^\s*sep=([^"\s]|\t)\s*$/i.exec(text)?.[1];
}

/** Reads the header of a CSV file. Without a header, returns undefined and puts the lines back. */
async function findHeader(
  reader: LineReader,
  separator: string | undefined,
  options: RowOptions,
): Promise<(Header & { place: RowPlace }) | undefined> {
  const lines = await readRecordLines(reader);
  const [first] = lines;
  if (first === undefined) return undefined;
  const { delimiter, names: written } = readHeader(joinLines(lines), first.place, separator);
  const names = renameHeadings(written, options, first.place);
  if (options.isHeader(names, first.place)) return { delimiter, names, place: first.place };
  reader.putBack(lines);
  return undefined;
}

/**
 * Replaces the headings from `--map` and `--headings` with field names. Removes columns without a
 * heading at the end. Throws UnreadableInput when the header does not contain a heading from
 * `--map`.
 */
function renameHeadings(
  names: readonly string[],
  { headings = new Map() }: RowOptions,
  place: RowPlace,
): string[] {
  const missing = [...headings.keys()].find((heading) => !names.includes(heading));
  if (missing !== undefined)
    throw new UnreadableInput(
      `--map contains the heading "${missing}", which the header does not have`,
      place,
    );
  const renamed = names.map((name) => headings.get(name) ?? fieldOfHeading(name));
  while (renamed.at(-1) === '') renamed.pop();
  return renamed;
}

/**
 * Reads the lines of one CSV record. A record can have several lines, because quoted cells may
 * contain line breaks.
 */
async function readRecordLines(reader: LineReader): Promise<Line[]> {
  const lines: Line[] = [];
  let length = 0;
  let isQuoteOpen = false;
  for (;;) {
    const line = await reader.next();
    if (line === undefined) break;
    lines.push(line);
    length += line.text.length + 1;
    if (length > LONGEST_VALUE_CHARACTERS) throw tooLarge(lines[0]?.place ?? line.place);
    if (hasOddQuotes(line.text)) isQuoteOpen = !isQuoteOpen;
    if (!isQuoteOpen) return lines;
  }
  const [first] = lines;
  if (first === undefined) return [];
  throw new UnreadableInput('a quote is opened here and never closed', first.place);
}

function tooLarge(place: RowPlace): UnreadableInput {
  return new UnreadableInput('it is larger than 64 MB', place);
}

/** Joins lines with their original line endings. */
function joinLines(lines: readonly Line[]): string {
  const last = lines.length - 1;
  return lines.map(({ text, end }, index) => (index === last ? text : text + end)).join('');
}

async function* readCsv(
  reader: LineReader,
  header: Header & { place: RowPlace },
  options: RowOptions,
): AsyncGenerator<InputRow, void, undefined> {
  // Comments are recognised only if the first column is the UUID. In any other column, text such as
  // `#7` can be a name.
  const hasComments = options.hasComments && header.names[0] === 'uuid';
  let isEmpty = true;
  for (;;) {
    const line = await reader.next();
    if (line === undefined) break;
    const text = line.text.trim();
    if (text === '' || (hasComments && text.startsWith('#'))) continue;
    reader.putBack([line]);
    const lines = await readRecordLines(reader);
    const fields = readRecord(joinLines(lines), header, line.place);
    if (!hasValue(fields)) continue;
    isEmpty = false;
    yield {
      place: line.place,
      kind: 'cells',
      fields,
      hasGuards: options.isFromExcel === true,
      delimiter: header.delimiter,
    };
  }
  if (isEmpty) refuseRowsInHeader(header);
}

/**
 * Throws for a header that contains line breaks and has no rows below it. In such a file, wrong
 * quotes or line endings have probably made the rows a part of the header.
 */
function refuseRowsInHeader({ names, place }: Header & { place: RowPlace }): void {
  if (!names.some((name) => /[\n\r\v\f\x85\u2028\u2029]/.test(name))) return;
  throw new UnreadableInput(
    'the header has line breaks in it, and no rows follow; check its quotes and the line ends',
    place,
  );
}

/** Whether a row has a cell that is not empty. Other rows are ignored. */
function hasValue(fields: { [column: string]: string | null }): boolean {
  return Object.values(fields).some((cell) => cell !== null && cell.trim() !== '');
}

/** Yields lines of plain text and JSON objects. An object may span several lines. */
async function* readTextLines(
  reader: LineReader,
  { hasComments }: RowOptions,
): AsyncGenerator<InputRow, void, undefined> {
  let open: string[] = [];
  let place: RowPlace = { unit: 'line', number: 1 };
  let length = 0;
  for (;;) {
    const line = await reader.next();
    if (line === undefined) break;
    const text = line.text.trim();
    if (open.length === 0) {
      if (text === '' || (hasComments && text.startsWith('#'))) continue;
      place = line.place;
      length = 0;
      if (!text.startsWith('{')) {
        yield { place, kind: 'text', text };
        continue;
      }
    }
    open.push(line.text);
    length += line.text.length + 1;
    if (length > LONGEST_VALUE_CHARACTERS) throw tooLarge(place);
    const fields = readObjectLines(open, place);
    if (fields === undefined) continue;
    if (isFeatureCollection(fields)) yield* readFeatures(fields, place);
    else yield { place, kind: 'object', fields };
    open = [];
  }
  if (open.length > 0) throw new UnreadableInput('incomplete JSON', place);
}

/**
 * The lines of a JSON array are joined in batches of this many strings. Each line has two strings:
 * its text and its line ending.
 */
const LINES_AT_ONCE = 4096;

async function* readJsonArray(reader: LineReader): AsyncGenerator<InputRow, void, undefined> {
  const parts: string[] = [];
  let batch: string[] = [];
  let place: RowPlace | undefined;
  let length = 0;
  for (;;) {
    const line = await reader.next();
    if (line === undefined) break;
    place ??= line.place;
    batch.push(line.text, line.end);
    if (batch.length >= LINES_AT_ONCE) {
      // The lines are joined from time to time, because one long string needs less memory than many
      // short strings.
      parts.push(batch.join(''));
      batch = [];
    }
    length += line.text.length + line.end.length;
    if (length > LONGEST_VALUE_CHARACTERS) throw tooLarge(place);
  }
  if (place === undefined) return;
  const text = [...parts, ...batch].join('');
  // Releases the memory of the lines before the array is parsed.
  parts.length = 0;
  yield* readArray(text, place);
}

/** Yields the items of a YAML sequence. Each item starts with `- ` at the left margin. */
async function* readYaml(reader: LineReader): AsyncGenerator<InputRow, void, undefined> {
  let open: Line[] = [];
  let length = 0;
  const readItem = () => {
    const place = open[0]?.place ?? { unit: 'line', number: 1 };
    return readYamlItem(
      open.map(({ text }) => text),
      place,
    );
  };
  for (;;) {
    const line = await reader.next();
    if (line === undefined) break;
    if (open.length > 0 && isYamlItem(line.text)) {
      yield await readItem();
      open = [];
      length = 0;
    }
    open.push(line);
    length += line.text.length + 1;
    if (length > LONGEST_VALUE_CHARACTERS) throw tooLarge(open[0]?.place ?? line.place);
  }
  if (open.length > 0) yield await readItem();
}

interface UsedCells {
  /** The rows of the sheet that fleet reads. */
  rows: readonly SheetRow[];
  /** For each column, whether fleet reads it. */
  columns: readonly boolean[];
}

/** The maximum number of merged cell ranges that an error lists. */
const SHOWN_RANGES = 10;

/**
 * Throws UnreadableInput when merged cells hide values: a cell that fleet reads is in a merged
 * range and is not its first cell. Excel shows the value of the first cell for the whole range, but
 * the file stores the other cells as empty.
 */
function refuseMergedCells(ranges: readonly MergedRange[], { rows, columns }: UsedCells): void {
  if (ranges.length === 0) return;
  // Element n is a count: how many of the first n columns fleet reads.
  const counts = [0];
  for (const isUsed of columns) counts.push((counts.at(-1) ?? 0) + (isUsed ? 1 : 0));
  const countUpTo = (column: number) => counts[Math.min(column, columns.length)] ?? 0;
  const hiding = ranges.filter(({ firstRow, lastRow, firstColumn, lastColumn }) => {
    const isFirstUsed = columns[firstColumn - 1] === true;
    const isOtherUsed = countUpTo(lastColumn) > countUpTo(firstColumn);
    const isRead = (from: number) => (rowAfter(rows, from)?.row ?? lastRow + 1) <= lastRow;
    return (isOtherUsed && isRead(firstRow)) || (isFirstUsed && isRead(firstRow + 1));
  });
  const [first, ...others] = hiding;
  if (first === undefined) return;
  const shown = hiding.slice(0, SHOWN_RANGES).map(({ reference }) => reference);
  const more = hiding.length > SHOWN_RANGES ? ` and ${hiding.length - SHOWN_RANGES} more` : '';
  const cells = others.length === 0 ? 'merged cells' : `${hiding.length} ranges of merged cells`;
  throw new UnreadableInput(
    `${cells} leave values empty: ${shown.join(', ')}${more}; unmerge them and fill each cell`,
    { unit: 'row', number: first.firstRow },
  );
}

/** Returns the first row whose number is at least this number. The rows are in ascending order. */
function rowAfter(rows: readonly SheetRow[], number: number): SheetRow | undefined {
  let low = 0;
  let high = rows.length;
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    if ((rows[middle]?.row ?? 0) < number) low = middle + 1;
    else high = middle;
  }
  return rows[low];
}

/**
 * Yields the rows of a sheet. The first row with a value is the header. Without a header, the first
 * cell of each row is read as text. Throws UnreadableInput with the row number, including when
 * merged cells hide values.
 */
export function* readSheetRows(
  rows: readonly SheetRow[],
  options: RowOptions,
  mergedRanges: readonly MergedRange[] = [],
): Generator<InputRow, void, undefined> {
  let names: readonly string[] | undefined;
  let isHeader = false;
  for (const { row, cells } of rows) {
    const place: RowPlace = { unit: 'row', number: row };
    if (!cells.some((cell) => cell !== null && cell.trim() !== '')) continue;
    if (names === undefined) {
      names = renameHeadings(
        cells.map((cell) => normalizeHeading(cell ?? '')),
        options,
        place,
      );
      isHeader = options.isHeader(names, place);
      refuseMergedCells(mergedRanges, {
        rows: isHeader ? rows.filter((each) => each.row > row) : rows,
        columns: isHeader ? names.map((name) => name !== '') : [true],
      });
      if (isHeader) continue;
    }
    if (isHeader) {
      const fields = cellsByName(names, cells, place);
      yield { place, kind: 'cells', fields, hasGuards: false };
    } else yield { place, kind: 'text', text: cells[0]?.trim() ?? '' };
  }
}
