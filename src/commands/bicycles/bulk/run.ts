// Runs many changes: workers that pull from one stream of tasks, one pace for all of them, and an orderly stop.

import { FleetError } from '../../../errors.js';
import type { Client } from '../../../http/client.js';
import { ExchangeError } from '../../../http/exchange.js';
import { readJson } from '../../../http/json.js';
import type { HttpAnswer, HttpRequest } from '../../../http/types.js';
import { JsonError } from '../../../json/parse.js';
import type { Outcome } from '../../../views/action.js';
import { openPace } from './pace.js';

/** What became of one task. */
export interface Ending {
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

/** A task that a stop left untouched. */
const UNTOUCHED: Ending = { outcome: 'not-sent', milliseconds: null, isAnnounced: false };

export interface BulkOptions<T> {
  tasks: AsyncIterable<T>;
  /** Most requests under way at once. */
  concurrency: number;
  /** How often one request is tried again that the service provably did not take. */
  patience: number;
  /** Whether the first task that is not done stops the run. */
  isFailFast: boolean;
  /** A client that the first signal to end leaves alone. */
  client: Client;
  requestOf(task: T): HttpRequest;
  /** Told before a request leaves, which waits for it. */
  announce(task: T): Promise<void>;
  /** Told of each task that left the run, as it does; those that a stop left untouched are `not-sent`. */
  report(task: T, ending: Ending): Promise<void>;
  /** Told in words what the run does beside sending. */
  say(line: string): void;
  /** Asks to end: what is under way is let finish. */
  signal: AbortSignal;
  /** Ends it: what is under way is given up. */
  urgentSignal: AbortSignal;
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

/** The failure in a row that is worth a word: two happen. */
const SAID_FAILURES = 3;

/** After a stop the rest of the input is named as not sent, as long as it comes at least this often. */
const REST_OF_INPUT_MS = 1000;

/** What an exchange that failed means for its task, and whether it ends the run. */
function judge(error: FleetError, isUrgent: boolean): { outcome: Outcome; isWell: boolean; stops: boolean } {
  const { status } = error;
  if (status !== undefined) {
    if (status >= 200 && status < 300) {
      // A success whose body broke off is a success; one with a page for people in it may be anybody's.
      return error.cause instanceof JsonError
        ? { outcome: 'unknown', isWell: false, stops: false }
        : { outcome: 'done', isWell: true, stops: false };
    }
    if (status === 401 || status === 403) return { outcome: 'refused', isWell: true, stops: true };
    // Still asked to slow down after much patience.
    if (status === 429) return { outcome: 'failed', isWell: false, stops: true };
    if (status >= 400 && status < 500) return { outcome: 'refused', isWell: true, stops: false };
    return { outcome: 'failed', isWell: false, stops: false };
  }
  if (error.kind === 'network' && error.cause instanceof ExchangeError && error.cause.sent)
    return { outcome: 'unknown', isWell: false, stops: false };
  // Given up by a second Ctrl-C: it may have left.
  if (isUrgent) return { outcome: 'unknown', isWell: false, stops: true };
  // No connection after much patience, no token: the same will happen to the others.
  return { outcome: 'not-sent', isWell: false, stops: true };
}

/**
 * Runs the tasks. Each is reported once. A request is sent at most once unless the service provably did not take it (cli.md
 * section 4, promise 1): that is the client's decision, the run only says when. 401, 403, an outage and the signal stop the run:
 * nothing more is sent, what is under way is let finish, what is left of the input is reported as not sent.
 */
export async function runBulk<T>(options: BulkOptions<T>): Promise<RunEnd> {
  const { client, concurrency, signal, urgentSignal } = options;
  const pace = openPace(concurrency);
  const input = options.tasks[Symbol.asyncIterator]();
  const stop = openStop(() => pace.stop());
  /** Reads that were under way when the run was stopped. */
  const unused: Promise<IteratorResult<T>>[] = [];

  /** A pause stops many at once, and is told once. */
  let silentUntil = 0;

  const onSignal = () => stop.now(signal.reason);
  if (signal.aborted) onSignal();
  signal.addEventListener('abort', onSignal);
  try {
    await Promise.all(Array.from({ length: concurrency }, work));
    const isReadToItsEnd = !stop.isStopped() || (await reportRest());
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
      await report(got.value, ending);
      if (options.isFailFast && isBad(ending.outcome)) stop.now(new FailedFast());
    }
  }

