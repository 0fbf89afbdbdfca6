// The table of a list, drawn page by page: widths fixed by the first page, never wider than the terminal.
//
// Right-to-left text keeps its place by width. A terminal that reorders may swap it with a number in the very next column; marks that
// would prevent it are themselves invisible characters, end up in what is copied from the screen, and are not written.

import { exactValue } from '../../json/exact.js';
import { cut, widthOf } from '../cells.js';
import { type Cell, type CellContext, cellOf, GAP_COLUMNS, headerOf, type Laid, layOut } from '../table.js';
import { hiddenNotice, tableColumns } from './columns.js';
import type { Renderer, RendererTools, Shape } from './renderer.js';

/** For people the table is fitted to the terminal, for programs the same columns are uncut. */
export function openTable<T>(shape: Shape<T>, tools: RendererTools): Renderer<T> {
  const { paint, terminal, isWhole = false, hasHeader = true } = tools;
  const isCut = tools.width !== undefined && !isWhole;
  const at: CellContext = { now: tools.now, terminal, isWhole };
  const columnsOf = tableColumns(shape, tools.columns);
  let layout: Laid<T>[] | undefined;
  let hidden: string[] = [];

  /** One line without trailing spaces: spaces are written only when something follows them. */
  function line(laid: readonly Laid<T>[], cells: readonly Cell[], paintHeader?: (text: string) => string): string {
    let text = '';
    let spaces = 0;
    for (const [index, { column, width: room }] of laid.entries()) {
      const cell = cells[index] ?? { text: '' };
      const isShort = column.shortForm === room;
      const fitted = withoutEndingSpaces(
        !isCut ? cell.text : isShort ? cell.text.slice(0, room) : cut(cell.text, room),
      );
      const free = Math.max(0, room - widthOf(fitted));
      const before = column.align === 'right' ? free : 0;
      if (fitted !== '') {
        const colour = paintHeader ?? (cell.color === undefined ? undefined : paint[cell.color]);
        text += ' '.repeat(spaces + before) + (colour === undefined ? fitted : colour(fitted));
        spaces = 0;
      } else {
        spaces += before;
      }
      spaces += free - before + GAP_COLUMNS;
    }
    return `${text}\n`;
  }

  /** Lays the columns out by the first rows; the line above them. */
  function begin(values: readonly T[]): { laid: Laid<T>[]; header: string } {
    const columns = columnsOf(values);
    const cells = values.map((value) => columns.map((column) => cellOf(column, value, at)));
    const laid = layOut(columns, cells, tools);
    hidden = columns.filter((column) => laid.every((one) => one.column !== column)).map(({ header }) => header);
    const headers = laid.map(({ column }) => ({ text: headerOf(column, terminal) }));
    return { laid, header: hasHeader ? line(laid, headers, paint.bold) : '' };
  }

  return {
    rows(rows) {
      if (rows.length === 0) return '';
      const values = rows.map(exactValue);
      let text = '';
      if (layout === undefined) ({ laid: layout, header: text } = begin(values));
      const laid = layout;
      const cellsOf = (value: T) => laid.map(({ column }) => cellOf(column, value, at));
      for (const value of values) text += line(laid, cellsOf(value));
      return text;
    },
    // The header of a table that had no rows: programs get it, people get nothing.
    end: () => (layout !== undefined || terminal ? '' : begin([]).header),
    notices: () => hiddenNotice(hidden),
  };
}

/** A loop, because `/ +$/` takes time with the square of the spaces in a hostile name. */
function withoutEndingSpaces(text: string): string {
  let end = text.length;
  while (end > 0 && text[end - 1] === ' ') end -= 1;
  return end === text.length ? text : text.slice(0, end);
}
