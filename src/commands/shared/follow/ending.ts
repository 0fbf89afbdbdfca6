// Ends what is followed: a signal, `--for`, a failure; stops everything in flight.

import type { Context } from '../../../context.js';
import { asFleetError, FleetError } from '../../../errors.js';
import { ReaderStopped } from '../../../terminal/delivery.js';
import type { WatchEnd } from '../../../views/connection.js';
import type { Condition } from '../list/where.js';

/** Why requests and jq are stopped at the end. */
export const OVER = new FleetError('interrupted', 'the watch is over');

/** Ctrl-C, a signal, the end of `--for`, a failure. */
export interface Stop {
  readonly type: 'stop';
  readonly end: WatchEnd;
  readonly error?: FleetError;
}

/** The flags that say when it ends; `for` is in milliseconds. */
export interface EndOptions {
  readonly until?: readonly Condition[] | undefined;
  readonly for?: number | undefined;
  readonly maxEvents?: number | undefined;
}

export type Ending = ReturnType<typeof openEnding>;

/** Listens for what ends it, and pushes that as an event. */
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
    /** Aborted with OVER when all is over: requests and jq end with it. */
    over,
    /** Aborted when it ends from outside, by a signal, `--for` or a failure; not by what was waited for. */
    cut: cut.signal,
    stop,
    /** A failure of what runs beside ends it, unless it is over. */
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

/** It ended before its output was taken, or before jq was done: the rest is counted. Everything else is thrown. */
export function whatStopped(thrown: unknown): Error {
  if (thrown === OVER)
    return new FleetError('output', 'the program of --jq was not done at the end');
  if (thrown instanceof ReaderStopped) return thrown;
  throw thrown;
}

function endOf(reason: unknown): WatchEnd {
  const { kind } = asFleetError(reason);
  return kind === 'terminated' || kind === 'hangup' ? kind : 'interrupted';
}

/** The end of `--for`: alone it is what was asked for, with `--until` it is a failure. */
function timeIsUp(forMs: number, until: readonly Condition[] | undefined): FleetError | undefined {
  if (until === undefined) return undefined;
  const wanted = until.map(({ text }) => text).join(' and ');
  return new FleetError('timeout', `${wanted} was not met within ${forMs / 1000} s`);
}
