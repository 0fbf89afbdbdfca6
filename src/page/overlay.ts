// The overlay of the map: clusters with counts, names of towns, the selected bicycle, the bicycle
// under the pointer, and the scale.

import type { Map as MapLibre } from 'maplibre-gl';
import { type ComponentChild, h, render } from 'preact';
import { scaleBar } from '../globe/graticule.js';
import { type Point, toDots } from '../globe/projection.js';
import type { Town } from '../globe/towns.js';
import type { PageCluster } from './clusters.js';
import { showNumber } from './dom.js';
import { countBy, isPlaced, type PageBicycle, pageCharge, pageNameOf } from './fleet.js';
import type { Points } from './points.js';
import { bubblePixels, pointPixels } from './sizes.js';
import type { PageState } from './state.js';
import { colourOf, pageState } from './state-marks.js';
import { extentOf, viewOf } from './view.js';

type Bubble = ReturnType<typeof bubbleOf>;

/** The state of the map and its overlay. */
export interface PageMapState {
  readonly map: MapLibre;
  readonly points: Points;
  readonly page: PageState;
  bubbles: readonly Bubble[];
  towns: readonly Town[];
  /** The bicycle that is under the pointer. */
  hovered: PageBicycle | undefined;
  gatheredZoom: number;
  isReady: boolean;
}

const SCALE_PIXELS = 110;
/** Elements outside the map are not drawn when they are farther than this from its edge. */
const BEYOND_PIXELS = 60;

export function drawOverlay(
  overlay: HTMLElement,
  state: PageMapState,
  onPress: (cluster: PageCluster) => void,
): void {
  const { map, bubbles, towns, hovered } = state;
  const { chosen } = state.page;
  const [view, extent] = [viewOf(map), extentOf(map)];
  const placed = (point: Point) => {
    const [left, top] = toDots(view, extent, point);
    return `translate(${left.toFixed(1)}px, ${top.toFixed(1)}px)`;
  };
  const isSeen = (point: Point) => {
    const [left, top] = toDots(view, extent, point);
    const isNear = (at: number, length: number) =>
      at > -BEYOND_PIXELS && at < length + BEYOND_PIXELS;
    return isNear(left, extent.width) && isNear(top, extent.height);
  };
  const names = towns.map((town) => {
    const transform = `${placed(town)} translate(-50%, -50%)`;
    return h('span', { key: town.name, class: 'town', style: { transform } }, town.name);
  });
  const zones = zonesInView(state).map(({ name, left, top }) => {
    const transform = `translate(${left.toFixed(1)}px, ${top.toFixed(1)}px) translate(-50%, 3px)`;
    return h('span', { class: 'zone', style: { transform } }, name);
  });
  // Reuses the elements while the number of bubbles stays the same. Otherwise a click on a bubble
  // could be lost while bicycles move.
  const buttons = bubbles.map(({ cluster, text, title, label, background, size }, key) => {
    if (!isSeen(cluster)) return null;
    const attributes = {
      key,
      type: 'button',
      class: 'bubble',
      title,
      'aria-label': label,
      style: { background, '--size': size, transform: placed(cluster) },
      onClick: () => onPress(cluster),
    } as const;
    return h('button', attributes, h('span', null, text));
  });
  const { dots, label } = scaleBar(view, SCALE_PIXELS);
  const scale = {
    class: 'scale',
    'aria-hidden': 'true',
    style: { width: `${Math.round(dots)}px` },
  } as const;
  const children = [
    h('div', { 'aria-hidden': 'true' }, names, zones),
    h('div', null, buttons),
    chosen !== undefined && isPlaced(chosen) && ringOf(chosen, state, placed),
    hovered !== undefined &&
      h(
        'div',
        { class: 'tip', role: 'status', style: { transform: placed(hovered) } },
        tipOf(hovered),
      ),
    h('div', scale, label),
  ];
  render(children, overlay);
}

const ZONE_CHARACTER_PIXELS = 6.8;
const MOST_ZONES = 40;

/** A zone name and its position at the upper edge of the zone's visible part, in map pixels. */
export interface PlacedName {
  readonly name: string;
  readonly left: number;
  readonly top: number;
}

/**
 * Returns the zones whose visible part is wide enough for their name, and the position of each
 * name.
 */
export function zonesInView({ map, page }: PageMapState): readonly PlacedName[] {
  const [view, extent] = [viewOf(map), extentOf(map)];
  const placed = page.zoneNames.flatMap(({ name, west, east, north, south }) => {
    const [middle, top] = toDots(view, extent, { x: (west + east) / 2, y: north });
    const half = ((east - west) / 2) * view.worldDots;
    const bottom = top + (south - north) * view.worldDots;
    const [from, to] = [Math.max(0, middle - half), Math.min(extent.width, middle + half)];
    const isInside = bottom > 0 && top < extent.height;
    const isRoomy = to - from > name.length * ZONE_CHARACTER_PIXELS;
    return isInside && isRoomy ? [{ name, left: (from + to) / 2, top: Math.max(0, top) }] : [];
  });
  return placed.slice(0, MOST_ZONES);
}

/**
 * Draws a ring around the selected bicycle. If a cluster contains the bicycle, draws the ring
 * around the cluster.
 */
function ringOf(
  chosen: PageBicycle,
  { map, bubbles }: PageMapState,
  placed: (point: Point) => string,
): ComponentChild {
  const around = bubbles.find(({ cluster }) => cluster.bicycles.includes(chosen))?.cluster;
  const pixels =
    around === undefined ? pointPixels(map.getZoom()) : bubblePixels(around.bicycles.length);
  const style = { transform: placed(around ?? chosen), '--size': `${pixels + 12}px` };
  return h('div', { class: 'chosen', 'aria-hidden': 'true', style });
}

/**
 * Draws a cluster as a button: its count inside a ring. The ring shows the colours of its states,
 * the most frequent state first.
 */
export function bubbleOf(cluster: PageCluster) {
  const count = cluster.bicycles.length;
  const parts = [...countBy(cluster.bicycles, 'state', 0)].sort(([, a], [, b]) => b - a);
  const named = parts.map(([word, number]) => `${showNumber(number)} ${pageState(word)}`);
  let from = 0;
  const slices = parts.map(([word, number]) => {
    const to = from + (number / count) * 360;
    const slice = `${colourOf(word)} ${from.toFixed(1)}deg ${to.toFixed(1)}deg`;
    from = to;
    return slice;
  });
  return {
    cluster,
    text: shortNumber(count),
    title: named.join('\n'),
    label: `${showNumber(count)} bicycles here: ${named.join(', ')}. Zoom in`,
    background: `conic-gradient(${slices.join(', ')})`,
    size: `${bubblePixels(count)}px`,
  };
}

/** Returns a count in a short form that fits into a bubble, such as `999`, `1.1k` or `36k`. */
function shortNumber(count: number): string {
  if (count < 1000) return String(count);
  return count < 9950 ? `${(count / 1000).toFixed(1)}k` : `${Math.round(count / 1000)}k`;
}

function tipOf(bicycle: PageBicycle): string {
  const charge = bicycle.percent === null ? '' : `, ${pageCharge(bicycle)}`;
  return `${pageNameOf(bicycle)}: ${pageState(bicycle.state)}${charge}`;
}
