// One run over the tasks of a plan: what is sent, how each ending goes to the journal and to the report.

import type { Context } from '../../context.js';
import { FleetError } from '../../errors.js';
import type { Client } from '../../http/client.js';
import { kindOfStatus } from '../../http/failure.js';
import type { ChangeResult } from '../../views/action.js';
import type { Named } from './answer.js';
import { openExchange } from './exchange.js';
import type { OpenJournal } from './journal.js';
import type { ChangeOptions, Doubt, Plan } from './plan.js';
import { judgeEntry } from './records.js';
import type { Reporter } from './report.js';
import { type Ending, type RunEnd, runBulk } from './run.js';

/** How often a request of a long run is tried again after 429 or without a connection: half a minute and more in all. */
const BULK_PATIENCE = 8;

export interface Session<T> {
  context: Context;
  plan: Plan<T>;
  options: ChangeOptions;
  /** A client that the first signal to end leaves alone. */
  client: Client;
  journal: OpenJournal | undefined;
  reporter: Reporter;
  state: SessionState<T>;
}

/** What a run learns while it goes. */
export interface SessionState<T> {
  /** Tasks of earlier runs that no answer decides. */
  doubts: Doubt<T>[];
  /** The states that bicycles were in after the change. */
  reached: Set<string>;
  /** The bicycles that tasks made. */
  made: Set<string>;
  inFlight: number;
  /** The last failure of a task. */
  lastError: FleetError | undefined;
}

/** The state of a run at its beginning, with what the journal knows. */
export function openState<T>(plan: Plan<T>, journal: OpenJournal | undefined): SessionState<T> {
  const state: SessionState<T> = {
    doubts: [],
    reached: new Set(),
    made: new Set(),
    inFlight: 0,
    lastError: undefined,
  };
  for (const { result, uuid } of journal?.before.values() ?? []) {
    if (result !== undefined) learn(plan, state, result, uuid);
  }
  return state;
}

function learn<T>(plan: Plan<T>, state: SessionState<T>, result: ChangeResult, uuid: string | null): void {
  if (result.outcome !== 'done') return;
  if (result.state !== null) state.reached.add(result.state);
  if (plan.change.makesBicycles && uuid !== null) state.made.add(uuid);
}

/** Reports what became of a task. */
export function report<T>(
  { plan, reporter }: Session<T>,
  task: T,
  result: ChangeResult,
  named: Pick<Named, 'uuid' | 'name'>,
): Promise<void> {
  return reporter.take(plan.result.of(task, result, named), plan.result.placeOf(task));
}

/** The tasks that are to be sent; what the journal knows of the others is reported at once, or kept as a doubt. */
export async function* openTasks<T>(session: Session<T>): AsyncGenerator<T, void, undefined> {
  const { plan, journal, state } = session;
  for await (const task of plan.input.tasks) {
    const entry = journal?.before.get(plan.change.keyOf(task));
    const known = judgeEntry(entry);
    if (entry === undefined || known === 'open') yield task;
    else if (entry.result === undefined || known === 'doubt') state.doubts.push({ task, entry });
    else {
      // Nothing was sent now: no request took any time.
      const outcome = known === 'done' ? 'skipped' : 'refused';
      const result: ChangeResult = { ...entry.result, outcome, milliseconds: null };
      if (outcome === 'refused') state.lastError = failureOf(result);
      await report(session, task, result, { uuid: entry.uuid, name: null });
    }
  }
}

/** Sends tasks. Every one of them is reported once, whatever fails; never rejects: what stopped it is in its end. */
export async function send<T>(session: Session<T>, tasks: AsyncIterable<T>): Promise<RunEnd> {
  const { context, options, plan, client, journal, reporter, state } = session;
  const { clock, urgentSignal } = context;
  const { isSingle } = plan.input;
  const retries = (await context.settings()).retries.value;
  const patience = isSingle || retries === 0 ? retries : Math.max(retries, BULK_PATIENCE);
  const exchange = openExchange({ client, patience, clock, urgentSignal });
  const announce = async (task: T) => journal?.announce(plan.change.keyOf(task), await plan.doubts.beforeOf(task));
  const most = isSingle ? 1 : options.concurrency;
  return runBulk({
    tasks,
    // A dry run begins alone: a service that does not know it is noticed by one bicycle.
    concurrency: { most, first: plan.change.isDryRun ? 1 : most },
    isFailFast: options.failFast === true,
    clock,
    say: reporter.say,
    signal: AbortSignal.any([context.signal, ...(journal === undefined ? [] : [journal.lost])]),
    async announce(task) {
      await announce(task);
      state.inFlight += 1;
    },
    exchange: (task, pause) =>
      exchange(plan.change.changeOf(task), async (milliseconds, failure) => {
        await pause(milliseconds, failure);
        // While it waited, another run may have taken the journal over.
        await announce(task);
      }),
    take: (ending) => takeEnding(session, ending),
  });
}

async function takeEnding<T>(session: Session<T>, ending: Ending<T>): Promise<void> {
  const { plan, journal, state } = session;
  const { task, error, isAnnounced, outcome, answer, milliseconds } = ending;
  const { uuid, name, state: reached } = ending.named ?? { uuid: null, name: null, state: null };
  if (isAnnounced) state.inFlight -= 1;
  if (error !== undefined) state.lastError = error;
  const result: ChangeResult = {
    outcome,
    status: answer?.status ?? error?.status ?? null,
    state: reached,
    request_id: answer?.trace.requestId ?? error?.trace.requestId ?? null,
    milliseconds,
    message: outcome === 'done' || outcome === 'allowed' ? null : (error?.message ?? null),
  };
  learn(plan, state, result, uuid);
  try {
    if (isAnnounced) await journal?.record(plan.change.keyOf(task), result, plan.change.makesBicycles ? uuid : null);
  } finally {
    // What was sent is reported, also when the journal cannot be written.
    await report(session, task, result, { uuid, name });
  }
}

/** The failure of a task that only the journal knows. */
export function failureOf({ outcome, status, message, request_id }: ChangeResult): FleetError {
  const kind = outcome === 'refused' && status !== null ? kindOfStatus(status) : 'network';
  return new FleetError(kind, message ?? `the journal has it as ${outcome}`, {
    ...(status === null ? {} : { status }),
    ...(request_id === null ? {} : { trace: { requestId: request_id } }),
    hint: 'this is from the journal; check the bicycle, and send it again without this journal',
  });
}
