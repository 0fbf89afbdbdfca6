// Selects the part of the fleet that a watch's flags describe. Also parses the conditions for
// bicycles that enter or leave this selection.

import type { Bicycle } from '../../api/bicycle.js';
import { usageError } from '../../errors.js';
import { type Condition, parseCondition } from '../../list/where.js';
import type { LatLon } from '../../views/distance.js';
import type { Crossing } from '../../views/watch.js';
import { type Box, readCircle } from '../bicycles/area.js';

/** The filters of `bicycles list` that only depend on fields of the bicycle. */
export interface SelectionFilters {
  state?: string[] | undefined;
  name?: string | undefined;
  zone?: string | undefined;
  bbox?: Box | undefined;
  near?: LatLon | undefined;
  radius?: number | undefined;
  model?: string | undefined;
}

export interface BicycleSelection {
  /**
   * Whether the bicycle is selected. If the selection has an area, a bicycle without a position is
   * not selected.
   */
  has(bicycle: Bicycle): boolean;
  /** The selected states. Undefined for all states. */
  readonly states: readonly string[] | undefined;
}

export const CROSSINGS: readonly Crossing[] = ['entered', 'left'];

/**
 * The name of the condition field that tells whether a bicycle entered or left the selection. For
 * example, `--until left` is short for the condition `selection=left`.
 */
export const CROSSING_FIELD = 'selection';

/**
 * Returns the condition of `--until entered` or `--until left`, or undefined for any other value of
 * `--until`.
 */
export function crossingCondition(text: string): Condition | undefined {
  const word = text.trim();
  if (CROSSINGS.every((crossing) => crossing !== word)) return undefined;
  return { ...parseCondition(`${CROSSING_FIELD}=${word}`), text: word };
}

/** Whether the flags select only a part of the fleet. */
export function hasSelection(filters: SelectionFilters): boolean {
  const { state, name, zone, bbox, near, radius, model } = filters;
  return [state, name, zone, bbox, near, radius, model].some((filter) => filter !== undefined);
}

/**
 * Checks the selection flags before any request is sent. Throws a usage error when only one of
 * --near and --radius is set, or for `--until entered` without a selection.
 */
export function checkSelectionFlags(
  filters: SelectionFilters,
  until: readonly Condition[] = [],
): void {
  readCircle(filters.near, filters.radius);
  const crossing = until.find(({ field }) => field === CROSSING_FIELD);
  if (crossing === undefined || hasSelection(filters)) return;
  throw usageError(
    `--until ${crossing.text} works only with a filter that bicycles can start or stop matching`,
    'add --state, --zone, --bbox, --near with --radius, --model or --name',
  );
}
