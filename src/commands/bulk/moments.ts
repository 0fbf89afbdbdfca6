// Moments of the service's own clock, compared no finer than they were written.

import { readTime } from '../../terminal/time.js';
import type { Start } from './records.js';

/** From this many decimals of a second on, the same moment is the same change: no request comes and goes within a millisecond. */
const FINE_DECIMALS = 3;

/**
 * Whether a moment is certainly not later than another; ISO 8601 of any precision, null is never certain. They are compared at the
 * coarser of their precisions: what happened within the same second is in no order when one of them has no decimals.
 */
export function isCertainlyNotLater(moment: unknown, other: string | null): boolean {
  if (typeof moment !== 'string' || other === null) return false;
  const [left, right] = [readTime(moment), readTime(other)];
  if (left === undefined || right === undefined) return false;
  const [leftFraction, rightFraction] = [fractionOf(moment), fractionOf(other)];
  const decimals = Math.min(leftFraction.length, rightFraction.length);
  const [leftSecond, rightSecond] = [Math.floor(left / 1000), Math.floor(right / 1000)];
  if (leftSecond !== rightSecond) return leftSecond < rightSecond;
  const [leftPart, rightPart] = [leftFraction.slice(0, decimals), rightFraction.slice(0, decimals)];
  return leftPart < rightPart || (leftPart === rightPart && decimals >= FINE_DECIMALS);
}

/** The decimals of a second, to be compared as text: a Date holds but three of them. */
function fractionOf(moment: string): string {
  return /[.,](\d{1,12})/.exec(moment)?.[1] ?? '';
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

/** Whether a moment that the service wrote is not before another in milliseconds; one without decimals may be anywhere in its second. */
export function isNotBefore(moment: unknown, milliseconds: number): boolean {
  const time = readTime(moment);
  if (time === undefined || typeof moment !== 'string') return false;
  return time >= (fractionOf(moment) === '' ? Math.floor(milliseconds / 1000) * 1000 : milliseconds);
}
