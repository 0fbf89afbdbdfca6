// Computes the distance between two places. Defines the DISTANCE column of lists with an area.

import { greatCircleMetres } from '../globe/projection.js';
import type { ListedItem, Shape } from '../terminal/formats.js';
import { MISSING, numberOf, pointOf, readPath } from '../terminal/values.js';

const KILOMETRE_METRES = 1000;

/** A place in degrees. */
export interface LatLon {
  latitude: number;
  longitude: number;
}

/** The position fields of a resource. They can be missing, null, or numbers written as strings. */
export interface Placed {
  latitude?: unknown;
  longitude?: unknown;
}

/**
 * Returns the great-circle distance between two places in metres, or undefined when a place is
 * missing.
 */
export function distanceMetres(from: Placed | undefined, to: Placed): number | undefined {
  const start = pointOf(from?.longitude, from?.latitude);
  const end = pointOf(to.longitude, to.latitude);
  if (start === undefined || end === undefined) return undefined;
  return greatCircleMetres(start, end);
}

/** Formats metres for people: `430 m`, `1.2 km`, `250 km`. */
export function showDistance(metres: number): string {
  if (Math.round(metres) < KILOMETRE_METRES) return `${Math.round(metres)} m`;
  const kilometres = metres / KILOMETRE_METRES;
  return `${kilometres.toFixed(kilometres < 99.95 ? 1 : 0)} km`;
}

/**
 * The field with the distance in whole metres. It is not the field `distance` that the service
 * sends.
 */
const DISTANCE_FIELD = 'distance_m';

/**
 * Adds `distance_m` as the last field of a row. The row is unchanged when the distance is unknown,
 * or when the service sent a field with this name.
 */
export function addDistance<T>(row: ListedItem<T>, metres: number | undefined): ListedItem<T> {
  if (metres === undefined || Object.hasOwn(row.value as object, DISTANCE_FIELD)) return row;
  const rounded = Math.round(metres);
  const head = row.json.slice(0, row.json.lastIndexOf('}')).trimEnd();
  const comma = head.endsWith('{') ? '' : ',';
  return {
    json: `${head}${comma}"${DISTANCE_FIELD}":${rounded}}`,
    value: { ...row.value, [DISTANCE_FIELD]: rounded },
  };
}

/**
 * Adds a column DISTANCE after the first two columns: `1.2 km` for people, and whole metres for
 * programs.
 */
export function withDistance<T>(shape: Shape<T>): Shape<T> {
  const most = Math.max(...shape.columns.map(({ keep }) => keep));
  const distance: Shape<T>['columns'][number] = {
    header: 'DISTANCE',
    field: DISTANCE_FIELD,
    // With --near, the distance is the second most important column, after the name. When the table
    // must be narrowed, the other columns are removed first.
    keep: most - 0.5,
    minimum: 8,
    align: 'right',
    cell(value, at) {
      const metres = numberOf(readPath(value, DISTANCE_FIELD));
      if (metres === undefined) return { text: MISSING };
      return { text: at.terminal ? showDistance(metres) : String(metres) };
    },
  };
  return {
    ...shape,
    fields: [...shape.fields, DISTANCE_FIELD],
    columns: shape.columns.toSpliced(2, 0, distance),
  };
}
