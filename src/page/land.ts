// The background: coastlines and borders of Natural Earth, degrees, and tiles where the operator named a server.

import type {
  FilterSpecification,
  GeoJSONSource,
  LayerSpecification,
  Map as MapLibre,
  StyleSpecification,
} from 'maplibre-gl';
import { feature, mesh } from 'topojson-client';
import type { GeometryCollection, GeometryObject, Topology } from 'topojson-specification';
import { element } from './dom.js';
import type { Theme } from './looks.js';
import type { Tiles } from './payload.js';

interface Colours {
  readonly water: string;
  readonly land: string;
  readonly coast: string;
  readonly border: string;
  readonly degrees: string;
  readonly road: string;
  readonly building: string;
  readonly green: string;
}

const COLOURS: Readonly<Record<Theme, Colours>> = {
  dark: {
    water: '#0a1018',
    land: '#151c26',
    coast: '#33445a',
    border: '#2a3646',
    degrees: '#202b39',
    road: '#2b3644',
    building: '#1b242f',
    green: '#15231f',
  },
  light: {
    water: '#d5e3ee',
    land: '#f8f7f3',
    coast: '#9fb2c2',
    border: '#cfd3d2',
    degrees: '#e4e6e3',
    road: '#ffffff',
    building: '#e9e6df',
    green: '#e3edda',
  },
};

const NOTHING: GeoJSON.FeatureCollection = { type: 'FeatureCollection', features: [] };

export function styleOf(theme: Theme, tiles: Tiles | null): StyleSpecification {
  const colours = COLOURS[theme];
  const text = document.getElementById('world')?.textContent ?? '';
  const world = JSON.parse(text) as Topology<{ countries: GeometryCollection; land: GeometryCollection }>;
  const { countries, land } = world.objects;
  const rings = (feature(world, land) as GeoJSON.FeatureCollection).features.flatMap(({ geometry }) =>
    geometry.type === 'MultiPolygon' ? geometry.coordinates : geometry.type === 'Polygon' ? [geometry.coordinates] : [],
  );
  return {
    version: 8,
    sources: {
      land: { type: 'geojson', data: polygons(rings), tolerance: 0.3 },
      coast: { type: 'geojson', data: lines(mesh(world, land as GeometryObject).coordinates), tolerance: 0.3 },
      borders: { type: 'geojson', data: lines(mesh(world, countries, (a, b) => a !== b).coordinates) },
      degrees: { type: 'geojson', data: NOTHING },
      ...(tiles === null ? {} : { tiles: sourceOf(tiles) }),
    },
    layers: [
      { id: 'water', type: 'background', paint: { 'background-color': colours.water } },
      { id: 'land', type: 'fill', source: 'land', paint: { 'fill-color': colours.land, 'fill-antialias': false } },
      ...(tiles === null ? [] : layersOf(tiles, colours)),
      { id: 'borders', type: 'line', source: 'borders', paint: { 'line-color': colours.border, 'line-width': 1 } },
      { id: 'coast', type: 'line', source: 'coast', paint: { 'line-color': colours.coast, 'line-width': 1 } },
      { id: 'degrees', type: 'line', source: 'degrees', paint: { 'line-color': colours.degrees, 'line-width': 1 } },
    ],
  };
}

/** Longitudes that go on over the date line, instead of jumping to its other side. */
function unturned(line: readonly GeoJSON.Position[]): GeoJSON.Position[] {
  let turn = 0;
  return line.map(([longitude = 0, latitude = 0], index) => {
    const before = line[index - 1]?.[0] ?? longitude;
    if (longitude - before > 180) turn -= 360;
    else if (before - longitude > 180) turn += 360;
    return [longitude + turn, latitude];
  });
}

/** What reaches over the date line is drawn on both of its sides. */
function onBothSides<Shape>(shape: Shape, line: readonly GeoJSON.Position[], shift: (by: number) => Shape): Shape[] {
  const longitudes = line.map(([longitude = 0]) => longitude);
  const [west, east] = [Math.min(...longitudes), Math.max(...longitudes)];
  return [shape, ...(west < -180 ? [shift(360)] : []), ...(east > 180 ? [shift(-360)] : [])];
}

function shifted(line: readonly GeoJSON.Position[], by: number): GeoJSON.Position[] {
  return line.map(([longitude = 0, latitude = 0]) => [longitude + by, latitude]);
}

function polygons(shapes: readonly (readonly GeoJSON.Position[][])[]): GeoJSON.Feature {
  const coordinates = shapes.flatMap((rings) => {
    const whole = rings.map((ring) => throughPole(unturned(ring)));
    return onBothSides(whole, whole[0] ?? [], (by) => whole.map((ring) => shifted(ring, by)));
  });
  return { type: 'Feature', properties: {}, geometry: { type: 'MultiPolygon', coordinates } };
}

/** A coast that runs around a pole is closed through it. */
function throughPole(ring: GeoJSON.Position[]): GeoJSON.Position[] {
  const [first, last] = [ring[0], ring.at(-1)];
  if (first === undefined || last === undefined || Math.abs((first[0] ?? 0) - (last[0] ?? 0)) < 180) return ring;
  const pole = (first[1] ?? 0) < 0 ? -89 : 89;
  return [...ring, [last[0] ?? 0, pole], [first[0] ?? 0, pole], first];
}

