// Formats elapsed time in words, for the terminal and the served page.

import { DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS } from './time-units.js';

const UNITS_MS = [
  [DAY_MS, 'd'],
  [HOUR_MS, 'h'],
  [MINUTE_MS, 'min'],
  [SECOND_MS, 's'],
] as const;

/**
 * A time that differs from now by less than this is shown as "just now". The clocks of two machines
 * may differ by this much.
 */
const JUST_NOW_MS = 5_000;

/** Returns "just now", "42 s ago" or "3 min ago", and "in 3 min" for a time in the future. */
export function showElapsed(milliseconds: number): string {
  const length = Math.abs(milliseconds);
  if (length < JUST_NOW_MS) return 'just now';
  const [unitMs, unit] = UNITS_MS.find(([least]) => length >= least) ?? [SECOND_MS, 's'];
  const span = `${Math.floor(length / unitMs)} ${unit}`;
  return milliseconds > 0 ? `${span} ago` : `in ${span}`;
}
