// Gives every bicycle in view a dot of its own, or a part in a cluster with its number: nothing hides behind anything.
//
// A bicycle takes the dot where it is, or the nearest free one within reach; all dots of a cell have one state, for a cell has one colour.
// Where that fails, the cells around become a cluster, whose label may cover no dot and no other label.

import { MOST_STATES, type Places } from './places.js';
import { eastOf, type View } from './projection.js';

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

export interface Cluster {
  /** The cell at the left and top of its label, and the label's extent in cells. */
  readonly column: number;
  readonly row: number;
  readonly columns: number;
  readonly rows: number;
  readonly count: number;
  /** How many are in each state, by its index. */
  readonly byState: readonly number[];
  /** The middle of its bicycles: a point of the world. */
  readonly x: number;
  readonly y: number;
  /** Indexes of its places. */
  readonly members: readonly number[];
}

/** A bicycle with a dot of its own. */
export interface Dot {
  /** The index of its place. */
  readonly place: number;
  /** In dots, from the left and the top. */
  readonly x: number;
  readonly y: number;
  readonly state: number;
}

export interface Layout {
  readonly dots: readonly Dot[];
  /** The largest first. */
  readonly clusters: readonly Cluster[];
  /** Indexes of places that lie outside of the view. */
  readonly outside: readonly number[];
}

const FREE = -1;
const LABEL = -2;
/** A cell with more bicycles than this is a part of a cluster: so many times its dots, and four at least. */
const CROWD_FACTOR = 1.5;
const LEAST_CROWD = 4;

interface Projected {
  /** Indexes of places, ordered by dot, then by state. */
  readonly places: Uint32Array;
  /** The dot and the cell of each, in the same order. */
  readonly dots: Uint32Array;
  readonly cells: Uint32Array;
  readonly outside: readonly number[];
}

/** A cluster in the making. */
interface Gathered {
  count: number;
  sumX: number;
  sumY: number;
  column: number;
  row: number;
  columns: number;
  rows: number;
}

/** Lays out the places that are in view. The result does not depend on the order of the bicycles. */
export function layOut(places: Places, view: View, grid: Grid): Layout {
  const projected = project(places, view, grid);
  const cells = countCells(projected, places, grid);
  const owners = new Int32Array(grid.columns * grid.rows).fill(FREE);
  const gathered = new Map<number, Gathered>();
  for (let attempt = 0; ; attempt++) {
    const { dots, failures } = placeDots(projected, places, { grid, cells, owners, gathered });
    if (failures.length === 0) return finish(projected, places, { grid, owners, gathered, dots });
    gather(failures, { grid, cells, owners, gathered }, attempt);
  }
}

function project({ xs, ys, stateOf }: Places, view: View, grid: Grid): Projected {
  const { columns, rows, across, down, cell } = grid;
  const [width, height] = [columns * across, rows * down];
  const [scaleX, scaleY] = [(view.worldDots * across) / cell.width, (view.worldDots * down) / cell.height];
  const found = new Uint32Array(xs.length);
  const dotOf = new Uint32Array(xs.length);
  const outside: number[] = [];
  let count = 0;
  for (let index = 0; index < xs.length; index++) {
    const x = Math.floor(eastOf(view, xs[index] ?? 0) * scaleX + width / 2);
    const y = Math.floor(((ys[index] ?? 0) - view.y) * scaleY + height / 2);
    if (x < 0 || y < 0 || x >= width || y >= height) {
      outside.push(index);
      continue;
    }
    found[count] = index;
    dotOf[index] = y * width + x;
    count += 1;
  }
  const byState = sortBy(found.subarray(0, count), stateOf, MOST_STATES);
  const places = sortBy(byState, dotOf, width * height);
  const dots = new Uint32Array(count);
  const cells = new Uint32Array(count);
  for (let index = 0; index < count; index++) {
    const dot = dotOf[places[index] ?? 0] ?? 0;
    dots[index] = dot;
    cells[index] = cellOf(dot, grid);
  }
  return { places, dots, cells, outside };
}

