// Carries out a plan: opens the journal, asks for confirmation and sends the requests. Then
// determines the outcome of earlier requests that got no response, and prints the summary.

import { BICYCLE } from '../api/bicycle.js';
import type { Context } from '../context.js';
import { FleetError } from '../errors.js';
import { kindOfStatus, UNKNOWN_OUTCOME } from '../http/failure.js';
import { parseJson } from '../json/parse.js';
import { openStates, type States } from '../list/current-mirror.js';
import { sleep } from '../system/clock.js';
import { clean } from '../terminal/clean.js';
import { count } from '../terminal/count.js';
import { ReaderLeft } from '../terminal/delivery.js';
import type { ChangeResult } from '../views/action.js';
import { describeBefore, readStart } from './evidence.js';
import type { ChangeOptions, UnknownChoice } from './flags.js';
import { isSignal } from './in-flight.js';
import { openJournal, peekEntries } from './journal.js';
import { type Before, type Binding, type JournalEntry, judgeEntry } from './journal-records.js';
import { resultOf } from './outcome.js';
import type { BulkPlan, DecidedDoubt, Doubt, Task, TaskEnd, Turn } from './plan.js';
import { checkPlanFlag, writePlan } from './plan-file.js';
import { askAgain, askBefore, describeTask } from './question.js';
import { openReporter, showRequests } from './report.js';
import { type BulkRun, openRun, send } from './run.js';

/**
 * Carries out a plan. Returns normally when every task is done. Otherwise reports all tasks, prints
 * the summary, and then throws. For a single task, throws the failure of this task. When the run
 * stopped early (401, 403, outage, signal), throws the reason. In all other cases, throws a
 * FleetError of kind `partial`.
 */
export async function carryOut(
  context: Context,
  plan: BulkPlan,
  options: ChangeOptions,
): Promise<void> {
  const { clock, signal, notice } = context;
  if (options.plan !== undefined) checkPlanFlag(options.plan, options);
  // Throws when the settings contain no service URL. This check comes first, so that no journal is
  // created for a run that cannot start.
  await context.client();
  if (options.plan !== undefined) return writePlan(context, plan, options.plan, options);
  const binding = await bindingOf(context, plan);
  const { journal: path } = options;
  const isTrusted = options.unknown === 'resend';
  if (options.dryRun === true) {
    const entries =
      path === undefined ? undefined : await peekEntries(path, binding, { clock, isTrusted });
    plan.checkKeys?.(entries?.keys() ?? []);
    return showRequests(context, plan, sortTasks(plan, entries));
  }
  const journal =
    path === undefined
      ? undefined
      : await openJournal(path, binding, { clock, signal, say: notice, isTrusted });
  const startedMs = clock.monotonicMs();
  const states = openStates(context);
  let run: BulkRun | undefined;
  try {
    plan.checkKeys?.(journal?.before.keys() ?? []);
    const { turns, doubts } = sortTasks(plan, journal?.before);
    const reporter = await openReporter(context, plan);
    await readTargets(context, plan, turns, options.yes !== true);
    const left = [
      ...turns.filter(({ end }) => end === undefined),
      ...doubts.map(({ task }) => task),
    ];
    if (options.yes !== true) await askBefore(context, plan, left);
    await journal?.begin(await readStart(context, plan.change));
    const beforeOf = (task: Task) => findBefore(plan, task, states);
    run = await openRun({ context, plan, options, journal, reporter, beforeOf });
    reporter.begin();
    await send(run, turns);
    await settleDoubts(run, doubts, startedMs);
    await reporter.end().catch(run.stop);
    await printNotes(context, run.notes);
    await conclude(run);
  } finally {
    run?.close();
    await states.close();
    await journal?.close();
  }
}

async function bindingOf({ settings }: Context, { change, identity }: BulkPlan): Promise<Binding> {
  const { profile, baseUrl } = await settings();
  return {
    command: `${change.resource.many} ${change.command}`,
    profile: profile.value,
    base_url: (baseUrl.value?.href ?? '').replace(/\/+$/, ''),
    ...identity,
  };
}

/**
 * Divides the tasks into two groups in input order, using the journal of earlier runs. `doubts`
 * contains the tasks whose requests got no response. `turns` contains all other tasks. Some of
 * these must still be sent. The others are finished or unchanged, and have an outcome.
 */
export function sortTasks(
  { change, tasks }: BulkPlan,
  entries: ReadonlyMap<string, JournalEntry> = new Map(),
): { turns: Turn[]; doubts: Doubt[] } {
  const turns: Turn[] = [];
  const doubts: Doubt[] = [];
  for (const task of tasks) {
    const entry = entries.get(task.key);
    const known = judgeEntry(entry);
    if (entry !== undefined && known === 'doubt') doubts.push({ task, entry });
    else if (entry?.result !== undefined && known !== 'open')
      turns.push({ ...task, end: endBefore(entry, entry.result) });
    else turns.push(change.isUnchanged?.(task) === true ? { ...task, end: UNCHANGED } : task);
  }
  return { turns, doubts };
}

