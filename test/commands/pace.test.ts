// The pace of a bulk run: how many may be in flight, what slows all of them, what slows nobody, how they come back.

import { describe, expect, test } from 'vitest';
import { type PaceEvent, type PaceState, startPace, stepPace } from '../../src/commands/bulk/pace.js';
import { createRandom } from '../../src/sandbox/random.js';

const HALF = () => 0.5;
const ENTER: PaceEvent = { kind: 'enter' };
const WELL: PaceEvent = { kind: 'leave', isWell: true };
const FAILED: PaceEvent = { kind: 'leave', isWell: false };

/** The state after these events, all at one moment. */
function after(state: PaceState, events: readonly PaceEvent[], now = 0): PaceState {
  return events.reduce((at, event) => stepPace(at, event, now, HALF).state, state);
}

function times(count: number, ...events: readonly PaceEvent[]): PaceEvent[] {
  return Array.from({ length: count }, () => events).flat();
}

test.each([
  ['never more than the most, which is where it starts', startPace(8), times(20, ENTER), { inFlight: 8, waiting: 12 }],
  ['one that leaves lets the next in', startPace(8), [...times(9, ENTER), WELL], { inFlight: 8, waiting: 0 }],
  ['a careful start lets one in', startPace(8, 1), times(9, ENTER), { inFlight: 1, waiting: 8 }],
  ['each round of good answers allows one more', startPace(8, 1), times(9, ENTER, WELL), { limit: 4 }],
  ['a single failure slows nobody', startPace(8), [...times(8, ENTER), FAILED], { limit: 8, failuresInARow: 1 }],
  ['a second one near it takes one away', startPace(8), times(2, ENTER, FAILED, ENTER, WELL), { limit: 7 }],
  [
    'an overload halves once for all that were in flight',
    startPace(32),
    [...times(32, ENTER), ...times(4, WELL, FAILED), FAILED, ...times(3, WELL, FAILED)],
    { limit: 14 },
  ],
  ['a pause halves', startPace(8), [...times(8, ENTER), { kind: 'pause', milliseconds: 500 }], { limit: 4 }],
  ['an answer ends a row of failures', startPace(8), times(1, ENTER, FAILED, ENTER, WELL), { failuresInARow: 0 }],
] as const)('%s', (_case, state, events, expected) => {
  expect(after(state, events)).toMatchObject(expected);
});

test('failures in a row make everybody wait, from the third on, longer each time', () => {
  const waits: number[] = [];
  let state = startPace(1);
  let now = 0;
  for (let count = 0; count < 6; count++) {
    state = stepPace(state, ENTER, now, HALF).state;
    state = stepPace(state, FAILED, now, HALF).state;
    waits.push(Math.max(0, state.notBeforeMs - now));
    now = Math.max(now, state.notBeforeMs);
  }
  expect(waits).toEqual([0, 0, 188, 375, 750, 1500]);
});

test('a pause holds everybody until its moment, and then all go that may', () => {
  let state = after(startPace(2), times(2, ENTER));
  state = stepPace(state, ENTER, 0, HALF).state;
  const paused = stepPace(state, { kind: 'pause', milliseconds: 200 }, 0, HALF);
  expect([paused.admitted, paused.wakeAtMs]).toEqual([0, 200]);
  const early = stepPace(paused.state, WELL, 100, HALF);
  expect([early.admitted, early.wakeAtMs]).toEqual([0, 200]);
  const due = stepPace(early.state, { kind: 'wake' }, 200, HALF);
  expect([due.admitted, due.state.waiting]).toEqual([1, 1]);
});

/** Runs so many requests against a service in virtual time; gives the seconds and the share that failed. */
function simulate(tasks: number, most: number, answerMs: number, fails: (busy: number) => boolean) {
  const random = createRandom(7);
  let state = startPace(most);
  let now = 0;
  let left = tasks;
  let failures = 0;
  const leaving: { at: number; isWell: boolean }[] = [];
  const take = (event: PaceEvent) => {
    const step = stepPace(state, event, now, random);
    state = step.state;
    for (let count = 0; count < step.admitted; count++) {
      // A service that is asked too much refuses at once.
      const isWell = !fails(leaving.filter((one) => one.isWell).length);
      if (!isWell) failures += 1;
      leaving.push({ at: now + (isWell ? answerMs : answerMs / 10), isWell });
    }
    return step.wakeAtMs;
  };
  for (let worker = 0; worker < most; worker++) take(ENTER);
  while (left > 0) {
    leaving.sort((one, other) => one.at - other.at);
    const next = leaving[0];
    if (next === undefined || (state.notBeforeMs > now && next.at > state.notBeforeMs)) {
      now = Math.max(now, state.notBeforeMs);
      take({ kind: 'wake' });
      continue;
    }
    leaving.shift();
    now = next.at;
    left -= 1;
    take({ kind: 'leave', isWell: next.isWell });
    if (left > leaving.length) take(ENTER);
  }
  return { seconds: now / 1000, failedShare: failures / tasks };
}

describe('in virtual time, 1,066 bicycles at 200 ms and concurrency 32', () => {
  test('3 % of isolated failures cost nearly nothing: under 9 s, where 6.8 s are needed', () => {
    const random = createRandom(3);
    expect(simulate(1066, 32, 200, () => random() < 0.03).seconds).toBeLessThan(9);
  });

  test('a service that bears eight at once is asked by about eight at once', () => {
    const { seconds, failedShare } = simulate(1066, 32, 200, (busy) => busy >= 8);
    expect(failedShare).toBeLessThan(0.15);
    expect(seconds).toBeLessThan(60);
  });
});