  async function attempt(task: T): Promise<Ending> {
    if (!(await pace.enter())) return UNTOUCHED;
    let hasLeave = true;
    let isWell = false;
    let isAnnounced = false;
    let startedAt = performance.now();
    try {
      await options.announce(task);
      isAnnounced = true;
      startedAt = performance.now();
      const answer = await client.send({
        ...options.requestOf(task),
        retries: options.patience,
        async pause(milliseconds, failure) {
          sayPause(milliseconds, failure);
          hasLeave = await pace.pause(milliseconds);
          if (!hasLeave) throw failure;
          startedAt = performance.now();
        },
      });
      // A page for people in place of an answer, as a login or a maintenance page is, says nothing of the bicycle.
      if (/^\s*</.test(answer.text)) readJson(answer);
      isWell = true;
      return { outcome: 'done', answer, milliseconds: Math.round(performance.now() - startedAt), isAnnounced };
    } catch (thrown) {
      if (!(thrown instanceof FleetError)) {
        stop.now(thrown);
        return { outcome: 'unknown', milliseconds: null, isAnnounced };
      }
      const milliseconds = Math.round(performance.now() - startedAt);
      // Stopped while it waited to be sent again: the service had not taken it.
      if (!hasLeave) return { outcome: 'not-sent', error: thrown, milliseconds: null, isAnnounced };
      const verdict = judge(thrown, urgentSignal.aborted);
      isWell = verdict.isWell;
      const failures = isWell ? 0 : pace.failuresInARow() + 1;
      if (verdict.stops || failures >= OUTAGE_FAILURES) stop.now(thrown);
      else if (failures === SAID_FAILURES) options.say(`${failures} failures in a row; slowing down`);
      return { outcome: verdict.outcome, error: thrown, milliseconds, isAnnounced };
    } finally {
      if (hasLeave) pace.leave(isWell);
    }
  }

  function sayPause(milliseconds: number, failure: FleetError): void {
    const now = performance.now();
    if (now < silentUntil) return;
    silentUntil = now + milliseconds;
    const why = failure.status === 429 ? 'the service asks to slow down' : failure.message;
    options.say(`${why}; waiting ${(milliseconds / 1000).toFixed(1)} s`);
  }

  async function report(task: T, ending: Ending): Promise<void> {
    try {
      await options.report(task, ending);
    } catch (error) {
      stop.now(error);
    }
  }

  /** Reads what is left of the input and reports it as not sent; false when it comes too slowly. */
  async function reportRest(): Promise<boolean> {
    try {
      for (;;) {
        const got = await inTime(unused.shift() ?? input.next());
        if (got === undefined) return false;
        if (got.done === true) return true;
        await report(got.value, UNTOUCHED);
      }
    } catch (error) {
      stop.now(error);
      return false;
    }
  }
}

/** Whether an outcome leaves something to do. */
export function isBad(outcome: Outcome): boolean {
  return outcome !== 'done' && outcome !== 'skipped';
}

/** A stop that many can wait for without a trace being left of those who no longer do. */
function openStop(onStop: () => void) {
  let stopped: { by: unknown } | undefined;
  const waiting = new Set<() => void>();
  return {
    isStopped: () => stopped !== undefined,
    reason: () => stopped?.by,
    /** The first reason counts. */
    now(by: unknown): void {
      if (stopped !== undefined) return;
      stopped = { by };
      onStop();
      for (const tell of waiting) tell();
      waiting.clear();
    },
    /** What the promise brings, or undefined when the stop comes first. */
    orBefore<V>(promise: Promise<V>): Promise<V | undefined> {
      return new Promise((resolve, reject) => {
        const tell = () => resolve(undefined);
        waiting.add(tell);
        promise.then(
          (value) => {
            // A value that comes after the stop is found by whoever reads the rest.
            if (waiting.delete(tell)) resolve(value);
          },
          (error) => {
            waiting.delete(tell);
            reject(error);
          },
        );
      });
    },
  };
}

function inTime<V>(promise: Promise<V>): Promise<V | undefined> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, REST_OF_INPUT_MS, undefined);
    promise.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}

/** Many tasks that are at hand, as a stream. */
export async function* streamOf<T>(tasks: readonly T[]): AsyncGenerator<T, void, undefined> {
  yield* tasks;
}
