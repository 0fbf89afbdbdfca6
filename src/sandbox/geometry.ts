// Boxes on the globe: parses the bbox parameter and checks positions (interface.md section 4.1).

/**
 * A box between two meridians and two parallels, in degrees. It crosses the antimeridian when
 * `west` is greater than `east`.
 */
export interface ServedBox {
  north: number;
  east: number;
  south: number;
  west: number;
}

// Assumed: only plain decimals, because the interface says "four comma-separated numbers" and shows
// no exponent.
const PLAIN_DECIMAL = /^-?\d+(?:\.\d+)?$/;

/**
 * Parses
 * "<north-east-longitude>,<north-east-latitude>,<south-west-longitude>,<south-west-latitude>" in
 * degrees. Returns the box or an error message. With `isAnyCorner`, any two opposite corners are
 * accepted (observed). No box then crosses the antimeridian.
 */
export function parseBox(text: string, isAnyCorner = false): ServedBox | string {
  const parts = text.split(',');
  if (parts.length !== 4 || !parts.every((part) => PLAIN_DECIMAL.test(part))) {
    return 'Enter four comma-separated numbers: north-east longitude, north-east latitude, south-west longitude, south-west latitude.';
  }
  const [east = 0, north = 0, west = 0, south = 0] = parts.map(Number);
  if (Math.abs(east) > 180 || Math.abs(west) > 180)
    return 'Longitudes must be between -180 and 180.';
  if (Math.abs(north) > 90 || Math.abs(south) > 90) return 'Latitudes must be between -90 and 90.';
  if (isAnyCorner) {
    return {
      north: Math.max(north, south),
      east: Math.max(east, west),
      south: Math.min(north, south),
      west: Math.min(east, west),
    };
  }
  if (north < south) return 'The north-east latitude must not be below the south-west latitude.';
  return { north, east, south, west };
}

/** Whether a position is inside the box or on its edge. A missing position is outside every box. */
export function isInside(box: ServedBox, latitude: unknown, longitude: unknown): boolean {
  const north = numberFrom(latitude);
  const east = numberFrom(longitude);
  if (north === null || east === null) return false;
  if (north > box.north || north < box.south) return false;
  // Assumed: a box with a west edge greater than its east edge crosses the antimeridian.
  return box.west <= box.east
    ? east >= box.west && east <= box.east
    : east >= box.west || east <= box.east;
}

const METRES_A_DEGREE = 111_195;

/**
 * Returns the approximate distance to the centre of a box in metres, or null when there is no
 * position. Observed: the service calculates as if the earth were flat.
 */
export function distanceToMiddle(
  box: ServedBox,
  latitude: unknown,
  longitude: unknown,
): number | null {
  const [north, east] = [numberFrom(latitude), numberFrom(longitude)];
  if (north === null || east === null) return null;
  const up = (north - (box.north + box.south) / 2) * METRES_A_DEGREE;
  const right =
    (east - (box.east + box.west) / 2) * METRES_A_DEGREE * Math.cos((north * Math.PI) / 180);
  return Math.round(Math.hypot(up, right) * 10) / 10;
}

/** Returns a number, or null. The value may also be a string with a number ("decimal number"). */
export function numberFrom(value: unknown): number | null {
  if (typeof value === 'number') return value;
  if (typeof value !== 'string' || value === '') return null;
  const number = Number(value);
  return Number.isNaN(number) ? null : number;
}

/** Normalizes a longitude to the range from -180 to 180 degrees. */
export function wrapLongitude(longitude: number): number {
  if (longitude > 180) return longitude - 360;
  return longitude < -180 ? longitude + 360 : longitude;
}
