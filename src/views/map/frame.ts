// A terminal map while it is being drawn: its cells, and which cells must not be overwritten.

import type { Graticule } from '../../globe/graticule.js';
import type { Extent, Point, View } from '../../globe/projection.js';
import { type Canvas, type Ink, put } from '../../terminal/canvas.js';
import { widthOf } from '../../terminal/cells.js';
import type { Grid, Layout } from './layout.js';
import type { Look, Piece } from './legend.js';
import type { BicyclePoint, MapInput } from './scene.js';

/** A line that connects places, such as a tour. */
export interface MapLine {
  readonly points: readonly Point[];
  readonly ink: Ink;
}

export interface TerminalInput extends MapInput {
  /** Lines that are drawn below the bicycles, such as tours. The default view includes them. */
  readonly lines?: readonly MapLine[];
  /** The part of the world that is visible. Default: everything. */
  readonly view?: View | undefined;
  /** The dot or cluster that the user selected. The drawing marks it. */
  readonly selected?: BicyclePoint | undefined;
  /** The text that the last line shows, if any. */
  readonly footer?: readonly Piece[];
}

export interface DrawnMap {
  readonly canvas: Canvas;
  readonly layout: Layout;
  readonly view: View;
  readonly extent: Extent;
}

/** A Braille cell contains two by four dots. With this proportion, the dots are square. */
export const BRAILLE = { across: 2, down: 4 };
/** The characters for lines and marks in a drawing, and the ASCII characters that replace them. */
export const SIGNS = {
  unicode: { vertical: '┊', horizontal: '┈', crossing: '┼', left: '▸', right: '◂' },
  ascii: { vertical: ':', horizontal: '-', crossing: '+', left: '>', right: '<' },
} as const;

/** A drawing. Its canvas is the map without the legend. */
export interface Frame extends Omit<DrawnMap, 'layout'> {
  readonly input: TerminalInput;
  readonly look: Look;
  readonly signs: { readonly [name in keyof typeof SIGNS.unicode]: string };
  readonly layout: Layout & { readonly grid: Grid };
  readonly ticks: Graticule;
  /** Contains 1 for each cell that must not be overwritten, and otherwise 0. */
  readonly isBusy: Uint8Array;
}

/** Whether these cells of a row are inside the map and may be overwritten. */
export function isFree({ canvas, isBusy }: Frame, row: number, from: number, to: number): boolean {
  const start = row * canvas.width;
  return from >= 0 && to <= canvas.width && !isBusy.subarray(start + from, start + to).includes(1);
}

/** Writes text, and marks its cells so that nothing overwrites the text. */
export function occupy(
  { canvas, isBusy }: Frame,
  row: number,
  column: number,
  text: string,
  ink: Ink,
): void {
  put(canvas, column, row, text, ink);
  const start = row * canvas.width + column;
  isBusy.fill(1, start, start + widthOf(text));
}
