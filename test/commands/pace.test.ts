// The pace of a bulk run: how many may be in flight, what slows all of them, what slows nobody, how they come back.

import { describe, expect, test } from 'vitest';
import { openGate } from '../../src/commands/bulk/gate.js';
import { type Pace, startPace, takeAnswer } from '../../src/commands/bulk/pace.js';
import { createRandom } from '../../src/sandbox/random.js';
import { openFastClock } from '../support/fast-clock.js';

const HALF = () => 0.5;

/** The pace after these answers at one moment; as many others are in flight as are still to come. */
function after(pace: Pace, answers: readonly boolean[]): Pace {
  return answers.reduce(
    (at, isWell, index) =>
      takeAnswer(at, isWell, { othersInFlight: answers.length - 1 - index, nowMs: 0, random: HALF }),
    pace,
  );
}

function times(count: number, ...answers: readonly boolean[]): boolean[] {
  return Array.from({ length: count }, () => answers).flat();
}

test.each([
  ['each round of good answers allows one more', startPace(8, 1), times(9, true), { limit: 4 }],
  ['and never more than the most', startPace(3, 1), times(90, true), { limit: 3 }],
  ['a single failure slows nobody', startPace(8), [false], { limit: 8, failuresInARow: 1 }],
  ['a second one near it takes one away', startPace(8), times(2, false, true), { limit: 7 }],
  [
    'an overload halves once for all that were in flight',
    startPace(32),
    [...times(4, true, false), false, ...times(3, true, false)],
    { limit: 14 },
  ],
  ['an answer ends a row of failures', startPace(8), [false, true], { failuresInARow: 0 }],
] as const)('%s', (_case, pace, answers, expected) => {
  expect(after(pace, answers)).toMatchObject(expected);
});

test('failures in a row make everybody wait, from the third on, longer each time', () => {
  const waits: number[] = [];
  let pace = startPace(1);
  let nowMs = 0;
  for (let count = 0; count < 6; count++) {
    pace = takeAnswer(pace, false, { othersInFlight: 0, nowMs, random: HALF });
    waits.push(Math.max(0, pace.notBeforeMs - nowMs));
    nowMs = Math.max(nowMs, pace.notBeforeMs);
  }
  expect(waits).toEqual([0, 0, 188, 375, 750, 1500]);
});

describe('the gate', () => {
  /** Asks for leave so often; `let` has how many got it. */
  async function open(pace: Pace, asked: number) {
    const clock = openFastClock();
    clock.stop();
    const over = new AbortController();
    const gate = openGate(pace, clock, over.signal);
    const answers: boolean[] = [];
    const enter = async () => void answers.push(await gate.enter());
    for (let count = 0; count < asked; count++) void enter();
    await new Promise(setImmediate);
    return { gate, answers, over };
  }

  test('lets in as many as the limit allows, and the next when one leaves', async () => {
    const { gate, answers } = await open(startPace(8), 20);
    expect([answers.length, gate.inFlight()]).toEqual([8, 8]);
    gate.leave(true);
    await new Promise(setImmediate);
    expect([answers.length, gate.inFlight()]).toEqual([9, 8]);
    expect((await open(startPace(8, 1), 9)).answers).toEqual([true]);
  });

  test('a pause holds everybody until its moment, and halves; then all go that may', async () => {
    const clock = openFastClock();
    const gate = openGate(startPace(8), clock, new AbortController().signal);
    for (let count = 0; count < 8; count++) await gate.enter();
    const paused = gate.pause(500);
    for (let count = 0; count < 6; count++) gate.leave(true);
    const another = gate.enter();
    expect([await paused, await another, clock.monotonicMs(), gate.inFlight()]).toEqual([true, true, 500, 3]);
    clock.stop();
  });

  test('when the run is over nobody gets leave, also who waits', async () => {
    const { gate, answers, over } = await open(startPace(1), 3);
    over.abort();
    await new Promise(setImmediate);
    expect([answers, await gate.enter()]).toEqual([[true, false, false], false]);
  });
});

/** Runs so many requests against a service in virtual time; gives the seconds and the share that failed. */
function simulate(tasks: number, most: number, answerMs: number, fails: (busy: number) => boolean) {
  const random = createRandom(7);
  let pace = startPace(most);
  let nowMs = 0;
  let left = tasks;
  let failures = 0;
  const inFlight: { at: number; isWell: boolean }[] = [];
  while (left > 0) {
    while (inFlight.length < Math.min(pace.limit, left) && pace.notBeforeMs <= nowMs) {
      // A service that is asked too much refuses at once.
      const isWell = !fails(inFlight.filter((one) => one.isWell).length);
      if (!isWell) failures += 1;
      inFlight.push({ at: nowMs + (isWell ? answerMs : answerMs / 10), isWell });
    }
    const next = inFlight.sort((one, other) => one.at - other.at)[0];
    if (next === undefined || (pace.notBeforeMs > nowMs && next.at > pace.notBeforeMs)) {
      nowMs = pace.notBeforeMs;
      continue;
    }
    inFlight.shift();
    nowMs = next.at;
    left -= 1;
    pace = takeAnswer(pace, next.isWell, { othersInFlight: inFlight.length, nowMs, random });
  }
  return { seconds: nowMs / 1000, failedShare: failures / tasks };
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
