// Which towns the page's map names: the largest, each where there is room for its name.

import type { Map as MapLibre } from 'maplibre-gl';
import { placeTowns, readTowns, type Town } from '../globe/towns.js';
import { byId } from './dom.js';
import { extentOf, viewOf } from './view.js';

const MOST = 18;
const CHARACTER_PIXELS = 6.4;
const HALF_HEIGHT_PIXELS = 9;

let towns: Town[] | undefined;

/** `isFree`: whether nothing of the fleet is within so many pixels to the sides, above and below of a point. */
export function chooseTowns(
  map: MapLibre,
  isFree: (x: number, y: number, across: number, down: number) => boolean,
): Town[] {
  towns ??= readTowns(JSON.parse(byId('towns').textContent ?? '[]'));
  const taken: { town: Town; x: number; y: number; across: number }[] = [];
  const extent = extentOf(map);
  placeTowns(towns, { view: viewOf(map), extent, most: MOST }, (town, x, y) => {
    const across = (town.name.length * CHARACTER_PIXELS) / 2 + 6;
    if (x < across || x + across > extent.width) return false;
    const meets = taken.some(
      (one) => Math.abs(one.x - x) < one.across + across && Math.abs(one.y - y) < 2 * HALF_HEIGHT_PIXELS,
    );
    if (meets || !isFree(x, y, across, HALF_HEIGHT_PIXELS)) return false;
    return taken.push({ town, x, y, across }) > 0;
  });
  return taken.map(({ town }) => town);
}
