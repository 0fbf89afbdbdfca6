// The table of a list. It is drawn page by page, with the widths of the first page, and is never
// wider than the terminal.
//
// Cells are padded according to the width of their text, so right-to-left text stays in its column.
// A terminal that reorders text may swap right-to-left text with a number in the next column.
// Invisible marks could prevent this. They are not used, because users would copy them from the
// screen with the text.

import { exactValue } from '../../json/exact.js';
import { cut, widthOf, wrap } from '../cells.js';
import { paintIn } from '../colour.js';
import {
  type Cell,
  type CellContext,
  cellOf,
  GAP_COLUMNS,
  headerOf,
  type Laid,
  layOut,
} from '../table.js';
import { openTableColumns } from './columns.js';
import type { Renderer, RendererTools, Shape } from './renderer.js';

/**
 * Opens a table. For people, cells are truncated so that the table fits the terminal. For programs,
 * the table has the same columns, but no cell is truncated.
 */
export function openTable<T>(shape: Shape<T>, tools: RendererTools): Renderer<T> {
  const { paint, terminal, now, isWhole = false, hasHeader = true } = tools;
  const at: CellContext = { now, terminal, isWhole };
  const isCut = tools.width !== undefined && !isWhole;
  const columnsOf = openTableColumns(shape, tools.columns);
  let laid: Laid<T>[] | undefined;
  let hidden: string[] = [];

  /** Returns one line without spaces at its end. */
  function line(places: readonly Laid<T>[], cells: readonly Cell[], isHeader = false): string {
    const texts = places.map(({ width }, index) => {
      const text = cells[index]?.text ?? '';
      return (isCut ? cut(text, width) : text).trimEnd();
    });
    const end = texts.findLastIndex((text) => text !== '');
    const drawn = places.slice(0, end + 1).map(({ column, width }, index) => {
      const text = texts[index] ?? '';
      const free = ' '.repeat(Math.max(0, width - widthOf(text)));
      const painted = isHeader ? paint.bold(text) : paintIn(paint, cells[index]?.color, text);
      return column.align === 'right' ? free + painted : index === end ? painted : painted + free;
    });
    return `${drawn.join(' '.repeat(GAP_COLUMNS))}\n`;
  }

  /**
   * Chooses the columns and their widths from the first rows. Returns the line with the headers.
   */
  function begin(values: readonly T[]): string {
    const columns = columnsOf(values);
    const cells = values.map((value) => columns.map((column) => cellOf(column, value, at)));
    const places = layOut(columns, cells, tools);
    laid = places;
    hidden = columns
      .filter((column) => places.every((one) => one.column !== column))
      .map(({ header }) => header);
    const headers = places.map(({ column }) => ({ text: headerOf(column, terminal) }));
    return hasHeader ? line(places, headers, true) : '';
  }

  return {
    rows(rows) {
      if (rows.length === 0) return '';
      const values = rows.map(exactValue);
      let text = laid === undefined ? begin(values) : '';
      const places = laid ?? [];
      for (const value of values) {
        const cells = places.map(({ column }) => cellOf(column, value, at));
        for (const part of shape.isReport === true && isCut ? wrapCells(cells, places) : [cells])
          text += line(places, part);
      }
      return text;
    },
    // When there are no rows, returns only the header. The header is printed for programs, not for
    // people.
    end: () => (laid !== undefined || terminal ? '' : begin([])),
    notices: () =>
      hidden.length === 0
        ? []
        : [`Hidden at this width: ${hidden.join(', ')}. Every column: -o wide`],
  };
}

/** Returns the lines of a row. */
function wrapCells<T>(cells: readonly Cell[], places: readonly Laid<T>[]): Cell[][] {
  const wrapped = cells.map(({ text, color }, index) =>
    wrap(text, places[index]?.width).map((part) => ({ text: part, color })),
  );
  const height = Math.max(...wrapped.map(({ length }) => length));
  return Array.from({ length: height }, (_, at) =>
    wrapped.map((parts) => parts[at] ?? { text: '' }),
  );
}
