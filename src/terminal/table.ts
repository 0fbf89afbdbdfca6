// The columns of a table: their cells, and which of them fit a terminal.

import { widthOf } from './cells.js';
import { clean } from './clean.js';
import type { Color } from './colour.js';
import { MISSING, readPath, textOf } from './values.js';

/** One cell; its text has been cleaned or is of our own making. */
export interface Cell {
  text: string;
  color?: Color | undefined;
}

/** Where a cell is shown: the time in milliseconds since the epoch, and whether a person or a program reads it. */
export interface CellContext {
  now: number;
  terminal: boolean;
  /** Nothing is shortened, for people neither: `-o wide` and `--no-truncate`. */
  isWhole?: boolean;
}

/** How much room a column takes. */
interface ColumnFit {
  /** Columns with lower numbers shrink first, and are left out first, where the width is short. */
  keep: number;
  /** The columns of the terminal below which the cell is of no use: rather left out than cut further. */
  minimum?: number;
  /** The most that the column takes, however long its cells. */
  maximum?: number;
  /** What is set aside where there is space, because rows of later batches may need it. */
  room?: number;
  /** It was asked for by name, and is never left out. */
  isAsked?: boolean;
}

export interface Column<T> extends ColumnFit {
  header: string;
  /** The header for programs, where a person reads something else in the column: an age instead of a time. */
  programHeader?: string;
  /** The service's field the column shows, as a dotted path; a name of ours when it is made from several. */
  field: string;
  /** How a value looks in it; the text of the field when absent. */
  cell?(value: T, at: CellContext): Cell;
  align?: 'left' | 'right';
}

/** How a value looks in a column. */
export function cellOf<T>(column: Column<T>, value: T, at: CellContext): Cell {
  if (column.cell !== undefined) return column.cell(value, at);
  const text = textOf(readPath(value, column.field));
  return { text: text === undefined ? MISSING : clean(text) };
}

/** Nothing is padded further: one long cell would make every line as long. Where nothing is cut, a longer one pushes its line aside. */
const WIDEST_COLUMNS = 1000;

/** Two spaces between columns: one is easily part of a cell. */
export const GAP_COLUMNS = 2;

/** A column and the room it has. */
export interface Laid<T> {
  column: Column<T>;
  width: number;
}

/** The least a column can be cut to: what it asks for, else its header and a few letters, and never more than it needs. */
function floorOf<T>({ column, width }: Laid<T>): number {
  return Math.min(width, column.minimum ?? Math.max(widthOf(column.header), 8));
}

/**
 * The columns that have room, each with its width: at least that of its header, and of what it asks for. `cells` are those of the first
 * rows. Without a width nothing is left out; where cells are whole, the columns are those that would fit if they were cut.
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
  // By how much a line with these columns and the gaps between is too long.
  const excess = (roomOf: (one: Laid<T>) => number) =>
    Math.max(0, byUse.reduce((sum, one) => sum + roomOf(one) + gap, -gap) - width);
  while (byUse.length > 1 && byUse.at(-1)?.column.isAsked !== true && excess(floorOf) > 0)
    byUse.pop();
  if (!isWhole)
    for (const one of byUse.toReversed())
      one.width = Math.max(floorOf(one), one.width - excess((each) => each.width));
  return laid.filter((one) => byUse.includes(one));
}

/** The header of a column. */
export function headerOf<T>({ header, programHeader }: Column<T>, isTerminal: boolean): string {
  return isTerminal ? header : (programHeader ?? header);
}
