// Formats rows of cells as lines: in columns of fixed widths, or as a table without headers.

import type { TimeZone } from '../system/time-zone.js';
import { cut, widthOf } from '../terminal/cells.js';
import { type Paint, paintIn } from '../terminal/colour.js';
import { openTable } from '../terminal/formats/table.js';
import type { Shape } from '../terminal/formats.js';
import type { Cell, Column } from '../terminal/table.js';

/**
 * A cell and the width to which it is truncated or padded. Without `width`, the cell stays
 * unchanged.
 */
export interface PlacedCell extends Cell {
  width?: number | undefined;
  align?: Column<unknown>['align'] | undefined;
}

/** Formats one line of cells. */
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
  /** The number of columns to which rows are truncated; undefined when rows are not truncated. */
  width: number | undefined;
  paint: Paint;
  /** The current time in milliseconds since the epoch, from which ages are computed. */
  now: number;
  /** The time zone for times on a card. */
  zone?: TimeZone;
  isWhole?: boolean;
  /** Whether the first line has the headings of the columns. */
  hasHeader?: boolean;
}

/** Returns one line for each value. Columns that do not fit into the width are left out. */
export function drawTable<T>(
  shape: Shape<T>,
  values: readonly T[],
  options: RowsOptions,
): string[] {
  const { hasHeader = false } = options;
  const table = openTable(shape, { ...options, hasHeader, terminal: true, colorLevel: 0 });
  const text = table.rows(values.map((value) => ({ json: '', value })));
  return text.split('\n').slice(0, -1);
}
