// Ends a follow command: on a signal, at the end of `--for`, or on a failure. Stops all requests in
// flight.

import type { Context } from '../context.js';
import { asFleetError, FleetError } from '../errors.js';
import type { Condition } from '../list/where.js';
import { ReaderStopped } from '../terminal/delivery.js';
import type { WatchEnd } from '../views/connection.js';
import type { EndOptions } from './flags.js';

/** The reason with which requests and jq are aborted at the end. */
export const OVER = new FleetError('interrupted', 'the watch is over');

/** A stop by Ctrl-C, another signal, the end of `--for`, or a failure. */
export interface Stop {
  readonly type: 'stop';
  readonly end: WatchEnd;
  readonly error?: FleetError;
}

export type Ending = ReturnType<typeof openEnding>;

/** Watches for reasons to end and emits them as events. */
export function openEnding(
  context: Context,
  push: (event: Stop) => void,
  { for: forMs, until }: EndOptions,
) {
  const { clock, signal, io } = context;
  const over = new AbortController();
  const cut = new AbortController();
  const stop = (end: WatchEnd, error?: FleetError) => {
    io.beginEnd();
    push({ type: 'stop', end, ...(error === undefined ? {} : { error }) });
    cut.abort(OVER);
    over.abort(OVER);
  };
  const onSignal = () => stop(endOf(signal.reason), asFleetError(signal.reason));
  if (signal.aborted) throw signal.reason;
  signal.addEventListener('abort', onSignal, { once: true });
  const cancelEnd =
    forMs === undefined ? () => {} : clock.after(forMs, () => stop('for', timeIsUp(forMs, until)));
  return {
    /** Aborted with OVER at the end. Requests and jq end with it. */
    over,
    /**
     * Aborted by a signal, the end of `--for` or a failure, but not when the condition of `--until`
     * is met.
     */
    cut: cut.signal,
    stop,
    /** Ends the command because background work failed, unless it has already ended. */
    fail(thrown: unknown) {
      if (!over.signal.aborted) stop('failed', asFleetError(thrown));
    },
    close() {
      cancelEnd();
      signal.removeEventListener('abort', onSignal);
      over.abort(OVER);
    },
  };
}

/**
 * Converts an error into the reason for undelivered output: the command ended before it wrote its
 * output or before jq finished. Throws other errors.
 */
export function whatStopped(thrown: unknown): Error {
  if (thrown === OVER)
    return new FleetError('output', 'the --jq program did not finish before the end');
  if (thrown instanceof ReaderStopped) return thrown;
  throw thrown;
}

function endOf(reason: unknown): WatchEnd {
  const { kind } = asFleetError(reason);
  return kind === 'terminated' || kind === 'hangup' ? kind : 'interrupted';
}

/**
 * Returns the error at the end of `--for`. The end of `--for` is an error only together with
 * `--until`.
 */
function timeIsUp(forMs: number, until: readonly Condition[] | undefined): FleetError | undefined {
  if (until === undefined) return undefined;
  const wanted = until.map(({ text }) => text).join(' and ');
  return new FleetError('timeout', `${wanted} was not reached within ${forMs / 1000} s`);
}
