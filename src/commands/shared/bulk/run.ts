// One run over the tasks of a plan: workers that pull from one stream and pass one gate, the one way of every ending, an orderly stop.

import { setMaxListeners } from 'node:events';
import type { Context } from '../../../context.js';
import { asFleetError, FleetError } from '../../../errors.js';
import type { HttpAnswer } from '../../../http/types.js';
import { sleep } from '../../../system/clock.js';
import { ReaderLeft } from '../../../terminal/delivery.js';
import { isBad } from '../../../views/action.js';
import { isSignal, openPatience, waitingFor } from '../in-flight.js';
import { doubtRefusal, endOf, isConcurrentEdit, judgeAnswer, judgeFailure } from './answer.js';
import type { OpenJournal } from './journal.js';
import type { Before } from './journal-records.js';
import { openGate } from './pace.js';
import type { BulkPlan, ChangeOptions, Task, TaskEnd, Turn } from './plan.js';
import type { Reporter } from './report.js';

/** What a run is made of. */
export interface BulkOptions {
  context: Context;
  plan: BulkPlan;
  options: ChangeOptions;
  journal: OpenJournal | undefined;
  reporter: Reporter;
  /** The bicycle before it is sent, as far as it is known here. */
  beforeOf(task: Task): Promise<Before | null>;
}

/** A run in its course. */
export type BulkRun = Awaited<ReturnType<typeof openRun>>;

/** How often a request of a long run is tried again after 429 or without a connection: half a minute and more in all. */
const BULK_PATIENCE = 8;

/** So many failures in a row, of whichever worker, are no bad luck: the service is down, and the run stops; the rest is better left untouched. */
const OUTAGE_FAILURES = 20;

/** The pause before a request is sent again that met another save of the same bicycle. */
const CONCURRENT_EDIT_PAUSE_MS = 250;

/** So long what was not sent is reported after a signal, and where the reader left. */
const REST_LIMIT_MS = 500;

/** Opens a run, which knows what the journal knows. */
export async function openRun(options: BulkOptions) {
  const { context, plan, journal } = options;
  const retries = (await context.settings()).retries.value;
  const { clock, signal } = context;
  const stopped = new AbortController();
  const over = AbortSignal.any([
    signal,
    stopped.signal,
    ...(journal === undefined ? [] : [journal.lost]),
  ]);
  const most = options.options.concurrency;
  const gate = openGate({ most, clock, over, say: context.notice });
  const { givenUp, close } = openPatience(context, () => {
    const count = gate.inFlight();
    if (count > 0) void context.notice(waitingFor(count));
  });
  // Every worker listens, and there can be 64: no leak that Node should warn of.
  setMaxListeners(0, over, givenUp);
  return {
    ...options,
    client: await context.client({ signal: givenUp }),
    gate,
    /** Aborted when nothing more may be sent; its reason is what stopped the run. */
    over,
    /** Stops the run, unless it is stopped already. */
    stop: (reason: unknown) => stopped.abort(reason),
    /** Aborted when what is in flight is given up: a second after the first signal, or at the second one. */
    ...{ givenUp, close },
    /** How often a request is tried again that the service provably did not take. */
    patience:
      plan.shape.single === true || retries === 0 ? retries : Math.max(retries, BULK_PATIENCE),
    /** The states that bicycles were in after the change, and the bicycles that tasks made. */
    shown: { reached: new Set<string>(), made: new Set<string>() },
    /** What the service stored in place of the values that were sent. */
    notes: [] as string[],
    /** The last failure of a task. */
    lastError: undefined as FleetError | undefined,
    /** False when a stop left no time to report all that was not sent. */
    isWhole: true,
  };
}

/**
 * Takes what became of a task: to the journal where that has to know it, and to the report whatever fails.
 */
export async function take(run: BulkRun, task: Task, ending: TaskEnd): Promise<void> {
  const { plan, journal, reporter } = run;
  const { change } = plan;
  const {
    result,
    uuid = null,
    name = null,
    how = 'answered',
    error,
    isRecorded = false,
    answer,
    notice,
  } = ending;
  if (notice !== undefined) run.notes.push(notice);
  const { key, creation } = task;
  const about = { uuid: change.command === 'create' ? uuid : null, name: task.name ?? name, how };
  if (error !== undefined) run.lastError = error;
  if (!isBad(result.outcome)) {
    // A state that no answer shows, but evidence, may have come later.
    if (result.state !== null && result.status !== null) run.shown.reached.add(result.state);
    if (about.uuid !== null) run.shown.made.add(about.uuid);
  }
  try {
    if (isRecorded) await journal?.record(key, result, about);
    if (answer !== undefined) await plan.show?.(answer);
  } finally {
    await reporter.take(
      creation === undefined
        ? { uuid: task.uuid, name: task.name ?? name, transition: change.verb, ...result }
        : { row: creation.row, name: task.name, uuid, ...result },
    );
  }
}

/**
 * Gives each task its turn; every one is reported once. Never rejects: what fails stops the run. A request is sent at most once unless the
 * service provably did not take it (cli.md section 4, promise 1): that is the client's decision, the run only says when. When the run is
 * stopped nothing more is sent, what is in flight is let finish, what is left ends as `not-sent`.
 */
