// A table of a few rows (settings, profiles, findings, the end of a bulk run), drawn by cli-table3: long cells are wrapped, not cut.
//
// It looks at every cell before it draws the first, and takes about 0.3 ms a row; lists are written by table.ts as they arrive.

import CliTable from 'cli-table3';
import { exactValue } from '../json/exact.js';
import { wrap } from './cells.js';
import { checkColumns, pickColumns } from './formats/columns.js';
import type { Renderer, RendererTools, Row, Shape } from './formats/renderer.js';
import { type Cell, headerOf, type Laid, layOut, type Place } from './table.js';

const GAP = '  ';

/** No boxes: two spaces between columns, nothing else. */
const CHARS = {
  top: '',
  'top-mid': '',
  'top-left': '',
  'top-right': '',
  bottom: '',
  'bottom-mid': '',
  'bottom-left': '',
  'bottom-right': '',
  left: '',
  'left-mid': '',
  mid: '',
  'mid-mid': '',
  right: '',
  'right-mid': '',
  middle: GAP,
};

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
  const asked = tools.columns === undefined ? undefined : pickColumns(tools.columns, shape);
  const columns = asked?.columns.map(({ column }) => column) ?? shape.columns;
  const { width, terminal, isWhole = false, hasHeader = true, paint, now } = tools;
  const at: Place = { now, terminal, isWhole };
  const gathered: T[] = [];
  let laid: readonly Laid<T>[] = [];

  const cellLines = ({ text, color }: Cell, room: number): string =>
    wrap(text, width === undefined || isWhole ? undefined : room)
      .map((line) => (color === undefined ? line : paint[color](line)))
      .join('\n');

  return {
    begin: () => '',
    rows(rows: readonly Row<T>[]) {
      for (const row of rows) gathered.push(exactValue(row));
      return '';
    },
    end() {
      if (gathered.length > 0) checkColumns(asked?.doubtful ?? [], gathered, shape);
      else if (terminal) return '';
      const cells = gathered.map((value) => columns.map((column) => column.cell(value, at)));
      laid = layOut(columns, cells, { width, isWhole, terminal });
      const header = laid.map(({ column }) => paint.bold(headerOf(column, terminal)));
      const lines = gathered.map((value) =>
        laid.map(({ column, width: room }) => cellLines(column.cell(value, at), room)),
      );
      return drawRows(hasHeader ? [header, ...lines] : lines);
    },
    notices() {
      const hidden = columns.filter((column) => gathered.length > 0 && laid.every((one) => one.column !== column));
      if (hidden.length === 0) return [];
      return [`Hidden at this width: ${hidden.map(({ header }) => header).join(', ')}. Every column: -o wide`];
    },
  };
}
