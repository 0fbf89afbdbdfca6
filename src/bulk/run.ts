// Runs the tasks of a plan. Several workers take tasks from one queue, share a limit on the
// requests in flight, and stop together.

import { setMaxListeners } from 'node:events';
import type { Context } from '../context.js';
import { asFleetError, FleetError } from '../errors.js';
import { isGone } from '../http/failure.js';
import type { HttpAnswer } from '../http/types.js';
import { sleep } from '../system/clock.js';
import { ReaderLeft } from '../terminal/delivery.js';
import { isBad } from '../views/action.js';
import type { ChangeOptions } from './flags.js';
import { isSignal, openGate, openPatience, waitingFor } from './in-flight.js';
import type { OpenJournal } from './journal.js';
import type { Before } from './journal-records.js';
import { doubtRefusal, endOf, isConcurrentEdit, judgeAnswer, judgeFailure } from './outcome.js';
import { type BulkPlan, type Task, type TaskEnd, type Turn, verbOf } from './plan.js';
import type { Reporter } from './report.js';

/** The values and functions that a run needs. */
export interface BulkOptions {
  context: Context;
  plan: BulkPlan;
  options: ChangeOptions;
  journal: OpenJournal | undefined;
  reporter: Reporter;
  /** Returns the state of a bicycle before its request, or null when it is unknown. */
  beforeOf(task: Task): Promise<Before | null>;
}

/** A run in progress. */
export type BulkRun = Awaited<ReturnType<typeof openRun>>;

/**
 * The maximum number of retries after a 429 or a failed connection. Together, these retries take
 * more than half a minute.
 */
const BULK_PATIENCE = 8;

/**
 * After this many consecutive failures of all workers, the run considers the service down and
 * stops.
 */
const OUTAGE_FAILURES = 20;

/**
 * The pause before fleet retries a request that was refused because another user had saved the same
 * bicycle.
 */
const CONCURRENT_EDIT_PAUSE_MS = 250;

/**
 * The time limit for reporting unsent tasks. It applies after a signal, and after the program that
 * reads fleet's output has closed the pipe.
 */
const REST_LIMIT_MS = 500;

/** Creates the gate, the client and the stop signals of a run. */
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
  // Up to 64 workers listen to these signals. Without this call, Node would warn of a memory leak.
  setMaxListeners(0, over, givenUp);
  return {
    ...options,
    client: await context.client({ signal: givenUp }),
    gate,
    /** Aborted when no further request may be sent. The reason says why the run stopped. */
    over,
    /** Stops the run. Does nothing when the run has already stopped. */
    stop: (reason: unknown) => stopped.abort(reason),
    /**
     * Aborted when fleet abandons the requests in flight: a second after the first signal, or at
     * the second signal.
     */
    givenUp,
    close,
    /** How often to retry a request that the service definitely did not carry out. */
    patience:
      plan.shape.single === true || retries === 0 ? retries : Math.max(retries, BULK_PATIENCE),
    /** The states from the responses, and the UUIDs of the created bicycles. */
    shown: { reached: new Set<string>(), made: new Set<string>() },
    /** Notices about values that the service stored in a different form. */
    notes: [] as string[],
    /** The last failure of a task. */
    lastError: undefined as FleetError | undefined,
    /**
     * Whether all unsent tasks were reported. False when there was not enough time to report them.
     */
    isWhole: true,
  };
}

/** Reports the outcome of a task. Also records it in the journal if necessary. */
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
    // Only a state from the response is used, because a state that is read later may result from
    // another change.
    if (result.state !== null && result.status !== null) run.shown.reached.add(result.state);
    if (about.uuid !== null) run.shown.made.add(about.uuid);
  }
  try {
    if (isRecorded) await journal?.record(key, result, about);
    if (answer !== undefined) await plan.show?.(answer);
  } finally {
    await reporter.take(
      creation === undefined
        ? { uuid: task.uuid, name: task.name ?? name, transition: verbOf(change, task), ...result }
        : { row: creation.row, name: task.name, uuid, ...result },
    );
  }
}

