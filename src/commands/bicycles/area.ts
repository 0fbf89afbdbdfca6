// Reads a bounding box, and shows the corrected value when it is the wrong way round.

import { usageError } from '../../errors.js';

/** A box in degrees. North-east longitude below the south-west one: the box lies across the antimeridian. */
export interface Box {
  northEast: { longitude: number; latitude: number };
  southWest: { longitude: number; latitude: number };
}

const FORM = '<north-east-longitude>,<north-east-latitude>,<south-west-longitude>,<south-west-latitude>';

/** A box this wide was meant the other way round: nobody's fleet spans half the globe across the antimeridian. */
const WIDEST_ACROSS_ANTIMERIDIAN_DEGREES = 180;

const PLAIN_NUMBER = /^[-+]?(\d+\.?\d*|\.\d+)$/;

/** Numbers in plain decimals between commas; undefined for anything else, and for more or fewer of them. */
export function readNumbers(text: string, count: number): number[] | undefined {
  const parts = text.split(',').map((part) => part.trim());
  return parts.length === count && parts.every((part) => PLAIN_NUMBER.test(part)) ? parts.map(Number) : undefined;
}

/** A number in plain decimals: JavaScript would write 0.00001 as 1e-5. */
export function plainDecimal(value: number): string {
  const text = String(value);
  return text.includes('e') ? value.toFixed(12).replace(/\.?0+$/, '') : text;
}

/** The box as the query parameter of interface.md section 4.1: four comma-separated numbers in plain decimals. */
export function showBox({ northEast, southWest }: Box): string {
  return [northEast.longitude, northEast.latitude, southWest.longitude, southWest.latitude].map(plainDecimal).join(',');
}

/**
 * Reads `NE_LON,NE_LAT,SW_LON,SW_LAT` in degrees (interface.md section 4.1). Corners in the wrong order and numbers out of
 * range are refused with the value that was probably meant.
 */
export function parseBbox(text: string): Box {
  const numbers = readNumbers(text, 4);
  if (numbers === undefined) throw usageError(`--bbox takes four numbers, ${FORM}, not "${text}"`);
  const [a = 0, b = 0, c = 0, d = 0] = numbers;
  const isLongitude = (value: number) => Math.abs(value) <= 180;
  const isLatitude = (value: number) => Math.abs(value) <= 90;
  const inOrder = isLongitude(a) && isLatitude(b) && isLongitude(c) && isLatitude(d);
  const swapped = isLatitude(a) && isLongitude(b) && isLatitude(c) && isLongitude(d);
  if (!inOrder && !swapped) {
    throw usageError(
      `--bbox "${text}" is out of range: longitudes go from -180 to 180, latitudes from -90 to 90`,
      `the form is ${FORM}; corrected: --bbox ${correct(clamp(a, 180), clamp(b, 90), clamp(c, 180), clamp(d, 90))}`,
    );
  }
  if (!inOrder) {
    throw usageError(
      `--bbox "${text}" has latitude and longitude the wrong way round`,
      `corrected: --bbox ${correct(b, a, d, c)}`,
    );
  }
  const crosses = a < c;
  const isTooWide = crosses && a + 360 - c > WIDEST_ACROSS_ANTIMERIDIAN_DEGREES;
  if (b < d || isTooWide) {
    throw usageError(
      `--bbox "${text}" has its corners in the wrong order: the north-east one comes first`,
      `corrected: --bbox ${correct(a, b, c, d)}`,
    );
  }
  return { northEast: { longitude: a, latitude: b }, southWest: { longitude: c, latitude: d } };
}

function clamp(value: number, most: number): number {
  return Math.max(-most, Math.min(most, value));
}

/** The four numbers with north above south, and east right of west unless that would be the long way round. */
function correct(a: number, b: number, c: number, d: number): string {
  const east = Math.max(a, c);
  const west = Math.min(a, c);
  const staysAcross = east - west > WIDEST_ACROSS_ANTIMERIDIAN_DEGREES;
  return showBox({
    northEast: { longitude: staysAcross ? west : east, latitude: Math.max(b, d) },
    southWest: { longitude: staysAcross ? east : west, latitude: Math.min(b, d) },
  });
}
