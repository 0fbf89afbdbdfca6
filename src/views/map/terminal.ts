// The map in the cells of a terminal: bicycles, clusters, coast, degrees and scale, with a legend
// that includes every bicycle.

import { graticule } from '../../globe/graticule.js';
import { eastOf, fitView, metresPerDot, toDots, type View } from '../../globe/projection.js';
import { type Canvas, type Ink, openCanvas, put } from '../../terminal/canvas.js';
import { cut, pad, widthOf } from '../../terminal/cells.js';
import { clean } from '../../terminal/clean.js';
import { lookOf } from '../bicycle.js';
import { forCoast, LEAST_METRES_A_COLUMN } from './coast.js';
import {
  BRAILLE,
  type DrawnMap,
  type Frame,
  isFree,
  type MapLine,
  occupy,
  SIGNS,
  type TerminalInput,
} from './frame.js';
import { drawDegrees, drawNames, drawTowns } from './labels.js';
import { type Cluster, type Grid, layOutMap } from './layout.js';
import { chosenPieces, type Look, legendHeight, legendLines, type Piece } from './legend.js';
import type { MapInput } from './scene.js';

/** The bit of each dot in a Braille character, by the row and column of the dot. */
const BRAILLE_BITS = [
  [0x01, 0x08],
  [0x02, 0x10],
  [0x04, 0x20],
  [0x40, 0x80],
] as const;
const BRAILLE_START = 0x2800;

/**
 * The maximum distance at which a mark may be drawn from the bicycle's position. It is two columns
 * for Braille dots, and two cells for other characters.
 */
const REACH_DOTS = 4;
const REACH_CELLS = 2;
/**
 * When the map has more than this many cells for each bicycle, each bicycle is drawn as a whole
 * character. A single Braille dot would be hard to see there.
 */
const CELLS_A_SIGN = 8;

/** A map with fewer rows than this has no title. */
const TITLE_ROWS = 6;

/** Draws the map with its title, legend and footer in the size that `look` specifies. */
export function drawMap(input: TerminalInput, look: Look): DrawnMap {
  const { width, height } = look;
  const title = height < TITLE_ROWS ? [] : [titlePieces(input, width)];
  const footer = input.footer === undefined ? [] : [input.footer];
  // The legend gets the rows that its entries need, but at most a quarter of the height.
  const most = height < 4 ? 0 : Math.max(2, Math.floor(height / 4));
  const legendRows = legendHeight({ ...input, look, hasSigns: true }, most);
  const canvas = openCanvas(width, Math.max(1, height - title.length - legendRows - footer.length));
  const extent = { width: width * BRAILLE.across, height: canvas.height * BRAILLE.down };
  const linePoints = (input.lines ?? []).flatMap(({ points }) => points);
  const view = input.view ?? fitView([...input.places, ...linePoints], extent);
  const layout = layOutFor(input, look, view, canvas);
  const frame: Frame = {
    canvas,
    input,
    look,
    signs: look.hasUnicode ? SIGNS.unicode : SIGNS.ascii,
    extent,
    view,
    layout,
    ticks: graticule(view, extent, look.hasUnicode),
    isBusy: new Uint8Array(width * canvas.height),
  };
  drawLines(frame);
  if (hasCoast(view)) drawCoast(frame);
  for (const line of input.lines ?? []) drawLine(frame, line);
  drawDots(frame);
  for (const cluster of layout.clusters) drawCluster(frame, cluster);
  drawDegrees(frame);
  drawNames(frame);
  drawTowns(frame);
  const legend = legendLines(
    { ...input, look, layout, view, hasSigns: layout.grid.across === 1 },
    legendRows,
  );
  const chosen =
    input.selected === undefined ? [] : chosenPieces(layout, input.states, input.selected);
  const below = [...legend, ...footer.map((pieces) => [...chosen, ...pieces])];
  const whole = stack(look, [linesOf(title, width), canvas, linesOf(below, width)]);
  if (!look.hasUnicode) writeAscii(whole);
  return { canvas: whole, layout, view, extent };
}

/** Joins canvases of the same width from top to bottom. */
function stack({ width, height }: Look, parts: readonly Canvas[]): Canvas {
  const [texts, inks] = [parts.flatMap((part) => part.texts), parts.flatMap((part) => part.inks)];
  return {
    width,
    height,
    texts: texts.slice(0, width * height),
    inks: inks.slice(0, width * height),
  };
}

