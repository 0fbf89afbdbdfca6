// The background: coastlines and borders of Natural Earth, and tiles where the operator named a server.

import type { FilterSpecification, LayerSpecification, Map as MapLibre, StyleSpecification } from 'maplibre-gl';
import { feature, mesh } from 'topojson-client';
import type { GeometryCollection, GeometryObject, Topology } from 'topojson-specification';
import { readColour } from './looks.js';
import type { Tiles } from './payload.js';

export function styleOf(tiles: Tiles | null): StyleSpecification {
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
      ...(tiles === null ? {} : { tiles: sourceOf(tiles) }),
    },
    layers: layersOf(tiles),
  };
}

/** The layers in the colours of the present theme, the lowest first. */
function layersOf(tiles: Tiles | null): LayerSpecification[] {
  const line = (id: string): LayerSpecification => ({
    id,
    type: 'line',
    source: id,
    paint: { 'line-color': readColour(id), 'line-width': 1 },
  });
  return [
    { id: 'water', type: 'background', paint: { 'background-color': readColour('water') } },
    { id: 'land', type: 'fill', source: 'land', paint: { 'fill-color': readColour('land'), 'fill-antialias': false } },
    ...(tiles === null ? [] : tileLayers(tiles)),
    ...['borders', 'coast'].map(line),
  ];
}

export function paintLand(map: MapLibre, tiles: Tiles | null): void {
  for (const { id, paint } of layersOf(tiles)) {
    for (const [name, value] of Object.entries(paint ?? {})) map.setPaintProperty(id, name as 'line-color', value);
  }
}

/** Longitudes that go on over the date line, instead of jumping to its other side; MapLibre draws what is beyond on both sides. */
function unturned(line: readonly GeoJSON.Position[]): GeoJSON.Position[] {
  let turn = 0;
  return line.map(([longitude = 0, latitude = 0], index) => {
    const before = line[index - 1]?.[0] ?? longitude;
    if (longitude - before > 180) turn -= 360;
    else if (before - longitude > 180) turn += 360;
    return [longitude + turn, latitude];
  });
}

function polygons(shapes: readonly (readonly GeoJSON.Position[][])[]): GeoJSON.Feature {
  const coordinates = shapes.map((rings) => rings.map((ring) => throughPole(unturned(ring))));
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
  return {
    type: 'Feature',
    properties: {},
    geometry: { type: 'MultiLineString', coordinates: shapes.map(unturned) },
  };
}

function sourceOf({ kind, url }: Tiles): StyleSpecification['sources'][string] {
  return kind === 'raster'
    ? { type: 'raster', tileSize: 256, tiles: [url] }
    : { type: 'vector', tiles: [url], maxzoom: 14 };
}

/** Assumed: vector tiles have the layers of the OpenMapTiles schema or of Shortbread, as public servers send them. */
function tileLayers({ kind }: Tiles): LayerSpecification[] {
  if (kind === 'raster')
    return [{ id: 'tiles', type: 'raster', source: 'tiles', paint: { 'raster-fade-duration': 0 } }];
  const ofKind = (type: 'Polygon' | 'LineString', layer: string) => ({
    id: `tiles-${layer}`,
    source: 'tiles',
    'source-layer': layer,
    filter: ['==', ['geometry-type'], type] satisfies FilterSpecification,
  });
  const areas = (colour: string, ...layers: string[]) =>
    layers.map(
      (layer): LayerSpecification => ({
        ...ofKind('Polygon', layer),
        type: 'fill',
        paint: { 'fill-color': readColour(colour) },
      }),
    );
  const line = (layer: string): LayerSpecification => ({
    ...ofKind('LineString', layer),
    type: 'line',
    paint: {
      'line-color': readColour('road'),
      'line-width': ['interpolate', ['exponential', 1.6], ['zoom'], 8, 0.4, 14, 1.6, 18, 9],
    },
  });
  return [
    ...areas('green', 'landcover', 'landuse', 'park', 'land', 'sites'),
    ...areas('water', 'water', 'water_polygons', 'ocean'),
    ...areas('building', 'building', 'buildings'),
    ...['transportation', 'streets'].map(line),
  ];
}
