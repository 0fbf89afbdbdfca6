// `fleet journal undo`: restores the states and values that the bicycles had before a run, as the
// run's journal recorded them. Skips bicycles that another user has changed since the run.

import { BICYCLE } from '../../api/bicycle.js';
import { readTransitions } from '../../api/history.js';
import { targetStateOf, transitionBack } from '../../api/transition-rules.js';
import { planActions } from '../../bulk/actions.js';
import { carryOut } from '../../bulk/carry-out.js';
import { isSameTransition } from '../../bulk/evidence.js';
import type { ChangeOptions } from '../../bulk/flags.js';
import { checkCounter, readJournalFile } from '../../bulk/journal.js';
import {
  checkDamage,
  type Journal,
  type JournalEntry,
  judgeEntry,
} from '../../bulk/journal-records.js';
import type { PlanTarget } from '../../bulk/plan.js';
import { planBaseUrl } from '../../bulk/plan-file.js';
import { refuseIfReadOnly } from '../../bulk/question.js';
import type { Context } from '../../context.js';
import { FleetError, usageError } from '../../errors.js';
import { readExact } from '../../json/exact.js';
import { SECOND_MS } from '../../system/time-units.js';
import { clean } from '../../terminal/clean.js';
import { count } from '../../terminal/count.js';
import { readTime } from '../../terminal/time.js';
import { isSameValue } from '../bicycles/field-values.js';
import { fetchBicycle } from '../bicycles/get.js';
import { applyEdits } from '../bicycles/planned-edits.js';

/** A change that was carried out, according to the journal. */
interface DoneChange {
  uuid: string;
  name: string | null;
  entry: JournalEntry;
}

/** A change that cannot be undone. */
interface Kept {
  label: string;
  reason: string;
}

/**
 * Undoes the run of a journal. Throws the errors of carryOut.
 *
 * Throws a FleetError of kind `usage` for a journal that cannot be trusted or belongs to another
 * service. Throws a FleetError of kind `partial` when some changes cannot be undone.
 */
export async function undoJournal(
  context: Context,
  path: string,
  options: ChangeOptions,
): Promise<void> {
  const journal = await readJournalFile(path, context.clock.wallMs());
  const { binding } = journal;
  if (binding === undefined)
    throw usageError(
      `the journal ${path} is empty`,
      'the journal contains no requests; check the file name',
    );
  await checkCounter(journal, path);
  if (options.unknown !== 'resend') checkDamage(journal, path);
  await refuseIfReadOnly(context, options);
  const baseUrl = await planBaseUrl(context);
  if (binding.base_url !== baseUrl)
    throw usageError(
      `the journal ${path} belongs to ${clean(binding.base_url)}, and this profile uses ${baseUrl}; nothing was sent`,
      'choose the profile with --profile',
    );
  const done = doneChanges(journal);
  if (done.length === 0) return context.notice(`the journal ${path} contains no completed changes`);
  const more = options.plan === undefined ? { ...options, journal: `${path}.undo` } : options;
  const identity = { undo: [...journal.runs.keys()][0] ?? '' };
  const kept =
    binding.command === 'bicycles act'
      ? await undoActions(context, journal, done, identity, more)
      : binding.command === 'bicycles edit'
        ? await undoEdits(context, done, identity, more)
        : await keepAll(context, done, binding.command);
  if (kept.length > 0)
    throw new FleetError('partial', `${count(kept.length, 'change')} cannot be undone`, {
      hint: 'the reasons are listed above',
    });
}

function doneChanges({ entries }: Journal): DoneChange[] {
  return [...entries]
    .filter(([, entry]) => judgeEntry(entry) === 'done')
    .map(([key, entry]) => ({
      // The key of an edited or created bicycle also contains a hash of the request body, after the
      // colon.
      uuid: key.split(':', 1)[0] ?? key,
      name: entry.name,
      entry,
    }));
}

async function keepAll(
  context: Context,
  done: readonly DoneChange[],
  command: string,
): Promise<Kept[]> {
  const reason =
    command === 'bicycles create'
      ? 'a creation cannot be undone; retire the bicycle instead'
      : 'no action leads an alert back to its earlier state';
  const kept = done.map((change) => keep(change, reason));
  await report(context, kept);
  return kept;
}

function keep({ uuid, name }: DoneChange, reason: string): Kept {
  return { label: clean(name ?? uuid), reason };
}

/** The maximum number of changes that are listed before the question. */
const KEPT_SHOWN = 100;

async function report({ notice }: Context, kept: readonly Kept[]): Promise<void> {
  for (const { label, reason } of kept.slice(0, KEPT_SHOWN))
    await notice(`cannot be undone: ${label}: ${reason}`);
  if (kept.length > KEPT_SHOWN)
    await notice(`and ${kept.length - KEPT_SHOWN} more changes that cannot be undone`);
}

// The functions below undo transitions.

/** A transition of the run that can be undone. */
interface RunStep {
  change: DoneChange;
  verb: string;
  /**
   * The earliest time at which the request may have been sent, by the service's clock. Undefined
   * when this time is unknown.
   */
  sentAtMs: number | undefined;
}

