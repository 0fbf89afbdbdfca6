// The coastline as lines of the square world, clipped to a view.

import { worldX, worldY } from '../../globe/projection.js';

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

/** A line in dots, within the extent. */
export type Line = readonly [x1: number, y1: number, x2: number, y2: number];

/** Where the world was cut open is no coast: its eastern and western edge, and the south of Antarctica. */
function isCut(x1: number, y1: number, x2: number, y2: number): boolean {
  const isEdge = (x: number) => x === 0 || x === 1;
  return (isEdge(x1) && isEdge(x2)) || (y1 >= 0.99 && y2 >= 0.99);
}

/** Calls for each piece of the coast; points are handed through `project`, which gives dots, and `width` is that of the world. */
export function forCoast(
  coast: Coast,
  toDots: (x: number, y: number) => readonly [x: number, y: number],
  { width, height, worldDots }: { width: number; height: number; worldDots: number },
  call: (line: Line) => void,
): void {
  for (const ring of coast) {
    for (let index = 0; index + 3 < ring.length; index += 2) {
      const [x1 = 0, y1 = 0, x2 = 0, y2 = 0] = ring.subarray(index, index + 4);
      if (isCut(x1, y1, x2, y2)) continue;
      const [from, to] = [toDots(x1, y1), toDots(x2, y2)];
      // One end on each side of the seam, where the world is wrapped.
      if (Math.abs(from[0] - to[0]) > worldDots / 2) continue;
      const line = clip([from[0], from[1], to[0], to[1]], width, height);
      if (line !== undefined) call(line);
    }
  }
}

/** The part of a line within a rectangle (Liang and Barsky); undefined when there is none. */
export function clip([x1, y1, x2, y2]: Line, width: number, height: number): Line | undefined {
  const [right, down] = [x2 - x1, y2 - y1];
  let [enter, leave] = [0, 1];
  const edges = [
    [-right, x1],
    [right, width - 1 - x1],
    [-down, y1],
    [down, height - 1 - y1],
  ] as const;
  for (const [step, distance] of edges) {
    if (step === 0) {
      if (distance < 0) return undefined;
      continue;
    }
    const at = distance / step;
    if (step < 0) enter = Math.max(enter, at);
    else leave = Math.min(leave, at);
  }
  if (enter > leave) return undefined;
  return [x1 + enter * right, y1 + enter * down, x1 + leave * right, y1 + leave * down];
}
