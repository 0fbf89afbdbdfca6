// Reads the rows of one sheet. Also collects the reasons for refusing the sheet: hidden rows, and
// cells that cannot be read exactly.

import { usageError } from '../errors.js';
import {
  type CellText,
  type DateSystem,
  decodeEscapes,
  readIsoDateCell,
  readNumberCell,
} from './cell-value.js';
import { detach, RichText } from './rich-text.js';
import type { SheetRow } from './row.js';
import type { FormatOfStyle } from './styles.js';
import {
  CELL_BYTES,
  type MemoryBudget,
  ROW_BYTES,
  TEXT_BYTES,
  WorkbookLimitError,
} from './workbook-limits.js';
import { isTrueAttribute, type OpenPart, PackageError } from './workbook-parts.js';
import { readXml, type XmlElement, XmlError } from './xml.js';

/** The maximum size of a sheet in Excel. */
const LAST_ROW = 1_048_576;
const LAST_COLUMN = 16_384;

const MOST_ROWS = 1_000_000;
/**
 * The maximum number of characters in all cells. A shared string is counted once for each cell that
 * uses it.
 */
const MOST_TEXT_CHARACTERS = 64 * 1024 * 1024;
/** Excel's length limit for cell text. */
const LONGEST_CELL_CHARACTERS = 32_767;

/** The maximum number of merged ranges. A list of bicycles always needs fewer. */
const MOST_MERGED_RANGES = 100_000;

const SHOWN_PROBLEMS = 10;
const SHOWN_RANGES = 20;

export interface SheetOptions {
  readonly formats: FormatOfStyle;
  readonly texts: readonly string[];
  readonly dates: DateSystem;
  readonly budget: MemoryBudget;
  readonly hiddenRows: 'take' | 'skip' | undefined;
}

/** A range of merged cells. Rows and columns are counted from 1. */
export interface MergedRange {
  /** The reference that Excel shows: `C2:C3`. */
  readonly reference: string;
  readonly firstRow: number;
  readonly lastRow: number;
  readonly firstColumn: number;
  readonly lastColumn: number;
}

export interface SheetRows {
  readonly rows: readonly SheetRow[];
  /** The merged ranges of at least two cells. */
  readonly mergedRanges: readonly MergedRange[];
  /**
   * Throws a usage error that names the hidden rows with values. Does nothing with `--hidden-rows`.
   */
  refuseHiddenRows(place: string): void;
  /** Throws a usage error that names the cells that cannot be read exactly. */
  refuseProblems(place: string): void;
}

/** Reads the rows that have a value. Throws a WorkbookLimitError, XmlError or PackageError. */
export async function readSheet(
  open: OpenPart,
  part: string,
  options: SheetOptions,
): Promise<SheetRows> {
  const chunks = open(part);
  if (chunks === undefined) throw new PackageError(`its part ${part} is missing`);
  const reader = new SheetReader(options);
  await readXml(chunks, reader);
  return reader;
}

/** The depth of XML elements: worksheet is 0, sheetData is 1, row is 2, and c (a cell) is 3. */
const SHEET_DATA_LEVEL = 1;
const ROW_LEVEL = 2;
const CELL_LEVEL = 3;
/** The nesting depth of mergeCell elements. Their parent, mergeCells, has depth 1. */
const MERGE_CELL_LEVEL = 2;

class SheetReader implements SheetRows {
  readonly rows: SheetRow[] = [];
  readonly mergedRanges: MergedRange[] = [];
  readonly #options: SheetOptions;
  readonly #problems = new ProblemList();
  readonly #hidden = new RowRanges();
  #textCharacters = 0;

  #row = 0;
  #isHiddenRow = false;
  #cells: (string | null)[] = [];
  #hasProblem = false;

  #column = 0;
  #cell: CellState | undefined;
  #isInValue = false;

  constructor(options: SheetOptions) {
    this.#options = options;
  }

