// The map as cells of a terminal: bicycles, clusters, coast, degrees and scale, with a legend that accounts for every bicycle.

import { graticule } from '../../globe/graticule.js';
import { eastOf, fitView, metresPerDot, toDots, type View } from '../../globe/projection.js';
import { type Canvas, type Ink, openCanvas, put } from '../../terminal/canvas.js';
import { cut, widthOf } from '../../terminal/cells.js';
import { clean } from '../../terminal/clean.js';
import { lookOf } from '../bicycle.js';
import { forCoast, LEAST_METRES_A_COLUMN } from './coast.js';
import { type Area, BRAILLE, type DrawnMap, type Frame, isFree, occupy, SIGNS, type TerminalInput } from './frame.js';
import { drawDegrees, drawNames, drawTowns } from './labels.js';
import { type Cluster, type Grid, layOutMap } from './layout.js';
import { chosenPieces, type Look, legendHeight, legendLines, type Piece } from './legend.js';
import type { BicyclePoint, MapInput } from './scene.js';

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

/** Below this height there is no room for a title. */
const TITLE_ROWS = 6;

/** Draws the map; it fills the size of the look. */
export function drawMap(input: TerminalInput, look: Look): DrawnMap {
  const canvas = openCanvas(look.width, look.height);
  const area = areaOf(input, look);
  const extent = { width: area.columns * BRAILLE.across, height: area.rows * BRAILLE.down };
  const view = input.view ?? fitView(input.places, extent);
  const frame: Frame = {
    canvas,
    input,
    look,
    signs: look.hasUnicode ? SIGNS.unicode : SIGNS.ascii,
    area,
    extent,
    view,
    layout: layOutFor(input, look, area, view),
    ticks: graticule(view, { ...extent, meridianDots: 32, parallelDots: 24, hasDegreeSign: look.hasUnicode }),
    isBusy: new Uint8Array(look.width * look.height),
  };
  drawLines(frame);
  if (hasCoast(view)) drawCoast(frame);
  drawDots(frame);
  for (const cluster of frame.layout.clusters) drawCluster(frame, cluster);
  drawDegrees(frame);
  drawNames(frame);
  drawTowns(frame);
  drawAround(frame);
  if (!look.hasUnicode) writeAscii(canvas);
  return frame;
}

function areaOf(input: TerminalInput, look: Look): Area {
  const { width, height } = look;
  const row = height >= TITLE_ROWS ? 1 : 0;
  const footer = input.footer === undefined ? 0 : 1;
  return { row, columns: width, rows: Math.max(1, height - row - footer - legendRows(input, look)) };
}

/** Rows below the map: as many as the legend takes, and no more than the map can spare. */
function legendRows(input: TerminalInput, look: Look): number {
  if (look.height < 4) return 0;
  return legendHeight({ ...input, look, hasSigns: true }, Math.max(2, Math.floor(look.height / 4)));
}

/** Leaves nothing in the cells that is no ASCII: what is ours has letters already, but for the mark of what was cut. */
function writeAscii({ texts }: Canvas): void {
  for (const [cell, text] of texts.entries()) if (!/^[\x20-\x7E]$/.test(text)) texts[cell] = text === '…' ? '~' : '?';
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
    bin: { columns: 9, rows: 3 },
    labelOf: (count: number) => ({ columns: String(count).length + 2, rows: 1 }),
  };
  const signs: Grid = { ...common, across: 1, down: 1, reachDots: REACH_CELLS };
  const lay = (grid: Grid) => ({ ...layOutMap(places, view, grid), grid });
  // Where a cell is kilometres wide, two beside each other are a place of their own already.
  if (hasCoast(view)) return lay({ ...signs, reachDots: 1 });
  if (!hasColor || !hasUnicode) return lay(signs);
  if (countInside(places, view, area) <= (columns * rows) / CELLS_A_SIGN) {
    const layout = lay(signs);
    if (layout.clusters.length === 0) return layout;
  }
  return lay({ ...common, ...BRAILLE, reachDots: REACH_DOTS });
}

function countInside(places: readonly BicyclePoint[], view: View, { columns, rows }: Area): number {
  const [right, down] = [(columns * BRAILLE.across) / 2, (rows * BRAILLE.down) / 2];
  const isInside = ({ x, y }: BicyclePoint) =>
    Math.abs(eastOf(view, x)) * view.worldDots <= right && Math.abs(y - view.y) * view.worldDots <= down;
  return places.filter(isInside).length;
}

/** Degrees as faint lines; without colour a line cannot be faint, and the crossings say enough. */
function drawLines({ canvas, look, signs, area, view, extent, ticks }: Frame): void {
  const ink: Ink = 'dim gray';
  const columns = ticks.meridians.map(({ at }) => Math.floor(at / BRAILLE.across));
  for (const column of look.hasColor ? columns : [])
    for (let row = 0; row < area.rows; row++) put(canvas, column, area.row + row, signs.vertical, ink);
  // A drawing wider than the world ends where it does.
  const half = Math.min(extent.width, view.worldDots) / 2;
  const left = Math.floor((extent.width / 2 - half) / BRAILLE.across);
  const right = Math.ceil((extent.width / 2 + half) / BRAILLE.across);
  for (const { at } of ticks.parallels) {
    const row = area.row + Math.floor(at / BRAILLE.down);
    for (let column = left; look.hasColor && column < right; column++) put(canvas, column, row, signs.horizontal, ink);
    for (const column of columns) if (column >= left && column < right) put(canvas, column, row, signs.crossing, ink);
  }
}