/** Sorts by the keys of the items, whole numbers below `limit`, in linear time, and keeps the order of equals. */
function sortBy(items: Uint32Array, keys: Uint32Array | Uint8Array, limit: number): Uint32Array {
  const starts = new Uint32Array(limit + 1);
  for (let index = 0; index < items.length; index++) {
    const key = (keys[items[index] ?? 0] ?? 0) + 1;
    starts[key] = (starts[key] ?? 0) + 1;
  }
  for (let key = 1; key <= limit; key++) starts[key] = (starts[key] ?? 0) + (starts[key - 1] ?? 0);
  const sorted = new Uint32Array(items.length);
  for (let index = 0; index < items.length; index++) {
    const item = items[index] ?? 0;
    const key = keys[item] ?? 0;
    const at = starts[key] ?? 0;
    sorted[at] = item;
    starts[key] = at + 1;
  }
  return sorted;
}

interface Cells {
  /** How many bicycles are in each cell. */
  readonly counts: Uint32Array;
  /** The state that most of them have. */
  readonly states: Int16Array;
  /** The sums of where their dots are, in cells from the left and the top. */
  readonly sumX: Float64Array;
  readonly sumY: Float64Array;
}

function cellOf(dot: number, { columns, across, down }: Grid): number {
  const width = columns * across;
  const row = Math.floor(dot / (width * down));
  return row * columns + Math.floor((dot % width) / across);
}

function countCells({ places: order, dots, cells }: Projected, { stateOf }: Places, grid: Grid): Cells {
  const cellCount = grid.columns * grid.rows;
  const width = grid.columns * grid.across;
  const byState = new Uint32Array(cellCount * MOST_STATES);
  const counts = new Uint32Array(cellCount);
  const sumX = new Float64Array(cellCount);
  const sumY = new Float64Array(cellCount);
  for (let index = 0; index < order.length; index++) {
    const dot = dots[index] ?? 0;
    const cell = cells[index] ?? 0;
    const state = cell * MOST_STATES + (stateOf[order[index] ?? 0] ?? 0);
    byState[state] = (byState[state] ?? 0) + 1;
    counts[cell] = (counts[cell] ?? 0) + 1;
    sumX[cell] = (sumX[cell] ?? 0) + ((dot % width) + 0.5) / grid.across;
    sumY[cell] = (sumY[cell] ?? 0) + (Math.floor(dot / width) + 0.5) / grid.down;
  }
  const states = new Int16Array(cellCount).fill(FREE);
  for (let cell = 0; cell < cellCount; cell++) {
    let most = 0;
    for (let state = 0; state < MOST_STATES && (counts[cell] ?? 0) > 0; state++) {
      const number = byState[cell * MOST_STATES + state] ?? 0;
      if (number <= most) continue;
      most = number;
      states[cell] = state;
    }
  }
  return { counts, states, sumX, sumY };
}

interface Work {
  grid: Grid;
  cells: Cells;
  /** The cluster that the bicycles of a cell belong to. */
  owners: Int32Array;
  gathered: Map<number, Gathered>;
}

/** Tries to give each bicycle that belongs to no cluster a dot; hands back the cells in which one got none, the fullest first. */
function placeDots(
  { places: order, dots: wanted, cells: cellOfEach }: Projected,
  { stateOf }: Places,
  { grid, cells, owners, gathered }: Work,
): { dots: Int32Array; failures: number[] } {
  const isTaken = new Uint8Array(grid.columns * grid.across * grid.rows * grid.down);
  const stateOfCell = cells.states.map((state, cell) => ((owners[cell] ?? FREE) === FREE ? state : FREE));
  for (const cluster of gathered.values()) {
    forCells(cluster, grid, (cell) => {
      stateOfCell[cell] = LABEL;
    });
  }
  const dots = new Int32Array(order.length).fill(FREE);
  const failed = new Map<number, number>();
  const crowd = Math.max(LEAST_CROWD, CROWD_FACTOR * grid.across * grid.down);
  const displaced: number[] = [];
  for (let index = 0; index < order.length; index++) {
    const cell = cellOfEach[index] ?? 0;
    if ((owners[cell] ?? FREE) !== FREE) continue;
    const dot = wanted[index] ?? 0;
    if ((cells.counts[cell] ?? 0) > crowd) failed.set(cell, cells.counts[cell] ?? 0);
    else if (stateOfCell[cell] === stateOf[order[index] ?? 0] && isTaken[dot] === 0) {
      isTaken[dot] = 1;
      dots[index] = dot;
    } else displaced.push(index);
  }
  const steps = stepsWithin(grid.reachDots);
  for (const index of displaced) {
    const cell = cellOfEach[index] ?? 0;
    // One that found no room in a cell leaves none for the others: all of the cell will be a cluster.
    if (failed.has(cell)) {
      failed.set(cell, (failed.get(cell) ?? 0) + 1);
      continue;
    }
    const state = stateOf[order[index] ?? 0] ?? 0;
    const dot = findFree(wanted[index] ?? 0, state, { grid, steps, isTaken, stateOfCell });
    if (dot === FREE) {
      failed.set(cell, 1);
      continue;
    }
    isTaken[dot] = 1;
    stateOfCell[cellOf(dot, grid)] = state;
    dots[index] = dot;
  }
  const failures = [...failed].sort(([a, m], [b, n]) => n - m || a - b).map(([cell]) => cell);
  return { dots, failures };
}

