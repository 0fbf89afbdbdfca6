// Chooses the towns whose names the map shows: the largest towns with enough room for a name.

import { toDots } from '../globe/projection.js';
import { placeTowns, readTowns, type Town } from '../globe/towns.js';
import { readBlock } from './dom.js';
import { type PageMapState, zonesInView } from './overlay.js';
import { extentOf, viewOf } from './view.js';

const MOST = 18;
const CHARACTER_PIXELS = 6.4;
const HALF_HEIGHT_PIXELS = 9;
/** The radius of the largest cluster bubble. */
const BUBBLE_PIXELS = 32;

let towns: Town[] | undefined;

/**
 * Returns the towns that are not too close to a cluster, a bicycle or the name of a larger town.
 */
export function chooseTowns(state: PageMapState): Town[] {
  const { map, points, bubbles } = state;
  towns ??= readTowns(readBlock('towns'));
  const [view, extent] = [viewOf(map), extentOf(map)];
  const taken = bubbles.map(({ cluster }) => {
    const [x, y] = toDots(view, extent, cluster);
    return { x, y, across: BUBBLE_PIXELS, down: BUBBLE_PIXELS };
  });
  const zones = zonesInView(state);
  for (const { name, left, top } of zones) {
    const across = (name.length * CHARACTER_PIXELS) / 2 + 6;
    taken.push({ x: left, y: top + HALF_HEIGHT_PIXELS, across, down: HALF_HEIGHT_PIXELS });
  }
  // A zone often has the same name as its town, so towns that share the name of a shown zone are
  // omitted.
  const zoneNames = new Set(zones.map(({ name }) => name));
  const chosen: Town[] = [];
  placeTowns(towns, { view, extent, most: MOST }, (town, x, y) => {
    const [across, down] = [(town.name.length * CHARACTER_PIXELS) / 2 + 6, HALF_HEIGHT_PIXELS];
    const meets = taken.some(
      (one) => Math.abs(one.x - x) < one.across + across && Math.abs(one.y - y) < one.down + down,
    );
    const isCut = x < across || x + across > extent.width;
    if (zoneNames.has(town.name) || isCut || meets || points.nearest(x, y, across) !== undefined)
      return false;
    taken.push({ x, y, across, down });
    return chosen.push(town) > 0;
  });
  return chosen;
}
