// A map of the terminal in the making: its cells, and which of them are taken.

import type { Graticule } from '../../globe/graticule.js';
import type { Extent, View } from '../../globe/projection.js';
import { type Canvas, type Ink, put } from '../../terminal/canvas.js';
import { widthOf } from '../../terminal/cells.js';
import type { Grid, Layout } from './layout.js';
import type { Look, Piece } from './legend.js';
import type { BicyclePoint, MapInput } from './scene.js';

export interface TerminalInput extends MapInput {
  /** What is seen; everything when absent. */
  readonly view?: View | undefined;
  /** What shows it is marked, a dot or a cluster. */
  readonly selected?: BicyclePoint | undefined;
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
export const BRAILLE = { across: 2, down: 4 };
/** The characters of the drawing, and their ASCII replacements. */
export const SIGNS = {
  unicode: { vertical: '┊', horizontal: '┈', crossing: '┼', left: '▸', right: '◂' },
  ascii: { vertical: ':', horizontal: '-', crossing: '+', left: '>', right: '<' },
} as const;

/** A drawing in the making; its canvas is the map alone. */
export interface Frame extends Omit<DrawnMap, 'layout'> {
  readonly input: TerminalInput;
  readonly look: Look;
  readonly signs: { readonly [name in keyof typeof SIGNS.unicode]: string };
  readonly layout: Layout & { readonly grid: Grid };
  readonly ticks: Graticule;
  /** Cells over which nothing more may be drawn: 1. */
  readonly isBusy: Uint8Array;
}

/** Whether these cells of a row are in the map and empty. */
export function isFree({ canvas, isBusy }: Frame, row: number, from: number, to: number): boolean {
  const start = row * canvas.width;
  return from >= 0 && to <= canvas.width && !isBusy.subarray(start + from, start + to).includes(1);
}

/** Puts text over which nothing more is drawn. */
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
