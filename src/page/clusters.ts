// Gathers places that a map this small cannot tell apart: pure. A cluster is drawn with its count, everything else as points.

import type { Fleet } from './fleet.js';

export interface Cluster {
  /** The middle, in Web Mercator; above 1 behind the date line. */
  readonly x: number;
  readonly y: number;
  readonly west: number;
  readonly east: number;
  readonly north: number;
  readonly south: number;
  readonly count: number;
  /** How many are in each state, by the place of its word. */
  readonly states: readonly number[];
}

export interface Clustering {
  readonly clusters: readonly Cluster[];
  /** What is drawn as points, in the order it came. */
  readonly points: Uint32Array;
}

interface Bin {
  x: number;
  y: number;
  west: number;
  east: number;
  north: number;
  south: number;
  count: number;
  cluster: number;
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
export function gather(fleet: Fleet, places: Uint32Array, worldPixels: number): Clustering {
  const seam = seamOf(fleet, places);
  const cells = worldPixels / CELL_PIXELS;
  const bins = new Map<number, Bin>();
  const binOf = new Array<Bin | undefined>(places.length);
  for (const [index, place] of places.entries()) {
    const [x, y] = [turned(fleet.xs[place] ?? Number.NaN, seam), fleet.ys[place] ?? Number.NaN];
    if (Number.isNaN(x) || Number.isNaN(y)) continue;
    const key = Math.floor(x * cells) * ROW + Math.floor(y * cells);
    let bin = bins.get(key);
    if (bin === undefined) {
      bin = { x: 0, y: 0, west: x, east: x, north: y, south: y, count: 0, cluster: -1 };
      bins.set(key, bin);
    }
    widen(bin, { x, y, west: x, east: x, north: y, south: y, count: 1 });
    binOf[index] = bin;
  }
  const merged = joinNear(bins, mergeBins(bins, WIDEST_PIXELS / worldPixels), NEAREST_PIXELS / worldPixels);
  // A service may send as many states as bicycles: what a cluster has none of takes no room.
  const states = merged.map((): number[] => []);
  const points = new Uint32Array(places.length);
  let count = 0;
  for (const [index, place] of places.entries()) {
    const bin = binOf[index];
    if (bin === undefined) continue;
    const counts = states[bin.cluster];
    const state = fleet.groups.state.places[place] ?? 0;
    if (counts === undefined) points[count++] = place;
    else counts[state] = (counts[state] ?? 0) + 1;
  }
  const clusters = merged.map((bin, index) => ({
    ...bin,
    x: bin.x / bin.count,
    y: bin.y / bin.count,
    states: states[index] ?? [],
  }));
  return { clusters, points: points.subarray(0, count) };
}

/** Parts of the world that are looked at for where nothing is. */
const COLUMNS = 720;

/** Where the world is best cut open: at the end of the widest stretch without bicycles, from 0 to 1. */
export function seamOf(fleet: Fleet, places: Uint32Array): number {
  const isTaken = new Uint8Array(COLUMNS);
  for (const place of places) {
    const x = fleet.xs[place] ?? Number.NaN;
    if (!Number.isNaN(x)) isTaken[Math.floor(x * COLUMNS) % COLUMNS] = 1;
  }
  let [best, bestLength, length] = [0, 0, 0];
  for (let column = 0; column < COLUMNS * 2; column++) {
    length = isTaken[column % COLUMNS] === 1 ? 0 : length + 1;
    if (length <= bestLength || length > COLUMNS) continue;
    bestLength = length;
    best = (column + 1) % COLUMNS;
  }
  return best / COLUMNS;
}

/** What lies before the seam comes after everything else. */
export function turned(x: number, seam: number): number {
  return x < seam ? x + 1 : x;
}

type Part = Omit<Bin, 'cluster'>;

function widen(bin: Part, more: Part): void {
  bin.x += more.x;
  bin.y += more.y;
  bin.west = Math.min(bin.west, more.west);
  bin.east = Math.max(bin.east, more.east);
  bin.north = Math.min(bin.north, more.north);
  bin.south = Math.max(bin.south, more.south);
  bin.count += more.count;
}

/** The fullest cells first, each with what is around it; only those that are narrow enough become clusters. */
function mergeBins(bins: ReadonlyMap<number, Bin>, widest: number): Part[] {
  const taken = new Set<number>();
  const found: Part[] = [];
  for (const [key, bin] of [...bins].sort(([, a], [, b]) => b.count - a.count)) {
    if (taken.has(key)) continue;
    const members = neighboursOf(key, bins, taken);
    const whole: Part = { ...bin, x: 0, y: 0, count: 0 };
    for (const [, member] of members) widen(whole, member);
    const isNarrow = Math.max(whole.east - whole.west, whole.south - whole.north) <= widest;
    if (!isNarrow || whole.count < FEWEST) {
      // A cloud is no crowd: none of its cells may gather the others again.
      if (!isNarrow) for (const [member] of members) taken.add(member);
      continue;
    }
    for (const [member, part] of members) {
      taken.add(member);
      part.cluster = found.length;
    }
    found.push(whole);
  }
  return found;
}

/** Clusters that would lie over each other become one. */
function joinNear(bins: ReadonlyMap<number, Bin>, parts: readonly Part[], nearest: number): Part[] {
  const joined: Part[] = [];
  const placeOf = parts.map((part) => {
    const isNear = (other: Part) =>
      Math.hypot(other.x / other.count - part.x / part.count, other.y / other.count - part.y / part.count) < nearest;
    const found = joined.findIndex(isNear);
    if (found === -1) return joined.push({ ...part }) - 1;
    const into = joined[found];
    if (into !== undefined) widen(into, part);
    return found;
  });
  for (const bin of bins.values()) if (bin.cluster !== -1) bin.cluster = placeOf[bin.cluster] ?? -1;
  return joined;
}

/** All cells that hang together with one. */
function neighboursOf(start: number, bins: ReadonlyMap<number, Bin>, taken: ReadonlySet<number>): [number, Bin][] {
  const found = new Map<number, Bin>();
  const open = [start];
  for (let key = open.pop(); key !== undefined; key = open.pop()) {
    const bin = bins.get(key);
    if (bin === undefined || found.has(key) || taken.has(key)) continue;
    found.set(key, bin);
    for (const across of [-ROW, 0, ROW]) for (const down of [-1, 0, 1]) open.push(key + across + down);
  }
  return [...found];
}
