// The second half of a resumed run: waits until nothing can arrive any more, then decides what an earlier run left in doubt.

import { sleep } from '../../../system/clock.js';
import { count } from '../../../views/stream.js';
import { resultOf } from './answer.js';
import type { UnknownChoice } from './flags.js';
import type { DecidedDoubt, Doubt, Task, TaskDecision } from './plan.js';
import { askAgain, describeTask } from './question.js';
import { type BulkRun, send, take } from './run.js';
import { failureOf } from './sort-tasks.js';

/** A doubt that no evidence decides: why, and what the bicycle is now, where that is known. */
type Undecided = Extract<DecidedDoubt, { kind: 'unknown' }>;

/**
 * Decides doubts, after `--settle` counted from `startedMs` on the monotonic clock, and sends what was certainly
 * not carried out. Every doubt is reported once, also where the run is stopped before. Never rejects: what fails stops the run.
 */
export async function settleDoubts(run: BulkRun, doubts: readonly Doubt[], startedMs: number): Promise<void> {
  const { shown, options, over } = run;
  if (doubts.length === 0) return;
  let unknown = doubts.map(
    (doubt): Undecided => ({ ...doubt, kind: 'unknown', state: null, why: 'the run was stopped' }),
  );
  try {
    over.throwIfAborted();
    await waitUntilSettled(run, doubts.length, startedMs + options.settle * 1000);
    const decided = await run.plan.change.lookUp(await run.context.client(), doubts, shown);
    unknown = decided.filter((one) => one.kind === 'unknown');
    const done = decided.filter((one) => one.kind === 'done');
    const untouched = decided.filter((one) => one.kind === 'untouched');
    await send(run, untouched);
    for (const { task, ...decision } of done) await settle(run, task, decision);
    run.reporter.say(
      `${doubts.length} without an answer in an earlier run: ${done.length} done, ${untouched.length} not done and sent now, ${unknown.length} unknown`,
    );
    if (over.aborted || unknown.length === 0) return;
    const choice = options.unknown ?? (await askForChoice(run, unknown));
    if (choice === 'leave') return;
    const chosen = unknown.splice(0);
    if (choice === 'resend') return await send(run, chosen);
    for (const { task, state } of chosen)
      await settle(run, task, { state, how: 'operator', why: '--unknown done was given' });
  } catch (error) {
    run.stop(error);
  } finally {
    for (const one of unknown) await leaveUnknown(run, one).catch(run.stop);
  }
}

async function waitUntilSettled(
  { context, reporter, over }: BulkRun,
  doubtCount: number,
  untilMs: number,
): Promise<void> {
  const restMs = untilMs - context.clock.monotonicMs();
  if (restMs <= 0) return;
  const seconds = Math.ceil(restMs / 1000);
  reporter.say(`${count(doubtCount, 'request')} of an earlier run may still arrive; waiting ${seconds} s (--settle)`);
  await sleep(context.clock, restMs, over);
}

/** Records and reports a doubt as done. Never rejects: what fails stops the run. */
function settle(
  run: BulkRun,
  task: Task,
  { uuid = null, state, how, why }: Omit<Extract<TaskDecision, { kind: 'done' }>, 'kind'>,
): Promise<void> {
  const message = `no answer came, but it was carried out: ${why}`;
  const result = resultOf('done', { state, message });
  return take(run, task, { result, uuid, how, isRecorded: true }).catch(run.stop);
}

async function askForChoice({ context, plan }: BulkRun, unknown: readonly Undecided[]): Promise<UnknownChoice> {
  const [first] = unknown;
  const label = first === undefined ? '' : await describeTask(context, plan.change, first.task);
  const state = first?.state == null ? '' : ` is ${first.state}`;
  const more = unknown.length > 1 ? ', …' : '';
  const question = `${unknown.length} may or may not have been done before (${label}${state}${more}); ${plan.change.verb} them again?`;
  return (await askAgain(context, question, plan.isStdin)) ? 'resend' : 'leave';
}

async function leaveUnknown(run: BulkRun, { task, entry, state, why }: Undecided): Promise<void> {
  const { status = null, request_id = null } = entry.result ?? {};
  const now = state === null ? '' : `; it is ${state} now`;
  const message = `sent by an earlier run, and whether it was carried out is unknown: ${why}${now}`;
  const result = resultOf('unknown', { status, state, request_id, message });
  await take(run, task, { result, uuid: entry.uuid, error: failureOf(result) });
}
