// Groups bicycles that a map of this scale cannot separate. Pure. A cluster is drawn with its
// count, all others as points.

import { type Bounds, boundsOf, type Point } from '../globe/projection.js';
import { isPlaced, type PageBicycle } from './fleet.js';

/** A cluster. Its middle is above 1 beyond the date line. */
export interface PageCluster extends Point, Bounds {
  readonly bicycles: readonly PageBicycle[];
}

const CELL_PIXELS = 32;
/** Larger areas are drawn as points. */
const WIDEST_PIXELS = 54;
const FEWEST = 6;
/** The minimum distance of two clusters, so that they do not overlap. */
const NEAREST_PIXELS = 46;
/** More than the number of cells in a column of the world at the highest zoom. */
const ROW = 2 ** 25;

/**
 * Returns the clusters, and the bicycles that are drawn as points in their order. `worldPixels` is
 * the width of the world. Bicycles without a position are in neither.
 */
export function gather(bicycles: readonly PageBicycle[], worldPixels: number) {
  const placed = bicycles.filter(isPlaced);
  // The world is cut at the end of the widest range without bicycles.
  const seam = placed.length === 0 ? 0 : boundsOf(placed).west;
  const cells = worldPixels / CELL_PIXELS;
  const bins = new Map<number, PageBicycle[]>();
  for (const bicycle of placed) {
    const key = Math.floor(turned(bicycle.x, seam) * cells) * ROW + Math.floor(bicycle.y * cells);
    const bin = bins.get(key);
    if (bin === undefined) bins.set(key, [bicycle]);
    else bin.push(bicycle);
  }
  const widest = WIDEST_PIXELS / worldPixels;
  const crowds = [...groupsOf(bins)]
    .filter((group) => group.length >= FEWEST)
    .map(clusterOf)
    .filter(({ west, east, north, south }) => Math.max(east - west, south - north) <= widest);
  const clusters = joinNear(crowds, NEAREST_PIXELS / worldPixels);
  const clustered = new Set(clusters.flatMap((cluster) => cluster.bicycles));
  return { clusters, points: placed.filter((bicycle) => !clustered.has(bicycle)) };
}

/** Moves positions before the seam behind all others. */
function turned(x: number, seam: number): number {
  return x < seam ? x + 1 : x;
}

/** Yields the bicycles of connected cells, starting with the fullest cell. */
function* groupsOf(bins: ReadonlyMap<number, PageBicycle[]>): Generator<PageBicycle[]> {
  const left = new Map([...bins].sort(([, a], [, b]) => b.length - a.length));
  for (const start of left.keys()) {
    const group: PageBicycle[][] = [];
    const open = [start];
    for (let key = open.pop(); key !== undefined; key = open.pop()) {
      const bin = left.get(key);
      if (bin === undefined) continue;
      left.delete(key);
      group.push(bin);
      for (const across of [-ROW, 0, ROW])
        for (const down of [-1, 0, 1]) open.push(key + across + down);
    }
    yield group.flat();
  }
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

/** Merges clusters that would overlap. */
function joinNear(clusters: readonly PageCluster[], nearest: number): PageCluster[] {
  const joined: PageCluster[] = [];
  for (const cluster of clusters) {
    const near = joined.findIndex(({ x, y }) => {
      const east = x - cluster.x;
      return Math.hypot(east - Math.round(east), y - cluster.y) < nearest;
    });
    if (near === -1) joined.push(cluster);
    else joined[near] = clusterOf([...(joined[near]?.bicycles ?? []), ...cluster.bicycles]);
  }
  return joined;
}
