// Draws every visible bicycle as a dot, or as part of a cluster with a number.
//
// The grid is divided into bins. When every bicycle in a bin has a free dot near its position, the
// bin is drawn as dots. Otherwise the bin is drawn as a cluster. All dots of a cell have the same
// state, because a cell has only one colour. The label of a cluster stays inside its bin, so that
// labels never overlap dots or each other.

import { eastOf, toDots, type View } from '../../globe/projection.js';
import { type BicyclePoint, MOST_STATES } from './scene.js';

/**
 * The character cells of a drawing. A Braille cell has 2 by 4 dots. A cell with any other character
 * has one dot.
 */
export interface Grid {
  readonly columns: number;
  readonly rows: number;
  readonly across: number;
  readonly down: number;
  /** The size of a cell, in the view's dots. */
  readonly cell: { readonly width: number; readonly height: number };
  /** The maximum distance between a bicycle's dot and its real position, in dots. */
  readonly reachDots: number;
  /**
   * The minimum size, in cells, of the bins that group nearby bicycles. A bin is one column wider
   * than the widest label, so that labels do not touch.
   */
  readonly bin: { readonly columns: number; readonly rows: number };
  /** Returns the size of a cluster's label in cells. */
  labelOf(count: number): { readonly columns: number; readonly rows: number };
}

/** A rectangle of cells in the grid: its top-left cell and its size. */
interface Block {
  readonly column: number;
  readonly row: number;
  readonly columns: number;
  readonly rows: number;
}

/**
 * A group of bicycles that is drawn as a single number, the count of its bicycles. The fields of
 * Block contain the position and the size of this number.
 */
export interface Cluster extends Block {
  readonly count: number;
  /** The number of bicycles in each state. The array index is the index of the state. */
  readonly byState: readonly number[];
  readonly members: readonly BicyclePoint[];
}

/** A bicycle that is drawn as a dot. */
export interface Dot {
  readonly place: BicyclePoint;
  /** The distance of the dot from the left edge, in dots. */
  readonly x: number;
  readonly y: number;
}

export interface Layout {
  readonly dots: readonly Dot[];
  /** Largest first. */
  readonly clusters: readonly Cluster[];
  /** The bicycles outside the view. */
  readonly outside: readonly BicyclePoint[];
}

/**
 * The limits above which a cell is merged into a cluster. The cell must have more than four
 * bicycles, and more bicycles than this factor times the number of its dots.
 */
const CROWD_FACTOR = 1.5;
const LEAST_CROWD = 4;

/** Computes the layout of the visible bicycles. The result does not depend on their order. */
export function layOutMap(places: readonly BicyclePoint[], view: View, grid: Grid): Layout {
  const { columns, rows, across, down, bin } = grid;
  const [toRight, toBottom] = [partsOf(columns, bin.columns), partsOf(rows, bin.rows)];
  const dotOf = dotsOf(view, grid);
  const outside: BicyclePoint[] = [];
  const bins = new Map<number, BicyclePoint[]>();
  for (const place of places) {
    const { x, y } = dotOf(place);
    if (x < 0 || y < 0 || x >= columns * across || y >= rows * down) outside.push(place);
    else {
      const index =
        toBottom.partOf(Math.floor(y / down)) * columns + toRight.partOf(Math.floor(x / across));
      const found = bins.get(index);
      if (found === undefined) bins.set(index, [place]);
      else found.push(place);
    }
  }
  const dots: Dot[] = [];
  const clusters: Cluster[] = [];
  const steps = stepsWithin(grid.reachDots);
  for (const [index, members] of bins) {
    const [column, width] = toRight.part(index % columns);
    const [row, height] = toBottom.part(Math.floor(index / columns));
    const block = { column, row, columns: width, rows: height };
    const hasRoom = members.length <= width * across * height * down;
    const placed = hasRoom ? placeDots(members.map(dotOf), block, grid, steps) : undefined;
    if (placed === undefined) clusters.push(clusterOf(members, block, view, grid));
    else for (const dot of placed) dots.push(dot);
  }
  clusters.sort((a, b) => b.count - a.count || a.row - b.row || a.column - b.column);
  return { dots, clusters, outside };
}

/** Returns a function that finds a bicycle's dot. */
function dotsOf(view: View, { columns, rows, across, down, cell }: Grid) {
  const [scaleX, scaleY] = [
    (view.worldDots * across) / cell.width,
    (view.worldDots * down) / cell.height,
  ];
  return (place: BicyclePoint): Dot => {
    const x = Math.floor(eastOf(view, place.x) * scaleX + (columns * across) / 2);
    const y = Math.floor((place.y - view.y) * scaleY + (rows * down) / 2);
    return { place, x, y };
  };
}