export async function send(run: BulkRun, turns: readonly Turn[]): Promise<void> {
  const { over, options, stop } = run;
  const left = turns.values();

  async function work(): Promise<void> {
    let taking: Promise<void> | undefined;
    while (!over.aborted) {
      const { value: turn } = left.next();
      if (turn === undefined) break;
      const end = turn.end ?? (await attempt(run, turn));
      // The next request need not wait until this end is on the disk.
      await taking;
      taking = take(run, turn, end).catch(stop);
    }
    await taking;
  }

  await Promise.all(Array.from({ length: options.concurrency }, work));
  if (over.aborted) await reportTheRest(run, left);
}

/** Reports what is left as not sent, as far as there is time. */
async function reportTheRest(run: BulkRun, rest: Iterable<Turn>): Promise<void> {
  const { over, context } = run;
  const isHurried = isSignal(over.reason) || over.reason instanceof ReaderLeft;
  const untilMs = isHurried
    ? context.clock.monotonicMs() + REST_LIMIT_MS
    : Number.POSITIVE_INFINITY;
  for (const turn of rest) {
    if (context.clock.monotonicMs() >= untilMs) run.isWhole = false;
    if (!run.isWhole) return;
    // What is wrong with where it is reported stops nothing any more.
    await take(run, turn, turn.end ?? NOT_SENT).catch(() => {});
  }
}

/** One task's turn: leave to send, the announcement, the exchange, and what it means for the run. Never rejects. */
async function attempt(run: BulkRun, task: Turn): Promise<TaskEnd> {
  const { context, gate, journal, stop, givenUp } = run;
  const { clock } = context;
  const { change } = run.plan;
  let hasLeave = await gate.enter();
  if (!hasLeave) return NOT_SENT;
  let sentAtMs: number | undefined;
  let changed: FleetError | undefined;
  /** Checks the target and this run's hold on the journal, and records that the task is about to be sent. */
  const announce = async () => {
    changed = await change.checkBefore?.(run.client, task);
    if (changed !== undefined) throw changed;
    const before = await run.beforeOf(task);
    await journal?.announce(task.key, { name: task.name, before, values: task.values });
    sentAtMs = clock.monotonicMs();
  };
  const pause = async (milliseconds: number, failure: FleetError) => {
    hasLeave = await gate.pause(
      milliseconds,
      failure.status === 429 ? 'the service asks to slow down' : failure.message,
    );
    if (!hasLeave) throw failure;
    // While it waited, another run may have taken the journal over.
    await announce();
  };
  let end: TaskEnd;
  try {
    await announce();
    end = judgeAnswer(await exchange(run, task, announce, pause), task, change);
  } catch (thrown) {
    const error = asFleetError(thrown);
    if (error === changed) end = endOf('changed', { error, isWell: true });
    else if (sentAtMs === undefined && isGone(error))
      end = endOf('refused', { error, isWell: true });
    else if (!hasLeave || sentAtMs === undefined)
      end = endOf('not-sent', { error, isFatal: hasLeave });
    else end = judgeFailure(change.explain?.(error, task) ?? error, givenUp.aborted);
  }
  if (task.wasSent === true && task.creation !== undefined) end = doubtRefusal(end);
  const { error, isFatal, isWell = false, result } = end;
  if (hasLeave && sentAtMs !== undefined)
    result.milliseconds = Math.round(clock.monotonicMs() - sentAtMs);
  if (isFatal) stop(error);
  if (hasLeave && gate.leave(isWell) >= OUTAGE_FAILURES) stop(error);
  if (run.options.failFast === true && isBad(result.outcome)) stop(FAILED_FAST);
  return { ...end, isRecorded: sentAtMs !== undefined };
}

/** Whether the service does not show the target of a change any more. */
function isGone({ status }: FleetError): boolean {
  return status === 404 || status === 410;
}

const NOT_SENT = endOf('not-sent', {});

const FAILED_FAST = new FleetError('partial', 'stopped at the first failure (--fail-fast)');

/** The failure of a request that was held back, because another run may hold the journal by now. */
const HELD_BACK = new FleetError(
  'output',
  'another run may have taken over the journal, and nothing was sent',
);

/**
 * Sends the request of a task; once more after a concurrent edit, with which nothing was carried out. A process can be stopped at any
 * moment, by Ctrl-Z or a laptop's sleep, and the journal be taken over: right before the bytes leave, the journal is looked at again
 * unless that was a moment ago.
 */
async function exchange(
  run: BulkRun,
  task: Task,
  announce: () => Promise<void>,
  pause: (milliseconds: number, failure: FleetError) => Promise<void>,
): Promise<HttpAnswer> {
  const { context, client, plan, patience, journal, over } = run;
  let why: string | undefined;
  const holdBack = () => {
    why = journal?.whyUncertain();
    return why === undefined ? undefined : HELD_BACK;
  };
  const { change } = plan;
  // An edit names the version that it read, which stays an old one.
  for (let mayRepeat = change.command !== 'edit'; ; ) {
    const request = { ...change.requestOf(task), retries: patience, pause, holdBack };
    try {
      return await client.send(request);
    } catch (error) {
      if (!(error instanceof FleetError) || over.aborted) throw error;
      if (error === HELD_BACK) {
        void context.notice(`${why}; checking that no other run took over the journal`);
      } else if (mayRepeat && isConcurrentEdit(error)) {
        mayRepeat = false;
        // It is one bicycle's own: nobody else waits for it.
        await sleep(context.clock, CONCURRENT_EDIT_PAUSE_MS, over).catch(() => {
          throw error;
        });
      } else if (change.mayTryOtherwise?.(error, request) !== true) throw error;
      await announce();
    }
  }
}
