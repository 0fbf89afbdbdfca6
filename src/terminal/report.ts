// A table of a few rows whose cells may have several lines (the changes of an edit), drawn by cli-table3, which takes about 0.3 ms a row.

import CliTable from 'cli-table3';

/** No boxes: two spaces between columns, nothing else. */
const BORDERS =
  'top top-mid top-left top-right bottom bottom-mid bottom-left bottom-right left left-mid mid mid-mid right right-mid';
const CHARS = { ...Object.fromEntries(BORDERS.split(' ').map((name) => [name, ''])), middle: '  ' };

/** Rows of cells as aligned lines, each ended by a newline. A cell may have several lines, painted or not, and has been cleaned. */
export function drawRows(rows: readonly (readonly string[])[]): string {
  if (rows.length === 0) return '';
  const table = new CliTable({
    chars: CHARS,
    style: { 'padding-left': 0, 'padding-right': 0, head: [], border: [] },
  });
  // An empty cell has no line of its own otherwise, and the row would vanish.
  table.push(...rows.map((row) => row.map((cell) => (cell === '' ? ' ' : cell))));
  const lines = table.toString().split('\n');
  return lines.map((line) => `${line.trimEnd()}\n`).join('');
}
