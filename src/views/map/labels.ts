// Places labels on a terminal map where there is room: degrees, names of individual bicycles, and
// towns.

import { placeTowns } from '../../globe/towns.js';
import { put } from '../../terminal/canvas.js';
import { cut, widthOf } from '../../terminal/cells.js';
import { clean } from '../../terminal/clean.js';
import { BRAILLE, type Frame, isFree, occupy } from './frame.js';
import { nameOf } from './scene.js';

/** The names of bicycles are shown when there are at most this many. */
const MOST_NAMED = 24;
const NAME_COLUMNS = 18;
const MOST_TOWNS = 16;

/**
 * Labels the lines of longitude and latitude with their degrees, at the bottom and left edges.
 * Keeps one column free before and after each label.
 */
export function drawDegrees(frame: Frame): void {
  const { canvas, ticks } = frame;
  const write = (column: number, row: number, label: string) => {
    const end = column + label.length;
    if (!isFree(frame, row, column, end)) return;
    for (const beside of [column - 1, end])
      if (isFree(frame, row, beside, beside + 1)) occupy(frame, row, beside, ' ', '');
    occupy(frame, row, column, label, 'gray');
  };
  for (const { at, label } of ticks.parallels) write(0, Math.floor(at / BRAILLE.down), label);
  for (const { at, label } of ticks.meridians)
    write(Math.floor(at / BRAILLE.across) - Math.floor(label.length / 2), canvas.height - 1, label);
}

/** Draws the names of individual bicycles where there is room. */
export function drawNames(frame: Frame): void {
  const { canvas, layout } = frame;
  if (layout.grid.across !== 1 || layout.dots.length > MOST_NAMED) return;
  for (const { place, x, y } of layout.dots) {
    const name = cut(clean(nameOf(place.bicycle).slice(0, 200)), NAME_COLUMNS);
    const [column, end] = [x + 2, x + 2 + widthOf(name)];
    if (end > canvas.width || !isFree(frame, y, column - 1, Math.min(end + 1, canvas.width)))
      continue;
    put(canvas, column - 1, y, ' ');
    occupy(frame, y, column, name, 'dim');
  }
}

/**
 * Draws the names of the largest towns. Each name is on the row of its town, or on the row below or
 * above. Marks, clusters and other labels have priority over the names.
 */
export function drawTowns(frame: Frame): void {
  const { input, view, extent, canvas } = frame;
  placeTowns(input.towns ?? [], { view, extent, most: MOST_TOWNS }, ({ name }, x, y) => {
    const [column, middle] = [Math.floor(x / BRAILLE.across), Math.floor(y / BRAILLE.down)];
    const isInside = (row: number) => row >= 0 && row < canvas.height;
    const row = [middle, middle + 1, middle - 1].find(
      (each) => isInside(each) && isFree(frame, each, column - 1, column + name.length + 1),
    );
    if (row === undefined) return false;
    occupy(frame, row, column, name, 'gray');
    return true;
  });
}
