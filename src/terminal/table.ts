// The columns of a table: their cells, and the choice of columns that fit a terminal.

import { widthOf } from './cells.js';
import { clean } from './clean.js';
import type { Color } from './colour.js';
import { MISSING, readPath, textOf } from './values.js';

/** A cell. Its text is sanitized. */
export interface Cell {
  text: string;
  color?: Color | undefined;
}

/**
 * The values that affect a cell: the current time in milliseconds since the epoch, and whether a
 * person reads the output on a terminal.
 */
export interface CellContext {
  now: number;
  terminal: boolean;
  /** Whether nothing is shortened, as with `-o wide` and `--no-truncate`. */
  isWhole?: boolean;
}

/** The limits for the width of a column. */
interface ColumnFit {
  /** Columns with lower numbers are shrunk and dropped first. */
  keep: number;
  /** The minimum width. If the column would have to be narrower, it is dropped. */
  minimum?: number;
  /** The maximum width. */
  maximum?: number;
  /** The width to reserve for longer cells in later rows, if there is enough space. */
  room?: number;
  /**
   * Whether the user named the column, as in `--columns`. Such a column is shown even when it does
   * not fit.
   */
  isAsked?: boolean;
}

export interface Column<T> extends ColumnFit {
  header: string;
  /**
   * The header for programs, if it differs from the header for people. For example, people see an
   * age, and programs see a time.
   */
  programHeader?: string;
  /**
   * The field of the service that the column shows, as a path with dots. A column that combines
   * several fields has a name that fleet defines.
   */
  field: string;
  /** Returns the cell for a value. By default, the cell is the text of the field. */
  cell?(value: T, at: CellContext): Cell;
  /** Whether the cells are web addresses, which a workbook shows as links. */
  isLink?: boolean;
  align?: 'left' | 'right';
}

/** Returns the cell for a value in a column. */
export function cellOf<T>(column: Column<T>, value: T, at: CellContext): Cell {
  if (column.cell !== undefined) return column.cell(value, at);
  const text = textOf(readPath(value, column.field));
  return { text: text === undefined ? MISSING : clean(text) };
}

/**
 * The maximum width to which cells are padded. Without this limit, one long cell would lengthen
 * every line. If a cell is longer than this, the following cells of its line are shifted.
 */
const WIDEST_COLUMNS = 1000;

/** The gap between two columns: two spaces, because a cell can contain single spaces. */
export const GAP_COLUMNS = 2;

/** A column with its width. */
export interface Laid<T> {
  column: Column<T>;
  width: number;
}

/**
 * Returns the minimum width of a column. Some columns define their own minimum. The other columns
 * need enough width for the header and a few letters. The result is never wider than the content.
 */
function floorOf<T>({ column, width }: Laid<T>): number {
  return Math.min(width, column.minimum ?? Math.max(widthOf(column.header), 8));
}

/**
 * Chooses the columns that fit, and their widths, based on the cells of the first rows. Without a
 * width all columns are kept. With `isWhole`, cells are not truncated, but the same columns are
 * chosen.
 */
export function layOut<T>(
  columns: readonly Column<T>[],
  cells: readonly (readonly Cell[])[],
  {
    width,
    isWhole = false,
    terminal,
    gap = GAP_COLUMNS,
  }: { width: number | undefined; isWhole?: boolean; terminal: boolean; gap?: number },
): Laid<T>[] {
  const laid = columns.map((column, index) => {
    let widest = Math.max(
      widthOf(headerOf(column, terminal)),
      column.minimum ?? 0,
      column.room ?? 0,
    );
    for (const row of cells) widest = Math.max(widest, widthOf(row[index]?.text ?? ''));
    const most =
      isWhole || width === undefined ? WIDEST_COLUMNS : Math.min(width, column.maximum ?? width);
    return { column, width: Math.min(widest, most) };
  });
  if (width === undefined) return laid;
  const byUse = laid.toSorted((a, b) => b.column.keep - a.column.keep);
  // Returns how far a line with these columns and gaps exceeds the available width.
  const excess = (roomOf: (one: Laid<T>) => number) =>
    Math.max(0, byUse.reduce((sum, one) => sum + roomOf(one) + gap, -gap) - width);
  while (byUse.length > 1 && byUse.at(-1)?.column.isAsked !== true && excess(floorOf) > 0)
    byUse.pop();
  if (!isWhole)
    for (const one of byUse.toReversed())
      one.width = Math.max(floorOf(one), one.width - excess((each) => each.width));
  return laid.filter((one) => byUse.includes(one));
}

/** Returns the header of a column. */
export function headerOf<T>({ header, programHeader }: Column<T>, isTerminal: boolean): string {
  return isTerminal ? header : (programHeader ?? header);
}