  open(element: XmlElement, path: readonly XmlElement[]): void {
    const level = path.length;
    if (level === 0 && element.name !== 'worksheet')
      throw new XmlError(`it begins with <${element.name}>, not with <worksheet>`);
    const isMergeCell = level === MERGE_CELL_LEVEL && element.name === 'mergeCell';
    if (isMergeCell && path[1]?.name === 'mergeCells') this.#addMergedRange(element);
    if (level < ROW_LEVEL || path[SHEET_DATA_LEVEL]?.name !== 'sheetData') return;
    if (level === ROW_LEVEL) {
      if (element.name === 'row') this.#openRow(element);
      return;
    }
    if (path[ROW_LEVEL]?.name !== 'row') return;
    if (level === CELL_LEVEL) {
      if (element.name === 'c') this.#openCell(element);
      return;
    }
    if (this.#cell !== undefined) this.#openInCell(this.#cell, element, path.slice(CELL_LEVEL + 1));
  }

  text(text: string): void {
    const cell = this.#cell;
    if (cell === undefined) return;
    if (this.#isInValue) {
      cell.value += text;
      return;
    }
    cell.richText?.addText(text);
    const holdsNoText = cell.child === 'f' || cell.child === 'extLst';
    if (!holdsNoText && text.trim() !== '') cell.hasOtherText = true;
  }

  close(element: XmlElement, path: readonly XmlElement[]): void {
    const level = path.length;
    if (level === CELL_LEVEL && this.#cell !== undefined) {
      this.#closeCell(this.#cell);
      return;
    }
    if (this.#cell !== undefined) {
      if (level === CELL_LEVEL + 1) {
        this.#isInValue = false;
        this.#cell.child = undefined;
      }
      this.#cell.richText?.close(element);
      return;
    }
    const isRow = level === ROW_LEVEL && element.name === 'row';
    if (isRow && path[SHEET_DATA_LEVEL]?.name === 'sheetData') this.#closeRow();
  }

  #openRow({ attributes }: XmlElement): void {
    const { r } = attributes;
    const row = r === undefined ? this.#row + 1 : Number(r.trim());
    if (!Number.isInteger(row) || row <= this.#row)
      throw new XmlError(`row ${r} follows row ${this.#row}`);
    if (row > LAST_ROW) throw new WorkbookLimitError(`it has more than ${LAST_ROW} rows`);
    this.#row = row;
    this.#isHiddenRow = isHidden(attributes);
    this.#cells = [];
    this.#hasProblem = false;
    this.#column = 0;
  }

  #addMergedRange({ attributes }: XmlElement): void {
    const range = readMergedRange(attributes['ref'] ?? '');
    if (range === undefined) return;
    if (this.mergedRanges.length >= MOST_MERGED_RANGES)
      throw new WorkbookLimitError(`it has more than ${MOST_MERGED_RANGES} merged ranges`);
    this.mergedRanges.push(range);
  }