const UNCHANGED: TaskEnd = {
  result: resultOf('unchanged', { message: 'it already has these values' }),
};

/**
 * Returns the outcome of a task that an earlier run finished. The result has no duration, because
 * this run sent no request for the task.
 */
function endBefore({ uuid }: JournalEntry, before: ChangeResult): TaskEnd {
  if (before.outcome !== 'refused')
    return { result: { ...before, outcome: 'skipped', milliseconds: null }, uuid };
  const result = { ...before, milliseconds: null };
  return { result, uuid, error: failureOf(result) };
}

/** Returns the failure of a task that an earlier run recorded. */
export function failureOf({ outcome, status, message, request_id }: ChangeResult): FleetError {
  const kind = outcome === 'refused' && status !== null ? kindOfStatus(status) : 'network';
  return new FleetError(kind, message ?? `the journal records ${outcome}`, {
    ...(status === null ? {} : { status }),
    ...(request_id === null ? {} : { trace: { requestId: request_id } }),
    hint: 'this result is from the journal; check the bicycle, and to send the request again, run the command without this journal',
  });
}

/**
 * The maximum number of changed targets to list before the confirmation question. The results list
 * all changed targets.
 */
const CHANGED_SHOWN = 20;

/**
 * Reads the targets of a plan file again, and sets the outcome of each target whose request must
 * not be sent.
 */
async function readTargets(
  { notice }: Context,
  plan: BulkPlan,
  turns: readonly Turn[],
  isAsked: boolean,
): Promise<void> {
  const open = turns.filter(({ end }) => end === undefined);
  const ends = await plan.readTargets?.(open);
  const changed: string[] = [];
  for (const turn of open) {
    const end = ends?.get(turn.key);
    if (end === undefined) continue;
    turn.end = end;
    const label = clean(turn.name ?? turn.uuid ?? turn.key);
    changed.push(`${end.result.outcome}: ${label}: ${end.result.message ?? ''}`);
  }
  if (!isAsked) return;
  for (const line of changed.slice(0, CHANGED_SHOWN)) await notice(line);
  if (changed.length > CHANGED_SHOWN)
    await notice(`and ${changed.length - CHANGED_SHOWN} more excluded targets`);
}

/**
 * Returns the bicycle's state and version from the input or from an up-to-date mirror. Returns null
 * when neither contains the bicycle's state.
 */
async function findBefore(
  { change }: BulkPlan,
  { uuid, before }: Task,
  states: States,
): Promise<Before | null> {
  if (before !== undefined || uuid === null || change.resource !== BICYCLE) return before ?? null;
  const found = await states.of(uuid);
  return found === undefined
    ? null
    : describeBefore(parseJson(found) as { [field: string]: unknown });
}

/** An unresolved task whose outcome cannot be determined from the service's data. */
type Undecided = Extract<DecidedDoubt, { kind: 'unknown' }>;

/**
 * Determines the outcome of tasks that an earlier run left unresolved. First waits until `--settle`
 * seconds have passed since `startedMs` (monotonic clock), so that late requests have arrived.
 * Resends the tasks that the service definitely did not carry out. Reports each task once, even
 * when the run was stopped. Never rejects; a failure stops the run.
 */
export async function settleDoubts(
  run: BulkRun,
  doubts: readonly Doubt[],
  startedMs: number,
): Promise<void> {
  const { shown, options, over } = run;
  if (doubts.length === 0) return;
  let left = doubts.map(
    (doubt): Turn => turnOf({ ...doubt, kind: 'unknown', state: null, why: 'the run was stopped' }),
  );
  try {
    over.throwIfAborted();
    await waitUntilSettled(run, doubts.length, startedMs + options.settle * 1000);
    const decided = await run.plan.change.lookUp(await run.context.client(), doubts, shown);
    const done = decided.filter((one) => one.kind === 'done');
    const untouched = decided.filter((one) => one.kind === 'untouched');
    const unknown = decided.filter((one) => one.kind === 'unknown');
    left = unknown.map(turnOf);
    await send(run, [...untouched, ...done].map(turnOf));
    void run.context.notice(
      [
        `an earlier run got no answer to ${count(doubts.length, 'request')}`,
        `${done.length} done`,
        `${untouched.length} not done, sent now`,
        `${unknown.length} still unknown`,
      ].join('; '),
    );
    if (over.aborted || unknown.length === 0) return;
    const choice = options.unknown ?? (await askForChoice(run, unknown));
    if (choice === 'resend') left = unknown.map(({ task }) => ({ ...task, wasSent: true }));
    if (choice === 'done')
      left = unknown.map((doubt) =>
        turnOf({ ...doubt, kind: 'done', how: 'operator', why: '--unknown done was given' }),
      );
  } catch (error) {
    run.stop(error);
  } finally {
    await send(run, left);
  }
}

