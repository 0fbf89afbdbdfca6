// What passing webhooks on does next: `forwardState(state, event, now)`. One body at a time, in order; tried again until it is taken.

import { doublingPauseMs } from '../../clock.js';
import { LONGEST_ASKED_PAUSE_MS } from '../../http/retry.js';
import type { Moment } from '../../mirror/knowledge.js';
import type { Step } from '../../step.js';

export interface ForwardState {
  /** Bodies that wait, the one in flight included. */
  readonly waiting: number;
  readonly isSending: boolean;
  /** Tries of the first body that failed, and those that the receiver refused. */
  readonly failures: number;
  readonly refusals: number;
  /** When the first body is sent, on the monotonic clock. */
  readonly dueMs: number;
  /** Since when it fails. */
  readonly failingSinceMs: number | undefined;
}

export type ForwardEvent =
  | { readonly type: 'added' }
  /** The receiver answered, or not: `status` is undefined then. */
  | {
      readonly type: 'answered';
      readonly status: number | undefined;
      readonly reason: string;
      readonly askedMs: number | undefined;
    }
  | { readonly type: 'tick' };

export type ForwardEffect =
  /** Send the first body. */
  | { readonly type: 'send' }
  /** The first body is done: forget it. `reason`: it was given up. */
  | { readonly type: 'done'; readonly reason: string | undefined }
  | { readonly type: 'wake'; readonly inMs: number }
  | { readonly type: 'failing'; readonly reason: string; readonly retryInMs: number }
  | { readonly type: 'back'; readonly downMs: number };

type ForwardStep = Step<ForwardState, ForwardEffect>;

const FIRST_PAUSE_MS = 250;
const LONGEST_PAUSE_MS = 30_000;
/** A body that is refused so often is given up: it would hold up all behind it for ever. */
const REFUSAL_LIMIT = 10;
/** Client errors that ask to come again. */
const PASSING_STATUSES: readonly number[] = [408, 425, 429];

export function startForward(waiting: number): ForwardState {
  return {
    waiting,
    isSending: false,
    failures: 0,
    refusals: 0,
    dueMs: Number.NEGATIVE_INFINITY,
    failingSinceMs: undefined,
  };
}

export function forwardState(state: ForwardState, event: ForwardEvent, { monotonicMs }: Moment): ForwardStep {
  if (event.type === 'added') return next({ ...state, waiting: state.waiting + 1 }, [], monotonicMs);
  if (event.type === 'tick') return next(state, [], monotonicMs);
  const { status, reason, askedMs = 0 } = event;
  const isTaken = status !== undefined && status >= 200 && status < 300;
  const isRefused = status !== undefined && status >= 400 && status < 500 && !PASSING_STATUSES.includes(status);
  const refusals = state.refusals + (isRefused ? 1 : 0);
  if (isTaken || refusals >= REFUSAL_LIMIT) {
    const { failingSinceMs } = state;
    const done = { ...startForward(state.waiting - 1) };
    const effects: ForwardEffect[] = [{ type: 'done', reason: isTaken ? undefined : reason }];
    if (isTaken && failingSinceMs !== undefined) effects.push({ type: 'back', downMs: monotonicMs - failingSinceMs });
    return next(done, effects, monotonicMs);
  }
  const failures = state.failures + 1;
  const backoffMs = doublingPauseMs(failures, FIRST_PAUSE_MS, LONGEST_PAUSE_MS);
  const retryInMs = Math.max(backoffMs, Math.min(askedMs, LONGEST_ASKED_PAUSE_MS));
  const isFirst = state.failingSinceMs === undefined;
  const failed: ForwardState = {
    ...state,
    isSending: false,
    failures,
    refusals,
    dueMs: monotonicMs + retryInMs,
    failingSinceMs: state.failingSinceMs ?? monotonicMs,
  };
  return next(failed, isFirst ? [{ type: 'failing', reason, retryInMs }] : [], monotonicMs);
}

function next(state: ForwardState, effects: readonly ForwardEffect[], monotonicMs: number): ForwardStep {
  if (state.isSending || state.waiting === 0) return { state, effects };
  const inMs = state.dueMs - monotonicMs;
  if (inMs > 0) return { state, effects: [...effects, { type: 'wake', inMs: Math.ceil(inMs) }] };
  return { state: { ...state, isSending: true }, effects: [...effects, { type: 'send' }] };
}
