// The second half of a resumed run: waits until nothing can arrive any more, then decides what an earlier run left in doubt.

import { sleep } from '../../clock.js';
import type { ChangeResult } from '../../views/action.js';
import type { Decision, Doubt, UnknownChoice } from './plan.js';
import { askAgain } from './question.js';
import { type RunEnd, streamOf } from './run.js';
import { failureOf, report, type Session, send } from './session.js';

/** A doubt that no evidence decided. */
interface Undecided<T> {
  doubt: Doubt<T>;
  /** What the bicycle is now, where that is known. */
  state: string | null;
  why: string;
}

const WHOLE: RunEnd = { stoppedBy: undefined, isReadToItsEnd: true };

/**
 * Decides the doubts that openTasks found, after `--settle` counted from `startedMs` on the monotonic clock, and sends what was certainly
 * not carried out. Every doubt is reported once; never rejects.
 */
export async function settleDoubts<T>(session: Session<T>, startedMs: number): Promise<RunEnd> {
  const { context, plan, options, reporter, state } = session;
  const { doubts } = state;
  if (doubts.length === 0) return WHOLE;
  let unknown = doubts.map(undecided);
  let end = WHOLE;
  try {
    await waitUntilSettled(session, startedMs + options.settle * 1000);
    const decide = await plan.doubts.lookUp(await context.client(), doubts);
    const first = await sort(session, doubts, decide(state));
    unknown = first.unknown;
    const doneCount = doubts.length - first.untouched.length - unknown.length;
    reporter.say(
      `${doubts.length} in doubt from an earlier run: ${doneCount} done, ${first.untouched.length} not done and sent now, ${unknown.length} unknown`,
    );
    end = await send(session, streamOf(first.untouched));
    // An answer may have shown by now where the transition leads; what was read before the sending says nothing against what was decided.
    const later = new Map([...decide(state)].filter(([, { kind }]) => kind !== 'untouched'));
    const open = unknown.map(({ doubt }) => doubt);
    unknown = (await sort(session, open, later)).unknown;
    if (end.stoppedBy === undefined && unknown.length > 0) {
      const choice = options.unknown ?? (await askForChoice(session, unknown));
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

function undecided<T>(doubt: Doubt<T>): Undecided<T> {
  return { doubt, state: null, why: 'the run was stopped' };
}

/** Reports the doubts of a run that was stopped before it could decide them. */
export async function leaveDoubts<T>(session: Session<T>): Promise<void> {
  for (const doubt of session.state.doubts) await leaveUnknown(session, undecided(doubt));
}

async function waitUntilSettled<T>(session: Session<T>, untilMs: number): Promise<void> {
  const { context, reporter, state } = session;
  const restMs = untilMs - context.clock.monotonicMs();
  if (restMs <= 0) return;
  reporter.say(
    `${state.doubts.length} in doubt from an earlier run; waiting ${Math.ceil(restMs / 1000)} s (--settle) for late requests`,
  );
  reporter.settling(untilMs);
  await sleep(context.clock, restMs, context.signal);
  reporter.settling(undefined);
}

/** Settles what is done, and sorts the rest. */
async function sort<T>(
  session: Session<T>,
  doubts: readonly Doubt<T>[],
  decisions: ReadonlyMap<T, Decision>,
): Promise<{ untouched: T[]; unknown: Undecided<T>[] }> {
  const untouched: T[] = [];
  const unknown: Undecided<T>[] = [];
  for (const doubt of doubts) {
    const decision = decisions.get(doubt.task) ?? { kind: 'unknown', state: null, why: 'nothing is known about it' };
    if (decision.kind === 'untouched') untouched.push(doubt.task);
    else if (decision.kind === 'unknown') unknown.push({ doubt, state: decision.state, why: decision.why });
    else await settle(session, doubt, decision);
  }
  return { untouched, unknown };
}

async function settle<T>(
  session: Session<T>,
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

async function carryOutChoice<T>(
  session: Session<T>,
  unknown: readonly Undecided<T>[],
  choice: UnknownChoice,
): Promise<RunEnd> {
  if (choice === 'resend') return send(session, streamOf(unknown.map(({ doubt }) => doubt.task)));
  if (choice === 'done')
    for (const { doubt, state } of unknown)
      await settle(session, doubt, { uuid: null, state, why: '--unknown done was given' });
  return WHOLE;
}

async function askForChoice<T>(
  { context, plan }: Session<T>,
  unknown: readonly Undecided<T>[],
): Promise<UnknownChoice> {
  const [first] = unknown;
  const label = first === undefined ? '' : await plan.change.labelOf(first.doubt.task);
  const state = first?.state == null ? '' : ` is ${first.state}`;
  const more = unknown.length > 1 ? ', …' : '';
  const question = `${unknown.length} may or may not have been done before (${label}${state}${more}); ${plan.verb} them again?`;
  return (await askAgain(context, question, plan.input.isStdin)) ? 'resend' : 'leave';
}

async function leaveUnknown<T>(session: Session<T>, { doubt, state, why }: Undecided<T>): Promise<void> {
  const { result } = doubt.entry;
  const now = state === null ? '' : `; it is ${state} now`;
  const message = `sent by an earlier run, and whether it was carried out is unknown: ${why}${now}`;
  const known = { status: result?.status ?? null, request_id: result?.request_id ?? null };
  const left: ChangeResult = { outcome: 'unknown', state, milliseconds: null, message, ...known };
  session.state.lastError = failureOf(left);
  await report(session, doubt.task, left, { uuid: doubt.entry.uuid, name: null });
}
