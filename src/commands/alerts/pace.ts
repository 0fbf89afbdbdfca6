// How fast the list of alerts is asked: slower when nothing happens, and when the service asks for it. Pure.

import { doublingPauseMs } from '../../clock.js';
import { LONGEST_ASKED_PAUSE_MS } from '../../http/retry.js';

/** All in milliseconds. */
export interface Pace {
  /** What was asked for. */
  readonly wantedMs: number;
  /** Whether it grows when nothing happens. */
  readonly slowsDown: boolean;
  /** The pause before the next reading. */
  readonly everyMs: number;
  /** Not faster than this: what a service that said 429 can bear. */
  readonly leastMs: number;
  /** Readings without news in a row, and failures in a row. */
  readonly quiet: number;
  readonly failures: number;
}

/** So many readings without news are nothing; then each further one makes the pause longer, up to a multiple of what was asked for. */
const QUIET_READINGS = 8;
const GROWTH = 1.5;
const MOST_TIMES = 4;
/** After 429 the pause is twice as long, and shrinks again with each reading that succeeds. */
const THROTTLED_GROWTH = 2;
const RECOVERY = 0.8;
const THROTTLED_LIMIT_MS = 10 * 60_000;
/** The first pause after a failure; each further one is twice as long. */
const FIRST_RETRY_MS = 1_000;
const LONGEST_RETRY_MS = 60_000;

export function startPace(wantedMs: number, slowsDown: boolean): Pace {
  return { wantedMs, slowsDown, everyMs: wantedMs, leastMs: wantedMs, quiet: 0, failures: 0 };
}

/** After a reading of the whole list. */
export function afterReading(pace: Pace, hasNews: boolean): Pace {
  const { wantedMs, slowsDown } = pace;
  const leastMs = Math.max(wantedMs, pace.leastMs * RECOVERY);
  const quiet = hasNews ? 0 : pace.quiet + 1;
  const grownMs =
    slowsDown && quiet > QUIET_READINGS ? Math.min(wantedMs * MOST_TIMES, pace.everyMs * GROWTH) : wantedMs;
  return { ...pace, leastMs, quiet, failures: 0, everyMs: Math.max(leastMs, grownMs) };
}

export interface FailureInput {
  /** What `Retry-After` asks for. */
  readonly askedMs: number | undefined;
  readonly isThrottled: boolean;
}

/** After a page that could not be read: the pause before the next try, and what was asked for where that is too long. */
export function afterFailure(
  pace: Pace,
  { askedMs = 0, isThrottled }: FailureInput,
): { pace: Pace; pauseMs: number; cappedFromMs: number | undefined } {
  const failures = pace.failures + 1;
  const backoffMs = doublingPauseMs(failures, FIRST_RETRY_MS, LONGEST_RETRY_MS);
  const leastMs = isThrottled
    ? Math.min(THROTTLED_LIMIT_MS, Math.max(pace.leastMs, pace.wantedMs) * THROTTLED_GROWTH)
    : pace.leastMs;
  const pauseMs = Math.max(backoffMs, Math.min(askedMs, LONGEST_ASKED_PAUSE_MS), isThrottled ? leastMs : 0);
  const cappedFromMs = askedMs > LONGEST_ASKED_PAUSE_MS ? askedMs : undefined;
  return { pace: { ...pace, failures, leastMs }, pauseMs, cappedFromMs };
}
