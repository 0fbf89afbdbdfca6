// Prepares the selection of a watch. The code for areas is loaded only when the command line has
// filters.

import type { Context } from '../../context.js';
import { type BicycleSelection, hasSelection, type SelectionFilters } from './crossing.js';

/** Prepares the selection from the flags. Returns undefined without filters. */
export async function compileFilters(
  context: Context,
  filters: SelectionFilters,
): Promise<BicycleSelection | undefined> {
  if (!hasSelection(filters)) return undefined;
  const { readWatchSelection } = await import('./selection.js');
  return readWatchSelection(context, filters);
}
