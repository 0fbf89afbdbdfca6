// The map as cells of a terminal: bicycles, clusters, coast, degrees and scale, with a legend that accounts for every bicycle.

import { graticule } from '../../globe/graticule.js';
import { type Extent, eastOf, fitView, metresPerDot, type View } from '../../globe/projection.js';
import { type Canvas, type Ink, openCanvas, put } from '../../terminal/canvas.js';
import { cut, widthOf } from '../../terminal/cells.js';
import { clean } from '../../terminal/clean.js';
import { lookOf } from '../bicycle.js';
import { forCoast, LEAST_METRES_A_COLUMN } from './coast.js';
import { type Cluster, type Grid, type Layout, layOut } from './layout.js';
import { chosenPieces, hasPanel, type Look, legendHeight, legendLines, type Piece, panelLines } from './legend.js';
import { type MapInput, nameOf, type Place } from './scene.js';

export interface TerminalInput extends MapInput {
  /** What is seen; everything when absent. */
  readonly view?: View | undefined;
  /** What shows it is marked, a dot or a cluster. */
  readonly selected?: Place | undefined;
  /** The last line, in place of none. */
  readonly footer?: readonly Piece[];
}

export interface DrawnMap {
  readonly canvas: Canvas;
  readonly layout: Layout;
  readonly view: View;
  readonly extent: Extent;
}

/** A cell in Braille is two dots wide and four high, which makes them square. */
const BRAILLE = { across: 2, down: 4 };
/** The bits of a Braille character, by row and column of its dots. */
const BRAILLE_BITS = [
  [0x01, 0x08],
  [0x02, 0x10],
  [0x04, 0x20],
  [0x40, 0x80],
] as const;
const BRAILLE_START = 0x2800;

/** How far a bicycle is drawn from its place at most: two columns in Braille, two cells where it has one of its own. */
const REACH_DOTS = 4;
const REACH_CELLS = 2;
/** With fewer bicycles than one in so many cells each may have a sign of its own: a lone dot of Braille is easily missed. */
const CELLS_A_SIGN = 8;
/** Few enough to be called by their names. */
const MOST_NAMED = 24;
const NAME_COLUMNS = 18;

/** Below this height there is no room for a title. */
const TITLE_ROWS = 6;

/** The area of the drawing within the terminal. */
interface Area {
  readonly column: number;
  readonly row: number;
  readonly columns: number;
  readonly rows: number;
}

/** The dots of a terminal's map: what is handed to those who move the view. */
export function extentOf(area: { columns: number; rows: number }): Extent {
  return { width: area.columns * BRAILLE.across, height: area.rows * BRAILLE.down };
}

/** A drawing in the making. */
interface Frame extends Omit<DrawnMap, 'layout'> {
  readonly input: TerminalInput;
  readonly look: Look;
  readonly area: Area;
  readonly layout: Layout & { readonly grid: Grid };
  /** Cells over which nothing more may be drawn: 1. */
  readonly isBusy: Uint8Array;
}

/** Draws the map; it fills the size of the look. */
export function drawMap(input: TerminalInput, look: Look): DrawnMap {
  const canvas = openCanvas(look.width, look.height);
  const area = areaOf(input, look);
  const extent = extentOf(area);
  const view = input.view ?? fitView(input.places, extent);
  const layout = layOutFor(input, look, area, view);
  const isBusy = new Uint8Array(look.width * look.height);
  const frame: Frame = { canvas, input, look, area, extent, view, layout, isBusy };
  drawBackground(frame);
  drawDots(frame);
  for (const cluster of layout.clusters) drawCluster(frame, cluster);
  drawDegrees(frame);
  if (layout.dots.length <= MOST_NAMED) drawNames(frame);
  drawAround(frame);
  if (!look.hasUnicode) writeAscii(canvas);
  return frame;
}

function areaOf(input: TerminalInput, look: Look): Area {
  const title = look.height >= TITLE_ROWS ? 1 : 0;
  const footer = input.footer === undefined ? 0 : 1;
  if (hasPanel(look)) {
    const columns = look.width - PANEL_COLUMNS - 1;
    return { column: 0, row: title, columns, rows: look.height - title - footer };
  }
  const legend = legendRows(input, look);
  const rows = Math.max(1, look.height - title - footer - legend);
  return { column: 0, row: title, columns: look.width, rows };
}

/** Leaves nothing in the cells that is no ASCII: what is ours has letters already, but for the mark of what was cut. */
function writeAscii({ texts }: Canvas): void {
  for (const [cell, text] of texts.entries()) if (!/^[\x20-\x7E]$/.test(text)) texts[cell] = text === '…' ? '~' : '?';
}

