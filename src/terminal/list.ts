// Formats a few names with values, such as a status or the fields of one bicycle.

import { pad, widthOf, wrap } from './cells.js';
import { clean } from './clean.js';

/** The gap between two columns. */
const GAP = '  ';

/**
 * Formats rows of cells as aligned lines, each with a newline. Replaces control characters in cells
 * with visible symbols. If a width is given, wraps the last cell to this width.
 */
export function drawList(rows: readonly (readonly string[])[], width?: number): string {
  const cleaned = rows.map((row) => row.map(clean));
  const widths: number[] = [];
  for (const row of cleaned)
    for (const [column, cell] of row.entries())
      widths[column] = Math.max(widths[column] ?? 0, widthOf(cell));
  const lines = cleaned.flatMap((row) => {
    const cells = row.slice(0, -1).map((cell, column) => pad(cell, widths[column] ?? 0) + GAP);
    const head = cells.join('');
    const value = row.at(-1) ?? '';
    // If a word of the value does not fit next to the name, the value continues on the next line.
    const isLong = value
      .split(' ')
      .some((word) => widthOf(head + word) > (width ?? Number.POSITIVE_INFINITY));
    return wrap(head + value, width, isLong ? GAP : ' '.repeat(widthOf(head)));
  });
  return lines.map((line) => `${line.trimEnd()}\n`).join('');
}
