// Runs many changes: workers that pull from one stream of tasks through one gate, and an orderly stop.

import { type Clock, sleep } from '../../clock.js';
import { FleetError } from '../../errors.js';
import type { HttpAnswer } from '../../http/types.js';
import { ReaderLeft } from '../../terminal/io.js';
import type { Outcome } from '../../views/action.js';
import { type Exchanged, type Pause, StoppedWaiting } from './exchange.js';
import { type Gate, openGate } from './gate.js';
import { startPace } from './pace.js';

/** What became of one task. */
export interface Ending<T> {
  task: T;
  outcome: Outcome;
  /** The whole answer of a success. */
  answer?: HttpAnswer;
  /** Why it is not done, when a request was tried. */
  error?: FleetError;
  /** Milliseconds from the sending to the answer. */
  milliseconds: number | null;
  /** Whether it was announced. */
  isAnnounced: boolean;
}

export interface BulkOptions<T> {
  tasks: AsyncIterable<T>;
  /** The most requests in flight, and how many before the first answer. */
  concurrency: { most: number; first: number };
  /** Whether the first task that is not done stops the run. */
  isFailFast: boolean;
  /** Waited for before the request of a task leaves. */
  announce(task: T): Promise<void>;
  exchange(task: T, pause: Pause): Promise<Exchanged>;
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
    super('stopped at the first that was not done (--fail-fast)');
    this.name = 'FailedFast';
  }
}

/** So many failures in a row are no bad luck: the service is down, and the rest is better left untouched. */
export const OUTAGE_FAILURES = 20;

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
 * Runs the tasks and gives each one's ending as it comes. A request is sent at most once unless the service provably did not take it
 * (cli.md section 4, promise 1): that is the client's decision, the run only says when. 401, 403, an outage and the signal stop the
 * run: nothing more is sent, what is in flight is let finish, what is left of the input ends as `not-sent`.
 */
export async function* runBulk<T>(options: BulkOptions<T>): AsyncGenerator<Ending<T>, RunEnd, undefined> {
  const { concurrency, signal, clock } = options;
  const gate = openGate(startPace(concurrency.most, concurrency.first), clock);
  const stop = openStop(() => gate.stop());
  const endings = openChannel<Ending<T>>();
  const input = options.tasks[Symbol.asyncIterator]();
  /** Reads that were in flight when the run was stopped. */
  const unused: Promise<IteratorResult<T>>[] = [];
  const attempt = openAttempt(options, gate, stop);

  const onSignal = () => stop.now(signal.reason);
  if (signal.aborted) onSignal();
  signal.addEventListener('abort', onSignal);
  try {
    void Promise.all(Array.from({ length: concurrency.most }, work)).finally(endings.close);
    yield* endings.items();
    const limitMs =
      isSignal(stop.reason()) || stop.reason() instanceof ReaderLeft ? REST_UNHEARD_MS : REST_AFTER_STOP_MS;
    const isReadToItsEnd = !stop.isStopped() || (yield* nameRest(input, unused, stop, openTimeLimit(clock, limitMs)));
    return { stoppedBy: stop.reason(), isReadToItsEnd };
  } finally {
    signal.removeEventListener('abort', onSignal);
  }

  async function work(): Promise<void> {
    while (!stop.isStopped()) {
      const read = input.next();
      let got: IteratorResult<T> | undefined;
      try {
        got = await stop.orBefore(read);
      } catch (error) {
        return stop.now(error);
      }
      if (got === undefined) unused.push(read);
      if (got === undefined || got.done === true) return;
      const ending = await attempt(got.value);
      if (options.isFailFast && isBad(ending.outcome)) stop.now(new FailedFast());
      await endings.put(ending);
    }
  }
}

/** Whether a run was stopped by Ctrl-C, SIGTERM or SIGHUP. */
export function isSignal(reason: unknown): reason is FleetError {
  return reason instanceof FleetError && ['interrupted', 'terminated', 'hangup'].includes(reason.kind);
}

/** A task that a stop left untouched. */
function untouched<T>(task: T): Ending<T> {
  return { task, outcome: 'not-sent', milliseconds: null, isAnnounced: false };
}

