// The coastline as lines on the square world map.

import { type Extent, toDots, type View, worldX, worldY } from '../../globe/projection.js';

/**
 * The outlines of land. Each is a list of points on the world map, with alternating x and y
 * coordinates.
 */
export type Coast = readonly Float64Array[];

/**
 * The 1:110m coastline has errors of a few kilometres. The map therefore hides the coast when a
 * terminal column covers fewer metres than this.
 */
export const LEAST_METRES_A_COLUMN = 3_000;

/**
 * A latitude in hundredths of a degree. Land south of this latitude is Antarctica. Antarctica
 * surrounds the pole, so the edge of the map cuts it off.
 */
const SOUTHERN_LAND = -6_000;

/**
 * Reads the outlines from the file that the build generates. Each point is a longitude and a
 * latitude in hundredths of a degree, relative to the previous point.
 */
export function readCoast(rings: readonly (readonly number[])[]): Coast {
  return rings.map((ring) => {
    const points = new Float64Array(ring.length);
    let [longitude, latitude] = [0, 0];
    for (let index = 0; index < ring.length; index += 2) {
      longitude += ring[index] ?? 0;
      latitude += ring[index + 1] ?? 0;
      // Land that crosses the edge of the world map continues with coordinates beyond the edge.
      // With coordinates inside the map, a line would cross the whole map.
      const x = worldX(longitude / 100);
      const step = x - (points[index - 2] ?? x);
      points[index] = Math.abs(step) > 0.5 && latitude > SOUTHERN_LAND ? x - Math.sign(step) : x;
      points[index + 1] = Math.min(1, worldY(Math.max(-89, latitude / 100)));
    }
    return points;
  });
}

/**
 * Whether a line is an edge of the map and not a coast. Such lines are the eastern edge, the
 * western edge, and the southern end of Antarctica.
 */
function isCut(x1: number, y1: number, x2: number, y2: number): boolean {
  const isEdge = (x: number) => x === 0 || x === 1;
  return (isEdge(x1) && isEdge(x2)) || (y1 >= 0.99 && y2 >= 0.99);
}

/** Calls `call` for each dot of the coast in a drawing. */
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
      // Skips a line that connects one edge of the world with the opposite edge.
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
