// Formats elapsed time in words, for the terminal and the served page.

const UNITS_MS = [
  [86_400_000, 'd'],
  [3_600_000, 'h'],
  [60_000, 'min'],
  [1000, 's'],
] as const;

/** The clocks of two machines may differ by this much. */
const JUST_NOW_MS = 5_000;

/** Returns "just now", "42 s ago" or "3 min ago"; "in 3 min" for times in the future. */
export function showElapsed(milliseconds: number): string {
  const length = Math.abs(milliseconds);
  if (length < JUST_NOW_MS) return 'just now';
  const [unitMs, unit] = UNITS_MS.find(([least]) => length >= least) ?? [1000, 's'];
  const span = `${Math.floor(length / unitMs)} ${unit}`;
  return milliseconds > 0 ? `${span} ago` : `in ${span}`;
}
