// How fast the list of alerts is asked: as the operator says, slower when the service asks for it. Pure.

import { doublingPauseMs } from '../../clock.js';
import { LONGEST_ASKED_PAUSE_MS } from '../../http/retry.js';

/** All in milliseconds. */
export interface Pace {
  /** What was asked for. */
  readonly wantedMs: number;
  /** The pause before the next reading: what was asked for, or what a service that said 429 can bear. */
  readonly everyMs: number;
  /** Failures in a row. */
  readonly failures: number;
}

/** After 429 the pause is twice as long, and shrinks again with each reading that succeeds. */
const THROTTLED_GROWTH = 2;
const RECOVERY = 0.8;
const THROTTLED_LIMIT_MS = 10 * 60_000;
/** The first pause after a failure; each further one is twice as long. */
const FIRST_RETRY_MS = 1_000;
const LONGEST_RETRY_MS = 60_000;

export function startPace(wantedMs: number): Pace {
  return { wantedMs, everyMs: wantedMs, failures: 0 };
}

/** After a reading of the whole list. */
export function afterReading({ wantedMs, everyMs }: Pace): Pace {
  return { wantedMs, everyMs: Math.max(wantedMs, everyMs * RECOVERY), failures: 0 };
}

/**
 * After a page that could not be read: the pause before the next try, and what was asked for by `Retry-After` where that is too long.
 * `isThrottled`: the service said 429.
 */
export function afterFailure(pace: Pace, askedMs = 0, isThrottled = false) {
  const failures = pace.failures + 1;
  const backoffMs = doublingPauseMs(failures, FIRST_RETRY_MS, LONGEST_RETRY_MS);
  const everyMs = isThrottled ? Math.min(THROTTLED_LIMIT_MS, pace.everyMs * THROTTLED_GROWTH) : pace.everyMs;
  const pauseMs = Math.max(backoffMs, Math.min(askedMs, LONGEST_ASKED_PAUSE_MS), isThrottled ? everyMs : 0);
  const cappedFromMs = askedMs > LONGEST_ASKED_PAUSE_MS ? askedMs : undefined;
  return { pace: { ...pace, failures, everyMs }, pauseMs, cappedFromMs };
}
