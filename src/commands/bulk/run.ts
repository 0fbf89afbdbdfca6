// Runs many changes: workers that pull from one stream of tasks through one gate, and an orderly stop.

import { setMaxListeners } from 'node:events';
import { type Clock, sleep } from '../../clock.js';
import { FleetError } from '../../errors.js';
import { ReaderLeft } from '../../terminal/io.js';
import type { Outcome } from '../../views/action.js';
import type { Exchanged } from './answer.js';
import { type Pause, StoppedWaiting } from './exchange.js';
import { type Gate, openGate } from './gate.js';
import { startPace } from './pace.js';

/** What became of one task; `isAnnounced`: a request may have left. */
export type Ending<T> = Exchanged & { task: T; isAnnounced: boolean };

export interface BulkOptions<T> {
  tasks: AsyncIterable<T>;
  /** The most requests in flight, and how many before the first answer. */
  concurrency: { most: number; first: number };
  /** Whether the first task that is not done stops the run. */
  isFailFast: boolean;
  /** Waited for before the request of a task leaves. */
  announce(task: T): Promise<void>;
  exchange(task: T, pause: Pause): Promise<Exchanged>;
  /** Takes what became of a task; what it throws stops the run. */
  take(ending: Ending<T>): Promise<void>;
  /** Says what the run does beside sending. */
  say(line: string): void;
  /** Asks to end: what is in flight is let finish. */
  signal: AbortSignal;
  clock: Clock;
}

/** How a run came to its end: by itself, or stopped by what was thrown or asked. */
export interface RunEnd {
  stoppedBy: unknown;
  /** False when a stop left part of the input unread, because it came too slowly to wait for. */
  isReadToItsEnd: boolean;
}

/** The stop of `--fail-fast`. */
export class FailedFast extends Error {
  constructor() {
    super('stopped at the first failure (--fail-fast)');
    this.name = 'FailedFast';
  }
}

/** So many failures in a row are no bad luck: the service is down, and the rest is better left untouched. */
const OUTAGE_FAILURES = 20;

/** The failures in a row that are worth a line. */
const REPORTED_FAILURES = 3;

/** After a stop the rest of the input is named as not sent, as far as it comes within this time: a producer may never end. */
const REST_AFTER_STOP_MS = 10_000;
/** A signal ends the program within two seconds (cli.md section 4, promise 8), and where the reader left nobody hears of it. */
const REST_UNHEARD_MS = 600;
/** The longest that one more of it is waited for. */
const NEXT_OF_REST_MS = 1000;

/** Whether an outcome leaves something to do. */
export function isBad(outcome: Outcome): boolean {
  return outcome !== 'done' && outcome !== 'skipped' && outcome !== 'allowed';
}

/**
 * Runs the tasks and hands on each one's ending as it comes; never rejects. A request is sent at most once unless the service provably
 * did not take it (cli.md section 4, promise 1): that is the client's decision, the run only says when. 401, 403, an outage and the
 * signal stop the run: nothing more is sent, what is in flight is let finish, what is left of the input ends as `not-sent`.
 */
export async function runBulk<T>(options: BulkOptions<T>): Promise<RunEnd> {
  const { concurrency, clock } = options;
  const stop = new AbortController();
  const over = AbortSignal.any([options.signal, stop.signal]);
  const gate = openGate(startPace(concurrency.most, concurrency.first), clock);
  // Every worker listens, and there can be 64: no leak that Node should warn of.
  setMaxListeners(0, over);
  over.addEventListener('abort', gate.stop);
  const input = options.tasks[Symbol.asyncIterator]();
  /** Reads that were in flight when the run was stopped. */
  const unused: Promise<IteratorResult<T>>[] = [];
  const attempt = openAttempt(options, gate, stop);
  const take = (ending: Ending<T>) => options.take(ending).catch((error) => stop.abort(error));

  async function work(): Promise<void> {
    let taking: Promise<void> | undefined;
    while (!over.aborted) {
      const read = input.next();
      const got = await unlessAborted(read, over);
      if (got === undefined) unused.push(read);
      if (got === undefined || got.done === true) break;
      const ending = await attempt(got.value);
      if (options.isFailFast && isBad(ending.outcome)) stop.abort(new FailedFast());
      // The next request need not wait until this ending is on the disk.
      await taking;
      taking = take(ending);
    }
    await taking;
  }

  const working = Array.from({ length: concurrency.most }, () => work().catch((error) => stop.abort(error)));
  await Promise.all(working);
  if (!over.aborted) return { stoppedBy: undefined, isReadToItsEnd: true };
  const isUnheard = isSignal(over.reason) || over.reason instanceof ReaderLeft;
  const endsAtMs = clock.monotonicMs() + (isUnheard ? REST_UNHEARD_MS : REST_AFTER_STOP_MS);
  const next = () => unused.shift() ?? input.next();
  try {
    for (;;) {
      const got = await inTime(next, clock, endsAtMs);
      if (got === undefined) return { stoppedBy: over.reason, isReadToItsEnd: false };
      if (got.done === true) return { stoppedBy: over.reason, isReadToItsEnd: true };
      await take(untouched(got.value));
    }
  } catch {
    return { stoppedBy: over.reason, isReadToItsEnd: false };
  }
}

