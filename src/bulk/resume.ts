// The second half of a resumed run: waits until no request can arrive any more, then decides the
// requests that an earlier run left unresolved.

import { sleep } from '../system/clock.js';
import { count } from '../terminal/count.js';
import { resultOf } from './answer.js';
import type { UnknownChoice } from './flags.js';
import type { DecidedDoubt, Doubt, Turn } from './plan.js';
import { askAgain, describeTask } from './question.js';
import { type BulkRun, send } from './run.js';
import { failureOf } from './sort-tasks.js';

/** An unresolved task that no evidence decides. */
type Undecided = Extract<DecidedDoubt, { kind: 'unknown' }>;

/**
 * Decides unresolved tasks, `--settle` seconds after `startedMs` on the monotonic clock, and sends
 * those that were certainly not carried out. Reports each task once, even when the run is stopped.
 * Never rejects: a failure stops the run.
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
      `${doubts.length} without an answer in an earlier run: ${done.length} done, ${untouched.length} not done and sent now, ${unknown.length} unknown`,
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
  const question = `${unknown.length} may or may not have been done before (${label}${state}${more}); ${plan.change.verb} them again?`;
  return (await askAgain(context, question, plan.isStdin)) ? 'resend' : 'leave';
}

/** Returns the turn of a decided doubt. A change that was not carried out is sent. */
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
  const message = `sent by an earlier run, and whether it was carried out is unknown: ${why}${now}`;
  const result = resultOf('unknown', { status, state, request_id, message });
  return { ...task, end: { result, uuid: entry.uuid, error: failureOf(result) } };
}
