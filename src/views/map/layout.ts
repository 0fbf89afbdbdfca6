// Places every bicycle in view as a dot, or as part of a cluster with its number.
//
// A bicycle takes the dot where it is, or the nearest free one within reach; all dots of a cell have one state, for a cell has one colour.
// Where that fails, the cells around become a cluster, whose label must not overlap a dot or another label.

import { eastOf, type View } from '../../globe/projection.js';
import { MOST_STATES, type Place } from './scene.js';

/** The cells of a drawing, and how many dots each has: 2 by 4 in Braille, 1 by 1 where a sign stands for a bicycle. */
export interface Grid {
  readonly columns: number;
  readonly rows: number;
  readonly across: number;
  readonly down: number;
  /** How wide and how high a cell is, in dots of the view. */
  readonly cell: { readonly width: number; readonly height: number };
  /** How far from its place a bicycle may be drawn, in dots. */
  readonly reachDots: number;
  /** How many cells to each side a cluster gathers at least. */
  readonly gatherColumns: number;
  readonly gatherRows: number;
  /** The cells that the label of a cluster takes. */
  labelOf(count: number): { readonly columns: number; readonly rows: number };
}

/** A part of the grid: the cell at its left and top, and its extent in cells. */
interface Block {
  readonly column: number;
  readonly row: number;
  readonly columns: number;
  readonly rows: number;
}

/** Bicycles as one number; the block is that of its label. */
export interface Cluster extends Block {
  readonly count: number;
  /** How many are in each state, by its index. */
  readonly byState: readonly number[];
  /** The middle of its bicycles: a point of the world. */
  readonly x: number;
  readonly y: number;
  readonly members: readonly Place[];
}

/** A bicycle with a dot of its own. */
export interface Dot {
  readonly place: Place;
  /** In dots, from the left and the top. */
  readonly x: number;
  readonly y: number;
}

export interface Layout {
  readonly dots: readonly Dot[];
  /** The largest first. */
  readonly clusters: readonly Cluster[];
  /** What lies outside of the view. */
  readonly outside: readonly Place[];
}

const FREE = -1;
const LABEL = -2;
/** A cell with more bicycles than this is a part of a cluster: so many times its dots, and four at least. */
const CROWD_FACTOR = 1.5;
const LEAST_CROWD = 4;

/** A bicycle in view: the dot where it is, and the one that it got. */
interface Spot {
  readonly place: Place;
  readonly dot: number;
  readonly cell: Cell;
  got: number;
}

/** How many bicycles there are, and the sums of where their dots are, in cells from the left and the top. */
interface Sums {
  count: number;
  sumX: number;
  sumY: number;
}

/** The bicycles of one cell. */
interface Cell extends Sums {
  readonly index: number;
  /** How many are in each state. */
  readonly byState: number[];
  /** The cluster that they belong to. */
  cluster?: Gathered;
}

/** A cluster in the making. */
interface Gathered {
  /** The number of the cell in which it began: no two have the same. */
  readonly name: number;
  readonly cells: Cell[];
  label: Block;
}

interface Work {
  readonly grid: Grid;
  /** Ordered by dot, then by state. */
  readonly spots: readonly Spot[];
  /** Those that hold a bicycle, by their number. */
  readonly cells: ReadonlyMap<number, Cell>;
  readonly clusters: Set<Gathered>;
}

/** Lays out the places that are in view. The result does not depend on the order of the bicycles. */
export function layOut(places: readonly Place[], view: View, grid: Grid): Layout {
  const { outside, ...found } = project(places, view, grid);
  const work = { grid, ...found, clusters: new Set<Gathered>() };
  for (let attempt = 0; ; attempt++) {
    const failures = placeDots(work);
    if (failures.length === 0) return { ...finish(work), outside };
    gather(failures, work, attempt);
  }
}

function project(places: readonly Place[], view: View, grid: Grid) {
  const { columns, rows, across, down, cell } = grid;
  const [width, height] = [columns * across, rows * down];
  const [scaleX, scaleY] = [(view.worldDots * across) / cell.width, (view.worldDots * down) / cell.height];
  const outside: Place[] = [];
  // One number each, which sorts in a fraction of the time that objects take.
  const keys = new Float64Array(places.length);
  let count = 0;
  for (const [index, place] of places.entries()) {
    const x = Math.floor(eastOf(view, place.x) * scaleX + width / 2);
    const y = Math.floor((place.y - view.y) * scaleY + height / 2);
    if (x < 0 || y < 0 || x >= width || y >= height) outside.push(place);
    else keys[count++] = ((y * width + x) * MOST_STATES + place.state) * places.length + index;
  }
  const cells = new Map<number, Cell>();
  const spots: Spot[] = [];
  for (const key of keys.subarray(0, count).sort()) {
    const place = places[key % places.length];
    const dot = Math.floor(key / places.length / MOST_STATES);
    if (place !== undefined) spots.push(openSpot(dot, place, cells, grid));
  }
  return { spots, cells, outside };
}