function lines(shapes: readonly GeoJSON.Position[][]): GeoJSON.Feature {
  const coordinates = shapes.map(unturned).flatMap((line) => onBothSides(line, line, (by) => shifted(line, by)));
  return { type: 'Feature', properties: {}, geometry: { type: 'MultiLineString', coordinates } };
}

export function paintLand(map: MapLibre, theme: Theme, tiles: Tiles | null): void {
  const colours = COLOURS[theme];
  map.setPaintProperty('water', 'background-color', colours.water);
  map.setPaintProperty('land', 'fill-color', colours.land);
  for (const line of ['coast', 'degrees'] as const) map.setPaintProperty(line, 'line-color', colours[line]);
  map.setPaintProperty('borders', 'line-color', colours.border);
  for (const layer of tiles === null ? [] : layersOf(tiles, colours)) {
    for (const [name, value] of Object.entries(layer.paint ?? {}))
      map.setPaintProperty(layer.id, name as 'line-color', value);
  }
}

function sourceOf({ kind, url }: Tiles): StyleSpecification['sources'][string] {
  const isTemplate = url.includes('{z}');
  if (kind === 'raster') return { type: 'raster', tileSize: 256, ...(isTemplate ? { tiles: [url] } : { url }) };
  return { type: 'vector', ...(isTemplate ? { tiles: [url], maxzoom: 14 } : { url }) };
}

/** Assumed: vector tiles have the layers of the OpenMapTiles schema or of Shortbread, as public servers send them. */
function layersOf({ kind }: Tiles, { water, road, building, green }: Colours): LayerSpecification[] {
  if (kind === 'raster')
    return [{ id: 'tiles', type: 'raster', source: 'tiles', paint: { 'raster-fade-duration': 0 } }];
  const isArea: FilterSpecification = ['==', ['geometry-type'], 'Polygon'];
  const isLine: FilterSpecification = ['==', ['geometry-type'], 'LineString'];
  const area = (layer: string, colour: string): LayerSpecification => ({
    id: `tiles-${layer}`,
    type: 'fill',
    source: 'tiles',
    'source-layer': layer,
    filter: isArea,
    paint: { 'fill-color': colour },
  });
  const line = (layer: string): LayerSpecification => ({
    id: `tiles-${layer}`,
    type: 'line',
    source: 'tiles',
    'source-layer': layer,
    filter: isLine,
    paint: {
      'line-color': road,
      'line-width': ['interpolate', ['exponential', 1.6], ['zoom'], 8, 0.4, 14, 1.6, 18, 9],
    },
  });
  return [
    ...['landcover', 'landuse', 'park', 'land', 'sites'].map((layer) => area(layer, green)),
    ...['water', 'water_polygons', 'ocean'].map((layer) => area(layer, water)),
    ...['building', 'buildings'].map((layer) => area(layer, building)),
    ...['transportation', 'streets'].map(line),
  ];
}

/** Degrees between two lines. */
const STEPS = [
  45, 30, 20, 10, 5, 2, 1, 0.5, 0.2, 0.1, 0.05, 0.02, 0.01, 0.005, 0.002, 0.001, 0.0005, 0.0002, 0.0001,
] as const;
const PIXELS_BETWEEN_LINES = 130;
const LABEL_PIXELS = 3;

/** Draws lines of whole degrees for the part of the world that is shown, and writes them at the edges. */
export function drawDegrees(map: MapLibre, labels: HTMLElement): void {
  const bounds = map.getBounds();
  const [west, east, south, north] = [bounds.getWest(), bounds.getEast(), bounds.getSouth(), bounds.getNorth()];
  const wanted = ((east - west) / Math.max(1, map.getContainer().clientWidth)) * PIXELS_BETWEEN_LINES;
  const step = STEPS.findLast((each) => each >= wanted) ?? 45;
  const digits = Math.max(0, -Math.floor(Math.log10(step)));
  const lines: GeoJSON.Position[][] = [];
  const texts: HTMLElement[] = [];
  const write = (text: string, edge: 'left' | 'bottom', pixels: number) => {
    const label = element('span', { class: `degree degree-${edge}` }, text);
    label.style.setProperty(edge === 'left' ? 'top' : 'left', `${pixels + LABEL_PIXELS}px`);
    texts.push(label);
  };
  for (let index = Math.ceil(west / step); index * step <= east; index++) {
    const at = index * step;
    lines.push([
      [at, -85],
      [at, 85],
    ]);
    const turned = ((((at + 180) % 360) + 360) % 360) - 180;
    write(showDegrees(turned, digits, 'E', 'W'), 'bottom', map.project([at, south]).x);
  }
  for (let index = Math.ceil(south / step); index * step <= north; index++) {
    const at = index * step;
    lines.push([
      [west - step, at],
      [east + step, at],
    ]);
    write(showDegrees(at, digits, 'N', 'S'), 'left', map.project([west, at]).y);
  }
  labels.replaceChildren(...texts);
  const data: GeoJSON.Feature = {
    type: 'Feature',
    properties: {},
    geometry: { type: 'MultiLineString', coordinates: lines },
  };
  map.getSource<GeoJSONSource>('degrees')?.setData(data);
}

function showDegrees(value: number, digits: number, above: string, below: string): string {
  const written = Math.abs(value).toFixed(digits);
  return `${written}°${Number(written) === 0 ? '' : value > 0 ? above : below}`;
}
