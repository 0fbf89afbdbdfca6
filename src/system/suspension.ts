// Measures for how long this process was suspended, because the user pressed Ctrl-Z or because the
// machine slept.

import { type Clock, every, momentOf } from './clock.js';

/** How often the process records that it is running. */
const TICK_MS = 250;

/**
 * A longer time than this without a record means that the process was suspended. A busy processor
 * causes only shorter pauses.
 */
const LONGEST_GAP_MS = 2000;

export type Suspension = ReturnType<typeof watchSuspension>;

/** Watches for suspensions until the signal is aborted. */
export function watchSuspension(clock: Clock, signal: AbortSignal) {
  let last = momentOf(clock);
  let suspendedMs = 0;

  function look(): void {
    const now = momentOf(clock);
    // While the machine sleeps, the system time continues, but the monotonic clock may stand still.
    // Therefore the time is measured with both clocks, and the longer time is used.
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
