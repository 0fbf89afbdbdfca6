// Gathers places that a map this small cannot tell apart: pure. A cluster is drawn with its count, everything else as points.

import { shortestArc } from '../globe/projection.js';
import { type Bicycle, isPlaced } from './fleet.js';

export interface Cluster {
  /** The middle, in Web Mercator; above 1 behind the date line. */
  readonly x: number;
  readonly y: number;
  readonly west: number;
  readonly east: number;
  readonly north: number;
  readonly south: number;
  readonly bicycles: readonly Bicycle[];
}

export interface Clustering {
  readonly clusters: readonly Cluster[];
  /** What is drawn as points, in the order it came. */
  readonly points: readonly Bicycle[];
}

const CELL_PIXELS = 32;
/** What covers more than this is a cloud of points, however many. */
const WIDEST_PIXELS = 54;
const FEWEST = 6;
/** Nearer clusters would lie over each other. */
const NEAREST_PIXELS = 46;
/** More cells than a column of the world has at the highest zoom. */
const ROW = 2 ** 25;

/** `worldPixels`: how wide the whole world is. Bicycles without a position are in neither. */
export function gather(bicycles: readonly Bicycle[], worldPixels: number): Clustering {
  const placed = bicycles.filter(isPlaced);
  const seam = seamOf(placed);
  const cells = worldPixels / CELL_PIXELS;
  const bins = new Map<number, Bicycle[]>();
  for (const bicycle of placed) {
    const key = Math.floor(turned(bicycle.x, seam) * cells) * ROW + Math.floor(bicycle.y * cells);
    const bin = bins.get(key);
    if (bin === undefined) bins.set(key, [bicycle]);
    else bin.push(bicycle);
  }
  const widest = WIDEST_PIXELS / worldPixels;
  const crowds = [...groupsOf(bins)]
    .filter((group) => group.length >= FEWEST)
    .map((group) => clusterOf(group, seam))
    .filter(({ west, east, north, south }) => Math.max(east - west, south - north) <= widest);
  const clusters = joinNear(crowds, NEAREST_PIXELS / worldPixels, seam);
  const clustered = new Set(clusters.flatMap((cluster) => cluster.bicycles));
  return { clusters, points: placed.filter((bicycle) => !clustered.has(bicycle)) };
}

/** Where the world is best cut open: at the end of the widest stretch without bicycles, from 0 to 1. */
export function seamOf(placed: readonly Bicycle[]): number {
  return placed.length === 0 ? 0 : shortestArc(placed).west;
}

/** What lies before the seam comes after everything else. */
function turned(x: number, seam: number): number {
  return x < seam ? x + 1 : x;
}

/** The bicycles of cells that hang together, those of the fullest cell first. */
function* groupsOf(bins: ReadonlyMap<number, Bicycle[]>): Generator<Bicycle[]> {
  const left = new Map([...bins].sort(([, a], [, b]) => b.length - a.length));
  for (const start of left.keys()) {
    const group: Bicycle[][] = [];
    const open = [start];
    for (let key = open.pop(); key !== undefined; key = open.pop()) {
      const bin = left.get(key);
      if (bin === undefined) continue;
      left.delete(key);
      group.push(bin);
      for (const across of [-ROW, 0, ROW]) for (const down of [-1, 0, 1]) open.push(key + across + down);
    }
    yield group.flat();
  }
}

function clusterOf(bicycles: readonly Bicycle[], seam: number): Cluster {
  let [x, y] = [0, 0];
  let [west, east, north, south] = [2, 0, 1, 0];
  for (const bicycle of bicycles) {
    const turnedX = turned(bicycle.x, seam);
    x += turnedX;
    y += bicycle.y;
    west = Math.min(west, turnedX);
    east = Math.max(east, turnedX);
    north = Math.min(north, bicycle.y);
    south = Math.max(south, bicycle.y);
  }
  return { x: x / bicycles.length, y: y / bicycles.length, west, east, north, south, bicycles };
}

/** Clusters that would lie over each other become one. */
function joinNear(clusters: readonly Cluster[], nearest: number, seam: number): Cluster[] {
  const joined: Cluster[] = [];
  for (const cluster of clusters) {
    const near = joined.findIndex(({ x, y }) => Math.hypot(x - cluster.x, y - cluster.y) < nearest);
    if (near === -1) joined.push(cluster);
    else joined[near] = clusterOf([...(joined[near]?.bicycles ?? []), ...cluster.bicycles], seam);
  }
  return joined;
}
