// Bounding boxes and circles: parses them, splits boxes at the date line, and checks positions.

import { usageError } from '../../errors.js';
import { EARTH_RADIUS_METRES } from '../../globe/projection.js';
import { pointOf } from '../../terminal/values.js';
import type { LatLon, Placed } from '../../views/distance.js';

/**
 * A box in degrees: its north-east and its south-west corner. The box crosses the date line when
 * its east longitude is smaller than its west longitude.
 */
export type Box = readonly [east: number, north: number, west: number, south: number];

const FORM =
  '<north-east-longitude>,<north-east-latitude>,<south-west-longitude>,<south-west-latitude>';

/**
 * The maximum width of a box that crosses the date line. If a box is wider, its corners are
 * probably in the wrong order, because no fleet covers half the globe.
 */
const WIDEST_ACROSS_DATE_LINE_DEGREES = 180;

/**
 * The tolerance at the edge of an area, about 0.1 m. The tolerance is needed because the service
 * may round positions. A bicycle on the edge can then seem to be outside.
 */
const EDGE_DEGREES = 1e-6;

const PLAIN_NUMBER = /^[-+]?(\d+\.?\d*|\.\d+)$/;

/**
 * Parses comma-separated plain decimals. Returns undefined for other text or a wrong number of
 * values.
 */
function readNumbers(text: string, count: number): number[] | undefined {
  const parts = text.split(',').map((part) => part.trim());
  return parts.length === count && parts.every((part) => PLAIN_NUMBER.test(part))
    ? parts.map(Number)
    : undefined;
}

/**
 * The number of decimals in the coordinates of a corner. They correspond to a precision of about a
 * centimetre. With fewer decimals, a bicycle on the edge of a circle could be outside the box.
 */
const DECIMALS = 7;

/**
 * Formats a box as the query parameter of interface.md section 4.1: four comma-separated plain
 * decimals.
 */
export function showBox(box: Box): string {
  return box.map((degrees) => degrees.toFixed(DECIMALS).replace(/\.?0+$/, '')).join(',');
}

/**
 * Parses `NE_LON,NE_LAT,SW_LON,SW_LAT` in degrees (interface.md section 4.1). Refuses numbers that
 * are out of range, and corners in the wrong order. The error suggests a correct value.
 */
export function parseBbox(text: string): Box {
  const numbers = readNumbers(text, 4);
  if (numbers === undefined)
    throw usageError(`--bbox must be four numbers, ${FORM}, not "${text}"`);
  const [one = 0, up = 0, other = 0, down = 0] = numbers.map((value, index) =>
    clamp(value, index % 2 === 0 ? 180 : 90),
  );
  const isTooWide = one < other && one + 360 - other > WIDEST_ACROSS_DATE_LINE_DEGREES;
  const [east, west] = isTooWide ? [other, one] : [one, other];
  const meant: Box = [east, Math.max(up, down), west, Math.min(up, down)];
  if (meant.every((value, index) => value === numbers[index])) return meant;
  throw usageError(
    `--bbox "${text}" is out of range, or its corners are in the wrong order: the north-east corner comes first`,
    `the form is ${FORM}; corrected: --bbox ${showBox(meant)}`,
  );
}

/** Whether a box crosses the date line. */
export function crossesDateLine([east, , west]: Box): boolean {
  return east < west;
}

/**
 * Splits a box that crosses the date line into a western and an eastern box. Assumed: if the east
 * longitude of a box is smaller than its west longitude, the service swaps the corners. It
 * therefore cannot answer for a box that crosses the date line.
 */
export function splitBox(box: Box): readonly Box[] {
  if (!crossesDateLine(box)) return [box];
  const [east, north, west, south] = box;
  return [
    [180, north, west, south],
    [east, north, -180, south],
  ];
}

/** Whether a position is in a box. A bicycle without a position is outside every box. */
export function isInBox({ latitude, longitude }: Placed, box: Box): boolean {
  const point = pointOf(longitude, latitude);
  if (point === undefined) return false;
  const [placeEast, placeNorth] = point;
  const [east, north, west, south] = box;
  if (placeNorth > north + EDGE_DEGREES || placeNorth < south - EDGE_DEGREES) return false;
  const isWestOfEast = placeEast <= east + EDGE_DEGREES;
  const isEastOfWest = placeEast >= west - EDGE_DEGREES;
  return crossesDateLine(box) ? isWestOfEast || isEastOfWest : isWestOfEast && isEastOfWest;
}