/** Draws lines of coloured pieces, and cuts lines that are too long. */
function linesOf(lines: readonly (readonly Piece[])[], width: number): Canvas {
  const canvas = openCanvas(width, lines.length);
  for (const [row, pieces] of lines.entries()) {
    let at = 0;
    for (const { text, ink = '' } of pieces) {
      const fitting = cut(text, Math.max(0, width - at));
      put(canvas, at, row, fitting, ink);
      at += widthOf(fitting);
    }
  }
  return canvas;
}

function titlePieces({ title, moment }: MapInput, width: number): Piece[] {
  const room = Math.max(1, width - widthOf(moment) - 1);
  return [
    { text: pad(cut(clean(title.slice(0, 1_000)), room), room), ink: 'bold' },
    { text: ` ${moment}`, ink: 'gray' },
  ];
}

/** Replaces each remaining character that is not ASCII, such as the ellipsis of a cut text. */
function writeAscii({ texts }: Canvas): void {
  for (const [cell, text] of texts.entries())
    if (!/^[\x20-\x7E]$/.test(text)) texts[cell] = text === '…' ? '~' : '?';
}

/**
 * Chooses between two ways to draw bicycles. If no cluster is needed, each bicycle is a character
 * in its own cell. Otherwise, bicycles are Braille dots if the terminal supports Braille and the
 * coast is not drawn in Braille.
 */
function layOutFor(
  { places }: MapInput,
  { hasColor, hasUnicode }: Look,
  view: View,
  { width, height }: Canvas,
): Frame['layout'] {
  const common = {
    columns: width,
    rows: height,
    cell: { width: BRAILLE.across, height: BRAILLE.down },
    bin: { columns: 9, rows: 3 },
    labelOf: (count: number) => ({ columns: String(count).length + 2, rows: 1 }),
  };
  const signs: Grid = { ...common, across: 1, down: 1, reachDots: REACH_CELLS };
  const lay = (grid: Grid) => ({ ...layOutMap(places, view, grid), grid });
  // On a map with a coast, a cell is kilometres wide. A mark must not be more than one cell away
  // from its bicycle, or it would show a wrong place.
  if (hasCoast(view)) return lay({ ...signs, reachDots: 1 });
  if (!hasColor || !hasUnicode) return lay(signs);
  const [right, down] = [(width * BRAILLE.across) / 2, (height * BRAILLE.down) / 2];
  const inside = places.filter(
    ({ x, y }) =>
      Math.abs(eastOf(view, x)) * view.worldDots <= right &&
      Math.abs(y - view.y) * view.worldDots <= down,
  );
  if (inside.length <= (width * height) / CELLS_A_SIGN) {
    const layout = lay(signs);
    if (layout.clusters.length === 0) return layout;
  }
  return lay({ ...common, ...BRAILLE, reachDots: REACH_DOTS });
}

/**
 * Draws the degree lines in a faint colour. Without colours, draws only the points where these
 * lines cross.
 */
function drawLines({ canvas, look, signs, view, extent, ticks }: Frame): void {
  const ink: Ink = 'dim gray';
  const columns = ticks.meridians.map(({ at }) => Math.floor(at / BRAILLE.across));
  for (const column of look.hasColor ? columns : [])
    for (let row = 0; row < canvas.height; row++) put(canvas, column, row, signs.vertical, ink);
  // When the drawing is wider than the world map, the parallels end at the edges of the map.
  const half = Math.min(extent.width, view.worldDots) / 2;
  const left = Math.floor((extent.width / 2 - half) / BRAILLE.across);
  const right = Math.ceil((extent.width / 2 + half) / BRAILLE.across);
  for (const { at } of ticks.parallels) {
    const row = Math.floor(at / BRAILLE.down);
    for (let column = left; look.hasColor && column < right; column++)
      put(canvas, column, row, signs.horizontal, ink);
    for (const column of columns)
      if (column >= left && column < right) put(canvas, column, row, signs.crossing, ink);
  }
}

/** Whether the coastline is accurate enough for a view. */
function hasCoast(view: View): boolean {
  return metresPerDot(view) * BRAILLE.across >= LEAST_METRES_A_COLUMN;
}

function drawCoast({ canvas, input, look, view, extent }: Frame): void {
  const bits = new Uint8Array(canvas.texts.length);
  forCoast(input.coast, view, extent, (x, y) => {
    const cell = Math.floor(y / BRAILLE.down) * canvas.width + Math.floor(x / BRAILLE.across);
    bits[cell] = (bits[cell] ?? 0) | brailleBit(x, y);
  });
  for (const [cell, value] of bits.entries())
    if (value !== 0) putCell(canvas, cell, look.hasUnicode ? braille(value) : '.', 'dim');
}

