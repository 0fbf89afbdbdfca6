// Reads a bounding box, or a circle and the box that holds it; shows the corrected value of a box that is the wrong way round.

import { usageError } from '../../errors.js';
import { EARTH_RADIUS_METRES } from '../../globe/projection.js';
import type { LatLon } from '../../views/distance.js';

/** A box in degrees: its north-east corner, then its south-west one. East below west: it lies across the antimeridian. */
export type Box = readonly [east: number, north: number, west: number, south: number];

const FORM =
  '<north-east-longitude>,<north-east-latitude>,<south-west-longitude>,<south-west-latitude>';

/** A box this wide was meant the other way round: nobody's fleet spans half the globe across the antimeridian. */
const WIDEST_ACROSS_ANTIMERIDIAN_DEGREES = 180;

const PLAIN_NUMBER = /^[-+]?(\d+\.?\d*|\.\d+)$/;

/** Numbers in plain decimals between commas; undefined for anything else, and for more or fewer of them. */
function readNumbers(text: string, count: number): number[] | undefined {
  const parts = text.split(',').map((part) => part.trim());
  return parts.length === count && parts.every((part) => PLAIN_NUMBER.test(part))
    ? parts.map(Number)
    : undefined;
}

/** A corner has as many decimals, a centimetre: rounding, ours and the service's, must not lose a bicycle on the edge of a circle. */
const DECIMALS = 7;

/** The box as the query parameter of interface.md section 4.1: four comma-separated numbers in plain decimals. */
export function showBox(box: Box): string {
  return box.map((degrees) => degrees.toFixed(DECIMALS).replace(/\.?0+$/, '')).join(',');
}

/**
 * Reads `NE_LON,NE_LAT,SW_LON,SW_LAT` in degrees (interface.md section 4.1). Corners in the wrong order and numbers out of
 * range are refused with the value that was probably meant.
 */
export function parseBbox(text: string): Box {
  const numbers = readNumbers(text, 4);
  if (numbers === undefined) throw usageError(`--bbox takes four numbers, ${FORM}, not "${text}"`);
  const [one = 0, up = 0, other = 0, down = 0] = numbers.map((value, index) =>
    clamp(value, index % 2 === 0 ? 180 : 90),
  );
  // East of its west corner a box is wide as it stands, else across the antimeridian.
  const isTooWide = one < other && one + 360 - other > WIDEST_ACROSS_ANTIMERIDIAN_DEGREES;
  const [east, west] = isTooWide ? [other, one] : [one, other];
  const meant: Box = [east, Math.max(up, down), west, Math.min(up, down)];
  if (meant.every((value, index) => value === numbers[index])) return meant;
  throw usageError(
    `--bbox "${text}" is out of range, or its corners are in the wrong order: the north-east one comes first`,
    `the form is ${FORM}; corrected: --bbox ${showBox(meant)}`,
  );
}

function clamp(value: number, most: number): number {
  return Math.max(-most, Math.min(most, value));
}

export interface Circle {
  centre: LatLon;
  radiusMetres: number;
}

/** Half way round the earth: no place is further away. */
const FURTHEST_METRES = Math.PI * EARTH_RADIUS_METRES;

/** A box is made this much larger on each side: what is too much is filtered out afterwards. */
const MARGIN_DEGREES = 1e-7;

/** In radians. */
const DEGREE = Math.PI / 180;

/** A parser for commander: `LAT,LON` in degrees. What is out of range is refused. */
export function parseNear(text: string): LatLon {
  const numbers = readNumbers(text, 2);
  if (numbers === undefined) {
    throw usageError(`--near takes a latitude and a longitude, such as 52.52,13.40, not "${text}"`);
  }
  const [latitude = 0, longitude = 0] = numbers;
  if (Math.abs(latitude) <= 90 && Math.abs(longitude) <= 180) return { latitude, longitude };
  throw usageError(
    `--near "${text}" is out of range: latitudes go from -90 to 90, then longitudes from -180 to 180`,
  );
}

/** A parser for commander: metres, as `800`, `800m` or `1.5km`. */
export function readMetres(flag: string): (text: string) => number {
  return (text) => {
    const match = /^(\d+\.?\d*|\.\d+)\s*(m|km)?$/i.exec(text.trim());
    const metres = Number(match?.[1]) * (match?.[2]?.toLowerCase() === 'km' ? 1000 : 1);
    if (metres > 0 && metres <= FURTHEST_METRES) return metres;
    throw usageError(
      `${flag} takes metres above 0 and below half way round the earth, such as 800, or 1.5km, not "${text}"`,
    );
  };
}

export const parseRadius = readMetres('--radius');

/** The circle of the two flags, undefined when neither was given. One without the other is refused. */
export function readCircle(
  near: LatLon | undefined,
  radiusMetres: number | undefined,
): Circle | undefined {
  if (near === undefined && radiusMetres === undefined) return undefined;
  if (near === undefined)
    throw usageError('--radius goes with --near', 'add the place: --near 52.52,13.40');
  if (radiusMetres === undefined)
    throw usageError('--near needs --radius', 'give a distance: --radius 800 or --radius 5km');
  return { centre: near, radiusMetres };
}

/**
 * The box that holds the whole circle. One across the antimeridian or around a pole takes every longitude. Assumed: the interface shows no
 * box whose west is east of its east, so none is sent.
 */
export function boxAround({ centre, radiusMetres }: Circle): Box {
  const angle = radiusMetres / EARTH_RADIUS_METRES;
  const latitude = centre.latitude * DEGREE;
  const north = Math.min(90, round((latitude + angle) / DEGREE + MARGIN_DEGREES));
  const south = Math.max(-90, round((latitude - angle) / DEGREE - MARGIN_DEGREES));
  // The furthest meridian that the circle touches; beyond a pole it touches all of them.
  const sine = Math.sin(angle) / Math.cos(latitude);
  const halfWidth = north >= 90 || south <= -90 || sine >= 1 ? 180 : Math.asin(sine) / DEGREE;
  const west = round(centre.longitude - halfWidth - MARGIN_DEGREES);
  const east = round(centre.longitude + halfWidth + MARGIN_DEGREES);
  const isAcross = west < -180 || east > 180;
  return isAcross ? [180, north, -180, south] : [east, north, west, south];
}

function round(degrees: number): number {
  // Added to 0, -0 is 0.
  return Number(degrees.toFixed(DECIMALS)) + 0;
}
