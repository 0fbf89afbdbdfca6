// Prints a few names with their values (a status, the fields of one bicycle).

import { usageError } from '../errors.js';
import { pad, widthOf, wrap } from './cells.js';
import { clean } from './clean.js';

/** The gap between two columns. */
const GAP = '  ';

/** Rows of cells as aligned lines, each ended by a newline; cells are cleaned, the last one is not padded, and wrapped between words to the width where there is one. */
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
    // A word that has no room beside its name stands below it, whole where it can.
    const isLong = value
      .split(' ')
      .some((word) => widthOf(head + word) > (width ?? Number.POSITIVE_INFINITY));
    return wrap(head + value, width, isLong ? GAP : ' '.repeat(widthOf(head)));
  });
  return lines.map((line) => `${line.trimEnd()}\n`).join('');
}

/**
 * The format for such facts, which have no use for the others. One asked for by flag is refused (kind `usage`); one
 * that stands in a profile or variable was meant for bicycles and alerts and becomes a table.
 */
export function chooseListFormat({
  value,
  origin,
}: {
  value: string;
  origin: string;
}): 'table' | 'json' | 'jsonl' {
  if (value === 'table' || value === 'json' || value === 'jsonl') return value;
  if (origin !== 'flag') return 'table';
  throw usageError(`--output ${value} does not apply here`, 'formats: table, json, jsonl');
}
