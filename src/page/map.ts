// The map beside the table: points, clusters with their counts, the chosen bicycle, scale and degrees.

import { Map as MapLibre, setWorkerUrl } from 'maplibre-gl';
import { scaleBar } from '../globe/graticule.js';
import { type Bounds, boundsOf, latitudeOf, type Point, toDots, worldX } from '../globe/projection.js';
import { gather, type PageCluster } from './clusters.js';
import { element, oncePerFrame, showNumber } from './dom.js';
import type { PageFilter } from './filter.js';
import { countBy, isPlaced, mercatorY, type PageBicycle, type PageFleet, pageCharge, pageNameOf } from './fleet.js';
import { paintLand, styleOf } from './land.js';
import { colourOf, pageState } from './looks.js';
import type { Tiles } from './payload.js';
import { openPoints, pointPixels } from './points.js';
import { openTowns } from './towns.js';
import { extentOf, TILE_PIXELS, viewOf } from './view.js';

export interface PageMapOptions {
  readonly container: HTMLElement;
  readonly tiles: Tiles | null;
  onChoose(bicycle: PageBicycle | undefined): void;
  onView(): void;
  onFirstPaint(): void;
}

export interface FleetMap {
  show(bicycles: readonly PageBicycle[], chosen: PageBicycle | undefined): void;
  /** `near`: the map moves to it, else only where it is out of sight. */
  choose(bicycle: PageBicycle | undefined, near: boolean): void;
  /** The colours are others. */
  paint(): void;
  fit(bicycles: readonly PageBicycle[]): void;
  zoom(levels: number): void;
  view(): PageFilter;
}

const CLICK_PIXELS = 14;
/** How far the largest bubble reaches from its middle. */
const BUBBLE_PIXELS = 32;
const CLOSEST_FIT = 16;
const PADDING_PIXELS = 48;