function brailleBit(x: number, y: number): number {
  return BRAILLE_BITS[y % BRAILLE.down]?.[x % BRAILLE.across === 0 ? 0 : 1] ?? 0;
}

function braille(bits: number): string {
  return String.fromCharCode(BRAILLE_START + bits);
}

function putCell(canvas: Canvas, cell: number, text: string, ink: Ink): void {
  put(canvas, cell % canvas.width, Math.floor(cell / canvas.width), text, ink);
}

/**
 * Draws a line with Braille dots, or with points when the output does not support Unicode. When
 * several lines cross a cell, the last line determines its colour.
 */
function drawLine({ canvas, look, view, extent }: Frame, { points, ink }: MapLine): void {
  const bits = new Map<number, number>();
  const mark = (x: number, y: number) => {
    if (x < 0 || y < 0 || x >= extent.width || y >= extent.height) return;
    const cell = Math.floor(y / BRAILLE.down) * canvas.width + Math.floor(x / BRAILLE.across);
    bits.set(cell, (bits.get(cell) ?? 0) | brailleBit(x, y));
  };
  const dots = points.map((point) => toDots(view, extent, point).map(Math.floor));
  for (const [index, [x = 0, y = 0]] of dots.entries()) {
    const [nextX = x, nextY = y] = dots[index + 1] ?? [];
    // A line can extend far beyond the drawing, so the number of steps is limited.
    const steps = Math.min(
      Math.max(Math.abs(nextX - x), Math.abs(nextY - y), 1),
      extent.width + extent.height,
    );
    for (let step = 0; step <= steps; step++)
      mark(
        Math.round(x + ((nextX - x) * step) / steps),
        Math.round(y + ((nextY - y) * step) / steps),
      );
  }
  for (const [cell, value] of bits)
    putCell(canvas, cell, look.hasUnicode ? braille(value) : '.', ink);
}

function drawDots(frame: Frame): void {
  const { canvas, input, look, signs, layout, isBusy } = frame;
  const { across, down } = layout.grid;
  const isBraille = across === BRAILLE.across;
  const cells = new Map<number, { bits: number; state: number }>();
  let selected: number | undefined;
  for (const { x, y, place } of layout.dots) {
    const cell = Math.floor(y / down) * canvas.width + Math.floor(x / across);
    const bits = (cells.get(cell)?.bits ?? 0) | (isBraille ? brailleBit(x, y) : 0);
    cells.set(cell, { bits, state: place.state });
    if (place === input.selected) selected = cell;
  }
  for (const [cell, { bits, state }] of cells) {
    const { sign, letter } = lookOf(input.states[state]);
    const text = isBraille ? braille(bits) : look.hasUnicode ? sign : letter;
    const ink = inkOf(input, state);
    putCell(canvas, cell, text, cell === selected ? inverse(ink) : ink);
    isBusy[cell] = 1;
  }
  if (selected === undefined) return;
  const [column, row] = [selected % canvas.width, Math.floor(selected / canvas.width)];
  // Marks are drawn to the left and right of the selection, if these cells may be overwritten.
  if (isFree(frame, row, column - 1, column)) occupy(frame, row, column - 1, signs.left, 'bold');
  if (isFree(frame, row, column + 1, column + 2))
    occupy(frame, row, column + 1, signs.right, 'bold');
}

function inkOf({ states }: Pick<MapInput, 'states'>, state: number): Ink {
  return lookOf(states[state]).color ?? '';
}

function inverse(ink: Ink): Ink {
  return ink === '' ? 'inverse' : (`inverse ${ink}` as Ink);
}

/** Draws a cluster as its count on a bar with the colours of its states. */
function drawCluster(
  frame: Frame,
  { column, row, columns, count, byState, members }: Cluster,
): void {
  const { input, look, signs } = frame;
  const isSelected = input.selected !== undefined && members.includes(input.selected);
  const plain = look.hasColor ? [' ', ' '] : ['(', ')'];
  const [left, right] = isSelected ? [signs.left, signs.right] : plain;
  const text =
    columns < String(count).length + 2 ? cut(String(count), columns) : `${left}${count}${right}`;
  const shares = look.hasColor ? shareCells(byState, columns) : [];
  for (const [index, sign] of [...text].entries()) {
    const state = shares[index];
    const bar = state === undefined ? '' : inverse(inkOf(input, state));
    occupy(frame, row, column + index, sign, isSelected ? (`bold ${bar}`.trim() as Ink) : bar);
  }
}

/**
 * Returns the state that determines the colour of each cell in a cluster's bar. The bar lists all
 * bicycles in the order of the legend, and each cell has the state of the bicycle at its middle.
 */
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
