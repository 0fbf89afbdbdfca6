// The pace of a bulk run: all workers pass one gate before they send, so many at once, fewer after trouble, none while the service asks to wait.

import { pauseBefore } from '../../../http/retry.js';
import type { Clock } from '../../../system/clock.js';

export type Gate = ReturnType<typeof openGate>;

/** So many failures in a row make everybody wait, longer each time. */
const FAILURES_BEFORE_A_PAUSE = 3;
/** So many in a row are no bad luck: the service is down, and the rest is better left untouched. */
const OUTAGE_FAILURES = 20;

/**
 * Opens the gate of a run, for `most` requests in flight, and `first` before any answer has come. A pause halves that, and each round of
 * good answers allows one more. Once `over` is aborted nobody gets leave.
 */
export function openGate({ most, first }: { most: number; first: number }, clock: Clock, over: AbortSignal) {
  let limit = first;
  let inFlight = 0;
  let failuresInARow = 0;
  let notBeforeMs = 0;
  const waiting: ((mayGo: boolean) => void)[] = [];
  let cancelTimer = () => {};

  function admit(): void {
    cancelTimer();
    const heldMs = notBeforeMs - clock.monotonicMs();
    if (over.aborted) for (const go of waiting.splice(0)) go(false);
    else if (waiting.length > 0 && heldMs > 0) cancelTimer = clock.after(heldMs, admit);
    else
      for (const go of waiting.splice(0, Math.max(0, Math.floor(limit) - inFlight))) {
        inFlight += 1;
        go(true);
      }
  }
  over.addEventListener('abort', admit);

  function hold(milliseconds: number): void {
    const nowMs = clock.monotonicMs();
    // What comes back while all are held left before the trouble.
    if (notBeforeMs <= nowMs) limit = Math.max(1, limit / 2);
    notBeforeMs = Math.max(notBeforeMs, nowMs + milliseconds);
  }

  /** Waits for leave to send. False when the run was stopped meanwhile. */
  async function enter(): Promise<boolean> {
    const isLet = new Promise<boolean>((resolve) => waiting.push(resolve));
    admit();
    // Who was let in may have stopped the run.
    return (await isLet) && !over.aborted;
  }

  return {
    enter,
    /**
     * Gives the leave back. `isWell`: the service answered, whatever it answered; false: it failed, or did not answer. Returns what the
     * failures in a row, of whichever worker, mean: that from now on all go slower, or that nothing more should be sent.
     */
    leave(isWell: boolean): 'slower' | 'outage' | undefined {
      inFlight -= 1;
      failuresInARow = isWell ? 0 : failuresInARow + 1;
      const beyond = failuresInARow - FAILURES_BEFORE_A_PAUSE;
      if (isWell) limit = Math.min(most, limit + 1 / limit);
      else if (beyond >= 0) hold(pauseBefore(beyond + 1, clock.random));
      admit();
      if (failuresInARow >= OUTAGE_FAILURES) return 'outage';
      return beyond === 0 ? 'slower' : undefined;
    },
    /** Gives the leave back, makes everybody wait for that many milliseconds, and waits for leave again. */
    pause(milliseconds: number): Promise<boolean> {
      inFlight -= 1;
      hold(milliseconds);
      return enter();
    },
    inFlight: () => inFlight,
  };
}
