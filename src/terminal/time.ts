// Formats times, ages and durations, and parses durations.

import { usageError } from '../errors.js';
import { showElapsed } from '../system/age.js';
import { clean } from './clean.js';
import { MISSING, textOf } from './values.js';

const SECOND_MS = 1000;

const ISO_TIME = /^\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?(Z|[+-]\d\d:?\d\d)?)?$/i;

/**
 * Returns a time of the service (ISO 8601) in milliseconds since the epoch, or undefined for other
 * values. Without an offset it is UTC, as in the interface (section 2.1). `parseTypedTime` reads
 * times that people type.
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
 * Formats an age at `now` (milliseconds since the epoch): "just now", "42 s ago", "in 3 min"; `-`
 * without a time.
 */
export function age(iso: unknown, now: number): string {
  const time = readTime(iso);
  return time === undefined ? MISSING : showElapsed(now - time);
}

/**
 * Formats a time for programs: unchanged, cleaned when it is not ISO 8601, and `-` for null or
 * missing.
 */
export function toIso(value: unknown): string {
  const text = textOf(value);
  return text === undefined ? MISSING : clean(text);
}

const UNITS_MS = {
  ms: 1,
  s: SECOND_MS,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
  w: 7 * 86_400_000,
} as const;

/**
 * Parses a duration such as `200ms`, `90s`, `5m`, `1.5h`, `1d`, `1w` into milliseconds. `what`
 * names the flag in the error (exit 2).
 */
export function parseDuration(text: string, what = 'a duration'): number {
  const match = /^(\d+(?:\.\d+)?)(ms|s|m|h|d|w)$/.exec(text.trim());
  const unit = match?.[2] as keyof typeof UNITS_MS | undefined;
  const milliseconds = unit === undefined ? Number.NaN : Number(match?.[1]) * UNITS_MS[unit];
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
  const seconds = Math.round(milliseconds / SECOND_MS);
  const parts = [
    [Math.floor(seconds / 86_400), 'd'],
    [Math.floor(seconds / 3600) % 24, 'h'],
    [Math.floor(seconds / 60) % 60, 'min'],
    [seconds % 60, 's'],
  ] as const;
  const first = parts.findIndex(([count]) => count > 0);
  return parts
    .slice(first, first + 2)
    .filter(([count]) => count > 0)
    .map(([count, unit]) => `${count} ${unit}`)
    .join(' ');
}
