// Normalizes polygons for GeoJSON (RFC 7946, 3.1.6): exterior rings counterclockwise, holes
// clockwise.

import { type ExactNumber, writtenNumber } from '../json/exact.js';

type Ring = readonly (readonly (number | ExactNumber)[])[];

/**
 * Returns a geometry as GeoJSON, with plain numbers. Returns undefined for polygons without an
 * area. Other geometries are unchanged.
 */
export function asGeoJson(geometry: object | undefined): object | undefined {
  const { type } = (geometry ?? {}) as { type?: unknown };
  if (type !== 'Polygon' && type !== 'MultiPolygon') return geometry;
  const polygons = polygonsOf(geometry);
  if (polygons.length === 0) return undefined;
  const isOne = type === 'Polygon' && polygons.length === 1;
  return isOne
    ? { type, coordinates: polygons[0] }
    : { type: 'MultiPolygon', coordinates: polygons };
}

/**
 * Returns the polygons of a geometry. Their rings are closed, oriented, and cut at the antimeridian
 * (RFC 7946, section 3.1.9). Each position has two coordinates. Polygons without a valid exterior
 * ring are skipped. The result is empty for other types of geometry.
 */
export function polygonsOf(geometry: unknown): number[][][][] {
  return partsOf(geometry).flatMap((rings) => {
    if (!Array.isArray(rings)) return [];
    const [outer, ...holes] = rings.map(closedRing);
    return outer === undefined ? [] : cut([outer, ...holes.filter((ring) => ring !== undefined)]);
  });
}

/**
 * Returns the polygons of a geometry as `polygonsOf` does, or undefined when one of its polygons or
 * rings is not valid. The valid parts are not returned alone, because they would describe a
 * different area.
 */
export function wholePolygonsOf(geometry: unknown): number[][][][] | undefined {
  const polygons = partsOf(geometry);
  const isWhole = polygons.every(
    (rings) =>
      Array.isArray(rings) &&
      rings.length > 0 &&
      rings.map(closedRing).every((ring) => ring !== undefined),
  );
  return polygons.length > 0 && isWhole ? polygonsOf(geometry) : undefined;
}

/** Returns the polygons of a geometry without checking them. */
function partsOf(geometry: unknown): readonly unknown[] {
  const { type, coordinates } = (geometry ?? {}) as { type?: unknown; coordinates?: unknown };
  if (!Array.isArray(coordinates)) return [];
  if (type === 'Polygon') return [coordinates];
  return type === 'MultiPolygon' ? coordinates : [];
}

/** The minimum length of a closed ring, in which the last position repeats the first. */
const FEWEST_POSITIONS = 4;

/**
 * Closes a ring and orients it: the exterior ring (index 0) counterclockwise, holes clockwise.
 * Returns undefined for an invalid ring.
 */
function closedRing(ring: unknown, index: number): number[][] | undefined {
  if (!isRing(ring)) return undefined;
  const isInRange = ([longitude = 181, latitude = 91]: number[]) =>
    Math.abs(longitude) <= 180 && Math.abs(latitude) <= 90;
  const positions = ring.map(([longitude, latitude]) => [plain(longitude), plain(latitude)]);
  const closed = positions.every(isInRange) ? close(positions) : undefined;
  return closed !== undefined && eastward(closed) < 0 === index > 0 ? closed.reverse() : closed;
}

/** Closes a ring. Returns undefined for a ring without an area. */
function close(positions: number[][]): number[][] | undefined {
  const [first = []] = positions;
  const last = positions.at(-1) ?? [];
  const closed =
    first[0] === last[0] && first[1] === last[1] ? positions : [...positions, [...first]];
  return closed.length >= FEWEST_POSITIONS && eastward(closed) !== 0 ? closed : undefined;
}

/** Cuts a polygon at the antimeridian into its parts. */
function cut(rings: number[][][]): number[][][][] {
  const start = rings[0]?.[0]?.[0] ?? 0;
  const unrolled = rings.map((ring) => unroll(ring, start));
  const isAcross = unrolled.flat().some(([longitude = 0]) => Math.abs(longitude) > 180);
  if (!isAcross) return [rings];
  return [-360, 0, 360].flatMap((degrees) => {
    const [outer, ...holes] = unrolled.map((ring) =>
      close(clip(clip(ring, degrees, 1), degrees, -1)),
    );
    return outer === undefined ? [] : [[outer, ...holes.filter((ring) => ring !== undefined)]];
  });
}

/** Returns a ring with longitudes that continue beyond 180° where it crosses the antimeridian. */
export function unroll(ring: readonly number[][], start: number): number[][] {
  let east = start;
  return ring.map(([longitude = 0, latitude = 0]) => {
    east += shortWay(longitude - east);
    return [east, latitude];
  });
}

/**
 * Clips a ring at 180° (side 1) or -180° (side -1). For side 1 it first shifts the ring by
 * `degrees`.
 */
function clip(ring: number[][], degrees: number, side: 1 | -1): number[][] {
  const turned =
    side === 1
      ? ring.map(([longitude = 0, latitude = 0]) => [longitude + degrees, latitude])
      : ring;
  const limit = 180 * side;
  const isIn = ([longitude = 0]: number[]) => side * longitude <= 180;
  return turned.flatMap((position, index) => {
    const before = turned.at(index - 1) ?? position;
    if (isIn(before) === isIn(position)) return isIn(position) ? [position] : [];
    const [[x0 = 0, y0 = 0], [x1 = 0, y1 = 0]] = [before, position];
    const crossing = [limit, y0 + ((y1 - y0) * (limit - x0)) / (x1 - x0)];
    return isIn(position) ? [crossing, position] : [crossing];
  });
}

function isRing(ring: unknown): ring is Ring {
  return (
    Array.isArray(ring) && ring.every((position) => Array.isArray(position) && position.length >= 2)
  );
}

function plain(value: number | ExactNumber | undefined): number {
  return typeof value === 'number' ? value : Number(writtenNumber(value) ?? Number.NaN);
}

/**
 * Returns twice the signed area of a ring in square degrees. It is positive for a clockwise ring.
 * An edge between two positions takes the shorter way around the world, which may cross the
 * antimeridian.
 */
function eastward(ring: number[][]): number {
  return ring.reduce((sum, [longitude = 0, latitude = 0], index) => {
    const [nextLongitude = 0, nextLatitude = 0] = ring[(index + 1) % ring.length] ?? [];
    return sum + shortWay(nextLongitude - longitude) * (latitude + nextLatitude);
  }, 0);
}

/** Normalizes a longitude difference to the range from -180 to 180. */
function shortWay(degrees: number): number {
  return Math.abs(degrees) <= 180 ? degrees : degrees - 360 * Math.round(degrees / 360);
}
