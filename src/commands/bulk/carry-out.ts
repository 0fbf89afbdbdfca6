// Carries out a change to one bicycle or many: journal, question, run, what was in doubt, summary, exit code.

import type { Context } from '../../context.js';
import { FleetError } from '../../errors.js';
import { ReaderLeft } from '../../terminal/io.js';
import { showRequests } from './dry-run.js';
import { readStart, userOf } from './evidence.js';
import { type OpenJournal, openJournal } from './journal.js';
import type { ChangeOptions, Plan } from './plan.js';
import { askBefore, EXAMPLES_SHOWN } from './question.js';
import { judgeEntry } from './records.js';
import { openReporter } from './report.js';
import { leaveDoubts, settleDoubts } from './resume.js';
import { FailedFast, isSignal, type RunEnd } from './run.js';
import { openState, openTasks, type Session, send } from './session.js';

/**
 * Carries a plan out. Ends normally when everything is done; throws the failure of a single task, what stopped the run (401, 403,
 * outage, signal), or a FleetError of kind `partial`, after everything was reported and summed up.
 */
export async function carryOut<T>(context: Context, plan: Plan<T>, options: ChangeOptions): Promise<void> {
  const client = await context.client({ signal: context.urgentSignal });
  if (options.dryRun === true) return showRequests(context, client, plan, options);
  const journal = await openOwnJournal(context, plan, options);
  const startedMs = context.clock.monotonicMs();
  try {
    plan.journal.check?.(journal?.before.keys() ?? []);
    const reporter = await openReporter(context, plan);
    if (options.yes !== true) await askWhereNeeded(context, plan, journal);
    if (journal !== undefined) {
      const field = plan.change.makesBicycles ? 'created' : 'modified';
      const start = await readStart(await context.client(), plan.resource, field);
      const user = userOf(await (await context.token()).get());
      await journal.begin({ ...start, user });
    }
    reporter.begin();
    const state = openState(plan, journal);
    const session = { context, plan, options, client, journal, reporter, state };
    const end = await run(session, startedMs);
    const unwritten: unknown = await reporter.end().then(
      () => undefined,
      (error: unknown) => error,
    );
    await conclude(session, { ...end, stoppedBy: end.stoppedBy ?? unwritten });
  } finally {
    await plan.doubts.close?.();
    await journal?.close();
  }
}

async function openOwnJournal<T>(
  context: Context,
  { journal }: Plan<T>,
  options: ChangeOptions,
): Promise<OpenJournal | undefined> {
  if (options.journal === undefined) return undefined;
  const { clock, signal } = context;
  return openJournal(options.journal, journal.binding, { clock, signal, say: (line) => void context.notice(line) });
}

/** Sends what is to be sent and reports every task once. Never rejects: what stopped it is in its end. */
async function run<T>(session: Session<T>, startedMs: number): Promise<RunEnd> {
  const { context, reporter, state } = session;
  const onSignal = () => {
    if (state.inFlight > 0) reporter.say(`letting ${state.inFlight} in flight finish; Ctrl-C again gives them up`);
  };
  context.signal.addEventListener('abort', onSignal);
  try {
    const first = await send(session, openTasks(session));
    if (first.stoppedBy === undefined) return await settleDoubts(session, startedMs);
    await leaveDoubts(session);
    return first;
  } catch (error) {
    return { stoppedBy: error, isReadToItsEnd: false };
  } finally {
    context.signal.removeEventListener('abort', onSignal);
  }
}

async function askWhereNeeded<T>(
  context: Context,
  { resource, verb, input, change }: Plan<T>,
  journal: OpenJournal | undefined,
): Promise<void> {
  // The input is at hand here: a stream is acted on only with --yes.
  const tasks = 'length' in input.tasks ? input.tasks : [];
  const left = tasks.filter((task) => {
    const known = judgeEntry(journal?.before.get(change.keyOf(task)));
    return known === 'open' || known === 'doubt';
  });
  const { isProtected } = await context.settings();
  // "A profile can be marked protected": then every change asks, also one that else would not.
  const always = isProtected.value ? { isGrave: false } : undefined;
  const question = left.length === 0 ? undefined : (input.questionFor(left.length) ?? always);
  if (question === undefined) return;
  const examples = await Promise.all(left.slice(0, EXAMPLES_SHOWN).map(change.labelOf));
  await askBefore(context, { resource, verb, count: left.length, examples, ...question }, input.isStdin);
}

/** Sums up, and throws what the exit code is to be. */
async function conclude<T>(session: Session<T>, end: RunEnd): Promise<void> {
  const { context, plan, options, reporter } = session;
  const { stoppedBy, isReadToItsEnd } = end;
  const badCount = reporter.badCount();
  if (plan.input.isSingle) {
    if (isSignal(stoppedBy) && reporter.count('not-sent') > 0) throw stoppedBy;
    if (badCount > 0) throw session.state.lastError ?? stoppedBy;
    if (stoppedBy !== undefined) throw stoppedBy;
    return;
  }
  const unread = isReadToItsEnd ? '' : '; the rest of the input was not read';
  const summary = `${reporter.summary()}${unread}`;
  const wasSent = reporter.count('done') + badCount - reporter.count('not-sent') > 0;
  const isUsage = stoppedBy instanceof FleetError && stoppedBy.kind === 'usage';
  // A stop that everything was done before is none, but for a signal: who sent it wants to see it in the exit code.
  const isStopped = stoppedBy !== undefined && !(stoppedBy instanceof FailedFast);
  if (!isStopped && badCount === 0) return context.notice(summary);
  const isRefusedOnly = badCount === reporter.count('refused');
  const hint = isRefusedOnly
    ? undefined
    : options.journal === undefined
      ? 'a run with --journal FILE can be repeated, and resumes where it stopped'
      : 'the same command resumes where this one stopped';
  if (!isStopped || (stoppedBy instanceof ReaderLeft && badCount > 0) || (isUsage && wasSent)) {
    const why = stoppedBy instanceof Error && !(stoppedBy instanceof ReaderLeft) ? `${stoppedBy.message}; ` : '';
    throw new FleetError('partial', `${why}${summary}`, { hint, cause: stoppedBy });
  }
  if (wasSent || reporter.count('not-sent') > 0)
    await context.notice(hint === undefined ? summary : `${summary}; ${hint}`);
  throw stoppedBy;
}
