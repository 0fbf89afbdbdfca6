// The coastline as lines of the square world.

import { type Extent, toDots, type View, worldX, worldY } from '../../globe/projection.js';

/** Rings of the land: points of the world, x and y in turn. */
export type Coast = readonly Float64Array[];

/** Data of 1:110 million is some kilometres off: it says nothing where a drawing shows less than this for each column. */
export const LEAST_METRES_A_COLUMN = 3_000;

/** Antarctica reaches around the world, and is cut open at the edge; in hundredths of a degree. */
const SOUTHERN_LAND = -6_000;

/** Reads what the build wrote: rings of longitude and latitude in hundredths of a degree, each pair the difference to the one before. */
export function readCoast(rings: readonly (readonly number[])[]): Coast {
  return rings.map((ring) => {
    const points = new Float64Array(ring.length);
    let [longitude, latitude] = [0, 0];
    for (let index = 0; index < ring.length; index += 2) {
      longitude += ring[index] ?? 0;
      latitude += ring[index + 1] ?? 0;
      // Land that lies across the edge of the world goes on behind it: no line crosses the whole map.
      const x = worldX(longitude / 100);
      const step = x - (points[index - 2] ?? x);
      points[index] = Math.abs(step) > 0.5 && latitude > SOUTHERN_LAND ? x - Math.sign(step) : x;
      points[index + 1] = Math.min(1, worldY(Math.max(-89, latitude / 100)));
    }
    return points;
  });
}

/** Where the world was cut open is no coast: its eastern and western edge, and the south of Antarctica. */
function isCut(x1: number, y1: number, x2: number, y2: number): boolean {
  const isEdge = (x: number) => x === 0 || x === 1;
  return (isEdge(x1) && isEdge(x2)) || (y1 >= 0.99 && y2 >= 0.99);
}

/** Calls for each dot of the coast in a drawing. */
export function forCoast(
  coast: Coast,
  view: View,
  extent: Extent,
  call: (x: number, y: number) => void,
): void {
  for (const ring of coast) {
    for (let index = 0; index + 3 < ring.length; index += 2) {
      const [x1 = 0, y1 = 0, x2 = 0, y2 = 0] = ring.subarray(index, index + 4);
      if (isCut(x1, y1, x2, y2)) continue;
      const [[left, top], to] = [
        toDots(view, extent, { x: x1, y: y1 }),
        toDots(view, extent, { x: x2, y: y2 }),
      ];
      const [right, down] = [to[0] - left, to[1] - top];
      // One end on each side of the seam, where the world is wrapped.
      if (Math.abs(right) > view.worldDots / 2) continue;
      const steps = Math.max(1, Math.ceil(Math.max(Math.abs(right), Math.abs(down))));
      for (let step = 0; step <= steps; step++) {
        const [x, y] = [
          Math.round(left + (right * step) / steps),
          Math.round(top + (down * step) / steps),
        ];
        if (x >= 0 && y >= 0 && x < extent.width && y < extent.height) call(x, y);
      }
    }
  }
}
