// The story of every change to one bicycle or many: journal, question, run, what was in doubt, summary, exit code.

import type { Context } from '../../../context.js';
import { FleetError } from '../../../errors.js';
import { ReaderLeft } from '../../../terminal/io.js';
import type { Facts } from '../../../views/action.js';
import { showRequests } from './dry-run.js';
import { type Journal, judgeEntry, openJournal } from './journal.js';
import { readNewest } from './look-up.js';
import type { ChangeOptions, Plan } from './plan.js';
import { askBefore, EXAMPLES_SHOWN } from './question.js';
import { openReporter, type Reporter } from './report.js';
import { FailedFast, type RunEnd } from './run.js';
import { openSession } from './session.js';

/**
 * Carries a plan out. Ends normally when everything is done; throws the failure of a single task, what stopped the run (401, 403,
 * outage, signal), or a FleetError of kind `partial`, after everything was reported and summed up.
 */
export async function carryOut<T, R extends Facts>(
  context: Context,
  plan: Plan<T, R>,
  options: ChangeOptions,
): Promise<void> {
  const client = await context.client({ signal: context.urgentSignal });
  if (options.dryRun === true) return showRequests(context, client, plan, options);
  const total = 'length' in plan.tasks ? plan.tasks.length : undefined;
  const journal =
    options.journal === undefined ? undefined : await openJournal(options.journal, plan.binding, context.clock.wallMs);
  try {
    plan.checkJournal?.(journal?.before.entries.keys() ?? []);
    const reporter = await openReporter<R>(context, { verb: plan.verb, shape: plan.shape, total });
    if (options.yes !== true) await askWhereNeeded(context, plan, journal);
    const newestField = plan.makesBicycles ? 'created' : 'modified';
    await journal?.begin({
      newest: await readNewest(await context.client(), newestField),
      timeoutMs: (await context.settings()).timeoutMs.value,
    });
    reporter.begin();
    const session = openSession({ context, plan, options, client, journal, reporter });
    const end = await session.run();
    const unwritten: unknown = await reporter.end().then(
      () => undefined,
      (error: unknown) => error,
    );
    const stoppedBy = end.stoppedBy ?? unwritten;
    await conclude({ context, plan, options, reporter, end: { ...end, stoppedBy }, lastError: session.lastError() });
  } finally {
    await journal?.close();
  }
}

async function askWhereNeeded<T, R extends Facts>(
  context: Context,
  plan: Plan<T, R>,
  journal: Journal | undefined,
): Promise<void> {
  // The input is at hand here: a stream is acted on only with --yes.
  const tasks = 'length' in plan.tasks ? plan.tasks : [];
  const left = tasks.filter((task) => {
    const known = judgeEntry(journal?.before.entries.get(plan.keyOf(task)));
    return known === 'open' || known === 'doubt';
  });
  const { isProtected } = await context.settings();
  // "A profile can be marked protected": then every change asks, also one that else would not.
  const always = isProtected.value ? { isGrave: false } : undefined;
  const question = left.length === 0 ? undefined : (plan.questionFor(left.length) ?? always);
  if (question === undefined) return;
  const examples = left.slice(0, EXAMPLES_SHOWN).map(plan.labelOf);
  await askBefore(context, { verb: plan.verb, count: left.length, examples, ...question }, plan.isStdinTaken);
}

interface Conclusion<T, R extends Facts> {
  context: Context;
  plan: Plan<T, R>;
  options: ChangeOptions;
  reporter: Reporter<R>;
  end: RunEnd;
  lastError: FleetError | undefined;
}

/** Sums up, and throws what the exit code is to be. */
async function conclude<T, R extends Facts>(conclusion: Conclusion<T, R>): Promise<void> {
  const { context, plan, options, reporter, lastError } = conclusion;
  const { stoppedBy, isReadToItsEnd } = conclusion.end;
  const isInterrupted = stoppedBy instanceof FleetError && /^(interrupted|terminated)$/.test(stoppedBy.kind);
  const badCount = reporter.badCount();
  if (plan.isSingle) {
    if (isInterrupted && reporter.count('not-sent') > 0) throw stoppedBy;
    if (badCount > 0) throw lastError ?? stoppedBy;
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
      ? 'a run with --journal FILE can be repeated, and goes on where it stopped'
      : 'the same command goes on where this one stopped';
  if (!isStopped || (stoppedBy instanceof ReaderLeft && badCount > 0) || (isUsage && wasSent)) {
    const why = stoppedBy instanceof Error && !(stoppedBy instanceof ReaderLeft) ? `${stoppedBy.message}; ` : '';
    throw new FleetError('partial', `${why}${summary}`, {
      ...(hint === undefined ? {} : { hint }),
      cause: stoppedBy,
    });
  }
  if (wasSent || reporter.count('not-sent') > 0)
    await context.notice(hint === undefined ? summary : `${summary}; ${hint}`);
  throw stoppedBy;
}
