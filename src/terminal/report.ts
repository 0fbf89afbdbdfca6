// A table of a few rows (settings, profiles, findings, the end of a bulk run), drawn by cli-table3: long cells are wrapped, not cut.
//
// It looks at every cell before it draws the first, and takes about 0.3 ms a row; lists are written by table.ts as they arrive.

import CliTable from 'cli-table3';
import { exactValue } from '../json/exact.js';
import { wrap } from './cells.js';
import { paintIn } from './colour.js';
import { openLayout } from './formats/columns.js';
import type { ListedItem, Renderer, RendererTools, Shape } from './formats/renderer.js';
import type { Cell } from './table.js';

/** No boxes: two spaces between columns, nothing else. */
const BORDERS =
  'top top-mid top-left top-right bottom bottom-mid bottom-left bottom-right left left-mid mid mid-mid right right-mid';
const CHARS = { ...Object.fromEntries(BORDERS.split(' ').map((name) => [name, ''])), middle: '  ' };

/** Rows of cells as aligned lines, each ended by a newline. A cell may have several lines, painted or not, and has been cleaned. */
export function drawRows(rows: readonly (readonly string[])[]): string {
  if (rows.length === 0) return '';
  const table = new CliTable({ chars: CHARS, style: { 'padding-left': 0, 'padding-right': 0, head: [], border: [] } });
  // An empty cell has no line of its own otherwise, and the row would vanish.
  table.push(...rows.map((row) => row.map((cell) => (cell === '' ? ' ' : cell))));
  const lines = table.toString().split('\n');
  return lines.map((line) => `${line.trimEnd()}\n`).join('');
}

/** Draws the whole report at its end: its columns as for a list, its cells wrapped to the width. */
export function openReportRenderer<T>(shape: Shape<T>, tools: RendererTools): Renderer<T> {
  const { width, terminal, isWhole = false, hasHeader = true, paint } = tools;
  const layout = openLayout(shape, tools);
  const gathered: T[] = [];
  const showCell = ({ text, color }: Cell, room: number | undefined): string =>
    wrap(text, width === undefined || isWhole ? undefined : room)
      .map((line) => paintIn(paint, color, line))
      .join('\n');

  return {
    rows(rows: readonly ListedItem<T>[]) {
      for (const row of rows) gathered.push(exactValue(row));
      return '';
    },
    end() {
      if (gathered.length === 0 && terminal) return '';
      const laid = layout.layOut(gathered);
      const lines = gathered.map((value) =>
        layout.cellsOf(laid, value).map((cell, index) => showCell(cell, laid[index]?.width)),
      );
      return drawRows(hasHeader ? [layout.headersOf(laid).map((header) => paint.bold(header)), ...lines] : lines);
    },
    notices: layout.notices,
  };
}
