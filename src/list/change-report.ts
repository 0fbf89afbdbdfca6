// Prints results that fleet itself produces, such as settings, profiles or a status.

import type { Context } from '../context.js';
import { escapeJson } from '../terminal/clean.js';
import type { Format, Shape } from '../terminal/formats.js';
import { printRows } from './result.js';

/** Prints rows in the chosen format. `--jq` and `--columns` work as for lists. */
export async function printReport<T>(
  context: Context,
  shape: Shape<T>,
  rows: readonly T[],
  format?: Format,
): Promise<void> {
  const items = rows.map((value) => ({ json: escapeJson(JSON.stringify(value)), value }));
  await printRows(context, shape, items, format);
}
