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
  /** Columns with lower numbers are left out first where the width is short. */
  keep: number;
  /** The columns of the terminal below which the cell is of no use: rather left out than cut further. */
  minimum?: number;
  /** Whole or not at all: a UUID that is cut is of no use. */
  isUncut?: boolean;
  /** It was asked for by name, and is never left out. */
  isAsked?: boolean;
  /** So many of its characters say enough, and stand without a mark of what was cut: the digits of a UUID. */
  shortForm?: number;
  /** It shrinks before the others do: it gets the room that they leave. */
  isElastic?: boolean;
  /** The most that the column takes, however long its cells. */
  maximum?: number;
  /** What is set aside where there is space, because rows of later batches may need it. */
  room?: number;
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

export interface LayoutOptions {
  /** Columns of the terminal; undefined where every column is shown and nothing is cut. */
  width: number | undefined;
  /** The columns are those that fit, and their cells are not cut. */
  isWhole?: boolean;
  terminal: boolean;
}

/** Nothing is padded further: one long cell would make every line as long. Where nothing is cut, a longer one pushes its line aside. */
const WIDEST_COLUMNS = 1000;

/** A column that was asked for is no narrower. */
const NARROWEST_COLUMNS = 3;

/** Two spaces between columns: one is easily part of a cell. */
export const GAP_COLUMNS = 2;

/** A column and the room it has. */
export interface Laid<T> {
  column: Column<T>;
  width: number;
}

/** The least a column can be cut to: what it asks for, else its header and a few letters, and never more than it needs. */
function floorOf<T>({ column, width }: Laid<T>): number {
  if (column.isUncut === true) return width;
  return Math.min(width, column.minimum ?? Math.max(widthOf(column.header), 8));
}

/** The columns of a line with the gaps between. */
function lineWidth(widths: readonly number[]): number {
  return widths.reduce((sum, width) => sum + width + GAP_COLUMNS, -GAP_COLUMNS);
}

/** The columns that fit at their least width: the least useful ones go, but the last one and those that were asked for. */
function choose<T>(wanted: readonly Laid<T>[], width: number): Laid<T>[] {
  const byUse = [...wanted].sort((a, b) => b.column.keep - a.column.keep);
  const mayGo = () => byUse.length > 1 && byUse.at(-1)?.column.isAsked !== true;
  while (mayGo() && lineWidth(byUse.map(floorOf)) > width) byUse.pop();
  return wanted.filter((laid) => byUse.includes(laid));
}

/** Takes the excess from the widest columns, from elastic ones first, until the line fits: down to their floors, then what was asked for, or stands alone, further. */
function shrink<T>(chosen: readonly Laid<T>[], width: number): void {
  const isTooWide = () => lineWidth(chosen.map((laid) => laid.width)) > width;
  const take = (floor: (laid: Laid<T>) => number, from = chosen) => {
    const floors = new Map(from.map((laid) => [laid, floor(laid)]));
    while (isTooWide()) {
      const able = from.filter((laid) => laid.width > (floors.get(laid) ?? 0)).sort((a, b) => b.width - a.width);
      if (able[0] === undefined) return;
      able[0].width -= 1;
    }
  };
  const elastic = chosen.filter(({ column }) => column.isElastic === true);
  take(floorOf, elastic);
  take(floorOf);
  for (const laid of chosen) if (isTooWide()) laid.width = Math.min(laid.width, laid.column.shortForm ?? laid.width);
  if (chosen.length === 1) take(() => 1);
  else if (chosen.some(({ column }) => column.isAsked === true))
    take(({ column }) => column.shortForm ?? NARROWEST_COLUMNS);
}

/**
 * The columns that have room, each with its width: at least that of its header, and of what it asks for. `cells` are those of the first
 * rows; `width` undefined leaves nothing out.
 */
export function layOut<T>(
  columns: readonly Column<T>[],
  cells: readonly (readonly Cell[])[],
  { width, isWhole = false, terminal }: LayoutOptions,
): Laid<T>[] {
  const wanted = columns.map((column, index) => {
    let widest = Math.max(widthOf(headerOf(column, terminal)), column.minimum ?? 0, column.room ?? 0);
    for (const row of cells) widest = Math.max(widest, widthOf(row[index]?.text ?? ''));
    return { column, width: Math.min(widest, WIDEST_COLUMNS) };
  });
  if (width === undefined) return wanted;
  const fitting = wanted.map(({ column, width: widest }) => ({
    column,
    width: Math.min(widest, width, column.maximum ?? width),
  }));
  const chosen = choose(fitting, width);
  if (isWhole) return wanted.filter(({ column }) => chosen.some((laid) => laid.column === column));
  shrink(chosen, width);
  return chosen;
}

/** The header of a column. */
export function headerOf<T>({ header, programHeader }: Column<T>, isTerminal: boolean): string {
  return isTerminal ? header : (programHeader ?? header);
}