interface Room {
  grid: Grid;
  steps: Int32Array;
  isTaken: Uint8Array;
  stateOfCell: Int16Array;
}

/** The nearest dot that nobody has, in a cell without another state; FREE when there is none within reach. */
function findFree(dot: number, state: number, { grid, steps, isTaken, stateOfCell }: Room): number {
  const [width, height] = [grid.columns * grid.across, grid.rows * grid.down];
  const [x, y] = [dot % width, Math.floor(dot / width)];
  for (let step = 0; step < steps.length; step += 2) {
    const toX = x + (steps[step] ?? 0);
    const toY = y + (steps[step + 1] ?? 0);
    if (toX < 0 || toY < 0 || toX >= width || toY >= height) continue;
    const to = toY * width + toX;
    if (isTaken[to] === 1) continue;
    const inCell = stateOfCell[cellOf(to, grid)];
    if (inCell === state || inCell === FREE) return to;
  }
  return FREE;
}

/** Steps to the dots around one, right and down in turn, the nearest first. */
function stepsWithin(reach: number): Int32Array {
  const steps: (readonly [number, number])[] = [];
  for (let down = -reach; down <= reach; down++) {
    for (let right = -reach; right <= reach; right++) {
      if (right * right + down * down <= reach * reach) steps.push([right, down]);
    }
  }
  steps.sort(([a, b], [c, d]) => a * a + b * b - c * c - d * d || b - d || a - c);
  return Int32Array.from(steps.flat());
}

/** Calls for each cell of a rectangle that lies in the grid. */
function forCells(
  { column, row, columns, rows }: Pick<Gathered, 'column' | 'row' | 'columns' | 'rows'>,
  grid: Pick<Grid, 'columns' | 'rows'>,
  call: (cell: number) => void,
): void {
  for (let y = Math.max(0, row); y < Math.min(grid.rows, row + rows); y++) {
    for (let x = Math.max(0, column); x < Math.min(grid.columns, column + columns); x++) call(y * grid.columns + x);
  }
}

/** Makes clusters of the cells in which a bicycle got no dot and of those around them; more of these with each attempt, so that it ends. */
function gather(failures: readonly number[], work: Work, attempt: number): void {
  const { grid, owners, gathered } = work;
  const [right, down] = [grid.gatherColumns + 2 * attempt, grid.gatherRows + attempt];
  for (const cell of failures) {
    if ((owners[cell] ?? FREE) !== FREE) continue;
    const [column, row] = [cell % grid.columns, Math.floor(cell / grid.columns)];
    // The cell's own number names the cluster: no two have the same.
    const cluster: Gathered = { count: 0, sumX: 0, sumY: 0, column: 0, row: 0, columns: 0, rows: 0 };
    gathered.set(cell, cluster);
    const around = { column: column - right, row: row - down, columns: 2 * right + 1, rows: 2 * down + 1 };
    forCells(around, grid, (each) => absorb(each, cell, work));
  }
  while (settleLabels(work)) {
    // Labels that met became one, or one grew over further dots.
  }
}

