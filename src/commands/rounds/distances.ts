// Distances along straight lines, for tours without a router.

import { setImmediate as nextTurn } from 'node:timers/promises';
import { EARTH_RADIUS_METRES } from '../../globe/projection.js';

/** A place as longitude and latitude in degrees. */
export type Spot = readonly [longitude: number, latitude: number];

/** How much longer a way through a city is than the straight line. */
export const DETOUR_FACTOR = 1.3;

const RADIANS = Math.PI / 180;

/** Returns the distance of two places on a great circle in metres (haversine formula). */
export function straightMetres([startEast, startNorth]: Spot, [endEast, endNorth]: Spot): number {
  const north = Math.sin(((endNorth - startNorth) * RADIANS) / 2) ** 2;
  const east = Math.sin(((endEast - startEast) * RADIANS) / 2) ** 2;
  const chord = north + Math.cos(startNorth * RADIANS) * Math.cos(endNorth * RADIANS) * east;
  return 2 * EARTH_RADIUS_METRES * Math.asin(Math.min(1, Math.sqrt(chord)));
}

/** Returns the estimated distance of a drive in whole metres. */
export function drivenMetres(from: Spot, to: Spot): number {
  return Math.round(straightMetres(from, to) * DETOUR_FACTOR);
}

/** How many rows of the table are computed before a signal is noticed, some milliseconds. */
const ROWS_A_SLICE = 100;

/**
 * Returns the estimated distances between all places, row by row. Throws the signal's reason when
 * it is aborted.
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
