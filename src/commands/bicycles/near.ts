// `--near` and `--radius`: a circle on the globe, and the box that holds it.

import { usageError } from '../../errors.js';
import { EARTH_RADIUS_METRES } from '../../globe/projection.js';
import type { LatLon } from '../../views/distance.js';
import { type Box, readNumbers } from './area.js';

export interface Circle {
  centre: LatLon;
  radiusMetres: number;
}

/** Half way round the earth: no place is further away. */
const FURTHEST_METRES = Math.PI * EARTH_RADIUS_METRES;

/**
 * A box is made this much larger on each side, a centimetre, and its corners have as many decimals: rounding, ours and the
 * service's, must not lose a bicycle on the edge. What is too much is filtered out afterwards.
 */
const MARGIN_DEGREES = 1e-7;
const DECIMALS = 7;

function toRadians(degrees: number): number {
  return (degrees * Math.PI) / 180;
}

function toDegrees(radians: number): number {
  return (radians * 180) / Math.PI;
}

/** A parser for commander: `LAT,LON` in degrees. What is out of range is refused with the value that was probably meant. */
export function parseNear(text: string): LatLon {
  const numbers = readNumbers(text, 2);
  if (numbers === undefined) {
    throw usageError(`--near takes a latitude and a longitude, such as 52.52,13.40, not "${text}"`);
  }
  const [latitude = 0, longitude = 0] = numbers;
  if (Math.abs(latitude) <= 90 && Math.abs(longitude) <= 180) return { latitude, longitude };
  throw usageError(
    `--near "${text}" is out of range: latitudes go from -90 to 90, longitudes from -180 to 180`,
    Math.abs(longitude) <= 90 && Math.abs(latitude) <= 180
      ? `the latitude comes first; corrected: --near ${text.split(',').reverse().join(',').replaceAll(' ', '')}`
      : undefined,
  );
}

/** A parser for commander: metres, as `800`, `800m` or `1.5km`. */
export function readMetres(flag: string): (text: string) => number {
  return (text) => {
    const match = /^(\d+\.?\d*|\.\d+)\s*(m|km)?$/i.exec(text.trim());
    const metres = Number(match?.[1]) * (match?.[2]?.toLowerCase() === 'km' ? 1000 : 1);
    if (metres > 0 && metres <= FURTHEST_METRES) return metres;
    throw usageError(
      metres > 0
        ? `${flag} "${text}" is further than half way round the earth`
        : `${flag} takes metres above 0, such as 800, or 1.5km, not "${text}"`,
    );
  };
}

export const parseRadius = readMetres('--radius');

/** The circle of the two flags, undefined when neither was given. One without the other is refused. */
export function readCircle(near: LatLon | undefined, radiusMetres: number | undefined): Circle | undefined {
  if (near === undefined && radiusMetres === undefined) return undefined;
  if (near === undefined) throw usageError('--radius goes with --near', 'add the place: --near 52.52,13.40');
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
  const latitude = toRadians(centre.latitude);
  const north = Math.min(90, roundUp(toDegrees(latitude + angle)));
  const south = Math.max(-90, roundDown(toDegrees(latitude - angle)));
  // The furthest meridian that the circle touches; beyond a pole it touches all of them.
  const sine = Math.sin(angle) / Math.cos(latitude);
  const halfWidth = north >= 90 || south <= -90 || sine >= 1 ? 180 : toDegrees(Math.asin(sine));
  const [west, east] = [roundDown(centre.longitude - halfWidth), roundUp(centre.longitude + halfWidth)];
  const isAcross = west < -180 || east > 180;
  return {
    northEast: { longitude: isAcross ? 180 : east, latitude: north },
    southWest: { longitude: isAcross ? -180 : west, latitude: south },
  };
}

function roundUp(degrees: number): number {
  return Number((degrees + MARGIN_DEGREES).toFixed(DECIMALS)) + 0;
}

function roundDown(degrees: number): number {
  // Added to 0, -0 is 0.
  return Number((degrees - MARGIN_DEGREES).toFixed(DECIMALS)) + 0;
}
