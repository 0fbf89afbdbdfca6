// Writes the tours as GeoJSON, with a LineString for each van and a Point for each bicycle that has
// a position.

import { type Rounds, rowsOf } from './plan.js';

/**
 * Returns the FeatureCollection. The properties of a line include the distance and duration of the
 * van's tour.
 */
export function drawTourGeojson(rounds: Rounds): string {
  const lines = rounds.vans.map(({ van, distanceM, durationS, stops }) => ({
    type: 'Feature',
    geometry: {
      type: 'LineString',
      coordinates: [rounds.depot, ...stops.map(({ spot }) => spot), rounds.end],
    },
    properties: { van, distance_m: distanceM, duration_s: durationS, stops: stops.length },
  }));
  const points = rowsOf(rounds).flatMap(({ latitude, longitude, ...properties }) =>
    latitude === null || longitude === null
      ? []
      : [
          {
            type: 'Feature',
            geometry: { type: 'Point', coordinates: [longitude, latitude] },
            properties,
          },
        ],
  );
  const features = [...lines, ...points].map((feature) => JSON.stringify(feature));
  return `{"type":"FeatureCollection","features":[\n${features.join(',\n')}\n]}\n`;
}