export function openMap(fleet: PageFleet, options: PageMapOptions): FleetMap {
  const { container, tiles } = options;
  let shown: readonly PageBicycle[] = [];
  let clusters: readonly PageCluster[] = [];
  let gatheredZoom = Number.NaN;
  let chosen: PageBicycle | undefined;
  let isReady = false;

  setWorkerUrl(workerUrl());
  const map = new MapLibre({
    container,
    style: styleOf(tiles),
    attributionControl: false,
    dragRotate: false,
    pitchWithRotate: false,
    touchPitch: false,
    maxPitch: 0,
    maxZoom: 20,
    fadeDuration: 0,
    bounds: lngLatsOf(fleet.all),
    fitBoundsOptions: { padding: paddingOf(container), maxZoom: CLOSEST_FIT },
    trackResize: true,
  });
  map.touchZoomRotate.disableRotation();
  map.keyboard.disableRotation();
  const canvas = map.getCanvas();
  canvas.setAttribute(
    'aria-label',
    'Map of the bicycles: arrows move it, + and - zoom. The table lists what it shows.',
  );

  const overlay = element('div', 'overlay');
  const bubbles = element('div', 'bubbles');
  const ring = element('div', { class: 'chosen', 'aria-hidden': 'true', hidden: true });
  const tip = element('div', { class: 'tip', role: 'status', hidden: true });
  const scale = element('div', { class: 'scale', 'aria-hidden': 'true' });
  const names = element('div', { 'aria-hidden': 'true' });
  overlay.append(names, bubbles, ring, tip);
  container.append(overlay, scale);

  const points = openPoints(map, options.onFirstPaint);
  const towns = openTowns(map, names);

  const regather = () => {
    gatheredZoom = stepOf(map.getZoom());
    const gathered = gather(shown, TILE_PIXELS * 2 ** gatheredZoom);
    clusters = gathered.clusters.toSorted((a, b) => a.x - b.x);
    points.show(gathered.points);
    redrawBubbles();
    chooseTowns();
  };

  const chooseTowns = () => {
    const [view, extent] = [viewOf(map), extentOf(map)];
    const crowds = clusters.map((cluster) => toDots(view, extent, cluster));
    towns.choose(
      (x, y, across, down) =>
        points.nearest(x, y, across) === undefined &&
        !crowds.some(
          ([left, top]) => Math.abs(left - x) < across + BUBBLE_PIXELS && Math.abs(top - y) < down + BUBBLE_PIXELS,
        ),
    );
  };

  /** Moves an element to a point of the world; true where that is in sight. */
  const place = (target: HTMLElement, point: Point) => {
    const extent = extentOf(map);
    const [left, top] = toDots(viewOf(map), extent, point);
    target.style.transform = `translate(${left.toFixed(1)}px, ${top.toFixed(1)}px)`;
    return left > -60 && top > -60 && left < extent.width + 60 && top < extent.height + 60;
  };

  /** Bubbles stay where they are as long as there are as many, so that they can be pressed while bicycles move. */
  const drawn: Bubble[] = [];
  const redrawBubbles = () => {
    for (const { element: left } of drawn.splice(clusters.length)) left.remove();
    for (const [index, cluster] of clusters.entries()) {
      const bubble = drawn[index] ?? openBubble(() => fitCluster(bubble.cluster), cluster);
      drawn[index] = bubble;
      bubble.cluster = cluster;
      paintBubble(bubble);
    }
    drawBubbles();
  };
  const drawBubbles = () => {
    for (const { element: bubble, cluster } of drawn) {
      const isSeen = place(bubble, cluster);
      if (isSeen && !bubble.isConnected) bubbles.append(bubble);
      if (!isSeen) bubble.remove();
    }
  };
  const fitCluster = (cluster: PageCluster) => {
    const { west, east, north, south } = cluster;
    const isSpot = east - west < 1e-9 && south - north < 1e-9;
    if (isSpot) map.easeTo({ center: lngLatOf(cluster), zoom: Math.min(20, map.getZoom() + 3) });
    else map.fitBounds(cornersOf(cluster), flightOf(container));
  };

  const drawChosen = () => {
    ring.hidden = chosen === undefined || !isPlaced(chosen);
    if (chosen === undefined || ring.hidden) return;
    place(ring, chosen);
    ring.style.setProperty('--size', `${pointPixels(map.getZoom()) + 12}px`);
  };

  const follow = oncePerFrame(() => {
    if (!isReady) return;
    if (stepOf(map.getZoom()) !== gatheredZoom) regather();
    drawBubbles();
    towns.follow();
    drawChosen();
    drawScale(map, scale);
  });

  map.on('style.load', () => {
    map.addLayer(points.layer);
    isReady = true;
    regather();
    follow();
    options.onView();
  });
  map.on('move', follow);
  map.on('resize', follow);
  map.on('moveend', () => {
    chooseTowns();
    options.onView();
  });
  map.on('click', ({ point }) => options.onChoose(points.nearest(point.x, point.y, CLICK_PIXELS)));

  let pointer: { x: number; y: number } | undefined;
  const hover = oncePerFrame(() => {
    const found = pointer === undefined ? undefined : points.nearest(pointer.x, pointer.y, CLICK_PIXELS);
    tip.hidden = found === undefined;
    canvas.classList.toggle('is-over', found !== undefined);
    if (found === undefined) return;
    place(tip, found);
    tip.textContent = tipOf(found);
  });
  map.on('mousemove', ({ point }) => {
    pointer = point;
    hover();
  });
  canvas.addEventListener('mouseleave', () => {
    pointer = undefined;
    hover();
  });

  return {
    show(bicycles, wanted) {
      shown = bicycles;
      chosen = wanted;
      if (!isReady) return;
      regather();
      drawChosen();
    },
    choose(wanted, near) {
      chosen = wanted;
      drawChosen();
      if (wanted === undefined || !isPlaced(wanted)) return;
      const center = lngLatOf(wanted);
      if (!near && map.getBounds().contains(center)) return;
      map.easeTo({ center, zoom: Math.max(map.getZoom(), near ? 15 : 12), duration: 600 });
    },
    paint() {
      if (isReady) paintLand(map, tiles);
    },
    fit(bicycles) {
      map.fitBounds(lngLatsOf(bicycles), flightOf(container));
    },
    zoom(levels) {
      map.zoomTo(map.getZoom() + levels);
    },
    view() {
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

/** The worker is text in the page: a file on a disk may load no other file. */
function workerUrl(): string {
  const source = document.getElementById('worker')?.textContent ?? '';
  // MapLibre takes an address that ends so for a classic script; a module may not be started from a disk.
  return `${URL.createObjectURL(new Blob([source], { type: 'text/javascript' }))}#.cjs`;
}

/** Clusters are gathered anew at each half level, so that they stay while the map moves. */
function stepOf(zoom: number): number {
  return Math.floor(zoom * 2) / 2;
}

function paddingOf({ clientWidth, clientHeight }: HTMLElement): number {
  return Math.min(PADDING_PIXELS, Math.floor(Math.min(clientWidth, clientHeight) / 5));
}

/** Straight to what is to be seen. */
function flightOf(container: HTMLElement) {
  return { padding: paddingOf(container), maxZoom: CLOSEST_FIT, linear: true, duration: 700 };
}

const WHOLE_WORLD: [number, number, number, number] = [-160, -58, 170, 74];

/** West, south, east and north of all that have a position, over the date line where that is narrower. */
function lngLatsOf(bicycles: readonly PageBicycle[]): [number, number, number, number] {
  const placed = bicycles.filter(isPlaced);
  return placed.length === 0 ? WHOLE_WORLD : cornersOf(boundsOf(placed));
}

function cornersOf({ west, east, north, south }: Bounds): [number, number, number, number] {
  return [...lngLatOf({ x: west, y: south }), ...lngLatOf({ x: east, y: north })];
}

/** Degrees of a point of the world; beyond 180 behind the date line. */
function lngLatOf({ x, y }: Point): [longitude: number, latitude: number] {
  return [x * 360 - 180, latitudeOf(y)];
}

interface Bubble {
  readonly element: HTMLElement;
  readonly text: HTMLElement;
  cluster: PageCluster;
}

function openBubble(zoom: () => void, cluster: PageCluster): Bubble {
  const text = element('span', {});
  const bubble = element('button', { class: 'bubble', type: 'button' }, text);
  bubble.addEventListener('click', zoom);
  return { element: bubble, text, cluster };
}

/** The count in a ring of its states, the most frequent first. */
function paintBubble({ element: bubble, text, cluster: { bicycles } }: Bubble): void {
  const count = bicycles.length;
  const parts = [...countBy(bicycles, 'state', 0)].sort(([, a], [, b]) => b - a);
  const named = parts.map(([word, number]) => `${showNumber(number)} ${pageState(word)}`);
  text.textContent = count < 10_000 ? showNumber(count) : `${Math.round(count / 1000)}k`;
  bubble.setAttribute('aria-label', `${showNumber(count)} bicycles here: ${named.join(', ')}. Zoom in`);
  bubble.title = named.join('\n');
  let from = 0;
  const slices = parts.map(([word, number]) => {
    const to = from + (number / count) * 360;
    const slice = `${colourOf(word)} ${from.toFixed(1)}deg ${to.toFixed(1)}deg`;
    from = to;
    return slice;
  });
  bubble.style.background = `conic-gradient(${slices.join(', ')})`;
  bubble.style.setProperty('--size', `${Math.round(36 + Math.min(28, Math.log10(count) * 7))}px`);
}

function tipOf(bicycle: PageBicycle): string {
  const charge = bicycle.percent === null ? '' : `, ${pageCharge(bicycle)}`;
  return `${pageNameOf(bicycle)}: ${pageState(bicycle.state)}${charge}`;
}

const SCALE_PIXELS = 110;

function drawScale(map: MapLibre, scale: HTMLElement): void {
  const { dots, label } = scaleBar(viewOf(map), SCALE_PIXELS);
  scale.style.width = `${Math.round(dots)}px`;
  scale.textContent = label;
}