/** The panel beside the map, on a wide terminal. */
export const PANEL_COLUMNS = 30;

/** Rows below the map, where there is no panel: as many as it takes, and no more than the map can spare. */
function legendRows(input: TerminalInput, { height, ...look }: Look): number {
  if (height < 4) return 0;
  if (height < 10) return 2;
  return legendHeight({ ...input, look: { height, ...look }, hasSigns: true }, look.width < 60 ? 4 : 3);
}

/**
 * The layout in signs, a cell for each bicycle, as long as nothing has to be clustered then; else in dots of Braille, where the terminal has
 * them and no coast is drawn in them.
 */
function layOutFor({ places }: MapInput, { hasColor, hasUnicode }: Look, area: Area, view: View): Frame['layout'] {
  const { columns, rows } = area;
  const common = {
    columns,
    rows,
    cell: { width: BRAILLE.across, height: BRAILLE.down },
    gatherColumns: 4,
    gatherRows: 1,
    labelOf: (count: number) => ({ columns: Math.min(columns, String(count).length + 2), rows: 1 }),
  };
  const signs: Grid = { ...common, across: 1, down: 1, reachDots: REACH_CELLS };
  const dots: Grid = { ...common, ...BRAILLE, reachDots: REACH_DOTS };
  // Where a cell is kilometres wide, two beside each other are a place of their own already.
  if (hasCoast(view)) return { ...layOut(places, view, { ...signs, reachDots: 1 }), grid: signs };
  if (!hasColor || !hasUnicode) return { ...layOut(places, view, signs), grid: signs };
  if (countInside(places, view, extentOf(area)) <= (columns * rows) / CELLS_A_SIGN) {
    const layout = layOut(places, view, signs);
    if (layout.clusters.length === 0) return { ...layout, grid: signs };
  }
  return { ...layOut(places, view, dots), grid: dots };
}

function countInside(places: readonly Place[], view: View, { width, height }: Extent): number {
  const isInside = ({ x, y }: Place) =>
    Math.abs(eastOf(view, x)) * view.worldDots <= width / 2 && Math.abs(y - view.y) * view.worldDots <= height / 2;
  return places.filter(isInside).length;
}

/** Degrees as faint lines, and the coast where its data is good enough. */
function drawBackground(frame: Frame): void {
  const { canvas, look, area, view, extent } = frame;
  const { meridians, parallels } = ticksOf(frame);
  const [vertical, horizontal, crossing] = look.hasUnicode ? ['┊', '┈', '┼'] : [':', '-', '+'];
  const ink: Ink = 'dim gray';
  for (const { at } of look.hasColor ? meridians : []) {
    const column = area.column + Math.floor(at / BRAILLE.across);
    for (let row = 0; row < area.rows; row++) put(canvas, column, area.row + row, vertical ?? '', ink);
  }
  const isCrossing = new Set(meridians.map((tick) => area.column + Math.floor(tick.at / BRAILLE.across)));
  // A drawing wider than the world ends where it does.
  const half = Math.min(extent.width, view.worldDots) / 2;
  const left = area.column + Math.floor((extent.width / 2 - half) / BRAILLE.across);
  const right = area.column + Math.ceil((extent.width / 2 + half) / BRAILLE.across);
  for (const { at } of parallels) {
    const row = area.row + Math.floor(at / BRAILLE.down);
    for (let column = left; column < right; column++) {
      // Without colour a line cannot be faint: the crossings say enough.
      if (isCrossing.has(column)) put(canvas, column, row, crossing ?? '', ink);
      else if (look.hasColor) put(canvas, column, row, horizontal ?? '', ink);
    }
  }
  if (hasCoast(view)) drawCoast(frame);
}

/** Whether the data of the coast is good enough for a view. */
function hasCoast(view: View): boolean {
  return metresPerDot(view) * BRAILLE.across >= LEAST_METRES_A_COLUMN;
}

