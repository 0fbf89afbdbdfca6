// Labels of the largest towns on the page's map, placed when the map rests.

import type { Map as MapLibre } from 'maplibre-gl';
import { toDots } from '../globe/projection.js';
import { placeTowns, readTowns, type Town } from '../globe/towns.js';
import { byId, element } from './dom.js';
import { extentOf, viewOf } from './view.js';

const MOST = 18;
const CHARACTER_PIXELS = 6.4;
const HALF_HEIGHT_PIXELS = 9;

export function openTowns(map: MapLibre, container: HTMLElement) {
  const towns = readTowns(JSON.parse(byId('towns').textContent ?? '[]'));
  let shown: { town: Town; label: HTMLElement }[] = [];
  const follow = () => {
    const [view, extent] = [viewOf(map), extentOf(map)];
    for (const { town, label } of shown) {
      const [left, top] = toDots(view, extent, town);
      label.style.transform = `translate(${left.toFixed(1)}px, ${top.toFixed(1)}px) translate(-50%, -50%)`;
    }
  };
  return {
    follow,
    /** Chooses anew. `isFree`: whether no bicycle is within so many pixels to the sides, above and below of a point. */
    choose(isFree: (x: number, y: number, across: number, down: number) => boolean) {
      const taken: { x: number; y: number; across: number }[] = [];
      shown = [];
      const extent = extentOf(map);
      placeTowns(towns, { view: viewOf(map), extent, most: MOST }, (town, x, y) => {
        const across = (town.name.length * CHARACTER_PIXELS) / 2 + 6;
        if (x < across || x + across > extent.width) return false;
        const meets = taken.some(
          (one) => Math.abs(one.x - x) < one.across + across && Math.abs(one.y - y) < 2 * HALF_HEIGHT_PIXELS,
        );
        if (meets || !isFree(x, y, across, HALF_HEIGHT_PIXELS)) return false;
        taken.push({ x, y, across });
        shown.push({ town, label: element('span', 'town', town.name) });
        return true;
      });
      container.replaceChildren(...shown.map(({ label }) => label));
      follow();
    },
  };
}
