// The pace of a bulk run, as pure functions: how many may ask at once, and from when on, learned from what the service answers.

import { pauseBefore } from '../../http/retry.js';

/** Everything the pace knows; times are of the monotonic clock, in milliseconds. */
export interface Pace {
  /** The most requests in flight that the operator allows. */
  readonly most: number;
  /** The most requests in flight that the service seems to bear now. */
  readonly limit: number;
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

/** What goes on beside an answer. */
export interface Surroundings {
  /** Requests that are still in flight. */
  othersInFlight: number;
  nowMs: number;
  /** From 0 up to, not including, 1. */
  random(): number;
}

/** The answers that are looked at to tell bad luck from an overload. */
const RECENT_ANSWERS = 20;

/** One failure among the recent answers slows nobody, two take one away, so many are an overload and halve the limit. */
const FAILURES_THAT_COUNT = 2;
const FAILURES_OF_AN_OVERLOAD = 5;

/** So many failures in a row make everybody wait as well, longer each time. */
const FAILURES_BEFORE_A_PAUSE = 3;

/** The pace at its beginning; `first` is how many may be in flight before any answer has come. */
export function startPace(most: number, first = most): Pace {
  return { most, limit: first, notBeforeMs: 0, recent: [], failuresInARow: 0, goodSinceChange: 0, sameTrouble: 0 };
}

/**
 * The pace after an answer. `isWell`: the service answered, whatever it answered; false: it failed, or did not answer. A round of good
 * answers allows one more in flight, up to `most`; repeated failures take one away, an overload halves the limit once for all that were
 * in flight.
 */
export function takeAnswer(before: Pace, isWell: boolean, { othersInFlight, nowMs, random }: Surroundings): Pace {
  const recent = [...before.recent, isWell].slice(-RECENT_ANSWERS);
  if (isWell) return speedUp({ ...before, recent });
  const failuresInARow = before.failuresInARow + 1;
  const pace = { ...before, recent, failuresInARow, goodSinceChange: 0 };
  const failures = recent.filter((isGood) => !isGood).length;
  const beyond = failuresInARow - FAILURES_BEFORE_A_PAUSE;
  if (beyond >= 0) return slowDown(pace, nowMs + pauseBefore(beyond + 1, random), othersInFlight);
  if (failures >= FAILURES_OF_AN_OVERLOAD) return slowDown(pace, nowMs, othersInFlight);
  if (failures < FAILURES_THAT_COUNT || pace.sameTrouble > 0) return forget(pace);
  return { ...pace, limit: Math.max(1, pace.limit - 1) };
}

function speedUp(pace: Pace): Pace {
  // What left before the trouble says nothing of how it is now.
  const good = pace.goodSinceChange + (pace.sameTrouble === 0 ? 1 : 0);
  const isRound = good >= pace.limit && pace.limit < pace.most;
  return forget({
    ...pace,
    failuresInARow: 0,
    goodSinceChange: isRound ? 0 : good,
    limit: isRound ? pace.limit + 1 : pace.limit,
  });
}

/** Holds everybody until a moment, and halves the limit, unless what came back was in flight at the last halving already. */
export function slowDown(pace: Pace, notBeforeMs: number, othersInFlight: number): Pace {
  const held = { ...pace, notBeforeMs: Math.max(pace.notBeforeMs, notBeforeMs), goodSinceChange: 0 };
  if (pace.sameTrouble > 0) return forget(held);
  return { ...held, limit: Math.max(1, Math.floor(pace.limit / 2)), sameTrouble: othersInFlight, recent: [] };
}

/** One of those that left before the last halving has come back. */
function forget(pace: Pace): Pace {
  return { ...pace, sameTrouble: Math.max(0, pace.sameTrouble - 1) };
}