/** Whether a run was stopped by Ctrl-C, SIGTERM or SIGHUP. */
export function isSignal(reason: unknown): reason is FleetError {
  return reason instanceof FleetError && ['interrupted', 'terminated', 'hangup'].includes(reason.kind);
}

/** A task that a stop left untouched. */
function untouched<T>(task: T): Ending<T> {
  return { task, outcome: 'not-sent', isWell: false, isFatal: false, milliseconds: null, isAnnounced: false };
}

/** Makes the worker's step: leave to send, the announcement, the exchange, and what it means for the run. */
function openAttempt<T>(
  { announce, exchange, say, clock }: BulkOptions<T>,
  gate: Gate,
  stop: AbortController,
): (task: T) => Promise<Ending<T>> {
  /** A pause stops many at once, and is reported once. */
  let silentUntilMs = 0;

  function sayPause(milliseconds: number, failure: FleetError): void {
    const now = clock.monotonicMs();
    if (now < silentUntilMs) return;
    silentUntilMs = now + milliseconds;
    const why = failure.status === 429 ? 'the service asks to slow down' : failure.message;
    say(`${why}; waiting ${(milliseconds / 1000).toFixed(1)} s`);
  }

  return async (task) => {
    if (!(await gate.enter())) return untouched(task);
    let hasLeave = true;
    const pause: Pause = async (milliseconds, failure) => {
      // A conflict is one bicycle's own: nobody else waits for it.
      if (failure.status === 409) return sleep(clock, milliseconds, NEVER);
      sayPause(milliseconds, failure);
      hasLeave = await gate.pause(milliseconds);
      if (!hasLeave) throw new StoppedWaiting(failure);
    };
    let ended: Exchanged | undefined;
    let isAnnounced = false;
    try {
      await announce(task);
      isAnnounced = true;
      ended = await exchange(task, pause);
      const failures = ended.isWell ? 0 : gate.failuresInARow() + 1;
      if (ended.isFatal || failures >= OUTAGE_FAILURES) stop.abort(ended.error);
      else if (failures === REPORTED_FAILURES) say(`${failures} failures in a row; slowing down`);
      return { ...ended, task, isAnnounced };
    } catch (thrown) {
      // The journal could not take it, and nothing was sent; or a bug, and nobody knows.
      stop.abort(thrown);
      return { ...untouched(task), isAnnounced, outcome: isAnnounced ? 'unknown' : 'not-sent' };
    } finally {
      if (hasLeave) gate.leave(ended?.isWell === true);
    }
  };
}

const NEVER = new AbortController().signal;

/** What a promise brings, or undefined when the signal comes first; nothing of it is left behind at the signal. */
function unlessAborted<V>(promise: Promise<V>, signal: AbortSignal): Promise<V | undefined> {
  return new Promise((resolve, reject) => {
    const onAbort = () => resolve(undefined);
    if (signal.aborted) return onAbort();
    signal.addEventListener('abort', onAbort);
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', onAbort));
  });
}

/** What comes next of the rest, or undefined when that takes too long or the time for all of it is over. */
async function inTime<V>(next: () => Promise<V>, clock: Clock, endsAtMs: number): Promise<V | undefined> {
  const leftMs = endsAtMs - clock.monotonicMs();
  if (leftMs <= 0) return undefined;
  const late = new AbortController();
  const cancel = clock.after(Math.min(leftMs, NEXT_OF_REST_MS), () => late.abort());
  return unlessAborted(next(), late.signal).finally(cancel);
}

/** Many tasks that are at hand, as a stream. */
export async function* streamOf<T>(tasks: readonly T[]): AsyncGenerator<T, void, undefined> {
  yield* tasks;
}
