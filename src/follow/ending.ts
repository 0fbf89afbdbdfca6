// Ends a follow command on a signal, at the end of `--for`, or after a failure. Cancels all
// requests in flight.

import type { Context } from '../context.js';
import { asFleetError, FleetError } from '../errors.js';
import type { Condition } from '../list/where.js';
import { ReaderStopped } from '../terminal/delivery.js';
import type { WatchEnd } from '../views/connection.js';
import type { EndOptions } from './flags.js';

/** The reason of the abort signal that cancels requests and jq when a watch ends. */
export const OVER = new FleetError('interrupted', 'the watch is over');

/** The event that ends a command: Ctrl-C, another signal, the end of `--for`, or a failure. */
export interface Stop {
  readonly type: 'stop';
  readonly end: WatchEnd;
  readonly error?: FleetError;
}

export type Ending = ReturnType<typeof openEnding>;

/** Waits for a reason to end the command, and emits it as an event. */
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
    /** Aborted with OVER when the command ends. This cancels requests and jq. */
    over,
    /**
     * This signal is aborted by a process signal, at the end of `--for`, or by a failure. It is not
     * aborted when the condition of `--until` is met.
     */
    cut: cut.signal,
    stop,
    /**
     * Ends the command because background work failed. Does nothing when the command has already
     * ended.
     */
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
 * Returns why output was not delivered: the reader stopped, or the command ended before jq
 * finished. Throws other errors.
 */
export function whatStopped(thrown: unknown): Error {
  if (thrown === OVER)
    return new FleetError('output', 'the --jq program did not finish before the command ended');
  if (thrown instanceof ReaderStopped) return thrown;
  throw thrown;
}

function endOf(reason: unknown): WatchEnd {
  const { kind } = asFleetError(reason);
  return kind === 'terminated' || kind === 'hangup' ? kind : 'interrupted';
}

/**
 * Returns the error that is reported when the time of `--for` is over. Without `--until`, this is
 * the expected end, so the result is undefined.
 */
function timeIsUp(forMs: number, until: readonly Condition[] | undefined): FleetError | undefined {
  if (until === undefined) return undefined;
  const wanted = until.map(({ text }) => text).join(' and ');
  return new FleetError('timeout', `${wanted} was not reached within ${forMs / 1000} s`);
}
