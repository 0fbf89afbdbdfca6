// Groups by charge and by time since the last position, for the terminal and the page.

import { DAY_MS, HOUR_MS } from '../system/time-units.js';

/** Groups of bicycles by the time since their last position, shortest first. */
const SILENCES = [
  ['within an hour', HOUR_MS],
  ['within a day', DAY_MS],
  ['within a week', 7 * DAY_MS],
  ['longer ago', Number.POSITIVE_INFINITY],
] as const;
/** The group of the bicycles that have no last position. */
export const NEVER_HEARD = 'never';

/** The groups in order. */
export const CHARGE_GROUPS: readonly string[] = Array.from({ length: 10 }, (_, ten) =>
  chargeGroup(ten * 10),
);
export const SILENCE_GROUPS: readonly string[] = [...SILENCES.map(([name]) => name), NEVER_HEARD];

/** Returns the group for a charge: `50-59` for 57. The last group also contains 100. */
export function chargeGroup(percent: number): string {
  const start = Math.min(90, Math.max(0, Math.floor(percent / 10) * 10));
  return start === 90 ? '90-100' : `${start}-${start + 9}`;
}

/**
 * Two limits for the charge in percent. Below the first one a battery is low. Below the second one
 * it must be replaced.
 */
export const CHARGE_LOW_PERCENT = 50;
export const CHARGE_EMPTY_PERCENT = 20;

/**
 * Returns the group for the time since the last position. Both parameters are milliseconds since
 * the epoch.
 */
export function silenceGroup(seenMs: number | undefined, nowMs: number): string {
  if (seenMs === undefined) return NEVER_HEARD;
  return SILENCES.find(([, longest]) => nowMs - seenMs <= longest)?.[0] ?? NEVER_HEARD;
}
