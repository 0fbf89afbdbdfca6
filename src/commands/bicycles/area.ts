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
function plainDecimal(value: number): string {
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
  const fits = (most: number, ...degrees: number[]) => degrees.every((value) => Math.abs(value) <= most);
  const isInRange = fits(180, a, c) && fits(90, b, d);
  const isSwapped = !isInRange && fits(90, a, c) && fits(180, b, d);
  const meant = isSwapped ? inOrder(b, a, d, c) : inOrder(clamp(a, 180), clamp(b, 90), clamp(c, 180), clamp(d, 90));
  const { northEast, southWest } = meant;
  if (isInRange && northEast.longitude === a && northEast.latitude === b && southWest.latitude === d) return meant;
  const why = isSwapped
    ? 'has latitude and longitude the wrong way round'
    : isInRange
      ? 'has its corners in the wrong order: the north-east one comes first'
      : 'is out of range: longitudes go from -180 to 180, latitudes from -90 to 90';
  throw usageError(`--bbox "${text}" ${why}`, `the form is ${FORM}; corrected: --bbox ${showBox(meant)}`);
}

function clamp(value: number, most: number): number {
  return Math.max(-most, Math.min(most, value));
}

/** The box with north above south, and east right of west unless it lies across the antimeridian. */
function inOrder(a: number, b: number, c: number, d: number): Box {
  const isTooWide = a < c && a + 360 - c > WIDEST_ACROSS_ANTIMERIDIAN_DEGREES;
  const [east, west] = isTooWide ? [c, a] : [a, c];
  return {
    northEast: { longitude: east, latitude: Math.max(b, d) },
    southWest: { longitude: west, latitude: Math.min(b, d) },
  };
}
