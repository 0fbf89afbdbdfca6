// The gate that all workers of a bulk run pass before they send: as many as the pace allows, when it allows, with one timer.

import type { Clock } from '../../clock.js';
import { type Pace, slowDown, takeAnswer } from './pace.js';

export type Gate = ReturnType<typeof openGate>;

/** Opens the gate of a run. Once `over` is aborted nobody gets leave. */
export function openGate(first: Pace, clock: Clock, over: AbortSignal) {
  let pace = first;
  let inFlight = 0;
  const waiting: ((mayGo: boolean) => void)[] = [];
  let cancelTimer = () => {};

  function admit(): void {
    cancelTimer();
    const heldMs = pace.notBeforeMs - clock.monotonicMs();
    if (over.aborted) for (const go of waiting.splice(0)) go(false);
    else if (waiting.length > 0 && heldMs > 0) cancelTimer = clock.after(heldMs, admit);
    else
      for (const go of waiting.splice(0, Math.max(0, pace.limit - inFlight))) {
        inFlight += 1;
        go(true);
      }
  }
  over.addEventListener('abort', admit);

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
     * Gives the leave back. `isWell`: the service answered, whatever it answered; false: it failed, or did not answer. Returns the failures
     * in a row, of whichever worker.
     */
    leave(isWell: boolean): number {
      inFlight -= 1;
      const { monotonicMs, random } = clock;
      pace = takeAnswer(pace, isWell, { othersInFlight: inFlight, nowMs: monotonicMs(), random });
      admit();
      return pace.failuresInARow;
    },
    /** Gives the leave back, makes everybody wait for that many milliseconds, and waits for leave again. */
    pause(milliseconds: number): Promise<boolean> {
      inFlight -= 1;
      pace = slowDown(pace, clock.monotonicMs() + milliseconds, inFlight);
      return enter();
    },
    inFlight: () => inFlight,
  };
}