/** Makes the worker's step: leave to send, the announcement, the exchange, and what it means for the run. */
function openAttempt<T>(
  { announce, exchange, say, clock }: BulkOptions<T>,
  gate: Gate,
  stop: Stop,
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
      if (failure.status !== 409) sayPause(milliseconds, failure);
      hasLeave = await (failure.status === 409 ? waitAlone(milliseconds) : gate.pause(milliseconds));
      if (!hasLeave) throw new StoppedWaiting(failure);
    };
    let isWell = false;
    let isAnnounced = false;
    try {
      await announce(task);
      isAnnounced = true;
      const { isWell: wasWell, isFatal, ...ended } = await exchange(task, pause);
      isWell = wasWell;
      const failures = isWell ? 0 : gate.failuresInARow() + 1;
      if (isFatal || failures >= OUTAGE_FAILURES) stop.now(ended.error);
      else if (failures === REPORTED_FAILURES) say(`${failures} failures in a row; slowing down`);
      return { ...ended, task, isAnnounced };
    } catch (thrown) {
      // The journal could not take it, and nothing was sent; or a bug, and nobody knows.
      stop.now(thrown);
      return isAnnounced ? { task, outcome: 'unknown', milliseconds: null, isAnnounced } : untouched(task);
    } finally {
      if (hasLeave) gate.leave(isWell);
    }
  };

  /** A conflict is one bicycle's own: nobody else waits for it. */
  async function waitAlone(milliseconds: number): Promise<true> {
    await sleep(clock, milliseconds, NEVER);
    return true;
  }
}

const NEVER = new AbortController().signal;

/** Reads what is left of the input and names it as not sent; false when it comes too slowly. */
async function* nameRest<T>(
  input: AsyncIterator<T>,
  unused: Promise<IteratorResult<T>>[],
  stop: Stop,
  inTime: <V>(promise: Promise<V>) => Promise<V | undefined>,
): AsyncGenerator<Ending<T>, boolean, undefined> {
  try {
    for (;;) {
      const got = await inTime(unused.shift() ?? input.next());
      if (got === undefined) return false;
      if (got.done === true) return true;
      yield untouched(got.value);
    }
  } catch (error) {
    stop.now(error);
    return false;
  }
}

interface Stop {
  isStopped(): boolean;
  reason(): unknown;
  /** The first reason counts. */
  now(by: unknown): void;
  /** What the promise brings, or undefined when the stop comes first. */
  orBefore<V>(promise: Promise<V>): Promise<V | undefined>;
}

/** A stop that many can wait for without a trace being left of those who no longer do. */
function openStop(onStop: () => void): Stop {
  let stopped: { by: unknown } | undefined;
  const waiting = new Set<() => void>();
  return {
    isStopped: () => stopped !== undefined,
    reason: () => stopped?.by,
    now(by) {
      if (stopped !== undefined) return;
      stopped = { by };
      onStop();
      for (const wake of waiting) wake();
      waiting.clear();
    },
    orBefore: (promise) =>
      new Promise((resolve, reject) => {
        const wake = () => resolve(undefined);
        waiting.add(wake);
        promise.then(
          (value) => {
            // A value that comes after the stop is found by whoever reads the rest.
            if (waiting.delete(wake)) resolve(value);
          },
          (error) => {
            waiting.delete(wake);
            reject(error);
          },
        );
      }),
  };
}

/** A channel from many to one; `put` resolves when the value was taken. */
function openChannel<V>() {
  const values: { value: V; taken: () => void }[] = [];
  let isClosed = false;
  let wake = () => {};
  return {
    put: (value: V) =>
      new Promise<void>((taken) => {
        values.push({ value, taken });
        wake();
      }),
    close: () => {
      isClosed = true;
      wake();
    },
    async *items(): AsyncGenerator<V, void, undefined> {
      for (;;) {
        const next = values.shift();
        if (next !== undefined) {
          next.taken();
          yield next.value;
        } else if (isClosed) return;
        else await new Promise<void>((resolve) => (wake = resolve));
      }
    },
  };
}

/** Gives what a promise brings, or undefined when it takes too long or the time for all of them is over. */
function openTimeLimit(clock: Clock, allMs: number): <V>(promise: Promise<V>) => Promise<V | undefined> {
  const endsAtMs = clock.monotonicMs() + allMs;
  return (promise) =>
    new Promise((resolve, reject) => {
      const leftMs = endsAtMs - clock.monotonicMs();
      if (leftMs <= 0) resolve(undefined);
      const cancel = clock.after(Math.min(leftMs, NEXT_OF_REST_MS), () => resolve(undefined));
      promise.then(resolve, reject).finally(cancel);
    });
}

/** Many tasks that are at hand, as a stream. */
export async function* streamOf<T>(tasks: readonly T[]): AsyncGenerator<T, void, undefined> {
  yield* tasks;
}
