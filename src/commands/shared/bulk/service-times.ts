// Moments of the service's own clock, compared no finer than they were written.

import { readTime } from '../../../terminal/time.js';
import type { Start } from './records.js';

/** When something was by a moment that the service wrote (ISO 8601), in milliseconds since the epoch: one without decimals may be anywhere in its second. */
function spanOf(moment: unknown): { fromMs: number; toMs: number } | undefined {
  const fromMs = readTime(moment);
  if (fromMs === undefined) return undefined;
  return /[.,]\d{3}/.test(String(moment)) ? { fromMs, toMs: fromMs } : { fromMs, toMs: fromMs + 999 };
}

/** Whether a moment is certainly not later than another; null is never certain. */
export function isCertainlyNotLater(moment: unknown, other: string | null): boolean {
  const [span, otherSpan] = [spanOf(moment), spanOf(other)];
  return span !== undefined && otherSpan !== undefined && span.toMs <= otherSpan.fromMs;
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

/** Whether a moment that the service wrote may be no earlier than another in milliseconds. */
export function isNotBefore(moment: unknown, milliseconds: number): boolean {
  const span = spanOf(moment);
  return span !== undefined && span.toMs >= Math.floor(milliseconds);
}
