// Reads the rows of an input and detects its format: plain lines, CSV, JSON, JSON lines, YAML,
// GeoJSON or an Excel workbook.

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
   * Decides whether the first line is a header with these names, which are in lower case. If it is
   * not, every line is read as a text. Throws UnreadableInput for a header that cannot be used.
   */
  isHeader(names: readonly string[], place: RowPlace): boolean;
  /** Whether lines that begin with `#` are ignored. */
  hasComments: boolean;
  /** The fields that `--map` gives to headings; headings are in lower case. */
  headings?: ReadonlyMap<string, string> | undefined;
  /** Whether Excel or `--excel` wrote the text, so that `'-1` means `-1`. */
  isFromExcel?: boolean;
}

/**
 * The maximum length of the text of a value that spans several lines. The text is kept until the
 * value ends.
 */
const LONGEST_VALUE_CHARACTERS = 64 * 1024 * 1024;

interface Line extends TextLine {
  place: RowPlace;
}

/** Lines that are read one after another. The reader can put a line back. */
interface LineReader {
  next(): Promise<Line | undefined>;
  putBack(lines: readonly Line[]): void;
}

/** Reads rows from lines. Throws UnreadableInput, which names the row. */
export async function* readRows(
  lines: AsyncIterable<TextLine>,
  options: RowOptions,
): AsyncGenerator<InputRow, void, undefined> {
  const iterator = lines[Symbol.asyncIterator]();
  try {
    yield* readFormat(openLineReader(iterator), options);
  } finally {
    // A reader that stops early releases the file or stdin.
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
    // A YAML document may start with this line.
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
 * The delimiter in the line `sep=;` above a header. Excel reads this line. The delimiter may be a
 * tab.
 */
function readSeparatorLine(text: string): string | undefined {
  return /^\s*sep=([^"\s]|\t)\s*$/i.exec(text)?.[1];
}

/**
 * Reads the header of a CSV file. When there is no header, puts the lines back and returns
 * undefined.
 */
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
 * Replaces the headings of `--map` and `--headings` by fields, and drops columns without a heading
 * at the end. Throws UnreadableInput when `--map` names a heading that the header does not have.
 */
function renameHeadings(
  names: readonly string[],
  { headings = new Map() }: RowOptions,
  place: RowPlace,
): string[] {
  const missing = [...headings.keys()].find((heading) => !names.includes(heading));
  if (missing !== undefined)
    throw new UnreadableInput(
      `--map names the heading "${missing}", which the header does not have`,
      place,
    );
  const renamed = names.map((name) => headings.get(name) ?? fieldOfHeading(name));
  while (renamed.at(-1) === '') renamed.pop();
  return renamed;
}

/** Reads the lines of one record: quoted cells may contain line breaks. */
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

/** The text of the lines with the line ends between them. */
function joinLines(lines: readonly Line[]): string {
  const last = lines.length - 1;
  return lines.map(({ text, end }, index) => (index === last ? text : text + end)).join('');
}

async function* readCsv(
  reader: LineReader,
  header: Header & { place: RowPlace },
  options: RowOptions,
): AsyncGenerator<InputRow, void, undefined> {
  // If the first column is not the UUID, a text such as `#7` can be a name.
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
 * Refuses a header without rows whose headings contain line breaks, because they probably contain
 * the rows.
 */
function refuseRowsInHeader({ names, place }: Header & { place: RowPlace }): void {
  if (!names.some((name) => /[\n\r\v\f\x85\u2028\u2029]/.test(name))) return;
  throw new UnreadableInput(
    'the header has line breaks in it, and no rows follow; check its quotes and the line ends',
    place,
  );
}

/**
 * Whether a cell of the row has a text other than white space. A row without such a cell is
 * ignored.
 */
function hasValue(fields: { [column: string]: string | null }): boolean {
  return Object.values(fields).some((cell) => cell !== null && cell.trim() !== '');
}

/** Reads lines of text and JSON objects, which may span several lines. */
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

/** How many texts are joined at once. */
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
      // One long text needs less memory than its lines.
      parts.push(batch.join(''));
      batch = [];
    }
    length += line.text.length + line.end.length;
    if (length > LONGEST_VALUE_CHARACTERS) throw tooLarge(place);
  }
  if (place === undefined) return;
  const text = [...parts, ...batch].join('');
  // The lines are released before the rows are read.
  parts.length = 0;
  yield* readArray(text, place);
}

/** Reads the items of a YAML sequence; an item begins with `- ` at the left margin. */
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
  /** The rows that are read. */
  rows: readonly SheetRow[];
  /** Whether each column is read. */
  columns: readonly boolean[];
}

/** How many merged ranges an error names. */
const SHOWN_RANGES = 10;

/**
 * Throws UnreadableInput that names the merged ranges in which a used cell is not the first cell.
 * Excel shows the value of the first cell for all cells of a range, but the other cells are empty.
 */
function refuseMergedCells(ranges: readonly MergedRange[], { rows, columns }: UsedCells): void {
  if (ranges.length === 0) return;
  // For each column, the number of columns up to it that are read.
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

/** Returns the first row, in ascending order, with at least this row number. */
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
 * Reads the rows of a sheet. The first row with a value is the header. Without a header, the first
 * cell of every row is read as a text. Throws UnreadableInput, which names the row, also for merged
 * cells that leave a cell of a row empty.
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
