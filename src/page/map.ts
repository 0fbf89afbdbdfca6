// The map next to the table: MapLibre, the points, and the overlay.

import { Map as MapLibre, setWorkerUrl } from 'maplibre-gl';
import {
  type Bounds,
  boundsOf,
  latitudeOf,
  mercatorY,
  type Point,
  worldX,
} from '../globe/projection.js';
import { gather, type PageCluster } from './clusters.js';
import { oncePerFrame } from './dom.js';
import { isPlaced, type PageBicycle } from './fleet.js';
import { LAND, paintLand, styleOf } from './land.js';
import { bubbleOf, drawOverlay, type PageMapState } from './overlay.js';
import type { Tiles } from './payload.js';
import { openPoints } from './points.js';
import type { PageState } from './state.js';
import { chooseTowns } from './towns.js';
import { TILE_PIXELS } from './view.js';

export interface PageMapOptions {
  readonly container: HTMLElement;
  readonly tiles: Tiles | null;
  onChoose(bicycle: PageBicycle | undefined): void;
  onView(): void;
  onFirstPaint(): void;
}

export type FleetMap = ReturnType<typeof openMap>;

const CLICK_PIXELS = 14;
const CLOSEST_FIT = 16;
const PADDING_PIXELS = 48;

export function openMap(page: PageState, options: PageMapOptions) {
  const { container, tiles } = options;
  const map = openMapLibre(page, options);
  const state: PageMapState = {
    map,
    points: openPoints(map, options.onFirstPaint),
    page,
    ...{ bubbles: [], towns: [], hovered: undefined },
    gatheredZoom: Number.NaN,
    isReady: false,
  };
  const overlay = container.appendChild(document.createElement('div'));
  overlay.className = 'overlay';
  const draw = () => drawOverlay(overlay, state, (cluster) => fitCluster(map, cluster));
  follow(state, options, draw);
  return {
    /** Redraws after the bicycles that match the filter changed. */
    show() {
      if (!state.isReady) return;
      regather(state);
      draw();
    },
    /**
     * Highlights the selected bicycle. With `near`, the map always moves to the bicycle. Without
     * `near`, the map moves only when the bicycle is not visible.
     */
    choose(near: boolean) {
      const { chosen } = page;
      if (state.isReady) draw();
      if (chosen === undefined || !isPlaced(chosen)) return;
      const center = lngLatOf(chosen);
      if (!near && map.getBounds().contains(center)) return;
      map.easeTo({ center, zoom: Math.max(map.getZoom(), near ? 15 : 12), duration: 600 });
    },
    /** Redraws after the colours changed. */
    paint() {
      if (!state.isReady) return;
      paintLand(map, tiles);
      state.points.paint();
    },
    fit() {
      map.fitBounds(lngLatsOf(page.matching), flightOf(container));
    },
    zoom(levels: number) {
      map.zoomTo(map.getZoom() + levels);
    },
    view(): Bounds {
      const bounds = map.getBounds();
      return {
        west: worldX(bounds.getWest()),
        east: worldX(bounds.getEast()),
        north: mercatorY(bounds.getNorth()),
        south: mercatorY(bounds.getSouth()),
      };
    },
  };
}

function openMapLibre({ fleet, zones }: PageState, { container, tiles }: PageMapOptions): MapLibre {
  setWorkerUrl(workerUrl());
  const map = new MapLibre({
    container,
    style: styleOf(tiles, zones),
    attributionControl: false,
    boxZoom: false,
    dragRotate: false,
    pitchWithRotate: false,
    touchPitch: false,
    maxPitch: 0,
    maxZoom: 20,
    fadeDuration: 0,
    bounds: lngLatsOf(fleet.all),
    fitBoundsOptions: { padding: paddingOf(container), maxZoom: CLOSEST_FIT },
  });
  map.touchZoomRotate.disableRotation();
  map.keyboard.disableRotation();
  const words = 'Map of the bicycles: arrows move it, + and - zoom. The table lists what it shows.';
  map.getCanvas().setAttribute('aria-label', words);
  return map;
}

