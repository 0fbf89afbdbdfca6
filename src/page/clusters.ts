// Gathers places that a map this small cannot tell apart: pure. A cluster is drawn with its count, everything else as points.

import { type Bounds, boundsOf, type Point } from '../globe/projection.js';
import { isPlaced, type PageBicycle } from './fleet.js';

/** Its middle may be above 1 behind the date line. */
export interface PageCluster extends Point, Bounds {
  readonly bicycles: readonly PageBicycle[];
}

const CELL_PIXELS = 32;
/** A larger area is drawn as single points, however many. */
const WIDEST_PIXELS = 54;
const FEWEST = 6;
/** Nearer clusters would lie over each other. */
const NEAREST_PIXELS = 46;
/** More cells than a column of the world has at the highest zoom. */
const ROW = 2 ** 25;

/** Clusters, and what is drawn as points, in the order it came; `worldPixels`: how wide the whole world is. Bicycles without a position are in neither. */
export function gather(bicycles: readonly PageBicycle[], worldPixels: number) {
  const placed = bicycles.filter(isPlaced);
  // The world is cut open at the end of the widest stretch without bicycles.
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

/** What lies before the seam comes after everything else. */
function turned(x: number, seam: number): number {
  return x < seam ? x + 1 : x;
}

/** The bicycles of cells that hang together, those of the fullest cell first. */
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

/** Clusters that would lie over each other become one. */
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
