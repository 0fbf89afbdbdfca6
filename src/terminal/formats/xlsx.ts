// Renders rows as a workbook with one sheet. Numbers, times and booleans become cells of the
// matching type, and strings become text cells.

import { usageError } from '../../errors.js';
import { exactValue } from '../../json/exact.js';
import { widthOf } from '../cells.js';
import { openFileCells } from './columns.js';
import type { Renderer, RendererTools, Shape } from './renderer.js';
import {
  LONGEST_CELL_CHARACTERS,
  linkCellOf,
  machineTimezone,
  timeHeader,
  type XlsxCell,
  xlsxCellOf,
} from './xlsx-cell.js';
import { type PackedRows, packRows, writeXlsx } from './xlsx-file.js';

/** The maximum number of rows in a sheet, including the header. */
const MOST_ROWS = 1_048_576;
const MOST_COLUMNS = 16_384;
const NARROWEST_COLUMN = 6;
const WIDEST_COLUMN = 60;
const TIME_WIDTH = 19;
/**
 * The maximum length of text that is measured. A column with longer text gets the maximum width.
 */
const MEASURED_CHARACTERS = 500;
/** The width of the filter button in a header. */
const FILTER_WIDTH = 3;
const MARGIN_WIDTH = 2;
const SHOWN_CELLS = 10;

/** Collects the rows and creates the file at the end, when the column widths are known. */
export function openXlsx<T>(shape: Shape<T>, tools: RendererTools): Renderer<T> {
  const { hasHeader = true, timezone = machineTimezone() } = tools;
  const cellsOf = openFileCells(shape, tools, shape.furtherColumns);
  const packed: PackedRows[] = [];
  const columns = new ColumnSummary();
  const losses = new LossList();
  let rowCount = 0;
  const firstRow = hasHeader ? 2 : 1;
  return {
    rows(batch) {
      const values = batch.map(exactValue);
      const { names, areLinks, read } = cellsOf(values);
      if (names.length > MOST_COLUMNS)
        throw usageError(
          'a sheet can contain at most 16,384 columns',
          'choose columns with --columns',
        );
      const rows = values.map((value) =>
        read(value).map((inner, column) =>
          areLinks[column] === true
            ? linkCellOf(inner)
            : xlsxCellOf(inner, names[column] ?? '', timezone),
        ),
      );
      for (const [index, cells] of rows.entries()) {
        columns.add(cells);
        losses.add(cells, names, firstRow + rowCount + index);
      }
      packed.push(packRows(rows, firstRow + rowCount));
      rowCount += rows.length;
      if (rowCount >= MOST_ROWS)
        throw usageError(
          'a sheet can contain at most 1,048,575 rows',
          'use -o csv, or filter the rows',
        );
      return '';
    },
    finish() {
      const headings = cellsOf([]).headings.map((heading, column) =>
        columns.hasTimes(column) ? timeHeader(heading, timezone) : heading,
      );
      return writeXlsx(
        {
          name: shape.sheetName ?? shape.noun.many,
          header: hasHeader ? headings : undefined,
          columnWidths: headings.map((heading, column) =>
            columns.width(column, hasHeader ? heading : ''),
          ),
          rowCount,
        },
        packed,
      );
    },
    notices: () => losses.describe(),
  };
}

/** Tracks the width of each column, and whether it contains times. */
class ColumnSummary {
  readonly #widths: number[] = [];
  readonly #timeColumns = new Set<number>();

  add(cells: readonly XlsxCell[]): void {
    for (const [column, cell] of cells.entries()) {
      if (cell.kind === 'time') this.#timeColumns.add(column);
      const width = cellWidth(cell);
      if (width > (this.#widths[column] ?? 0)) this.#widths[column] = width;
    }
  }

  hasTimes(column: number): boolean {
    return this.#timeColumns.has(column);
  }

  width(column: number, header: string): number {
    const content = Math.max(this.#widths[column] ?? 0, widthOf(header) + FILTER_WIDTH);
    return Math.min(WIDEST_COLUMN, Math.max(NARROWEST_COLUMN, content) + MARGIN_WIDTH);
  }
}

function cellWidth(cell: XlsxCell): number {
  if (cell.kind === 'empty') return 0;
  if (cell.kind === 'time') return TIME_WIDTH;
  if (cell.kind === 'link') return widthOf(cell.text);
  if (cell.kind !== 'text') return String(cell.value).length;
  const lines = cell.text.slice(0, MEASURED_CHARACTERS).split('\n');
  return Math.max(...lines.map(widthOf));
}

/** Counts the cells whose value was truncated or is shown in a different form. */
class LossList {
  #numberCount = 0;
  readonly #numberFields = new Set<string>();
  #cutCount = 0;
  readonly #cutCells: string[] = [];

  add(cells: readonly XlsxCell[], names: readonly string[], row: number): void {
    for (const [column, cell] of cells.entries()) {
      if (cell.kind !== 'text') continue;
      if (cell.isNumber) this.#addNumber(names[column] ?? '');
      if (cell.isCut) this.#addCut(names[column] ?? '', row);
    }
  }

  #addNumber(field: string): void {
    this.#numberCount++;
    this.#numberFields.add(field);
  }

  #addCut(field: string, row: number): void {
    this.#cutCount++;
    if (this.#cutCells.length < SHOWN_CELLS) this.#cutCells.push(`${field} in row ${row}`);
  }

  describe(): string[] {
    const notices: string[] = [];
    if (this.#numberCount > 0) {
      const fields = [...this.#numberFields].join(', ');
      notices.push(
        this.#numberCount === 1
          ? `1 number has more digits than a spreadsheet keeps and was written as text: ${fields}`
          : `${this.#numberCount} numbers have more digits than a spreadsheet keeps and were written as text: ${fields}`,
      );
    }
    if (this.#cutCount > 0) {
      const others = this.#cutCount - this.#cutCells.length;
      const cells = `${this.#cutCells.join(', ')}${others === 0 ? '' : ` and ${others} more`}`;
      const limit = LONGEST_CELL_CHARACTERS.toLocaleString('en');
      notices.push(
        this.#cutCount === 1
          ? `1 text was cut to ${limit} characters, which is all that a cell holds: ${cells}`
          : `${this.#cutCount} texts were cut to ${limit} characters, which is all that a cell holds: ${cells}`,
      );
    }
    return notices;
  }
}