function openSpot(dot: number, place: Place, cells: Map<number, Cell>, grid: Grid): Spot {
  const index = cellOf(dot, grid);
  const cell = cells.get(index) ?? { index, count: 0, byState: [], sumX: 0, sumY: 0 };
  cells.set(index, cell);
  const width = grid.columns * grid.across;
  cell.count += 1;
  cell.byState[place.state] = (cell.byState[place.state] ?? 0) + 1;
  cell.sumX += ((dot % width) + 0.5) / grid.across;
  cell.sumY += (Math.floor(dot / width) + 0.5) / grid.down;
  return { place, dot, cell, got: FREE };
}

function cellOf(dot: number, { columns, across, down }: Grid): number {
  const width = columns * across;
  const row = Math.floor(dot / (width * down));
  return row * columns + Math.floor((dot % width) / across);
}

/** The state that most have. */
function mainState(byState: readonly number[]): number {
  return byState.reduce((most, number, state) => (number > (byState[most] ?? 0) ? state : most), -1);
}

/** Tries to give each bicycle that belongs to no cluster a dot; returns the cells in which one got none, the fullest first. */
function placeDots({ grid, spots, cells, clusters }: Work): Cell[] {
  const isTaken = new Uint8Array(grid.columns * grid.across * grid.rows * grid.down);
  const stateOfCell = new Int16Array(grid.columns * grid.rows).fill(FREE);
  for (const { index, cluster, byState } of cells.values())
    if (cluster === undefined) stateOfCell[index] = mainState(byState);
  for (const { label } of clusters) for (const cell of cellsOf(label, grid)) stateOfCell[cell] = LABEL;
  const crowd = Math.max(LEAST_CROWD, CROWD_FACTOR * grid.across * grid.down);
  const failed = new Map<Cell, number>();
  const displaced: Spot[] = [];
  for (const spot of spots) {
    const { place, dot, cell } = spot;
    spot.got = FREE;
    if (cell.cluster !== undefined) continue;
    if (cell.count > crowd) failed.set(cell, cell.count);
    else if (stateOfCell[cell.index] === place.state && isTaken[dot] === 0) {
      isTaken[dot] = 1;
      spot.got = dot;
    } else displaced.push(spot);
  }
  const room = { grid, steps: stepsWithin(grid.reachDots), isTaken, stateOfCell };
  for (const spot of displaced) {
    const before = failed.get(spot.cell) ?? 0;
    // One that found no room in a cell leaves none for the others: all of the cell will be a cluster.
    const dot = before === 0 ? findFree(spot, room) : FREE;
    if (dot === FREE) failed.set(spot.cell, before + 1);
    else {
      isTaken[dot] = 1;
      spot.got = dot;
      stateOfCell[cellOf(dot, grid)] = spot.place.state;
    }
  }
  return [...failed].sort(([a, m], [b, n]) => n - m || a.index - b.index).map(([cell]) => cell);
}

interface Room {
  readonly grid: Grid;
  readonly steps: readonly (readonly [right: number, down: number])[];
  readonly isTaken: Uint8Array;
  readonly stateOfCell: Int16Array;
}

/** The nearest free dot, in a cell without another state; FREE when there is none within reach. */
function findFree({ dot, place }: Spot, { grid, steps, isTaken, stateOfCell }: Room): number {
  const [width, height] = [grid.columns * grid.across, grid.rows * grid.down];
  const [x, y] = [dot % width, Math.floor(dot / width)];
  for (const [right, down] of steps) {
    const [toX, toY] = [x + right, y + down];
    const to = toY * width + toX;
    if (toX < 0 || toY < 0 || toX >= width || toY >= height || isTaken[to] === 1) continue;
    const inCell = stateOfCell[cellOf(to, grid)];
    if (inCell === place.state || inCell === FREE) return to;
  }
  return FREE;
}

/** Steps to the dots around one, the nearest first. */
function stepsWithin(reach: number): (readonly [right: number, down: number])[] {
  const steps: (readonly [number, number])[] = [];
  for (let down = -reach; down <= reach; down++) {
    for (let right = -reach; right <= reach; right++) {
      if (right * right + down * down <= reach * reach) steps.push([right, down]);
    }
  }
  return steps.sort(([a, b], [c, d]) => a * a + b * b - c * c - d * d || b - d || a - c);
}

/** The numbers of the cells of a block that lie in the grid. */
function* cellsOf({ column, row, columns, rows }: Block, grid: Pick<Grid, 'columns' | 'rows'>): Generator<number> {
  for (let y = Math.max(0, row); y < Math.min(grid.rows, row + rows); y++) {
    for (let x = Math.max(0, column); x < Math.min(grid.columns, column + columns); x++) yield y * grid.columns + x;
  }
}