/** Whether the data of the coast is good enough for a view. */
function hasCoast(view: View): boolean {
  return metresPerDot(view) * BRAILLE.across >= LEAST_METRES_A_COLUMN;
}

function drawCoast(frame: Frame): void {
  const { input, look, area, view, extent } = frame;
  const bits = new Uint8Array(area.columns * area.rows);
  const project = (x: number, y: number) => toDots(view, extent, { x, y });
  forCoast(input.coast, project, view.worldDots, (x, y) => {
    if (x < 0 || y < 0 || x >= extent.width || y >= extent.height) return;
    const cell = Math.floor(y / BRAILLE.down) * area.columns + Math.floor(x / BRAILLE.across);
    bits[cell] = (bits[cell] ?? 0) | brailleBit(x, y);
  });
  for (const [cell, value] of bits.entries())
    if (value !== 0) putCell(frame, cell, look.hasUnicode ? braille(value) : '.', 'dim');
}

function brailleBit(x: number, y: number): number {
  return BRAILLE_BITS[y % BRAILLE.down]?.[x % BRAILLE.across === 0 ? 0 : 1] ?? 0;
}

function braille(bits: number): string {
  return String.fromCharCode(BRAILLE_START + bits);
}

function putCell({ canvas, area }: Frame, cell: number, text: string, ink: Ink): void {
  put(canvas, cell % area.columns, area.row + Math.floor(cell / area.columns), text, ink);
}

function drawDots(frame: Frame): void {
  const { canvas, input, look, signs, area, layout, isBusy } = frame;
  const { across, down } = layout.grid;
  const isBraille = across === BRAILLE.across;
  const cells = new Map<number, { bits: number; state: number }>();
  let selected: number | undefined;
  for (const { x, y, place } of layout.dots) {
    const cell = Math.floor(y / down) * area.columns + Math.floor(x / across);
    const bits = (cells.get(cell)?.bits ?? 0) | (isBraille ? brailleBit(x, y) : 0);
    cells.set(cell, { bits, state: place.state });
    if (place === input.selected) selected = cell;
  }
  for (const [cell, { bits, state }] of cells) {
    const { sign, letter } = lookOf(input.states[state]);
    const ink = inkOf(input, state);
    putCell(
      frame,
      cell,
      isBraille ? braille(bits) : look.hasUnicode ? sign : letter,
      cell === selected ? inverse(ink) : ink,
    );
    isBusy[(area.row + Math.floor(cell / area.columns)) * canvas.width + (cell % area.columns)] = 1;
  }
  if (selected === undefined) return;
  const [column, row] = [selected % area.columns, area.row + Math.floor(selected / area.columns)];
  // Around what is chosen, where no other bicycle is.
  if (isFree(frame, row, column - 1, column)) occupy(frame, row, column - 1, signs.left, 'bold');
  if (isFree(frame, row, column + 1, column + 2)) occupy(frame, row, column + 1, signs.right, 'bold');
}

function inkOf({ states }: Pick<MapInput, 'states'>, state: number): Ink {
  return lookOf(states[state]).color ?? '';
}

function inverse(ink: Ink): Ink {
  return ink === '' ? 'inverse' : (`inverse ${ink}` as Ink);
}

/** A cluster is its number on a bar of its states: so many cells of each colour as there is room for. */
function drawCluster(frame: Frame, { column, row, columns, count, byState, members }: Cluster): void {
  const { input, look, signs, area } = frame;
  const isSelected = input.selected !== undefined && members.includes(input.selected);
  const plain = look.hasColor ? [' ', ' '] : ['(', ')'];
  const [left, right] = isSelected ? [signs.left, signs.right] : plain;
  const text = columns < String(count).length + 2 ? cut(String(count), columns) : `${left}${count}${right}`;
  const shares = look.hasColor ? shareCells(byState, columns) : [];
  for (const [index, sign] of [...text].entries()) {
    const state = shares[index];
    const bar = state === undefined ? '' : inverse(inkOf(input, state));
    occupy(frame, area.row + row, column + index, sign, isSelected ? (`bold ${bar}`.trim() as Ink) : bar);
  }
}

/** Which state each of so many cells shows, in the order of the legend: that of the bicycle in the middle of its share. */
export function shareCells(byState: readonly number[], cells: number): number[] {
  const total = byState.reduce((sum, number) => sum + number, 0);
  return Array.from({ length: cells }, (_, cell) => {
    let left = ((cell + 0.5) / cells) * total;
    return byState.findIndex((number) => {
      left -= number;
      return left < 0;
    });
  });
}

/** Title, legend, footer. */
function drawAround({ canvas, input, look, area, view, layout }: Frame): void {
  if (area.row > 0) drawTitle(canvas, input, look);
  const legend = { ...input, look, layout, view, hasSigns: layout.grid.across === 1 };
  for (const [row, line] of legendLines(legend, legendRows(input, look)).entries())
    putPieces(canvas, 0, area.row + area.rows + row, line);
  if (input.footer === undefined) return;
  const chosen = input.selected === undefined ? [] : chosenPieces(layout, input.states, input.selected);
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