async function undoActions(
  context: Context,
  { binding }: Journal,
  done: readonly DoneChange[],
  identity: { readonly undo: string },
  options: ChangeOptions,
): Promise<Kept[]> {
  const kept: Kept[] = [];
  const targets: PlanTarget[] = [];
  const steps = new Map<string, RunStep>();
  for (const change of done) {
    const verb = change.entry.transition ?? binding?.['transition'] ?? '';
    const step = { change, verb, sentAtMs: sentAtMs(change.entry) };
    const target = await targetBack(context, step);
    if (typeof target === 'string') kept.push(keep(change, target));
    else {
      targets.push(target);
      steps.set(change.uuid, step);
    }
  }
  await report(context, kept);
  if (targets.length === 0) return kept;
  const stepOf = ({ uuid }: PlanTarget) => steps.get(uuid ?? '');
  const plan = planActions({
    context,
    resource: BICYCLE,
    targets,
    concurrency: options.concurrency,
    rule: 'nothing-later',
    observedAt(target) {
      const atMs = stepOf(target)?.sentAtMs;
      return atMs === undefined ? undefined : new Date(atMs).toISOString();
    },
    ownTransition: (target) => stepOf(target)?.verb ?? '',
    identity,
  });
  await carryOut(context, plan, options);
  return kept;
}

/**
 * Returns the earliest time at which a request may have been sent, by the service's clock. One
 * second is subtracted, because the service's times are in whole seconds.
 */
function sentAtMs({ sending }: JournalEntry): number | undefined {
  const startMs = readTime(sending.start.date);
  return startMs === undefined ? undefined : startMs + sending.afterMs - SECOND_MS;
}

/**
 * Returns the plan target that restores the previous state of a bicycle, or the reason why this is
 * not possible.
 */
async function targetBack(context: Context, step: RunStep): Promise<PlanTarget | string> {
  const { change, verb } = step;
  const { uuid, name, entry } = change;
  const before = entry.sending.before?.state ?? (await stateInHistory(context, step));
  if (before === undefined) return 'no earlier state known';
  const back = transitionBack(before, verb);
  if (back === undefined)
    return `no single transition undoes ${clean(verb)} of a bicycle that was ${clean(before)}`;
  const after = entry.result?.state ?? targetStateOf(verb);
  if (after === undefined) return `the state after ${clean(verb)} is not known`;
  return {
    uuid,
    name,
    observed: { state: after },
    request: { method: 'POST', path: `${BICYCLE.path(uuid)}actions/`, body: { type: back } },
  };
}

const HISTORY_PAGES = 5;

/** Returns the state of a bicycle before the run's transition, from the service's history. */
async function stateInHistory(
  context: Context,
  { change, verb, sentAtMs: fromMs }: RunStep,
): Promise<string | undefined> {
  const steps = await readTransitions(await context.client(), change.uuid, HISTORY_PAGES);
  if (steps === undefined || fromMs === undefined) return undefined;
  const newestFirst = [...steps].sort(
    (one, other) => (readTime(other.timestamp) ?? 0) - (readTime(one.timestamp) ?? 0),
  );
  const own = newestFirst.findLastIndex(
    ({ transition, timestamp }) =>
      isSameTransition(transition, verb) && (readTime(timestamp) ?? 0) > fromMs,
  );
  if (own === -1) return undefined;
  return newestFirst[own]?.from ?? newestFirst[own + 1]?.to ?? undefined;
}

// The following functions undo edits.

async function undoEdits(
  context: Context,
  done: readonly DoneChange[],
  identity: { readonly undo: string },
  options: ChangeOptions,
): Promise<Kept[]> {
  const kept: Kept[] = [];
  const targets: PlanTarget[] = [];
  for (const change of done) {
    const { target, reasons } = await earlierValues(context, change);
    kept.push(...reasons.map((reason) => keep(change, reason)));
    if (target !== undefined) targets.push(target);
  }
  await report(context, kept);
  if (targets.length > 0) await applyEdits(context, { targets }, identity, options);
  return kept;
}

/**
 * Returns a plan target that restores the old values, and the reasons why other fields cannot be
 * restored.
 */
async function earlierValues(
  context: Context,
  { uuid, name, entry }: DoneChange,
): Promise<{ target: PlanTarget | undefined; reasons: string[] }> {
  const { fields } = entry;
  if (fields === undefined)
    return { target: undefined, reasons: ['the journal does not have the earlier values'] };
  const found = await fetchBicycle(context, await context.client(), uuid).catch((error) => {
    if (error instanceof FleetError && error.kind === 'not-found') return undefined;
    throw error;
  });
  if (found === undefined)
    return { target: undefined, reasons: ['no longer exists, or you have no access'] };
  const now = readExact(found.json) as { readonly [field: string]: unknown };
  const observed: { [field: string]: unknown } = {};
  const body: { [field: string]: unknown } = {};
  const reasons: string[] = [];
  for (const [field, values] of Object.entries(fields)) {
    const after = readExact(values.after);
    const before = values.before === undefined ? null : readExact(values.before);
    if (isSameValue(field, before, now[field])) continue;
    if (isSameValue(field, after, now[field])) {
      observed[field] = after;
      body[field] = before;
    } else reasons.push(`${clean(field)} was changed since the run`);
  }
  if (Object.keys(body).length === 0) return { target: undefined, reasons };
  const path = BICYCLE.path(uuid);
  return { target: { uuid, name, observed, request: { method: 'PUT', path, body } }, reasons };
}