function clamp(value: number, most: number): number {
  return Math.max(-most, Math.min(most, value));
}

export interface Circle {
  centre: LatLon;
  radiusMetres: number;
}

/** Half the circumference of the earth, which is the largest possible distance. */
const FURTHEST_METRES = Math.PI * EARTH_RADIUS_METRES;

/**
 * The margin that is added on each side of the box around a circle. The box may be too large,
 * because fleet then filters the bicycles by the circle itself.
 */
const MARGIN_DEGREES = 1e-7;

/** One degree in radians. */
const DEGREE = Math.PI / 180;

/** Parses a value of `LAT,LON` in degrees for commander. Refuses values that are out of range. */
export function parseNear(text: string): LatLon {
  const numbers = readNumbers(text, 2);
  if (numbers === undefined) {
    throw usageError(
      `--near must be a latitude and a longitude, such as 52.52,13.40, not "${text}"`,
    );
  }
  const [latitude = 0, longitude = 0] = numbers;
  if (Math.abs(latitude) <= 90 && Math.abs(longitude) <= 180) return { latitude, longitude };
  throw usageError(
    `--near "${text}" is out of range: the latitude (-90 to 90) comes first, then the longitude (-180 to 180)`,
  );
}

/** Parses a distance for commander: `800`, `800m` or `1.5km`. Returns metres. */
export function readMetres(flag: string): (text: string) => number {
  return (text) => {
    const match = /^(\d+\.?\d*|\.\d+)\s*(m|km)?$/i.exec(text.trim());
    const metres = Number(match?.[1]) * (match?.[2]?.toLowerCase() === 'km' ? 1000 : 1);
    if (metres > 0 && metres <= FURTHEST_METRES) return metres;
    throw usageError(
      `${flag} must be a distance above 0 and below half the circumference of the earth, such as 800 (metres) or 1.5km, not "${text}"`,
    );
  };
}

export const parseRadius = readMetres('--radius');

/**
 * Returns the circle of --near and --radius. Returns undefined when neither flag is set. Refuses
 * one flag without the other.
 */
export function readCircle(
  near: LatLon | undefined,
  radiusMetres: number | undefined,
): Circle | undefined {
  if (near === undefined && radiusMetres === undefined) return undefined;
  if (near === undefined)
    throw usageError('--radius works only with --near', 'add the place: --near 52.52,13.40');
  if (radiusMetres === undefined)
    throw usageError('--near needs --radius', 'pass a distance: --radius 800 or --radius 5km');
  return { centre: near, radiusMetres };
}

/**
 * Returns a box around a circle. When the circle crosses the date line or contains a pole, the box
 * contains all longitudes.
 */
export function boxAround({ centre, radiusMetres }: Circle): Box {
  const angle = radiusMetres / EARTH_RADIUS_METRES;
  const latitude = centre.latitude * DEGREE;
  const north = Math.min(90, round((latitude + angle) / DEGREE + MARGIN_DEGREES));
  const south = Math.max(-90, round((latitude - angle) / DEGREE - MARGIN_DEGREES));
  // Half the width of the range of longitudes that the circle touches. A circle that contains a
  // pole touches all longitudes.
  const sine = Math.sin(angle) / Math.cos(latitude);
  const halfWidth = north >= 90 || south <= -90 || sine >= 1 ? 180 : Math.asin(sine) / DEGREE;
  const west = round(centre.longitude - halfWidth - MARGIN_DEGREES);
  const east = round(centre.longitude + halfWidth + MARGIN_DEGREES);
  const crosses = west < -180 || east > 180;
  return crosses ? [180, north, -180, south] : [east, north, west, south];
}

function round(degrees: number): number {
  // Adding 0 changes -0 to 0.
  return Number(degrees.toFixed(DECIMALS)) + 0;
}