async function waitUntilSettled(
  { context, over }: BulkRun,
  doubtCount: number,
  untilMs: number,
): Promise<void> {
  const restMs = untilMs - context.clock.monotonicMs();
  if (restMs <= 0) return;
  const seconds = Math.ceil(restMs / 1000);
  void context.notice(
    `${count(doubtCount, 'request')} of an earlier run may still arrive; waiting ${seconds} s (--settle)`,
  );
  await sleep(context.clock, restMs, over);
}

async function askForChoice(
  { context, plan }: BulkRun,
  unknown: readonly Undecided[],
): Promise<UnknownChoice> {
  const [first] = unknown;
  const label = first === undefined ? '' : await describeTask(context, plan.change, first.task);
  const state = first?.state == null ? '' : ` is ${first.state}`;
  const more = unknown.length > 1 ? ', …' : '';
  const question = `it is uncertain whether ${unknown.length === 1 ? 'a change was' : `${unknown.length} changes were`} done before (${label}${state}${more}); send ${plan.change.verb} again?`;
  return (await askAgain(context, question, plan.isStdin)) ? 'resend' : 'leave';
}

/**
 * Returns the next step for a task whose outcome was looked up. A task that was not carried out is
 * sent again.
 */
function turnOf(doubt: DecidedDoubt): Turn {
  const { task, entry } = doubt;
  if (doubt.kind === 'untouched') return { ...task, wasSent: true };
  const { kind, state, why } = doubt;
  if (kind === 'done') {
    const { uuid = null, how } = doubt;
    const result = resultOf('done', {
      state,
      message: `no answer came, but it was carried out: ${why}`,
    });
    return { ...task, end: { result, uuid, how, isRecorded: true } };
  }
  const { status = null, request_id = null } = entry.result ?? {};
  const now = state === null ? '' : `; it is ${state} now`;
  const message = `sent by an earlier run, and ${UNKNOWN_OUTCOME}: ${why}${now}`;
  const result = resultOf('unknown', { status, state, request_id, message });
  return { ...task, end: { result, uuid: entry.uuid, error: failureOf(result) } };
}

/**
 * The maximum number of notices about changed values. After these notices, only the number of
 * further changes is printed.
 */
const NOTES_SHOWN = 5;

/** Prints notices about values that the service stored in a different form. */
async function printNotes({ notice }: Context, notes: readonly string[]): Promise<void> {
  for (const note of notes.slice(0, NOTES_SHOWN)) await notice(note);
  if (notes.length > NOTES_SHOWN)
    await notice(`the service changed ${notes.length - NOTES_SHOWN} more values`);
}

/** Prints the summary, and throws the error that sets the exit code. */
async function conclude({
  context,
  plan,
  options,
  reporter,
  over,
  lastError,
  isWhole,
}: BulkRun): Promise<void> {
  const stoppedBy: unknown = over.aborted ? over.reason : undefined;
  const badCount = reporter.badCount();
  if (plan.shape.single === true) {
    if (isSignal(stoppedBy) && reporter.count('not-sent') > 0) throw stoppedBy;
    // When a signal ends the program, no error message is printed. A notice therefore says that the
    // outcome is unknown.
    if (isSignal(lastError)) await context.notice(lastError.message);
    if (badCount > 0) throw lastError ?? stoppedBy;
    if (stoppedBy !== undefined) throw stoppedBy;
    return;
  }
  const summary = `${reporter.summary()}${isWhole ? '' : '; the rest was not listed'}`;
  if (stoppedBy === undefined && badCount === 0) return context.notice(summary);
  const notSent = reporter.count('not-sent') + reporter.count('changed') + reporter.count('gone');
  const wasSent = reporter.count('done') + badCount - notSent > 0;
  const isRefusedOnly = badCount === reporter.count('refused');
  const isLeftOut =
    plan.readTargets !== undefined &&
    badCount === reporter.count('changed') + reporter.count('gone') + reporter.count('refused');
  const hint = isRefusedOnly
    ? undefined
    : isLeftOut
      ? 'targets that changed were left out; look at them, and write a new plan for them'
      : options.journal === undefined
        ? 'a run with --journal FILE can be repeated, and resumes where it stopped'
        : 'the same command resumes where this one stopped';
  const failure = stoppedBy instanceof FleetError ? stoppedBy : undefined;
  const hasLeft = stoppedBy instanceof ReaderLeft && badCount > 0;
  if (
    stoppedBy === undefined ||
    failure?.kind === 'partial' ||
    hasLeft ||
    (failure?.kind === 'usage' && wasSent)
  ) {
    const why = failure === undefined ? '' : `${failure.message}; `;
    throw new FleetError('partial', `${why}${summary}`, {
      hint: failure?.hint ?? hint,
      cause: stoppedBy,
    });
  }
  if (wasSent || notSent > 0)
    await context.notice(hint === undefined ? summary : `${summary}; ${hint}`);
  throw stoppedBy;
}
