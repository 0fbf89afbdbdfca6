// The pace of a bulk run: all workers pass one gate before they send, so many at once, fewer after trouble, none while the service asks to wait.

import { pauseBefore } from '../http/retry.js';
import type { Clock } from '../system/clock.js';

/** So many failures in a row make everybody wait, longer each time; more of them stop the run (run.ts). */
const FAILURES_BEFORE_A_PAUSE = 3;

export interface GateOptions {
  /** The most requests in flight. */
  most: number;
  clock: Clock;
  /** Once it is aborted nobody gets leave. */
  over: AbortSignal;
  /** A line for the operator. */
  say(line: string): void;
}

/** Opens the gate of a run. A pause halves how many may be in flight, and each round of good answers allows one more. */
export function openGate({ most, clock, over, say }: GateOptions) {
  let limit = most;
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
    else for (; waiting.length > 0 && inFlight + 1 <= limit; inFlight += 1) waiting.shift()?.(true);
  }
  over.addEventListener('abort', admit);

  /** Makes everybody wait. What comes back while all are held left before the trouble. */
  function hold(milliseconds: number, why: string): void {
    const nowMs = clock.monotonicMs();
    if (notBeforeMs <= nowMs) {
      limit = Math.max(1, limit / 2);
      if (!over.aborted) say(`${why}; waiting ${(milliseconds / 1000).toFixed(1)} s`);
    }
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
     * Gives the leave back. `isWell`: the service answered, whatever it answered; false: it failed, or did not answer. Returns how many
     * failed in a row, of whichever worker.
     */
    leave(isWell: boolean): number {
      inFlight -= 1;
      failuresInARow = isWell ? 0 : failuresInARow + 1;
      const pauses = failuresInARow - FAILURES_BEFORE_A_PAUSE + 1;
      if (isWell) limit = Math.min(most, limit + 1 / limit);
      else if (pauses > 0)
        hold(pauseBefore(pauses, clock.random), `${failuresInARow} failures in a row`);
      admit();
      return failuresInARow;
    },
    /** Gives the leave back, makes everybody wait for that many milliseconds, and waits for leave again. */
    pause(milliseconds: number, why: string): Promise<boolean> {
      inFlight -= 1;
      hold(milliseconds, why);
      return enter();
    },
    inFlight: () => inFlight,
  };
}
