// Moments of the service's own clock, compared no finer than they were written.

import { readTime } from '../../../terminal/time.js';
import type { Start } from './records.js';

/**
 * Whether a moment is certainly not later than another; ISO 8601 of any precision, null is never certain. Moments with milliseconds are
 * compared to the millisecond, in which no request comes and goes; what happened within the same second is in no order when one of them
 * has none.
 */
export function isCertainlyNotLater(moment: unknown, other: string | null): boolean {
  if (typeof moment !== 'string' || other === null) return false;
  const [left, right] = [readTime(moment), readTime(other)];
  if (left === undefined || right === undefined) return false;
  const isFine = [moment, other].every((text) => /[.,]\d{3}/.test(text));
  return isFine ? left <= right : Math.floor(left / 1000) < Math.floor(right / 1000);
}

/**
 * What is certainly no later than this was there before the run began: the earlier of the newest change and the service's own date, since
 * a `modified` may lie in the future. Null when the service did not say both.
 */
export function lastMomentBefore({ newest, date }: Start): string | null {
  if (newest === null || date === null) return null;
  return isCertainlyNotLater(newest, date) ? newest : date;
}

/**
 * What the service dates before this happened before the request was sent, `afterMs` after the run began: the later of the newest change
 * and the service's own date. Milliseconds since the epoch; undefined when the service said neither.
 */
export function firstMomentOfSending({ newest, date }: Start, afterMs: number): number | undefined {
  const moments = [newest, date].map(readTime).filter((moment) => moment !== undefined);
  return moments.length === 0 ? undefined : Math.max(...moments) + afterMs;
}

/** Whether a moment that the service wrote lies in a later second than another in milliseconds. */
export function isOfLaterSecond(moment: unknown, milliseconds: number | undefined): boolean {
  const time = readTime(moment);
  return time !== undefined && milliseconds !== undefined && Math.floor(time / 1000) > Math.floor(milliseconds / 1000);
}

/** Whether a moment that the service wrote is not before another in milliseconds; one without decimals may be anywhere in its second. */
export function isNotBefore(moment: unknown, milliseconds: number): boolean {
  const time = readTime(moment);
  if (time === undefined || typeof moment !== 'string') return false;
  return time >= (/[.,]\d/.test(moment) ? milliseconds : Math.floor(milliseconds / 1000) * 1000);
}
