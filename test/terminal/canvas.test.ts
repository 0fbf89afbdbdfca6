// Tests text on a grid of terminal cells: wide characters, combining marks and the edges.

import { describe, expect, test } from 'vitest';
import { canvasLines, openCanvas, put } from '../../src/terminal/canvas.js';
import { NO_PAINT } from '../../src/terminal/colour.js';

/** Draws the texts one after the other on one row of six cells. */
function draw(...texts: readonly (readonly [column: number, text: string])[]): string {
  const canvas = openCanvas(6, 1);
  for (const [column, text] of texts) put(canvas, column, 0, text);
  return canvasLines(canvas, NO_PAINT).join('\n');
}

describe('text on a canvas', () => {
  test('replaces the text below it', () => {
    expect(draw([0, 'abcdef'], [2, 'XY'])).toBe('abXYef');
  });

  test('drops the part outside the canvas', () => {
    expect(draw([-2, 'abcd'], [4, 'uvwx'])).toBe('cd  uv');
    expect(draw([5, '京'])).toBe('');
    expect(draw([-1, '京b'])).toBe(' b');
  });

  test('removes the other half of a wide character', () => {
    expect(draw([0, 'ab京de'], [2, 'X'])).toBe('abX de');
    expect(draw([0, 'ab京de'], [3, 'X'])).toBe('ab Xde');
    expect(draw([0, '京都市'], [1, '京'])).toBe(' 京 市');
  });

  test('keeps a combining mark with its letter', () => {
    expect(draw([0, 'abc'], [1, 'e\u0301'])).toBe('ae\u0301c');
  });

  test('does not draw on a row outside the canvas', () => {
    const canvas = openCanvas(3, 2);
    put(canvas, 0, -1, 'a');
    put(canvas, 0, 2, 'b');
    put(canvas, 0, 1, 'c');
    expect(canvasLines(canvas, NO_PAINT)).toEqual(['', 'c']);
  });
});
