// Measures how long this process did not run because it was stopped by Ctrl-Z or the machine slept.

import { type Clock, every, momentOf } from './clock.js';

/** How often the process records that it is running. */
const TICK_MS = 250;

/**
 * If the process records nothing for longer than this, it was suspended. A busy processor causes
 * only shorter pauses.
 */
const LONGEST_GAP_MS = 2000;

export type Suspension = ReturnType<typeof watchSuspension>;

/** Watches for suspensions until the signal is aborted. */
export function watchSuspension(clock: Clock, signal: AbortSignal) {
  let last = momentOf(clock);
  let suspendedMs = 0;

  function look(): void {
    const now = momentOf(clock);
    // While the machine sleeps, the monotonic clock may stand still, but the system time continues.
    // The longer of the two differences is used.
    const gapMs = Math.max(now.monotonicMs - last.monotonicMs, Math.abs(now.wallMs - last.wallMs));
    if (gapMs > LONGEST_GAP_MS) suspendedMs += gapMs;
    last = now;
  }

  every(clock, TICK_MS, signal, look);
  return {
    /** Returns the milliseconds of all suspensions so far, including one that has just ended. */
    totalMs(): number {
      look();
      return suspendedMs;
    },
  };
}
