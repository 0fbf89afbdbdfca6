// The gate that all workers of a bulk run pass before they send: the pace's decisions, carried out with promises and one timer.

import type { Clock } from '../../clock.js';
import { type PaceEvent, type PaceState, stepPace } from './pace.js';

export interface Gate {
  /** Waits for leave to send. False when the run was stopped meanwhile. */
  enter(): Promise<boolean>;
  /**
   * Gives the leave back. `isWell`: the service answered, whatever it answered; false: it failed, or did not answer. Returns the failures
   * in a row, of whichever worker.
   */
  leave(isWell: boolean): number;
  /** Gives the leave back, makes everybody wait for that many milliseconds, and waits for leave again. */
  pause(milliseconds: number): Promise<boolean>;
  inFlight(): number;
}

/** Opens the gate of a run. Once `over` is aborted nobody gets leave. */
export function openGate(first: PaceState, clock: Clock, over: AbortSignal): Gate {
  let state = first;
  let waiting: ((mayGo: boolean) => void)[] = [];
  let cancelTimer = () => {};

  function take(event: PaceEvent): void {
    const step = stepPace(state, event, clock.monotonicMs(), clock.random);
    state = step.state;
    for (const go of waiting.splice(0, step.admitted)) go(true);
    cancelTimer();
    if (step.wakeAtMs === undefined || over.aborted) return;
    cancelTimer = clock.after(step.wakeAtMs - clock.monotonicMs(), () => take({ kind: 'wake' }));
  }

  over.addEventListener('abort', () => {
    cancelTimer();
    for (const go of waiting) go(false);
    waiting = [];
  });

  const waitAfter = async (event: PaceEvent) => {
    if (over.aborted) return false;
    const isLet = await new Promise<boolean>((resolve) => {
      waiting.push(resolve);
      take(event);
    });
    // Who was let in may have stopped the run.
    return isLet && !over.aborted;
  };

  return {
    enter: () => waitAfter({ kind: 'enter' }),
    leave(isWell) {
      take({ kind: 'leave', isWell });
      return state.failuresInARow;
    },
    pause: (milliseconds) => waitAfter({ kind: 'pause', milliseconds }),
    inFlight: () => state.inFlight,
  };
}
