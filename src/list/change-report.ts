// Prints fleet's own results (settings, profiles, a status) in every suitable format.

import type { Context } from '../context.js';
import { escapeJson } from '../terminal/clean.js';
import type { Format, Shape } from '../terminal/formats.js';
import { printRows } from './result.js';

/**
 * Prints the rows. `--jq` and `--columns` work as for lists, and a table is fitted to the terminal.
 */
export async function printReport<T>(
  context: Context,
  shape: Shape<T>,
  rows: readonly T[],
  format?: Format,
): Promise<void> {
  const items = rows.map((value) => ({ json: escapeJson(JSON.stringify(value)), value }));
  await printRows(context, shape, items, format);
}
