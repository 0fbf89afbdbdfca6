// Carries out a change to one bicycle or many: journal, question, run, unresolved requests, summary and
// exit code.

import { BICYCLE } from '../api/bicycle.js';
import type { Context } from '../context.js';
import { FleetError } from '../errors.js';
import { parseJson } from '../json/parse.js';
import { openStates, type States } from '../list/current-mirror.js';
import { clean } from '../terminal/clean.js';
import { ReaderLeft } from '../terminal/delivery.js';
import { showRequests } from './dry-run.js';
import { describeBefore, readStart } from './evidence.js';
import { isSignal } from './in-flight.js';
import { openJournal, peekEntries } from './journal.js';
import type { Before, Binding } from './journal-records.js';
import type { BulkPlan, ChangeOptions, Task, Turn } from './plan.js';
import { askBefore } from './question.js';
import { openReporter } from './report.js';
import { settleDoubts } from './resume.js';
import { type BulkRun, openRun, send } from './run.js';
import { sortTasks } from './sort-tasks.js';
import { checkPlanFlag, writePlan } from './write-plan.js';

/**
 * Carries a plan out. Ends normally when everything is done; throws the failure of a single task, what stopped the run (401, 403,
 * outage, signal), or a FleetError of kind `partial`, after everything was reported and summed up.
 */
export async function carryOut(
  context: Context,
  plan: BulkPlan,
  options: ChangeOptions,
): Promise<void> {
  const { clock, signal, notice } = context;
  if (options.plan !== undefined) checkPlanFlag(options.plan, options);
  // Without an address no journal is begun.
  await context.client();
  if (options.plan !== undefined) return writePlan(context, plan, options.plan, options);
  const binding = await bindingOf(context, plan);
  const { journal: path } = options;
  const isTrusted = options.unknown === 'resend';
  if (options.dryRun === true)
    return showRequests(
      context,
      plan,
      path === undefined ? undefined : await peekEntries(path, binding, { clock, isTrusted }),
    );
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

/** Targets that are listed before the question. Every one is a row of the result. */
const CHANGED_SHOWN = 20;

/** Reads the targets of a plan, and ends the turns that must not be sent. */
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
    await notice(`and ${changed.length - CHANGED_SHOWN} more targets that are left out`);
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

/** Returns the bicycle in the input, or else in a current mirror. */
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

/** Notices of one kind that a run prints; further ones are counted. */
const NOTES_SHOWN = 5;

/** Prints what the service stored in place of the values that were sent. */
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
    // The end by a signal is not reported, and this is more than that.
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
