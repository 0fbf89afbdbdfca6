// Reads service fields that may be missing, null, of an unexpected type, or numbers as strings.

import { writeJson, writtenNumber } from '../json/exact.js';

/** The text that is shown for a missing value. */
export const MISSING = '-';

/** Whether a string is a JSON number (RFC 8259, section 6). `007` is not a JSON number. */
export function isJsonNumber(text: string): boolean {
  return /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/.test(text);
}

/**
 * Returns a value as text: strings unchanged, numbers as the service sent them, and objects as
 * compact JSON. Returns undefined for null and for a missing value.
 */
export function textOf(value: unknown): string | undefined {
  if (value === undefined || value === null) return undefined;
  if (typeof value === 'string') return value;
  return typeof value === 'object' ? writeJson(value) : String(value);
}

/**
 * Returns a finite number. The value may also be a string with a number (cli.md section 4, promise
 * 4). Returns undefined for other values.
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
 * quadratic time. Without this limit, a field name with a million dots would take too long.
 */
const LONGEST_PATH_CHARACTERS = 1000;

/**
 * Returns the value at a path with dots such as `extra.location.coordinates` or `roles.0`, or
 * undefined. The path may also contain field names that contain a dot themselves.
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