/** Redraws when the map moves, and follows the pointer. */
function follow(state: PageMapState, { onChoose, onView }: PageMapOptions, draw: () => void): void {
  const { map, points } = state;
  const move = oncePerFrame(() => {
    if (!state.isReady) return;
    if (stepOf(map.getZoom()) !== state.gatheredZoom) regather(state);
    draw();
  });
  map.on('style.load', () => {
    map.addLayer(points.layer);
    state.isReady = true;
    move();
    onView();
  });
  map.on('move', move);
  map.on('resize', move);
  map.on('moveend', () => {
    nameTowns(state);
    move();
    onView();
  });
  // After the view changes, the town names appear only when the map has drawn the land below them.
  let isNaming = false;
  map.on('sourcedata', ({ sourceId }) => {
    if (sourceId === 'tiles' && map.isSourceLoaded('tiles')) performance.mark('tiles');
    if (sourceId !== LAND || isNaming || !map.isSourceLoaded(LAND)) return;
    isNaming = true;
    map.once('render', () => {
      isNaming = false;
      if (!map.isSourceLoaded(LAND)) return;
      performance.mark('land');
      nameTowns(state);
      draw();
    });
    map.triggerRepaint();
  });
  map.on('click', ({ point }) => onChoose(points.nearest(point.x, point.y, CLICK_PIXELS)));
  const hover = (pointer?: Point) => {
    const found = pointer && points.nearest(pointer.x, pointer.y, CLICK_PIXELS);
    if (found === state.hovered) return;
    state.hovered = found;
    map.getCanvas().classList.toggle('is-over', found !== undefined);
    draw();
  };
  map.on('mousemove', ({ point }) => hover(point));
  map.on('mouseout', () => hover());
}

function regather(state: PageMapState): void {
  state.gatheredZoom = stepOf(state.map.getZoom());
  const { clusters, points } = gather(state.page.matching, TILE_PIXELS * 2 ** state.gatheredZoom);
  state.bubbles = clusters.toSorted((a, b) => a.x - b.x).map(bubbleOf);
  state.points.show(points);
  nameTowns(state);
}

/**
 * Chooses the towns whose names are shown. Does nothing while MapLibre is still loading the land
 * for this view.
 */
function nameTowns(state: PageMapState): void {
  if (state.map.isSourceLoaded(LAND)) state.towns = chooseTowns(state);
}

/** Zooms to a cluster, even when all its bicycles are at the same place. */
function fitCluster(map: MapLibre, cluster: PageCluster): void {
  const maxZoom = Math.max(CLOSEST_FIT, map.getZoom() + 3);
  map.fitBounds(cornersOf(cluster), { ...flightOf(map.getContainer()), maxZoom });
}

/**
 * Returns a URL for MapLibre's worker script. The page contains the script, because a page that was
 * opened from disk cannot load other files.
 */
function workerUrl(): string {
  const source = document.getElementById('worker')?.textContent ?? '';
  // MapLibre treats a URL with this ending as a classic script. A page opened from disk cannot
  // start a module script.
  return `${URL.createObjectURL(new Blob([source], { type: 'text/javascript' }))}#.cjs`;
}

/**
 * Clusters are computed for each half zoom level, so that they do not change while the map moves.
 */
function stepOf(zoom: number): number {
  return Math.floor(zoom * 2) / 2;
}

function paddingOf({ clientWidth, clientHeight }: HTMLElement): number {
  return Math.min(PADDING_PIXELS, Math.floor(Math.min(clientWidth, clientHeight) / 5));
}

/**
 * Options for an animation that moves the map straight to its target, without zooming out on the
 * way.
 */
function flightOf(container: HTMLElement) {
  return { padding: paddingOf(container), maxZoom: CLOSEST_FIT, linear: true, duration: 700 };
}

const WHOLE_WORLD: [number, number, number, number] = [-160, -58, 170, 74];

/**
 * Returns the west, south, east and north bounds of all positions. The range crosses the date line
 * when such a range is narrower.
 */
function lngLatsOf(bicycles: readonly PageBicycle[]): [number, number, number, number] {
  const placed = bicycles.filter(isPlaced);
  return placed.length === 0 ? WHOLE_WORLD : cornersOf(boundsOf(placed));
}

function cornersOf({ west, east, north, south }: Bounds): [number, number, number, number] {
  return [...lngLatOf({ x: west, y: south }), ...lngLatOf({ x: east, y: north })];
}

/** Returns a point's coordinates in degrees. The longitude exceeds 180 beyond the date line. */
function lngLatOf({ x, y }: Point): [longitude: number, latitude: number] {
  return [x * 360 - 180, latitudeOf(y)];
}