  #closeRow(): void {
    const cells = this.#cells;
    if (cells.length === 0 && !this.#hasProblem) return;
    const { hiddenRows, budget } = this.#options;
    if (this.#isHiddenRow) this.#hidden.add(this.#row);
    if (cells.length === 0 || (this.#isHiddenRow && hiddenRows === 'skip')) return;
    if (this.rows.length >= MOST_ROWS)
      throw new WorkbookLimitError('it has more than 1,000,000 rows');
    budget.use(ROW_BYTES + CELL_BYTES * cells.length);
    // The array is copied, because an array that has grown element by element keeps unused memory.
    this.rows.push({ row: this.#row, cells: cells.slice() });
  }

  #openCell({ attributes }: XmlElement): void {
    const { r, s, t } = attributes;
    const column = r === undefined ? this.#column + 1 : this.#columnOf(r);
    if (column <= this.#column) throw new XmlError(`cell ${r} is not in order`);
    if (column > LAST_COLUMN)
      throw new WorkbookLimitError(`row ${this.#row} has more than ${LAST_COLUMN} columns`);
    this.#column = column;
    this.#cell = {
      type: t ?? 'n',
      style: s === undefined ? 0 : Number(s),
      value: '',
      hasValue: false,
      hasFormula: false,
      hasOtherText: false,
      child: undefined,
      richText: undefined,
    };
  }

  /** Returns the column of a reference such as `B7`. Throws when its row is not the current row. */
  #columnOf(reference: string): number {
    const { column, row } = splitReference(reference);
    if (column === 0 || row !== String(this.#row))
      throw new XmlError(`row ${this.#row} has a cell "${reference.slice(0, 20)}"`);
    return column;
  }

  #openInCell(cell: CellState, element: XmlElement, inside: readonly XmlElement[]): void {
    if (inside.length > 0) {
      if (inside[0]?.name === 'is') cell.richText?.open(element, inside.slice(1));
      return;
    }
    cell.child = element.name;
    if (element.name === 'f') cell.hasFormula = true;
    if (element.name === 'is') {
      cell.hasValue = true;
      cell.richText = new RichText();
    }
    if (element.name !== 'v') return;
    cell.hasValue = true;
    cell.value = '';
    this.#isInValue = true;
  }

  #closeCell(cell: CellState): void {
    this.#cell = undefined;
    if (this.#isHiddenRow && this.#options.hiddenRows === 'skip') return;
    const read = this.#read(cell);
    if (read === undefined) return;
    if ('problem' in read) {
      this.#hasProblem = true;
      this.#problems.add(`${columnName(this.#column)}${this.#row}: ${read.problem}`);
      return;
    }
    const { text } = read;
    if (text === '') return;
    if (text.length > LONGEST_CELL_CHARACTERS)
      throw new WorkbookLimitError(
        `cell ${columnName(this.#column)}${this.#row} has more than 32,767 characters`,
      );
    this.#textCharacters += text.length;
    if (this.#textCharacters > MOST_TEXT_CHARACTERS)
      throw new WorkbookLimitError('its cells hold more than 64 million characters');
    if (cell.type !== 's' || cell.richText !== undefined)
      this.#options.budget.use(TEXT_BYTES + 2 * text.length);
    while (this.#cells.length < this.#column - 1) this.#cells.push(null);
    this.#cells.push(text);
  }

  /** Returns the text of a cell, or undefined for a cell without a value. */
  #read(cell: CellState): CellText | undefined {
    const { formats, dates } = this.#options;
    // Some programs write a cell's text into a different element than the one that the cell's type
    // requires.
    const inline = cell.richText?.take() ?? '';
    if (inline !== '' && cell.value !== '' && cell.value !== inline)
      return { problem: 'it has two values' };
    if (inline === '' && cell.hasOtherText) return { problem: 'it has a text in an unknown place' };
    const isInline = cell.type === 'inlineStr' || inline !== '';
    const isEmpty = cell.value === '' && !isInline;
    // The value of a calculated formula may be an empty text. If the value should be a number and
    // is empty, the formula was never calculated.
    const isStored = cell.hasValue && (!isEmpty || cell.type === 'str');
    if (cell.hasFormula && !isStored) return { problem: 'a formula without a stored value' };
    if (!cell.hasValue || isEmpty) return undefined;
    const format = formats(cell.style);
    if (isInline) {
      const text = inline === '' ? decodeEscapes(detach(cell.value)) : inline;
      return withFormat(text, format.textProblem);
    }
    switch (cell.type) {
      case 'n':
        return readNumberCell(cell.value, format, dates);
      case 's':
        return withFormat(this.#sharedText(cell.value), format.textProblem);
      case 'str':
        return withFormat(decodeEscapes(detach(cell.value)), format.textProblem);
      case 'b':
        return readBoolean(cell.value);
      case 'd':
        return readIsoDateCell(cell.value, format);
      case 'e':
        return { problem: cell.value.trim().slice(0, 40) };
      default:
        return { problem: `a cell of the unknown type "${cell.type.slice(0, 20)}"` };
    }
  }

  #sharedText(index: string): string {
    const text = this.#options.texts[Number(index)];
    if (text === undefined)
      throw new XmlError(
        `cell ${columnName(this.#column)}${this.#row} refers to a text that does not exist`,
      );
    return text;
  }

  refuseHiddenRows(place: string): void {
    if (this.#options.hiddenRows !== undefined || this.#hidden.count === 0) return;
    throw usageError(
      `${place} has hidden rows: ${this.#hidden.describe()}`,
      'unhide the rows, or use --hidden-rows take or --hidden-rows skip',
    );
  }

  refuseProblems(place: string): void {
    if (this.#problems.count === 0) return;
    const cells = this.#problems.count === 1 ? 'a cell' : `${this.#problems.count} cells`;
    throw usageError(
      `${place} has ${cells} that cannot be read exactly: ${this.#problems.describe()}`,
      'correct the cells, or format their columns as text and enter the values again',
    );
  }
}

interface CellState {
  readonly type: string;
  readonly style: number;
  richText: RichText | undefined;
  value: string;
  hasValue: boolean;
  hasFormula: boolean;
  /** Whether the cell contains text outside `<v>`, `<f>` and `<extLst>`. */
  hasOtherText: boolean;
  /**
   * The name of the element inside the cell that is being read, such as `v`; undefined between
   * elements.
   */
  child: string | undefined;
}

/**
 * Splits a reference: `B7` is column 2 and row `7`. The column is 0 when the reference has none.
 */
function splitReference(reference: string): { column: number; row: string } {
  let column = 0;
  let at = 0;
  for (; at < reference.length && at <= 3; at++) {
    const letter = reference.charCodeAt(at) - 64;
    if (letter < 1 || letter > 26) break;
    column = column * 26 + letter;
  }
  return { column, row: reference.slice(at) };
}

/**
 * Parses a range such as `C2:C3`. Returns undefined for a single cell. Throws an XmlError for any
 * other text.
 */
function readMergedRange(reference: string): MergedRange | undefined {
  const [first = '', last = first] = reference.split(':');
  const [from, to] = [splitReference(first), splitReference(last)];
  const range = {
    reference,
    firstRow: Number(from.row),
    lastRow: Number(to.row),
    firstColumn: from.column,
    lastColumn: to.column,
  };
  const isValid = from.column > 0 && range.firstRow > 0 && range.lastRow >= range.firstRow;
  if (!isValid || range.lastColumn < range.firstColumn || reference.length > 30)
    throw new XmlError(`it has a merged range "${reference.slice(0, 20)}"`);
  return first === last ? undefined : range;
}

function withFormat(text: string, problem: string | undefined): CellText {
  return problem === undefined || text === ''
    ? { text }
    : { problem: `${JSON.stringify(text.slice(0, 30))} (${problem})` };
}

function readBoolean(value: string): CellText {
  const word = value.trim();
  if (word === '1' || word === 'true') return { text: 'true' };
  if (word === '0' || word === 'false') return { text: 'false' };
  return { problem: `"${word.slice(0, 20)}" is not a boolean` };
}

/** Whether a row is hidden: by the user, by a filter, by a closed group, or by a height of zero. */
function isHidden({ hidden, ht, customHeight }: Readonly<Record<string, string>>): boolean {
  return (
    isTrueAttribute(hidden) ||
    (isTrueAttribute(customHeight) && ht !== undefined && Number(ht) === 0)
  );
}

/** Returns the name of a column: `A` for 1, `AA` for 27. */
function columnName(column: number): string {
  let name = '';
  for (let rest = column; rest > 0; rest = Math.floor((rest - 1) / 26))
    name = String.fromCharCode(65 + ((rest - 1) % 26)) + name;
  return name;
}

/** Counts problems and keeps the first ones for a message. */
class ProblemList {
  count = 0;
  readonly #first: string[] = [];

  add(problem: string): void {
    this.count++;
    if (this.#first.length < SHOWN_PROBLEMS) this.#first.push(problem);
  }

  describe(): string {
    const others = this.count - this.#first.length;
    return `${this.#first.join(', ')}${others === 0 ? '' : ` and ${others} more`}`;
  }
}

/** Collects row numbers in ascending order, and joins consecutive ones into ranges. */
class RowRanges {
  count = 0;
  readonly #ranges: { first: number; last: number }[] = [];
  #rangeCount = 0;
  #last = 0;

  add(row: number): void {
    this.count++;
    const isNext = this.#last !== 0 && row === this.#last + 1;
    this.#last = row;
    if (!isNext) this.#rangeCount++;
    if (this.#rangeCount > SHOWN_RANGES) return;
    const range = this.#ranges.at(-1);
    if (isNext && range !== undefined) range.last = row;
    else this.#ranges.push({ first: row, last: row });
  }

  /** Returns the rows for a message: `rows 3-5, 9`. */
  describe(): string {
    const ranges = this.#ranges.map(({ first, last }) =>
      first === last ? String(first) : `${first}-${last}`,
    );
    const shown = this.#ranges.reduce((sum, { first, last }) => sum + last - first + 1, 0);
    const others = this.count - shown;
    const noun = this.count === 1 ? 'row' : 'rows';
    return `${noun} ${ranges.join(', ')}${others === 0 ? '' : ` and ${others} more`}`;
  }
}
