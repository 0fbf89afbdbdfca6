// The gate that all workers of a bulk run pass before they send: the pace's decisions, carried out with promises and one timer.

import type { Clock } from '../../clock.js';
import { type PaceEvent, type PaceState, stepPace } from './pace.js';

export interface Gate {
  /** Waits for leave to send. False when the run was stopped meanwhile. */
  enter(): Promise<boolean>;
  /** Gives the leave back. `isWell`: the service answered, whatever it answered; false: it failed, or did not answer. */
  leave(isWell: boolean): void;
  /** Gives the leave back, makes everybody wait for that many milliseconds, and waits for leave again. */
  pause(milliseconds: number): Promise<boolean>;
  /** Failures in a row, of whichever worker. */
  failuresInARow(): number;
  /** Lets all who wait go, with false. */
  stop(): void;
}

export function openGate(first: PaceState, clock: Clock): Gate {
  let state = first;
  let isStopped = false;
  let waiting: ((mayGo: boolean) => void)[] = [];
  let cancelTimer: (() => void) | undefined;

  function take(event: PaceEvent): void {
    const step = stepPace(state, event, clock.monotonicMs(), clock.random);
    state = step.state;
    for (const go of waiting.splice(0, step.admitted)) go(true);
    cancelTimer?.();
    cancelTimer = undefined;
    if (step.wakeAtMs === undefined || isStopped) return;
    cancelTimer = clock.after(step.wakeAtMs - clock.monotonicMs(), () => take({ kind: 'wake' }));
  }

  const waitAfter = (event: PaceEvent) =>
    new Promise<boolean>((resolve) => {
      if (isStopped) return resolve(false);
      waiting.push(resolve);
      take(event);
    });

  return {
    enter: () => waitAfter({ kind: 'enter' }),
    leave: (isWell) => take({ kind: 'leave', isWell }),
    pause: (milliseconds) => waitAfter({ kind: 'pause', milliseconds }),
    failuresInARow: () => state.failuresInARow,
    stop() {
      isStopped = true;
      cancelTimer?.();
      const left = waiting;
      waiting = [];
      for (const go of left) go(false);
    },
  };
}
