// The service's zones: their outlines as GeoJSON, and the bounds within which their names are
// shown.

import type { Feature, FeatureCollection, Position } from 'geojson';
import { type Bounds, boundsOf, mercatorY, worldX } from '../globe/projection.js';
import type { PageZone } from './payload.js';

/** A zone's name and the bounds of its largest polygon. */
export interface ZoneName extends Bounds {
  readonly name: string;
}

export function zoneFeatures(zones: readonly PageZone[]): FeatureCollection {
  const features = zones.map(
    ({ polygons }): Feature => ({
      type: 'Feature',
      properties: {},
      geometry: {
        type: 'MultiPolygon',
        coordinates: polygons as Position[][][],
      },
    }),
  );
  return { type: 'FeatureCollection', features };
}

/**
 * Returns the names of the zones. Each name comes with the bounds of the zone's polygon that has
 * the most positions. Zones without a name are omitted.
 */
export function zoneNames(zones: readonly PageZone[]): ZoneName[] {
  return zones.flatMap(({ name, polygons }) => {
    const [largest] = polygons.toSorted((a, b) => (b[0]?.length ?? 0) - (a[0]?.length ?? 0));
    const points = (largest?.[0] ?? []).map(([longitude = 0, latitude = 0]) => ({
      x: worldX(longitude),
      y: mercatorY(latitude),
    }));
    if (name === null || points.length === 0) return [];
    return [{ name, ...boundsOf(points) }];
  });
}