function drawCoast({ canvas, input: { coast }, look, area, view, extent }: Frame): void {
  const toDots = (x: number, y: number) =>
    [eastOf(view, x) * view.worldDots + extent.width / 2, (y - view.y) * view.worldDots + extent.height / 2] as const;
  const bits = new Uint8Array(area.columns * area.rows);
  forCoast(coast, toDots, { ...extent, worldDots: view.worldDots }, ([x1, y1, x2, y2]) => {
    const steps = Math.max(1, Math.ceil(Math.max(Math.abs(x2 - x1), Math.abs(y2 - y1))));
    for (let step = 0; step <= steps; step++) {
      const x = Math.round(x1 + ((x2 - x1) * step) / steps);
      const y = Math.round(y1 + ((y2 - y1) * step) / steps);
      const cell = Math.floor(y / BRAILLE.down) * area.columns + Math.floor(x / BRAILLE.across);
      bits[cell] = (bits[cell] ?? 0) | (BRAILLE_BITS[y % BRAILLE.down]?.[x % BRAILLE.across === 0 ? 0 : 1] ?? 0);
    }
  });
  for (const [cell, value] of bits.entries()) {
    if (value === 0) continue;
    const sign = look.hasUnicode ? String.fromCharCode(BRAILLE_START + value) : '.';
    put(canvas, area.column + (cell % area.columns), area.row + Math.floor(cell / area.columns), sign, 'dim');
  }
}

function drawDots(frame: Frame): void {
  const { canvas, input, look, area, layout, isBusy } = frame;
  const { across, down } = layout.grid;
  const isBraille = across === BRAILLE.across;
  const cells = new Map<number, { bits: number; state: number; isSelected: boolean }>();
  for (const { x, y, place } of layout.dots) {
    const cell = Math.floor(y / down) * area.columns + Math.floor(x / across);
    const before = cells.get(cell) ?? { bits: 0, state: place.state, isSelected: false };
    const bit = isBraille ? (BRAILLE_BITS[y % down]?.[x % across === 0 ? 0 : 1] ?? 0) : 0;
    const isSelected = before.isSelected || input.selected === place;
    cells.set(cell, { ...before, bits: before.bits | bit, isSelected });
  }
  let selected: { column: number; row: number } | undefined;
  for (const [cell, { bits, state, isSelected }] of cells) {
    const [column, row] = [area.column + (cell % area.columns), area.row + Math.floor(cell / area.columns)];
    const { sign, letter } = lookOf(input.states[state]);
    const text = isBraille ? String.fromCharCode(BRAILLE_START + bits) : look.hasUnicode ? sign : letter;
    put(canvas, column, row, text, isSelected ? inverse(inkOf(input, state)) : inkOf(input, state));
    isBusy[row * canvas.width + column] = 1;
    if (isSelected) selected = { column, row };
  }
  if (selected !== undefined) drawPointer(frame, selected);
}

/** Around what is chosen, where no other bicycle is. */
function drawPointer({ canvas, look: { hasUnicode }, area, isBusy }: Frame, at: { column: number; row: number }): void {
  const [right, left] = hasUnicode ? ['▸', '◂'] : ['>', '<'];
  for (const [column, sign] of [[at.column - 1, right] as const, [at.column + 1, left] as const]) {
    const cell = at.row * canvas.width + column;
    if (column < area.column || column >= area.column + area.columns || isBusy[cell] === 1) continue;
    put(canvas, column, at.row, sign ?? '', 'bold');
    isBusy[cell] = 1;
  }
}

function inkOf({ states }: Pick<MapInput, 'states'>, state: number): Ink {
  return lookOf(states[state]).color ?? '';
}

function inverse(ink: Ink): Ink {
  return ink === '' ? 'inverse' : (`inverse ${ink}` as Ink);
}

/** A cluster is its number on a bar of its states: so many cells of each colour as there is room for. */
function drawCluster({ canvas, input, look, area, isBusy }: Frame, cluster: Cluster): void {
  const { columns, count, byState, members } = cluster;
  const [column, row] = [area.column + cluster.column, area.row + cluster.row];
  const isSelected = input.selected !== undefined && members.includes(input.selected);
  const [left, right] = bracketsOf(look, isSelected);
  const text = columns < String(count).length + 2 ? cut(String(count), columns) : `${left}${count}${right}`;
  const shares = look.hasColor ? shareCells(byState, columns) : [];
  for (const [index, sign] of [...text].entries()) {
    const state = shares[index];
    const ink: Ink = state === undefined ? (isSelected ? 'bold' : '') : inverse(inkOf(input, state));
    put(canvas, column + index, row, sign, isSelected && state !== undefined ? (`bold ${ink}` as Ink) : ink);
    isBusy[row * canvas.width + column + index] = 1;
  }
}

function bracketsOf({ hasColor, hasUnicode }: Look, isSelected: boolean): readonly [string, string] {
  if (isSelected) return hasUnicode ? ['▸', '◂'] : ['>', '<'];
  return hasColor ? [' ', ' '] : ['(', ')'];
}