/** Divides a length into equal parts. Each part is at least `least` long. */
function partsOf(length: number, least: number) {
  const count = Math.max(1, Math.floor(length / least));
  const start = (part: number) => Math.floor((part * length) / count);
  return {
    partOf: (position: number) => Math.ceil(((position + 1) * count) / length) - 1,
    part: (part: number): [from: number, length: number] => [
      start(part),
      start(part + 1) - start(part),
    ],
  };
}

type Step = readonly [right: number, down: number];

/** Returns the offsets from a dot to the surrounding dots, nearest first. */
function stepsWithin(reach: number): Step[] {
  const away = Array.from({ length: 2 * reach + 1 }, (_, index) => index - reach);
  const steps = away.flatMap((down) => away.map((right): Step => [right, down]));
  const near = steps.filter(([right, down]) => right * right + down * down <= reach * reach);
  return near.sort(([a, b], [c, d]) => a * a + b * b - c * c - d * d || b - d || a - c);
}

/**
 * Assigns the nearest free dot to each bicycle of a block. Returns undefined when a bicycle has no
 * free dot nearby, or when a cell has too many bicycles.
 */
function placeDots(
  wanted: readonly Dot[],
  block: Block,
  grid: Grid,
  steps: readonly Step[],
): Dot[] | undefined {
  const { across, down } = grid;
  const [left, right] = [block.column * across, (block.column + block.columns) * across];
  const [top, bottom] = [block.row * down, (block.row + block.rows) * down];
  const crowd = Math.max(LEAST_CROWD, CROWD_FACTOR * across * down);
  const cellOf = (x: number, y: number) =>
    Math.floor(y / down) * grid.columns + Math.floor(x / across);
  const counts = new Map<number, number>();
  const states = new Map<number, number>();
  const taken = new Map<number, Dot>();
  for (const { place, x, y } of [...wanted].sort(byPlace)) {
    const count = (counts.get(cellOf(x, y)) ?? 0) + 1;
    const step = steps.find(([toRight, toBottom]) => {
      const [toX, toY] = [x + toRight, y + toBottom];
      const isInside = toX >= left && toX < right && toY >= top && toY < bottom;
      return (
        isInside &&
        !taken.has(toY * right + toX) &&
        (states.get(cellOf(toX, toY)) ?? place.state) === place.state
      );
    });
    if (step === undefined || count > crowd) return undefined;
    const dot = { place, x: x + step[0], y: y + step[1] };
    counts.set(cellOf(x, y), count);
    taken.set(dot.y * right + dot.x, dot);
    states.set(cellOf(dot.x, dot.y), place.state);
  }
  return [...taken.values()];
}

function byPlace(a: Dot, b: Dot): number {
  return a.y - b.y || a.x - b.x || a.place.state - b.place.state;
}

/** Creates a cluster for the bicycles of a block, at the middle of their positions. */
function clusterOf(
  members: readonly BicyclePoint[],
  block: Block,
  view: View,
  grid: Grid,
): Cluster {
  const byState = new Array<number>(MOST_STATES).fill(0);
  const from = members[0]?.x ?? 0;
  let [east, south] = [0, 0];
  for (const { state, x, y } of members) {
    byState[state] = (byState[state] ?? 0) + 1;
    // Adds the distance to a fixed bicycle, measured the shorter way around the world. The mean of
    // these distances gives the middle of the cluster. The mean of the longitudes would be wrong if
    // the cluster crosses the antimeridian.
    east += x - from - Math.round(x - from);
    south += y;
  }
  const count = members.length;
  const middleX = from + east / count;
  const middle = { x: middleX - Math.floor(middleX), y: south / count };
  const [left, top] = toDots(
    view,
    { width: grid.columns * grid.cell.width, height: grid.rows * grid.cell.height },
    middle,
  );
  const label = grid.labelOf(count);
  // One column stays free, so that two labels do not touch.
  const columns = Math.min(label.columns, Math.max(1, block.columns - 1));
  const rows = Math.min(label.rows, block.rows);
  const start = (at: number, length: number, least: number, room: number) =>
    Math.max(least, Math.min(least + room - length, Math.round(at - length / 2)));
  return {
    column: start(left / grid.cell.width, columns, block.column, Math.max(1, block.columns - 1)),
    row: start(top / grid.cell.height, rows, block.row, block.rows),
    columns,
    rows,
    count,
    byState,
    members,
  };
}