/**
 * Carries out the tasks and reports each one once. Never rejects; a failure stops the run. The
 * client decides about retries (cli.md section 4, promise 1). When the run stops, it waits for the
 * requests in flight. The remaining tasks get the outcome `not-sent`.
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
      // Waits until the outcome of the previous task is stored. The outcome of this task is written
      // to the disk while the next request is being sent.
      await taking;
      taking = take(run, turn, end).catch(stop);
    }
    await taking;
  }

  await Promise.all(Array.from({ length: options.concurrency }, work));
  if (over.aborted) await reportTheRest(run, left);
}

/** Reports the remaining tasks as not sent. After a signal, stops reporting at the time limit. */
async function reportTheRest(run: BulkRun, rest: Iterable<Turn>): Promise<void> {
  const { over, context } = run;
  const isHurried = isSignal(over.reason) || over.reason instanceof ReaderLeft;
  const untilMs = isHurried
    ? context.clock.monotonicMs() + REST_LIMIT_MS
    : Number.POSITIVE_INFINITY;
  for (const turn of rest) {
    if (context.clock.monotonicMs() >= untilMs) run.isWhole = false;
    if (!run.isWhole) return;
    // The run has already stopped, so a failure to report this outcome does not matter.
    await take(run, turn, turn.end ?? NOT_SENT).catch(() => {});
  }
}

/**
 * Carries out one task: waits for a free request slot, records the task in the journal, sends its
 * request and determines the outcome. Never rejects.
 */
async function attempt(run: BulkRun, task: Turn): Promise<TaskEnd> {
  const { context, gate, journal, stop, givenUp } = run;
  const { clock } = context;
  const { change } = run.plan;
  let hasLeave = await gate.enter();
  if (!hasLeave) return NOT_SENT;
  let sentAtMs: number | undefined;
  let changed: FleetError | undefined;
  /**
   * Checks the target again, and records in the journal that its request is about to be sent.
   * Throws when the target changed or the run no longer owns the journal.
   */
  const announce = async () => {
    changed = await change.checkBefore?.(run.client, task);
    if (changed !== undefined) throw changed;
    const before = await run.beforeOf(task);
    const { name, values, fields, verb } = task;
    await journal?.announce(task.key, { name, before, values, fields, transition: verb });
    sentAtMs = clock.monotonicMs();
  };
  const pause = async (milliseconds: number, failure: FleetError) => {
    hasLeave = await gate.pause(
      milliseconds,
      failure.status === 429 ? 'the service asks fleet to slow down' : failure.message,
    );
    if (!hasLeave) throw failure;
    // Another run may have taken over the journal during the pause.
    await announce();
  };
  let end: TaskEnd;
  try {
    await announce();
    end = judgeAnswer(await exchange(run, task, announce, pause), task, change);
  } catch (thrown) {
    const error = asFleetError(thrown);
    if (error === changed) end = endOf(isGone(error) ? 'gone' : 'changed', { error, isWell: true });
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

const NOT_SENT = endOf('not-sent', {});

const FAILED_FAST = new FleetError('partial', 'stopped at the first failure (--fail-fast)');

/**
 * The error for a request that was not sent, because another run may have taken over the journal.
 */
const HELD_BACK = new FleetError(
  'output',
  'another run may have taken over the journal, so nothing was sent',
);

/**
 * Sends a task's request. The service refuses the request when another user saves the bicycle at
 * the same time. In this case, the request is sent once more. While Ctrl-Z or sleep suspends this
 * process, another run can take over the journal. The journal is therefore checked right before the
 * bytes are sent.
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
  // An edit contains the version that was read before. After a concurrent edit this version is
  // outdated, so a retry cannot succeed.
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
        // Only this task waits; the other workers continue.
        await sleep(context.clock, CONCURRENT_EDIT_PAUSE_MS, over).catch(() => {
          throw error;
        });
      } else if (change.mayTryOtherwise?.(error, request) !== true) throw error;
      await announce();
    }
  }
}
