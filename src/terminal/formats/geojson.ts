// GeoJSON (RFC 7946): a collection of points for maps and geographic tools.

import { usageError } from '../../errors.js';
import { exactValue, writeJson } from '../../json/exact.js';
import { escapeJson } from '../clean.js';
import { countNoun, type Renderer, type Shape } from './renderer.js';

/**
 * Writes a FeatureCollection with one feature on each line. The longitude comes before the latitude
 * (RFC 7946, 3.1.1), the uuid is the id (3.2), and all other fields are properties. Items without a
 * position are skipped and counted. Throws (exit 2) for a resource that never has a position.
 */
export function openGeojson<T>(shape: Shape<T>): Renderer<T> {
  const { position, geometry } = shape;
  if (position === undefined && geometry === undefined) {
    const hint = 'use -o json; a query needs the columns latitude and longitude';
    throw usageError(`${shape.noun.many} have no position to show as geojson`, hint);
  }
  const omitted = new Set(shape.positionFields ?? []);
  let count = 0;
  let without = 0;

  function geometryOf(value: T): string | undefined {
    const outline = geometry?.(value);
    if (outline !== undefined) return writeJson(outline);
    const coordinates = position?.(value);
    return (
      coordinates && `{"type":"Point","coordinates":[${coordinates.map(writeJson).join(',')}]}`
    );
  }

  function feature(value: T): string | undefined {
    const shown = typeof value === 'object' && value !== null ? geometryOf(value) : undefined;
    if (shown === undefined) return undefined;
    const fields = Object.entries(value as { [field: string]: unknown });
    const id = fields.find(([field]) => field === 'uuid')?.[1];
    const properties = fields
      .filter(([field]) => !omitted.has(field))
      .map(([field, inner]) => `${JSON.stringify(field)}:${writeJson(inner)}`);
    return escapeJson(
      `{"type":"Feature",${typeof id === 'string' ? `"id":${JSON.stringify(id)},` : ''}` +
        `"geometry":${shown},` +
        `"properties":{${properties.join(',')}}}`,
    );
  }

  return {
    begin: () => '{"type":"FeatureCollection","features":[',
    rows(rows) {
      const features = rows.flatMap((row) => feature(exactValue(row)) ?? []);
      without += rows.length - features.length;
      const separator = features.length === 0 ? '' : count > 0 ? ',\n' : '\n';
      count += features.length;
      return separator + features.join(',\n');
    },
    end: () => (count > 0 ? '\n]}\n' : ']}\n'),
    notices: () =>
      without > 0 ? [`${countNoun(without, shape.noun)} without a position left out`] : [],
  };
}
