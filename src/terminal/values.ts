// Reads service fields that may be missing, null, of an unexpected type, or numbers as strings.

import { writeJson, writtenNumber } from '../json/exact.js';

/** The text that is shown for a missing value. */
export const MISSING = '-';

/** Whether a string is a JSON number (RFC 8259, section 6). `007` is not a JSON number. */
export function isJsonNumber(text: string): boolean {
  return /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/.test(text);
}

/**
 * Returns a value as text: strings unchanged, numbers as sent, objects as compact JSON; undefined
 * for null and missing.
 */
export function textOf(value: unknown): string | undefined {
  if (value === undefined || value === null) return undefined;
  if (typeof value === 'string') return value;
  return typeof value === 'object' ? writeJson(value) : String(value);
}

/**
 * Returns a finite number, also from a string (cli.md section 4, promise 4); undefined for other
 * values.
 */
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

/** Returns a position in degrees, longitude first; undefined when it is invalid. */
export function pointOf(
  longitude: unknown,
  latitude: unknown,
): readonly [longitude: number, latitude: number] | undefined {
  const [east, north] = [numberOf(longitude), numberOf(latitude)];
  if (east === undefined || north === undefined || Math.abs(east) > 180 || Math.abs(north) > 90)
    return undefined;
  return [east, north];
}

/**
 * The maximum length of a path. Each dot is tried as the end of the first field, which takes
 * quadratic time, and a service could send a field name with a million dots.
 */
const LONGEST_PATH_CHARACTERS = 1000;

/**
 * Returns the value at a path with dots such as `extra.location.coordinates` or `roles.0`, or
 * undefined. A field name that contains a dot also works.
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
