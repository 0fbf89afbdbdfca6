// Controls the requests of a run that are in flight. A gate limits their number. After Ctrl-C,
// fleet waits one second for their answers.

import type { Context } from '../context.js';
import { asFleetError, FleetError } from '../errors.js';
import type { Client } from '../http/client.js';
import { UNKNOWN_OUTCOME } from '../http/failure.js';
import { pauseBefore } from '../http/retry.js';
import type { Clock } from '../system/clock.js';
import { count as countOf } from '../terminal/count.js';

/**
 * After this many consecutive failures, all workers pause. Each further failure makes the pause
 * longer. If the failures continue, run.ts stops the run.
 */
const FAILURES_BEFORE_A_PAUSE = 3;

export interface GateOptions {
  /** The maximum number of requests in flight. */
  most: number;
  clock: Clock;
  /** Aborted when the run stops. After that, the gate does not admit any requests. */
  over: AbortSignal;
  /** Prints a line on stderr. */
  say(line: string): void;
}

/**
 * Creates the gate that limits a run's requests in flight. A pause halves the limit. When the limit
 * is n, the next n successful answers raise the limit by one.
 */
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

  /**
   * Makes all workers wait, and halves the limit. Failures that arrive during a pause do not halve
   * it again, because they belong to earlier requests.
   */
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
    // A worker that passed the gate at the same moment may have stopped the run.
    return (await isLet) && !over.aborted;
  }

  return {
    enter,
    /**
     * Records that a request has ended. `isWell` is true when the service answered and did not
     * fail. Returns the number of consecutive failures across all workers.
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
    /**
     * Ends a request and makes all workers wait for `milliseconds`. Resolves when the request may
     * be sent again, or with false when the run was stopped.
     */
    pause(milliseconds: number, why: string): Promise<boolean> {
      inFlight -= 1;
      hold(milliseconds, why);
      return enter();
    },
    inFlight: () => inFlight,
  };
}

/**
 * How long changes in flight may take after the first signal. The program must end within two
 * seconds (cli.md section 4, promise 8).
 */
const GRACE_MS = 1000;

const UNANSWERED = `no answer came before the program ended; ${UNKNOWN_OUTCOME}`;

/** Returns the message for a signal that arrives while changes are in flight. */
export function waitingFor(count: number): string {
  return `waiting ${GRACE_MS / 1000} s for ${countOf(count, 'request')} in flight; Ctrl-C again does not wait`;
}

/** Whether a run was stopped by Ctrl-C, SIGTERM or SIGHUP. */
export function isSignal(reason: unknown): reason is FleetError {
  return (
    reason instanceof FleetError && ['interrupted', 'terminated', 'hangup'].includes(reason.kind)
  );
}

/**
 * Waits one second for the requests in flight after the first signal. Abandons them after that
 * time, or at the second signal.
 */
export function openPatience({ clock, signal, urgentSignal }: Context, onSignal: () => void) {
  const given = new AbortController();
  let cancel = () => {};
  const giveUp = () => {
    const { kind } = asFleetError(signal.reason);
    given.abort(new FleetError(kind, UNANSWERED));
  };
  const begin = () => {
    onSignal();
    cancel = clock.after(GRACE_MS, giveUp);
  };
  signal.addEventListener('abort', begin);
  urgentSignal.addEventListener('abort', giveUp);
  return {
    /**
     * Aborted when fleet stops waiting for answers. The reason says that the outcome is unknown.
     */
    givenUp: given.signal,
    close() {
      cancel();
      signal.removeEventListener('abort', begin);
      urgentSignal.removeEventListener('abort', giveUp);
    },
  };
}

/**
 * Sends one change. After Ctrl-C, waits one more second for the answer. If no answer arrives in
 * this time, the outcome is unknown. Throws the client's errors, or the signal's reason when the
 * signal came before the request.
 */
export async function sendChange<Answer>(
  context: Context,
  send: (client: Client) => Promise<Answer>,
): Promise<Answer> {
  context.signal.throwIfAborted();
  const { givenUp, close } = openPatience(context, () => void context.notice(waitingFor(1)));
  try {
    return await send(await context.client({ signal: givenUp }));
  } catch (thrown) {
    // When a signal ends the program, its error is not printed. A notice therefore reports that the
    // outcome is unknown.
    if (isSignal(thrown)) await context.notice(thrown.message);
    throw thrown;
  } finally {
    close();
  }
}
