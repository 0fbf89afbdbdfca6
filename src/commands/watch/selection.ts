// Selects the bicycles that a watch shows. A watch has the same filters as `bicycles list`. fleet
// applies them to each bicycle in a message or a list.

import type { Context } from '../../context.js';
import { textOf } from '../../terminal/values.js';
import { compileSelection, readZoneOutlines } from '../check/selection.js';
import type { BicycleSelection, SelectionFilters } from './crossing.js';

/**
 * Prepares the selection: looks up names, and reads the outline of a zone. Throws a FleetError for
 * an unknown name.
 */
export async function readWatchSelection(
  context: Context,
  filters: SelectionFilters,
): Promise<BicycleSelection> {
  const { state, name, zone, model, bbox, near, radius } = filters;
  const compiled = await compileSelection(
    context,
    {
      where: [],
      ...(state === undefined ? {} : { state }),
      ...(zone === undefined ? {} : { zone: [zone] }),
      ...(model === undefined ? {} : { model: [model] }),
      ...(bbox === undefined ? {} : { bbox }),
      ...(near === undefined ? {} : { near }),
      ...(radius === undefined ? {} : { radius }),
    },
    () => readZoneOutlines(context),
  );
  const text = name?.toLowerCase();
  const now = context.now();
  return {
    states: state,
    has: (bicycle) =>
      (text === undefined || (textOf(bicycle.name) ?? '').toLowerCase().includes(text)) &&
      compiled.membershipOf(bicycle, now) === 'in',
  };
}
