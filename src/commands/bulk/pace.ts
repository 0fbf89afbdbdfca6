// The pace of a bulk run as a pure machine: how many may ask at once, and from when on, learned from what the service answers.

import { pauseBefore } from '../../http/retry.js';

/** Everything the pace knows; times are of the monotonic clock, in milliseconds. */
export interface PaceState {
  /** The most requests in flight that the operator allows. */
  readonly most: number;
  /** The most requests in flight that the service seems to bear now. */
  readonly limit: number;
  readonly inFlight: number;
  /** How many wait for leave to send. */
  readonly waiting: number;
  /** Nothing is sent before this moment. */
  readonly notBeforeMs: number;
  /** The last answers, oldest first; true: the service answered. */
  readonly recent: readonly boolean[];
  readonly failuresInARow: number;
  /** Good answers in a row since the limit changed. */
  readonly goodSinceChange: number;
  /** Answers still to come from requests that left before the last halving. */
  readonly sameTrouble: number;
}

export type PaceEvent =
  | { kind: 'enter' }
  /** `isWell`: the service answered, whatever it answered; false: it failed, or did not answer. */
  | { kind: 'leave'; isWell: boolean }
  /** The service asked for a pause (429), or could not be reached: the sender gives its leave back and waits again. */
  | { kind: 'pause'; milliseconds: number }
  | { kind: 'wake' };

/** What follows from an event: how many of those who wait may go, and when to look again when time alone holds them. */
export interface PaceStep {
  state: PaceState;
  admitted: number;
  wakeAtMs: number | undefined;
}

/** The answers that are looked at to tell bad luck from an overload. */
const RECENT_ANSWERS = 20;

/** One failure among the recent answers slows nobody, two take one away, so many are an overload and halve the limit. */
const FAILURES_THAT_COUNT = 2;
const FAILURES_OF_AN_OVERLOAD = 5;

/** So many failures in a row make everybody wait as well, longer each time. */
const FAILURES_BEFORE_A_PAUSE = 3;

/** The pace at its beginning; `first` is how many may be in flight before any answer has come. */
export function startPace(most: number, first = most): PaceState {
  return {
    most,
    limit: first,
    inFlight: 0,
    waiting: 0,
    notBeforeMs: 0,
    recent: [],
    failuresInARow: 0,
    goodSinceChange: 0,
    sameTrouble: 0,
  };
}

/**
 * What happens next. A round of good answers allows one more in flight, up to `most`; repeated failures take one away, an overload
 * halves the limit once for all that were in flight. `random` is from 0 up to, not including, 1.
 */
export function stepPace(state: PaceState, event: PaceEvent, now: number, random: () => number): PaceStep {
  if (event.kind === 'enter') return admit({ ...state, waiting: state.waiting + 1 }, now);
  if (event.kind === 'wake') return admit(state, now);
  if (event.kind === 'pause') {
    const slower = giveBack(slowDown(state, now + event.milliseconds));
    return admit({ ...slower, waiting: slower.waiting + 1 }, now);
  }
  const recent = [...state.recent, event.isWell].slice(-RECENT_ANSWERS);
  const next = { ...state, recent };
  return admit(giveBack(event.isWell ? speedUp(next) : takeFailure(next, now, random)), now);
}

function admit(state: PaceState, now: number): PaceStep {
  const isHeld = state.waiting > 0 && state.notBeforeMs > now;
  if (isHeld) return { state, admitted: 0, wakeAtMs: state.notBeforeMs };
  const admitted = Math.max(0, Math.min(state.waiting, state.limit - state.inFlight));
  const next = { ...state, waiting: state.waiting - admitted, inFlight: state.inFlight + admitted };
  return { state: next, admitted, wakeAtMs: undefined };
}

function giveBack(state: PaceState): PaceState {
  return { ...state, inFlight: state.inFlight - 1, sameTrouble: Math.max(0, state.sameTrouble - 1) };
}

function speedUp(state: PaceState): PaceState {
  // What left before the trouble says nothing of how it is now.
  const good = state.goodSinceChange + (state.sameTrouble === 0 ? 1 : 0);
  if (good < state.limit || state.limit >= state.most) return { ...state, failuresInARow: 0, goodSinceChange: good };
  return { ...state, failuresInARow: 0, goodSinceChange: 0, limit: state.limit + 1 };
}

function takeFailure(state: PaceState, now: number, random: () => number): PaceState {
  const failuresInARow = state.failuresInARow + 1;
  const next = { ...state, failuresInARow, goodSinceChange: 0 };
  const failures = state.recent.filter((isWell) => !isWell).length;
  const beyond = failuresInARow - FAILURES_BEFORE_A_PAUSE;
  if (beyond >= 0) return slowDown(next, now + pauseBefore(beyond + 1, random));
  if (failures >= FAILURES_OF_AN_OVERLOAD) return slowDown(next, now);
  if (failures < FAILURES_THAT_COUNT || state.sameTrouble > 0) return next;
  return { ...next, limit: Math.max(1, state.limit - 1) };
}

/** Halves the limit, unless what failed was in flight at the last halving already. */
function slowDown(state: PaceState, notBeforeMs: number): PaceState {
  const held = { ...state, notBeforeMs: Math.max(state.notBeforeMs, notBeforeMs), goodSinceChange: 0 };
  if (state.sameTrouble > 0) return held;
  return { ...held, limit: Math.max(1, Math.floor(state.limit / 2)), sameTrouble: state.inFlight, recent: [] };
}
