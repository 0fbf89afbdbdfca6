// The second half of a resumed run: waits until nothing can arrive any more, then decides what an earlier run left in doubt.

import { sleep } from '../../clock.js';
import type { ChangeResult } from '../../views/action.js';
import type { Ended } from '../../views/endings.js';
import type { Decision, Doubt, UnknownChoice } from './plan.js';
import { askAgain } from './question.js';
import { type RunEnd, streamOf } from './run.js';
import { failureOf, report, type Session, send } from './session.js';

/** The doubts of a run, by what was decided of them. */
interface Decided<T> {
  untouched: Doubt<T>[];
  unknown: { doubt: Doubt<T>; state: string | null; why: string }[];
}

/**
 * Decides the doubts that openTasks found, after `--settle` counted from `startedMs` on the monotonic clock, and sends what was certainly
 * not carried out. Every doubt is reported once; never rejects.
 */
export async function settleDoubts<T, R extends Ended>(session: Session<T, R>, startedMs: number): Promise<RunEnd> {
  const { context, plan, options, reporter, state } = session;
  const doubts = [...state.doubts];
  if (doubts.length === 0) return { stoppedBy: undefined, isReadToItsEnd: true };
  let unknown: Decided<T>['unknown'] = doubts.map((doubt) => ({ doubt, state: null, why: 'the run was stopped' }));
  let end: RunEnd = { stoppedBy: undefined, isReadToItsEnd: true };
  try {
    await waitUntilSettled(session, startedMs + options.settle * 1000);
    const decide = await plan.doubts.lookUp(await context.client(), doubts);
    const first = await sort(session, doubts, decide(state));
    unknown = first.unknown;
    const doneCount = doubts.length - first.untouched.length - unknown.length;
    reporter.say(
      `${doubts.length} in doubt since an earlier run: ${doneCount} done, ${first.untouched.length} not done and sent now, ${unknown.length} unknown`,
    );
    end = await send(session, streamOf(first.untouched.map(({ task }) => task)));
    // An answer may have shown by now where the transition leads.
    const open = unknown.map(({ doubt }) => doubt);
    unknown = (await sort(session, open, onlyDone(decide(state)))).unknown;
    if (end.stoppedBy === undefined && unknown.length > 0) {
      const choice =
        options.unknown ??
        ((await askAgain(context, await questionOf(session, unknown), plan.input.isStdin)) ? 'resend' : 'leave');
      const chosen = unknown;
      if (choice !== 'leave') unknown = [];
      end = await carryOutChoice(session, chosen, choice);
    }
  } catch (error) {
    end = { stoppedBy: error, isReadToItsEnd: true };
  }
  for (const one of unknown) await leaveUnknown(session, one);
  return end;
}

/** Reports the doubts of a run that was stopped before it could decide them. */
export async function leaveDoubts<T, R extends Ended>(session: Session<T, R>): Promise<void> {
  for (const doubt of session.state.doubts) {
    await leaveUnknown(session, { doubt, state: null, why: 'the run was stopped' });
  }
}

async function waitUntilSettled<T, R extends Ended>(session: Session<T, R>, untilMs: number): Promise<void> {
  const { context, reporter, state } = session;
  const restMs = untilMs - context.clock.monotonicMs();
  if (restMs <= 0) return;
  reporter.say(
    `${state.doubts.length} in doubt since an earlier run; waiting ${Math.ceil(restMs / 1000)} s (--settle) for late requests`,
  );
  reporter.settling(untilMs);
  await sleep(context.clock, restMs, context.signal);
  reporter.settling(undefined);
}

/** Settles what is done, and sorts the rest. */
async function sort<T, R extends Ended>(
  session: Session<T, R>,
  doubts: readonly Doubt<T>[],
  decisions: ReadonlyMap<T, Decision>,
): Promise<Decided<T>> {
  const decided: Decided<T> = { untouched: [], unknown: [] };
  for (const doubt of doubts) {
    const decision = decisions.get(doubt.task) ?? { kind: 'unknown', state: null, why: 'nothing is known of it' };
    if (decision.kind === 'untouched') decided.untouched.push(doubt);
    else if (decision.kind === 'unknown') decided.unknown.push({ doubt, state: decision.state, why: decision.why });
    else await settle(session, doubt, decision);
  }
  return decided;
}

/** Evidence that was read before the sending says nothing against what was decided then; only a target may have become known. */
function onlyDone<T>(decisions: ReadonlyMap<T, Decision>): Map<T, Decision> {
  return new Map(
    [...decisions].map(([task, decision]) => [
      task,
      decision.kind === 'untouched' ? { kind: 'unknown', state: null, why: 'nothing is known of it' } : decision,
    ]),
  );
}

async function settle<T, R extends Ended>(
  session: Session<T, R>,
  { task }: Doubt<T>,
  { uuid, state, why }: { uuid: string | null; state: string | null; why: string },
): Promise<void> {
  const { plan, journal } = session;
  const message = `no answer came, but it was carried out: ${why}`;
  const result: ChangeResult = { outcome: 'done', status: null, state, request_id: null, milliseconds: null, message };
  try {
    await journal?.record(plan.change.keyOf(task), result, uuid);
  } finally {
    await report(session, task, result, { uuid, name: null });
  }
}

async function carryOutChoice<T, R extends Ended>(
  session: Session<T, R>,
  unknown: Decided<T>['unknown'],
  choice: UnknownChoice,
): Promise<RunEnd> {
  if (choice === 'resend') return send(session, streamOf(unknown.map(({ doubt }) => doubt.task)));
  if (choice === 'done') {
    for (const { doubt, state } of unknown) {
      await settle(session, doubt, { uuid: null, state, why: 'so says --unknown done' });
    }
  }
  return { stoppedBy: undefined, isReadToItsEnd: true };
}

async function questionOf<T, R extends Ended>(
  { plan }: Session<T, R>,
  unknown: Decided<T>['unknown'],
): Promise<string> {
  const [first] = unknown;
  const label = first === undefined ? '' : await plan.change.labelOf(first.doubt.task);
  const state = first?.state == null ? '' : ` is ${first.state}`;
  const more = unknown.length > 1 ? ', …' : '';
  return `${unknown.length} may have been done before or not (${label}${state}${more}); ${plan.verb} them again?`;
}

async function leaveUnknown<T, R extends Ended>(
  session: Session<T, R>,
  { doubt, state, why }: Decided<T>['unknown'][number],
): Promise<void> {
  const { result } = doubt.entry;
  const now = state === null ? '' : `; it is ${state} now`;
  const message = `sent by an earlier run, and whether it was carried out is unknown: ${why}${now}`;
  const known = { status: result?.status ?? null, request_id: result?.request_id ?? null };
  const left: ChangeResult = { outcome: 'unknown', state, milliseconds: null, message, ...known };
  session.state.lastError = failureOf(left);
  await report(session, doubt.task, left, { uuid: doubt.entry.uuid, name: null });
}
