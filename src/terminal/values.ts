// Reads fields of the service with tolerance: missing, null, of another type, or a number in a string.

import { writeJson, writtenNumber } from '../json/exact.js';

/** What is shown where the service sent nothing. */
export const MISSING = '-';

/** Whether the text is a number as JSON writes it (RFC 8259, section 6): no leading zeros, so that `007` is a text. */
export function isJsonNumber(text: string): boolean {
  return /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/.test(text);
}

/** A value as text: strings as they are, numbers as they were sent, objects as compact JSON; undefined for null and nothing. */
export function textOf(value: unknown): string | undefined {
  if (value === undefined || value === null) return undefined;
  if (typeof value === 'string') return value;
  return typeof value === 'object' ? writeJson(value) : String(value);
}

/** A finite number, from a number or a number written as a string (cli.md section 4, promise 4); undefined for anything else. */
export function numberOf(value: unknown): number | undefined {
  const text = typeof value === 'string' ? value.trim() : writtenNumber(value);
  const number =
    typeof value === 'number'
      ? value
      : text === undefined || text === ''
        ? Number.NaN
        : Number(text);
  return Number.isFinite(number) ? number : undefined;
}

/** A place on the globe in degrees, longitude first as in GeoJSON; undefined for any other. */
export function pointOf(
  longitude: unknown,
  latitude: unknown,
): readonly [longitude: number, latitude: number] | undefined {
  const [east, north] = [numberOf(longitude), numberOf(latitude)];
  if (east === undefined || north === undefined || Math.abs(east) > 180 || Math.abs(north) > 90)
    return undefined;
  return [east, north];
}

/** A longer name is no path: a service can name a field with a million dots. */
const LONGEST_PATH_CHARACTERS = 1000;

/**
 * What a dotted path leads to, undefined where it leads nowhere: `extra.location.coordinates`, `roles.0`. A field whose own name
 * has a dot in it is found as well.
 */
export function readPath(value: unknown, path: string): unknown {
  if (typeof value !== 'object' || value === null || writtenNumber(value) !== undefined)
    return undefined;
  if (Object.hasOwn(value, path)) return (value as { [key: string]: unknown })[path];
  if (path.length > LONGEST_PATH_CHARACTERS) return undefined;
  for (let dot = path.indexOf('.'); dot !== -1; dot = path.indexOf('.', dot + 1)) {
    const first = path.slice(0, dot);
    if (Object.hasOwn(value, first))
      return readPath((value as { [key: string]: unknown })[first], path.slice(dot + 1));
  }
  return undefined;
}
