// Groups bicycles that cannot be drawn separately at the map's scale. This is a pure function.
// Bicycles whose marks would overlap become one cluster. No bicycle is therefore hidden by another
// one that is drawn later.

import { type Bounds, boundsOf, type Point } from '../globe/projection.js';
import { isPlaced, type PageBicycle } from './fleet.js';
import { bubblePixels, pointPixels } from './sizes.js';
import { TILE_PIXELS } from './view.js';

/**
 * A cluster. If the middle of the cluster is beyond the date line, the x coordinate of the middle
 * is above 1.
 */
export interface PageCluster extends Point, Bounds {
  readonly bicycles: readonly PageBicycle[];
}

/** One mark of the map, for one bicycle or for many. Its middle is in pixels. */
interface Mark extends Point {
  readonly parts: readonly (readonly PageBicycle[])[];
  readonly count: number;
  readonly radius: number;
}

/**
 * The visible radius of a bicycle's mark, as a share of the mark's size. The mark is smaller than
 * its square, because its outline does not reach the edges of the square.
 */
const MARK_RADIUS = 0.42;
/**
 * The maximum number of rounds in which overlapping marks are merged. Each round merges most of
 * them, so a few rounds are enough for 100,000 bicycles.
 */
const MOST_PASSES = 30;
/**
 * Each grid cell has a key: the column of the cell times this number, plus the row of the cell. The
 * number is larger than the number of rows that the world has at the highest zoom.
 */
const ROW = 2 ** 26;

/**
 * Returns the clusters, and the bicycles that are drawn as points. `worldPixels` is the width of
 * the world. Bicycles without a position are omitted.
 */
export function gather(bicycles: readonly PageBicycle[], worldPixels: number) {
  const placed = bicycles.filter(isPlaced);
  // The world is cut at the eastern end of the widest range of longitudes without bicycles. No
  // cluster extends across the cut.
  const seam = placed.length === 0 ? 0 : boundsOf(placed).west;
  const radius = pointPixels(Math.log2(worldPixels / TILE_PIXELS)) * MARK_RADIUS;
  let marks = binMarks(placed, { seam, worldPixels, radius });
  for (let pass = 0; pass < MOST_PASSES; pass++) {
    const joined = joinOverlapping(marks);
    if (joined.length === marks.length) break;
    marks = joined;
  }
  const clusters = marks
    .filter(({ count }) => count > 1)
    .map((mark) => clusterOf(mark.parts.flat()));
  const points = marks.filter(({ count }) => count === 1).flatMap((mark) => mark.parts.flat());
  return { clusters, points };
}

/**
 * Merges the bicycles in each cell. The cells are so small that the marks of these bicycles would
 * overlap.
 */
function binMarks(
  placed: readonly PageBicycle[],
  { seam, worldPixels, radius }: { seam: number; worldPixels: number; radius: number },
): Mark[] {
  const bins = new Map<number, PageBicycle[]>();
  for (const bicycle of placed) {
    const x = turned(bicycle.x, seam) * worldPixels;
    const key = cellOf(x, bicycle.y * worldPixels, radius);
    const bin = bins.get(key);
    if (bin === undefined) bins.set(key, [bicycle]);
    else bin.push(bicycle);
  }
  return Array.from(bins.values(), (bin) => {
    let [x, y] = [0, 0];
    for (const bicycle of bin) {
      x += turned(bicycle.x, seam);
      y += bicycle.y;
    }
    const count = bin.length;
    return {
      x: (x / count) * worldPixels,
      y: (y / count) * worldPixels,
      parts: [bin],
      count,
      radius: count === 1 ? radius : bubblePixels(count) / 2,
    };
  });
}

/**
 * Merges overlapping marks. The largest mark takes in the smaller marks that it overlaps. The next
 * largest mark then does the same.
 */
function joinOverlapping(marks: readonly Mark[]): Mark[] {
  const sorted = marks.toSorted((a, b) => b.count - a.count || a.x - b.x || a.y - b.y);
  const cell = 2 * Math.max(0, ...new Set(sorted.map(({ radius }) => radius)));
  const cells = new Map<number, Mark[]>();
  for (const mark of sorted) {
    const key = cellOf(mark.x, mark.y, cell);
    const found = cells.get(key);
    if (found === undefined) cells.set(key, [mark]);
    else found.push(mark);
  }
  const taken = new Set<Mark>();
  const joined: Mark[] = [];
  for (const mark of sorted) {
    if (taken.has(mark)) continue;
    taken.add(mark);
    const group = [mark];
    const key = cellOf(mark.x, mark.y, cell);
    for (const across of [-ROW, 0, ROW])
      for (const down of [-1, 0, 1])
        for (const other of cells.get(key + across + down) ?? []) {
          if (!overlap(mark, other) || taken.has(other)) continue;
          taken.add(other);
          group.push(other);
        }
    joined.push(group.length === 1 ? mark : joinMarks(group));
  }
  return joined;
}

function overlap(a: Mark, b: Mark): boolean {
  const reach = a.radius + b.radius;
  const [across, down] = [a.x - b.x, a.y - b.y];
  return across * across + down * down < reach * reach;
}

function joinMarks(marks: readonly Mark[]): Mark {
  let [x, y, count] = [0, 0, 0];
  for (const mark of marks) {
    x += mark.x * mark.count;
    y += mark.y * mark.count;
    count += mark.count;
  }
  const parts = marks.flatMap((mark) => mark.parts);
  return { x: x / count, y: y / count, parts, count, radius: bubblePixels(count) / 2 };
}

function cellOf(x: number, y: number, pixels: number): number {
  return Math.floor(x / pixels) * ROW + Math.floor(y / pixels);
}

/**
 * If a position is west of the cut, moves it east by the width of the world. The map then begins at
 * the cut.
 */
function turned(x: number, seam: number): number {
  return x < seam ? x + 1 : x;
}

function clusterOf(bicycles: readonly PageBicycle[]): PageCluster {
  const bounds = boundsOf(bicycles);
  let [x, y] = [0, 0];
  for (const bicycle of bicycles) {
    x += turned(bicycle.x, bounds.west);
    y += bicycle.y;
  }
  return { x: x / bicycles.length, y: y / bicycles.length, ...bounds, bicycles };
}
