// Formats times, ages and durations, and parses durations.

import { usageError } from '../errors.js';
import { showElapsed } from '../system/age.js';
import { DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS, TYPED_UNITS_MS } from '../system/time-units.js';
import { clean } from './clean.js';
import { MISSING, textOf } from './values.js';

const ISO_TIME = /^\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?(Z|[+-]\d\d:?\d\d)?)?$/i;

/**
 * Converts a service time (ISO 8601) to milliseconds since the epoch, or returns undefined for
 * other values. A time without an offset is in UTC, as in the interface (section 2.1).
 * `parseTypedTime` reads times that people type.
 */
export function readTime(value: unknown): number | undefined {
  if (typeof value !== 'string') return undefined;
  const match = ISO_TIME.exec(value.trim());
  if (match === null) return undefined;
  const text = value.trim().replace(' ', 'T').replace(',', '.');
  const hasClock = text.includes('T') || text.includes('t');
  const milliseconds = Date.parse(hasClock && match[1] === undefined ? `${text}Z` : text);
  return Number.isNaN(milliseconds) ? undefined : milliseconds;
}

/**
 * Formats an age at `now` (milliseconds since the epoch): "just now", "42 s ago", "in 3 min".
 * Returns `-` when there is no time.
 */
export function age(iso: unknown, now: number): string {
  const time = readTime(iso);
  return time === undefined ? MISSING : showElapsed(now - time);
}

/**
 * Formats a time for programs. A valid time is unchanged. Other text is printed without control
 * characters. Returns `-` for null or a missing value.
 */
export function toIso(value: unknown): string {
  const text = textOf(value);
  return text === undefined ? MISSING : clean(text);
}

/**
 * Parses a duration such as `200ms`, `90s`, `5m`, `1.5h`, `1d`, `1w` into milliseconds. `what`
 * names the flag in the error (exit 2).
 */
export function parseDuration(text: string, what = 'a duration'): number {
  const match = /^(\d+(?:\.\d+)?)(ms|s|m|h|d|w)$/.exec(text.trim());
  const unit = match?.[2] as keyof typeof TYPED_UNITS_MS | undefined;
  const milliseconds = unit === undefined ? Number.NaN : Number(match?.[1]) * TYPED_UNITS_MS[unit];
  if (Number.isSafeInteger(Math.round(milliseconds))) return Math.round(milliseconds);
  throw usageError(
    `${what} must be a number with a unit, not "${text}"`,
    'for example 200ms, 90s, 5m, 2h, 1d, 1w',
  );
}

/**
 * Formats milliseconds with at most two units: `200 ms`, `42 s`, `3 min 5 s`, `2 h 5 min`, `1 d 3
 * h`.
 */
export function showDuration(milliseconds: number): string {
  if (Math.round(milliseconds) < SECOND_MS) return `${Math.max(0, Math.round(milliseconds))} ms`;
  const whole = Math.round(milliseconds / SECOND_MS) * SECOND_MS;
  const parts = [
    [Math.floor(whole / DAY_MS), 'd'],
    [Math.floor((whole % DAY_MS) / HOUR_MS), 'h'],
    [Math.floor((whole % HOUR_MS) / MINUTE_MS), 'min'],
    [(whole % MINUTE_MS) / SECOND_MS, 's'],
  ] as const;
  const first = parts.findIndex(([count]) => count > 0);
  return parts
    .slice(first, first + 2)
    .filter(([count]) => count > 0)
    .map(([count, unit]) => `${count} ${unit}`)
    .join(' ');
}
