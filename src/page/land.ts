// The background: the countries of Natural Earth, and tiles from a server if the user specified
// one.

import type { LayerSpecification, Map as MapLibre, StyleSpecification } from 'maplibre-gl';
import { feature } from 'topojson-client';
import type { GeometryCollection, Topology } from 'topojson-specification';
import { unroll } from '../globe/rings.js';
import { readBlock } from './dom.js';
import type { PageZone, Tiles } from './payload.js';
import { readColour } from './state-marks.js';
import { tileLayers, tileSource } from './streets.js';
import { zoneFeatures } from './zones.js';

/** The id of the map source for the country outlines. */
export const LAND = 'countries';

export function styleOf(tiles: Tiles | null, zones: readonly PageZone[]): StyleSpecification {
  const world = readBlock<Topology<{ countries: GeometryCollection }>>('world');
  const polygons = feature(world, world.objects.countries).features.flatMap(({ geometry }) =>
    geometry.type === 'MultiPolygon'
      ? geometry.coordinates
      : geometry.type === 'Polygon'
        ? [geometry.coordinates]
        : [],
  );
  // Each polygon is a separate feature. If several polygons were in one feature, MapLibre would
  // treat those with the opposite orientation as holes.
  const features = polygons.map((rings): GeoJSON.Feature => {
    // The coordinates continue beyond the date line. MapLibre then draws the shape on both sides of
    // the line.
    const coordinates = rings.map((ring) => throughPole(unroll(ring, ring[0]?.[0] ?? 0)));
    return { type: 'Feature', properties: {}, geometry: { type: 'Polygon', coordinates } };
  });
  return {
    version: 8,
    sources: {
      [LAND]: { type: 'geojson', data: { type: 'FeatureCollection', features }, tolerance: 0.3 },
      zones: { type: 'geojson', data: zoneFeatures(zones) },
      ...(tiles === null ? {} : { tiles: tileSource(tiles) }),
    },
    layers: layersOf(tiles),
  };
}

/** Returns the layers in the colours of the theme, starting with the lowest. */
function layersOf(tiles: Tiles | null): LayerSpecification[] {
  const source = LAND;
  return [
    { id: 'water', type: 'background', paint: { 'background-color': readColour('water') } },
    {
      id: 'land',
      type: 'fill',
      source,
      paint: { 'fill-color': readColour('land'), 'fill-antialias': false },
    },
    ...(tiles === null ? [] : tileLayers(tiles)),
    {
      id: 'borders',
      type: 'line',
      source,
      // A vector map has precise streets. The rough coastline would cross these streets, so it is
      // hidden when the user zooms in.
      maxzoom: tiles?.kind === 'vector' ? 8 : 24,
      paint: { 'line-color': readColour('coast'), 'line-width': 1 },
    },
    {
      id: 'zones',
      type: 'fill',
      source: 'zones',
      paint: { 'fill-color': readColour('zone'), 'fill-opacity': 0.09 },
    },
    {
      id: 'zone-outlines',
      type: 'line',
      source: 'zones',
      paint: { 'line-color': readColour('zone'), 'line-width': 1.5, 'line-dasharray': [3, 2] },
    },
  ];
}

export function paintLand(map: MapLibre, tiles: Tiles | null): void {
  for (const { id, paint } of layersOf(tiles)) {
    for (const [name, value] of Object.entries(paint ?? {}))
      map.setPaintProperty(id, name as 'line-color', value);
  }
}

/** If an outline of land goes around a pole, closes it at the pole. */
function throughPole(ring: GeoJSON.Position[]): GeoJSON.Position[] {
  const [first, last] = [ring[0], ring.at(-1)];
  if (first === undefined || last === undefined || Math.abs((first[0] ?? 0) - (last[0] ?? 0)) < 180)
    return ring;
  const pole = (first[1] ?? 0) < 0 ? -89 : 89;
  return [...ring, [last[0] ?? 0, pole], [first[0] ?? 0, pole], first];
}
