// The largest towns, for the labels on a map. Larger towns are placed first.

import { type Extent, type Point, toDots, type View, worldX, worldY } from './projection.js';

export interface Town extends Point {
  readonly name: string;
}

/** Reads the towns that the build wrote: name, longitude and latitude, largest first. */
export function readTowns(
  rows: readonly (readonly [name: string, longitude: number, latitude: number])[],
): Town[] {
  return rows.map(([name, longitude, latitude]) => ({
    name,
    x: worldX(longitude),
    y: worldY(latitude),
  }));
}

/**
 * Calls `place` for the towns in a view until `most` towns have a label. The function `place`
 * receives the position in dots and returns whether the label fits.
 */
export function placeTowns(
  towns: readonly Town[],
  { view, extent, most }: { view: View; extent: Extent; most: number },
  place: (town: Town, x: number, y: number) => boolean,
): void {
  let left = most;
  for (const town of towns) {
    const [x, y] = toDots(view, extent, town);
    const isInside = x >= 0 && y >= 0 && x < extent.width && y < extent.height;
    if (isInside && place(town, x, y)) left--;
    if (left === 0) return;
  }
}
