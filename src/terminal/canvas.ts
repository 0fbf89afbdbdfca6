// A grid of terminal cells: text put at columns and rows, with colours.

import { graphemesOf, widthOf } from './cells.js';
import type { Color, Paint, Style } from './colour.js';

/** Colour and style of a cell, such as `red` or `bold inverse`; '' is neither. */
export type Ink =
  | ''
  | Color
  | Style
  | `${Style} ${Color}`
  | `${Style} ${Style}`
  | `${Style} ${Style} ${Color}`;

export interface Canvas {
  readonly width: number;
  readonly height: number;
  /** The character of each cell, row by row; '' behind a character that is two columns wide. */
  readonly texts: string[];
  readonly inks: Ink[];
}

export function openCanvas(width: number, height: number): Canvas {
  const size = Math.max(0, width) * Math.max(0, height);
  return {
    width,
    height,
    texts: new Array<string>(size).fill(' '),
    inks: new Array<Ink>(size).fill(''),
  };
}

/** Puts text at a cell; what lies outside of the canvas is left out. The text has been cleaned and is short. */
export function put(
  canvas: Canvas,
  column: number,
  row: number,
  text: string,
  ink: Ink = '',
): void {
  if (row < 0 || row >= canvas.height) return;
  let at = column;
  for (const cluster of graphemesOf(text)) {
    const width = widthOf(cluster);
    if (at >= 0 && at + width <= canvas.width) {
      const cell = row * canvas.width + at;
      if (width === 0) {
        if (at > 0) canvas.texts[cell - 1] += cluster;
        continue;
      }
      // Of a character of two columns that is covered by half, the other half goes, too.
      if (canvas.texts[cell] === '') canvas.texts[cell - 1] = ' ';
      if (at + width < canvas.width && canvas.texts[cell + width] === '')
        canvas.texts[cell + width] = ' ';
      canvas.texts.fill('', cell, cell + width);
      canvas.inks.fill(ink, cell, cell + width);
      canvas.texts[cell] = cluster;
    }
    at += width;
  }
}

/** The canvas as lines, without spaces at their ends. */
export function canvasLines(canvas: Canvas, paint: Paint): string[] {
  return Array.from({ length: canvas.height }, (_, row) => {
    let end = canvas.width;
    const start = row * canvas.width;
    while (end > 0 && canvas.texts[start + end - 1] === ' ' && canvas.inks[start + end - 1] === '')
      end -= 1;
    return paintCells(canvas, start, start + end, paint);
  });
}

/** Cells in a row; those with the same ink are painted together. */
function paintCells({ texts, inks }: Canvas, from: number, to: number, paint: Paint): string {
  let line = '';
  for (let start = from; start < to; ) {
    const ink = inks[start] ?? '';
    let end = start + 1;
    while (end < to && inks[end] === ink) end += 1;
    const names = ink === '' ? [] : (ink.split(' ') as (Color | Style)[]);
    line += names.reduceRight((text, name) => paint[name](text), texts.slice(start, end).join(''));
    start = end;
  }
  return line;
}
