// The table of a list, drawn page by page: widths fixed by the first page, never wider than the terminal.
//
// Right-to-left text keeps its place by width. A terminal that reorders may swap it with a number in the very next column; marks that
// would prevent it are themselves invisible characters, end up in what is copied from the screen, and are not written.

import { exactValue } from '../../json/exact.js';
import { cut, widthOf } from '../cells.js';
import { paintIn } from '../colour.js';
import { type Cell, GAP_COLUMNS, type Laid } from '../table.js';
import { openLayout } from './columns.js';
import type { Renderer, RendererTools, Shape } from './renderer.js';

/** For people the table is fitted to the terminal, for programs the same columns are uncut. */
export function openTable<T>(shape: Shape<T>, tools: RendererTools): Renderer<T> {
  const { paint, terminal, isWhole = false, hasHeader = true } = tools;
  const isCut = tools.width !== undefined && !isWhole;
  const layout = openLayout(shape, tools);
  let laid: Laid<T>[] | undefined;

  function fit({ column, width: room }: Laid<T>, text: string): string {
    if (!isCut) return withoutEndingSpaces(text);
    return withoutEndingSpaces(column.shortForm === room ? text.slice(0, room) : cut(text, room));
  }

  /** One line without trailing spaces. */
  function line(places: readonly Laid<T>[], cells: readonly Cell[], isHeader = false): string {
    const texts = places.map((place, index) => fit(place, cells[index]?.text ?? ''));
    const end = texts.findLastIndex((text) => text !== '');
    const drawn = places.slice(0, end + 1).map(({ column, width: room }, index) => {
      const text = texts[index] ?? '';
      const free = ' '.repeat(Math.max(0, room - widthOf(text)));
      const painted = isHeader ? paint.bold(text) : paintIn(paint, cells[index]?.color, text);
      return column.align === 'right' ? free + painted : index === end ? painted : painted + free;
    });
    return `${drawn.join(' '.repeat(GAP_COLUMNS))}\n`;
  }

  /** Lays the columns out by the first rows; the line above them. */
  function begin(values: readonly T[]): string {
    laid = layout.layOut(values);
    const headers = layout.headersOf(laid).map((text) => ({ text }));
    return hasHeader ? line(laid, headers, true) : '';
  }

  return {
    rows(rows) {
      if (rows.length === 0) return '';
      const values = rows.map(exactValue);
      let text = laid === undefined ? begin(values) : '';
      const places = laid ?? [];
      for (const value of values) text += line(places, layout.cellsOf(places, value));
      return text;
    },
    // The header of a table that had no rows: programs get it, people get nothing.
    end: () => (laid !== undefined || terminal ? '' : begin([])),
    notices: layout.notices,
  };
}

/** A loop, because `/ +$/` takes time with the square of the spaces in a hostile name. */
function withoutEndingSpaces(text: string): string {
  let end = text.length;
  while (end > 0 && text[end - 1] === ' ') end -= 1;
  return end === text.length ? text : text.slice(0, end);
}
