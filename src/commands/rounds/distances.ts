// Straight-line distances, for tours without a router.

import { setImmediate as nextTurn } from 'node:timers/promises';
import { greatCircleMetres } from '../../globe/projection.js';

/** A place in degrees. */
export type Spot = readonly [longitude: number, latitude: number];

/** The estimated length of a way through a city, divided by the length of the straight line. */
export const DETOUR_FACTOR = 1.3;

/** Returns the estimated distance of a drive in whole metres. */
export function drivenMetres(from: Spot, to: Spot): number {
  return Math.round(greatCircleMetres(from, to) * DETOUR_FACTOR);
}

/**
 * The number of table rows that are computed between two checks of the abort signal. Computing
 * these rows takes a few milliseconds.
 */
const ROWS_A_SLICE = 100;

/**
 * Returns the estimated distances between all places, row by row. Throws the signal's reason when
 * the signal is aborted.
 */
export async function straightMatrix(
  spots: readonly Spot[],
  signal: AbortSignal,
): Promise<Int32Array> {
  const size = spots.length;
  const metres = new Int32Array(size * size);
  for (const [from, spot] of spots.entries()) {
    if (from % ROWS_A_SLICE === 0) await nextTurn();
    signal.throwIfAborted();
    for (let to = from + 1; to < size; to++) {
      const distance = drivenMetres(spot, spots[to] as Spot);
      metres[from * size + to] = distance;
      metres[to * size + from] = distance;
    }
  }
  return metres;
}
