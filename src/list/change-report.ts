// Prints fleet's own results (settings, profiles, a status) in every suitable format.

import type { Context } from '../context.js';
import { usageError } from '../errors.js';
import { escapeJson } from '../terminal/clean.js';
import { FORMATS, type Format, type Shape } from '../terminal/formats.js';
import { printRows } from './result.js';

/** Formats that only apply to bicycles. */
const FORMATS_OF_BICYCLES: readonly Format[] = ['geojson', 'uuid'];

/**
 * Chooses the format of a report. A format for bicycles is refused (kind `usage`) when it comes
 * from a flag. When it comes from a profile or variable, a table is printed instead.
 */
export function chooseReportFormat({ value, origin }: { value: Format; origin: string }): Format {
  if (!FORMATS_OF_BICYCLES.includes(value)) return value;
  if (origin !== 'flag') return 'table';
  const formats = FORMATS.filter((format) => !FORMATS_OF_BICYCLES.includes(format));
  throw usageError(`--output ${value} does not apply here`, `formats: ${formats.join(', ')}`);
}

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
