// How far it is between two places, and how that looks: for people, and as a column that a table gets when it was asked for by place.

import { EARTH_RADIUS_METRES } from '../globe/projection.js';
import type { ListedItem, Shape } from '../terminal/formats.js';
import { MISSING, numberOf, pointOf, readPath } from '../terminal/values.js';

const KILOMETRE_METRES = 1000;

/** A place in degrees. */
export interface LatLon {
  latitude: number;
  longitude: number;
}

/** Fields of the service; they may be missing, null, or numbers written as strings. */
export interface Placed {
  latitude?: unknown;
  longitude?: unknown;
}

/** Metres between two places on a great circle, by the haversine formula, exact for short ones too; undefined without both places. */
export function distanceMetres(from: Placed | undefined, to: Placed): number | undefined {
  const start = pointOf(from?.longitude, from?.latitude);
  const end = pointOf(to.longitude, to.latitude);
  if (start === undefined || end === undefined) return undefined;
  const [[startEast, startNorth], [endEast, endNorth]] = [start, end];
  const half = (degrees: number) => Math.sin((degrees * Math.PI) / 360) ** 2;
  const shrink = (degrees: number) => Math.cos((degrees * Math.PI) / 180);
  const chord =
    half(endNorth - startNorth) + shrink(startNorth) * shrink(endNorth) * half(endEast - startEast);
  return 2 * EARTH_RADIUS_METRES * Math.asin(Math.min(1, Math.sqrt(chord)));
}

/** Metres for people: `430 m`, `1.2 km`, `250 km`. */
export function showDistance(metres: number): string {
  if (Math.round(metres) < KILOMETRE_METRES) return `${Math.round(metres)} m`;
  const kilometres = metres / KILOMETRE_METRES;
  return `${kilometres.toFixed(kilometres < 99.95 ? 1 : 0)} km`;
}

/** The field that a resource gets when it was asked for by place: whole metres. The service's own `distance` is another one. */
const DISTANCE_FIELD = 'distance_m';

/** The row with `distance_m` as its last field, for every format; as it is where the distance is not known, or the service has such a field. */
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

/** The shape with a DISTANCE column behind the first two: `1.2 km` for people, whole metres without a unit for programs. */
export function withDistance<T>(shape: Shape<T>): Shape<T> {
  const most = Math.max(...shape.columns.map(({ keep }) => keep));
  const distance: Shape<T>['columns'][number] = {
    header: 'DISTANCE',
    field: DISTANCE_FIELD,
    // With --near the distance matters most after the name.
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
