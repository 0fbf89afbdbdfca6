// The pace of a bulk run. All workers pass one gate before they send. It limits the requests in
// flight, lowers the limit after failures, and closes while the service asks to wait.

import { pauseBefore } from '../http/retry.js';
import type { Clock } from '../system/clock.js';

/** After this many consecutive failures all workers wait, longer each time. run.ts stops the run after more. */
const FAILURES_BEFORE_A_PAUSE = 3;

export interface GateOptions {
  /** The maximum number of requests in flight. */
  most: number;
  clock: Clock;
  /** When it is aborted, the gate lets no more requests through. */
  over: AbortSignal;
  /** Prints a line for the operator. */
  say(line: string): void;
}

/** Opens the gate of a run. A pause halves the limit, and each round of successful answers raises it by one. */
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

  /** Makes all workers wait. Answers that arrive during the pause belong to earlier requests. */
  function hold(milliseconds: number, why: string): void {
    const nowMs = clock.monotonicMs();
    if (notBeforeMs <= nowMs) {
      limit = Math.max(1, limit / 2);
      if (!over.aborted) say(`${why}; waiting ${(milliseconds / 1000).toFixed(1)} s`);
    }
    notBeforeMs = Math.max(notBeforeMs, nowMs + milliseconds);
  }

  /** Waits until a request may be sent. Resolves with false when the run was stopped. */
  async function enter(): Promise<boolean> {
    const isLet = new Promise<boolean>((resolve) => waiting.push(resolve));
    admit();
    // A worker that was just admitted may have stopped the run.
    return (await isLet) && !over.aborted;
  }

  return {
    enter,
    /**
     * Ends a request. `isWell` is false when the service failed or did not answer. Returns the number
     * of consecutive failures of all workers.
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
    /** Ends a request, makes all workers wait for this time, and waits until the request may be sent again. */
    pause(milliseconds: number, why: string): Promise<boolean> {
      inFlight -= 1;
      hold(milliseconds, why);
      return enter();
    },
    inFlight: () => inFlight,
  };
}
