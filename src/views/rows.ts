// Rows of cells as lines: in columns of fixed widths, or as the table of a list without its headers.

import type { TimeZone } from '../system/time-zone.js';
import { cut, widthOf } from '../terminal/cells.js';
import { type Paint, paintIn } from '../terminal/colour.js';
import { openTable } from '../terminal/formats/table.js';
import type { Shape } from '../terminal/formats.js';
import type { Cell, Column } from '../terminal/table.js';

/** A cell and the columns it is cut or padded to; as wide as it is when `width` is absent. */
export interface PlacedCell extends Cell {
  width?: number | undefined;
  align?: Column<unknown>['align'] | undefined;
}

/** One line of cells. */
export function drawRow(cells: readonly PlacedCell[], paint: Paint): string {
  const drawn = cells.map(({ text, color, width, align }) => {
    const shown = width === undefined ? text : cut(text, width);
    const spaces = ' '.repeat(Math.max(0, (width ?? 0) - widthOf(shown)));
    const painted = paintIn(paint, color, shown);
    return align === 'right' ? spaces + painted : painted + spaces;
  });
  return drawn.join(' ');
}

export interface RowsOptions {
  /** Columns of the terminal; undefined where nothing is cut. */
  width: number | undefined;
  paint: Paint;
  /** Milliseconds since the epoch, for ages. */
  now: number;
  /** The zone of the times of a card. */
  zone?: TimeZone;
  isWhole?: boolean;
}

/** A line a value, in the columns of the shape that fit. */
export function drawTable<T>(
  shape: Shape<T>,
  values: readonly T[],
  options: RowsOptions,
): string[] {
  const table = openTable(shape, { ...options, hasHeader: false, terminal: true, colorLevel: 0 });
  const text = table.rows(values.map((value) => ({ json: '', value })));
  return text.split('\n').slice(0, -1);
}