/** Takes the bicycles of a cell that belongs to no cluster into one. */
function absorb(cell: number, name: number, { cells, owners, gathered }: Work): void {
  const cluster = gathered.get(name);
  if (cluster === undefined || (owners[cell] ?? FREE) !== FREE || (cells.counts[cell] ?? 0) === 0) return;
  owners[cell] = name;
  cluster.count += cells.counts[cell] ?? 0;
  cluster.sumX += cells.sumX[cell] ?? 0;
  cluster.sumY += cells.sumY[cell] ?? 0;
}

/** Puts each label in the middle of its bicycles; what meets becomes one. True when something changed. */
function settleLabels(work: Work): boolean {
  const { grid, owners, gathered } = work;
  const labels = new Int32Array(grid.columns * grid.rows).fill(FREE);
  let hasChanged = false;
  for (const [name, cluster] of [...gathered].sort(([a, m], [b, n]) => n.count - m.count || a - b)) {
    putLabel(cluster, grid);
    // A free column between two labels keeps their numbers apart.
    const apart = { ...cluster, column: cluster.column - 1, columns: cluster.columns + 2 };
    let met = FREE;
    forCells(apart, grid, (cell) => {
      if (met === FREE && (labels[cell] ?? FREE) !== FREE) met = labels[cell] ?? FREE;
    });
    const other = gathered.get(met);
    if (other === undefined) {
      forCells(cluster, grid, (cell) => {
        labels[cell] = name;
      });
      continue;
    }
    hasChanged = true;
    gathered.delete(name);
    other.count += cluster.count;
    other.sumX += cluster.sumX;
    other.sumY += cluster.sumY;
    for (let cell = 0; cell < owners.length; cell++) if (owners[cell] === name) owners[cell] = met;
  }
  if (hasChanged) return true;
  for (const [name, cluster] of gathered) {
    const before = cluster.count;
    forCells(cluster, grid, (cell) => absorb(cell, name, work));
    hasChanged ||= cluster.count !== before;
  }
  return hasChanged;
}

function putLabel(cluster: Gathered, grid: Grid): void {
  const { columns, rows } = grid.labelOf(cluster.count);
  const [middleX, middleY] = [cluster.sumX / cluster.count, cluster.sumY / cluster.count];
  cluster.columns = columns;
  cluster.rows = rows;
  cluster.column = Math.max(0, Math.min(grid.columns - columns, Math.round(middleX - columns / 2)));
  cluster.row = Math.max(0, Math.min(grid.rows - rows, Math.round(middleY - rows / 2)));
}

/** The layout in the end: every place in view is a dot, or a member of a cluster. */
function finish(
  { places: order, cells, outside }: Projected,
  places: Places,
  { grid, owners, gathered, dots }: Omit<Work, 'cells'> & { dots: Int32Array },
): Layout {
  const width = grid.columns * grid.across;
  const shown: Dot[] = [];
  const members = new Map<number, number[]>([...gathered.keys()].map((name) => [name, []]));
  for (let index = 0; index < order.length; index++) {
    const place = order[index] ?? 0;
    const dot = dots[index] ?? FREE;
    const state = places.stateOf[place] ?? 0;
    if (dot !== FREE) shown.push({ place, x: dot % width, y: Math.floor(dot / width), state });
    else members.get(owners[cells[index] ?? 0] ?? FREE)?.push(place);
  }
  const clusters = [...gathered].map(([name, { column, row, columns, rows, count }]): Cluster => {
    const own = members.get(name) ?? [];
    return { column, row, columns, rows, count, members: own, ...summarize(own, places) };
  });
  clusters.sort((a, b) => b.count - a.count || a.row - b.row || a.column - b.column);
  return { dots: shown, clusters, outside };
}

function summarize(members: readonly number[], { xs, ys, stateOf }: Places): Pick<Cluster, 'byState' | 'x' | 'y'> {
  const byState = new Array<number>(MOST_STATES).fill(0);
  const [first = 0] = members;
  const from = xs[first] ?? 0;
  let [east, south] = [0, 0];
  for (const member of members) {
    const state = stateOf[member] ?? 0;
    byState[state] = (byState[state] ?? 0) + 1;
    // From one of them, the short way round: across the antimeridian the mean of the numbers is on the other side of the world.
    const step = (xs[member] ?? 0) - from;
    east += step - Math.round(step);
    south += ys[member] ?? 0;
  }
  const x = from + east / members.length;
  return { byState, x: x - Math.floor(x), y: south / members.length };
}