/** Makes clusters of the cells in which a bicycle got no dot and of those around them; more of these with each attempt, so that it ends. */
function gather(failures: readonly Cell[], work: Work, attempt: number): void {
  const { grid, clusters } = work;
  const [right, down] = [grid.gatherColumns + 2 * attempt, grid.gatherRows + attempt];
  for (const { index, cluster: owner } of failures) {
    if (owner !== undefined) continue;
    const [column, row] = [index % grid.columns, Math.floor(index / grid.columns)];
    const around = { column: column - right, row: row - down, columns: 2 * right + 1, rows: 2 * down + 1 };
    const cluster = { name: index, cells: [], label: around };
    clusters.add(cluster);
    absorb(cluster, work);
  }
  while (settleLabels(work)) {
    // Labels that met became one, or one grew over further dots.
  }
}

/** Takes the bicycles below a label that belong to no cluster into its own. True when there were any. */
function absorb(cluster: Gathered, { cells, grid }: Work): boolean {
  const found = Array.from(cellsOf(cluster.label, grid), (index) => cells.get(index));
  const fresh = found.filter((cell) => cell !== undefined && cell.cluster === undefined) as Cell[];
  join(fresh, cluster);
  return fresh.length > 0;
}

function join(cells: readonly Cell[], cluster: Gathered): void {
  for (const cell of cells) {
    cell.cluster = cluster;
    cluster.cells.push(cell);
  }
}

/** Puts each label in the middle of its bicycles; what meets becomes one. True when something changed. */
function settleLabels(work: Work): boolean {
  const { grid, clusters } = work;
  const labels = new Map<number, Gathered>();
  const sized = Array.from(clusters, (cluster) => ({ cluster, sums: sumsOf(cluster) }));
  sized.sort((a, b) => b.sums.count - a.sums.count || a.cluster.name - b.cluster.name);
  for (const { cluster, sums } of sized) {
    cluster.label = labelOf(sums, grid);
    const { column, columns } = cluster.label;
    // A free column between two labels keeps their numbers apart.
    const apart = { ...cluster.label, column: column - 1, columns: columns + 2 };
    const met = [...cellsOf(apart, grid)].find((cell) => labels.has(cell)) ?? FREE;
    const other = labels.get(met);
    if (other === undefined) for (const cell of cellsOf(cluster.label, grid)) labels.set(cell, cluster);
    else {
      clusters.delete(cluster);
      join(cluster.cells, other);
    }
  }
  if (clusters.size < sized.length) return true;
  return [...clusters].filter((cluster) => absorb(cluster, work)).length > 0;
}

function sumsOf({ cells }: Gathered): Sums {
  const sums = { count: 0, sumX: 0, sumY: 0 };
  for (const { count, sumX, sumY } of cells) {
    sums.count += count;
    sums.sumX += sumX;
    sums.sumY += sumY;
  }
  return sums;
}

function labelOf({ count, sumX, sumY }: Sums, grid: Grid): Block {
  const { columns, rows } = grid.labelOf(count);
  const start = (sum: number, length: number, all: number) =>
    Math.max(0, Math.min(all - length, Math.round(sum / count - length / 2)));
  return { column: start(sumX, columns, grid.columns), row: start(sumY, rows, grid.rows), columns, rows };
}

/** The layout in the end: every place in view is a dot, or a member of a cluster. */
function finish({ grid, spots, clusters }: Work): Pick<Layout, 'dots' | 'clusters'> {
  const width = grid.columns * grid.across;
  const dots: Dot[] = [];
  const members = new Map<Gathered | undefined, Place[]>(Array.from(clusters, (cluster) => [cluster, []]));
  for (const { place, got, cell } of spots) {
    if (got === FREE) members.get(cell.cluster)?.push(place);
    else dots.push({ place, x: got % width, y: Math.floor(got / width) });
  }
  const finished = Array.from(clusters, (cluster) => clusterOf(cluster.label, members.get(cluster) ?? []));
  finished.sort((a, b) => b.count - a.count || a.row - b.row || a.column - b.column);
  return { dots, clusters: finished };
}

function clusterOf(label: Block, members: readonly Place[]): Cluster {
  const byState = new Array<number>(MOST_STATES).fill(0);
  const from = members[0]?.x ?? 0;
  let [east, south] = [0, 0];
  for (const { x, y, state } of members) {
    byState[state] = (byState[state] ?? 0) + 1;
    // From one of them, the short way round: across the antimeridian the mean of the numbers is on the other side of the world.
    const step = x - from;
    east += step - Math.round(step);
    south += y;
  }
  const [count, x] = [members.length, from + east / members.length];
  return { ...label, count, byState, x: x - Math.floor(x), y: south / count, members };
}