/** Which state each of so many cells shows: every share rounded, the largest remainders first, in the order of the legend. */
export function shareCells(byState: readonly number[], cells: number): number[] {
  const total = byState.reduce((sum, number) => sum + number, 0);
  const shares = byState.map((number, state) => ({ state, exact: (number / total) * cells }));
  const whole = shares.map(({ state, exact }) => ({ state, cells: Math.floor(exact), rest: exact % 1 }));
  let left = cells - whole.reduce((sum, share) => sum + share.cells, 0);
  for (const share of [...whole].sort((a, b) => b.rest - a.rest || a.state - b.state)) {
    if (left <= 0) break;
    share.cells += 1;
    left -= 1;
  }
  return whole.flatMap((share) => new Array<number>(share.cells).fill(share.state));
}

function ticksOf({ view, extent, look }: Frame) {
  return graticule(view, { ...extent, meridianDots: 32, parallelDots: 24, hasDegreeSign: look.hasUnicode });
}

/** Degrees at the left and the bottom edge, where no bicycle is. */
function drawDegrees(frame: Frame): void {
  const { canvas, area, isBusy } = frame;
  const { meridians, parallels } = ticksOf(frame);
  const write = (column: number, row: number, label: string) => {
    if (column < area.column || column + label.length > area.column + area.columns) return;
    const start = row * canvas.width + column;
    if (isBusy.subarray(start, start + label.length).some((busy) => busy === 1)) return;
    // A free column keeps it apart from what is beside it.
    for (const beside of [column - 1, column + label.length]) {
      if (beside < area.column || beside >= area.column + area.columns) continue;
      if (isBusy[row * canvas.width + beside] !== 1) put(canvas, beside, row, ' ');
      isBusy[row * canvas.width + beside] = 1;
    }
    put(canvas, column, row, label, 'gray');
    isBusy.fill(1, start, start + label.length);
  };
  for (const { at, label } of parallels) write(area.column, area.row + Math.floor(at / BRAILLE.down), label);
  const bottom = area.row + area.rows - 1;
  for (const { at, label } of meridians) {
    write(area.column + Math.floor(at / BRAILLE.across) - Math.floor(label.length / 2), bottom, label);
  }
}

/** The names of single bicycles, where there is room behind them. */
function drawNames({ canvas, area, layout, isBusy }: Frame): void {
  if (layout.grid.across !== 1) return;
  for (const { place, x, y } of layout.dots) {
    const name = cut(clean(nameOf(place.bicycle).slice(0, 200)), NAME_COLUMNS);
    const [column, row] = [area.column + x + 2, area.row + y];
    const width = widthOf(name);
    const start = row * canvas.width + column;
    if (column + width > area.column + area.columns) continue;
    if (isBusy.subarray(start - 1, start + width + 1).some((busy) => busy === 1)) continue;
    put(canvas, column - 1, row, ' ');
    put(canvas, column, row, name, 'dim');
    isBusy.fill(1, start, start + width);
  }
}

/** Title, legend or panel, footer. */
function drawAround({ canvas, input, look, area, view, layout }: Frame): void {
  if (area.row > 0) drawTitle(canvas, input, look);
  const hasSigns = layout.grid.across === 1;
  const facts = { ...input, look, layout, view, hasSigns };
  if (hasPanel(look)) {
    const column = area.columns + 1;
    for (let row = 0; row < area.rows; row++)
      put(canvas, area.columns, area.row + row, look.hasUnicode ? '│' : '|', 'gray');
    for (const [row, line] of panelLines(facts, { columns: PANEL_COLUMNS - 1, rows: area.rows }).entries())
      putPieces(canvas, column + 1, area.row + row, line);
  } else {
    const rows = legendRows(input, look);
    for (const [row, line] of legendLines(facts, { columns: look.width, rows }).entries())
      putPieces(canvas, 0, area.row + area.rows + row, line);
  }
  if (input.footer === undefined) return;
  const chosen = input.selected === undefined ? [] : chosenPieces(facts, input.selected);
  putPieces(canvas, 0, look.height - 1, [...chosen, ...input.footer]);
}

function drawTitle(canvas: Canvas, { title, moment }: MapInput, { width }: Look): void {
  const right = ` ${moment}`;
  const left = cut(clean(title.slice(0, 1_000)), Math.max(1, width - widthOf(right)));
  put(canvas, 0, 0, left, 'bold');
  if (widthOf(left) + widthOf(right) <= width) put(canvas, width - widthOf(right), 0, right, 'gray');
}

/** Pieces one behind the other; what has no room is cut. */
function putPieces(canvas: Canvas, column: number, row: number, pieces: readonly Piece[]): void {
  let at = column;
  for (const { text, ink = '' } of pieces) {
    const fitting = cut(text, Math.max(0, canvas.width - at));
    put(canvas, at, row, fitting, ink);
    at += widthOf(fitting);
  }
}
