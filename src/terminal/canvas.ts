// A grid of terminal cells with text and colours.

import { graphemesOf, widthOf } from './cells.js';
import type { Color, Paint, Style } from './colour.js';

/**
 * The colour and style of a cell, such as `red` or `bold inverse`. Empty when the cell has neither.
 */
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
  /** The character of each cell, row by row; empty after a character that is two columns wide. */
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

/**
 * Writes text at a cell, and drops the part outside the canvas. The text must not contain control
 * characters. It should be short, because it is split into graphemes.
 */
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
      // When the text covers one half of a wide character, the other half is removed.
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

/** Returns the canvas as lines without trailing spaces. */
export function canvasLines(canvas: Canvas, paint: Paint): string[] {
  return Array.from({ length: canvas.height }, (_, row) => {
    let end = canvas.width;
    const start = row * canvas.width;
    while (end > 0 && canvas.texts[start + end - 1] === ' ' && canvas.inks[start + end - 1] === '')
      end -= 1;
    return paintCells(canvas, start, start + end, paint);
  });
}

/**
 * Paints the cells of a row. Neighbouring cells with the same colour and style are painted
 * together.
 */
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
