// One pace for all workers of a bulk run: how many may ask at once, and from when on, learned from what the service answers.

import { pauseBefore } from '../../../http/retry.js';

export interface Pace {
  /** Waits for leave to send. False when the run was stopped meanwhile. */
  enter(): Promise<boolean>;
  /** Gives the leave back. `isWell`: the service answered, whatever it answered; false: it failed, or did not answer. */
  leave(isWell: boolean): void;
  /**
   * The service asked for a pause (429), or could not be reached: gives the leave back, makes everybody wait for that many
   * milliseconds, halves how many may ask at once, and waits for leave again. False when the run was stopped meanwhile.
   */
  pause(milliseconds: number): Promise<boolean>;
  /** Failures in a row, of whichever worker. */
  failuresInARow(): number;
  /** Lets all who wait go, with false. */
  stop(): void;
}

/**
 * Makes the pace of a run. As TCP does it: each trouble halves how many requests may be under way, each round without one allows
 * one more, up to `most`. Requests that were under way when the trouble came count as the same trouble.
 */
export function openPace(most: number): Pace {
  // The machine's own clock: that of the context may be set back while a run is under way.
  const now = () => performance.now();
  let limit = most;
  let underWay = 0;
  let notBefore = 0;
  let wellSinceChange = 0;
  let failures = 0;
  /** Answers still to come from requests that left before the last halving. */
  let sameTrouble = 0;
  let isStopped = false;
  let waiting: ((mayGo: boolean) => void)[] = [];
  let timer: NodeJS.Timeout | undefined;

  function letIn(): void {
    clearTimeout(timer);
    const restMs = notBefore - now();
    if (waiting.length === 0) return;
    if (restMs > 0) {
      timer = setTimeout(letIn, restMs);
      return;
    }
    while (underWay < limit) {
      const next = waiting.shift();
      if (next === undefined) return;
      underWay += 1;
      next(true);
    }
  }

  function slowDown(pauseMs: number): void {
    notBefore = Math.max(notBefore, now() + pauseMs);
    wellSinceChange = 0;
    if (sameTrouble > 0) return;
    limit = Math.max(1, Math.floor(limit / 2));
    sameTrouble = underWay;
  }

  function giveBack(): void {
    underWay -= 1;
    if (sameTrouble > 0) sameTrouble -= 1;
  }

  const enter = () =>
    new Promise<boolean>((resolve) => {
      if (isStopped) return resolve(false);
      waiting.push(resolve);
      letIn();
    });

  return {
    enter,
    leave(isWell) {
      if (isWell) {
        failures = 0;
        // What left before the trouble says nothing of how it is now.
        if (sameTrouble === 0) wellSinceChange += 1;
        if (wellSinceChange >= limit && limit < most) {
          limit += 1;
          wellSinceChange = 0;
        }
      } else {
        failures += 1;
        // A single failure is no reason to wait; the second in a row is.
        slowDown(failures > 1 ? pauseBefore(failures - 1) : 0);
      }
      giveBack();
      letIn();
    },
    pause(milliseconds) {
      slowDown(milliseconds);
      giveBack();
      return enter();
    },
    failuresInARow: () => failures,
    stop() {
      isStopped = true;
      clearTimeout(timer);
      const left = waiting;
      waiting = [];
      for (const go of left) go(false);
    },
  };
}
