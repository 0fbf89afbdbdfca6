// Tests the gate of a bulk run: the number of requests in flight, pauses, and recovery.

import { expect, test } from 'vitest';
import { openGate } from '../../src/bulk/in-flight.js';
import { sleep } from '../../src/system/clock.js';
import { createRandom } from '../../src/system/random.js';
import { openFastClock } from '../support/fast-clock.js';

const NEVER = new AbortController().signal;

/** Enters the gate this many times on a stopped clock; `answers` contains the results. */
async function open(most: number, asked: number) {
  const clock = openFastClock();
  clock.stop();
  const over = new AbortController();
  const gate = openGate({ most, clock, over: over.signal, say: () => {} });
  const answers: boolean[] = [];
  const enter = async () => void answers.push(await gate.enter());
  for (let count = 0; count < asked; count++) void enter();
  await new Promise(setImmediate);
  return { gate, answers, over };
}

test('keeps as many requests in flight as the limit allows', async () => {
  const { gate, answers } = await open(8, 20);
  expect([answers.length, gate.inFlight()]).toEqual([8, 8]);
  gate.leave(true);
  await new Promise(setImmediate);
  expect([answers.length, gate.inFlight()]).toEqual([9, 8]);
});

test('raises the limit by one after each successful round, up to the maximum', async () => {
  const clock = openFastClock();
  const gate = openGate({ most: 3, clock, over: NEVER, say: () => {} });
  await gate.enter();
  await gate.pause(500, 'asked to');
  for (let count = 0; count < 100; count++) void gate.enter();
  clock.stop();
  const inFlight: number[] = [];
  for (let count = 0; count < 12; count++) {
    inFlight.push(gate.inFlight());
    gate.leave(true);
    await new Promise(setImmediate);
  }
  expect([inFlight[0], inFlight[1], Math.max(...inFlight), inFlight.at(-1)]).toEqual([1, 2, 3, 3]);
});

test('overlapping pauses delay all requests and halve the request limit once', async () => {
  const clock = openFastClock();
  const said: string[] = [];
  const say = (line: string) => void said.push(line);
  const gate = openGate({ most: 8, clock, over: NEVER, say });
  for (let count = 0; count < 8; count++) await gate.enter();
  const paused = [gate.pause(500, 'asked to'), gate.pause(400, 'asked to')];
  for (let count = 0; count < 6; count++) gate.leave(false);
  for (let count = 0; count < 6; count++) void gate.enter();
  await Promise.all(paused);
  expect(clock.monotonicMs()).toBeGreaterThanOrEqual(500);
  expect([gate.inFlight(), said]).toEqual([4, ['asked to; waiting 0.5 s']]);
  clock.stop();
});

test('delays all requests after the third consecutive failure', async () => {
  const clock = openFastClock();
  const steady = { ...clock, random: () => 0.5 };
  const gate = openGate({ most: 1, clock: steady, over: NEVER, say: () => {} });
  const waits: number[] = [];
  for (let count = 0; count < 7; count++) {
    const startedAt = clock.monotonicMs();
    await gate.enter();
    waits.push(Math.round(clock.monotonicMs() - startedAt));
    gate.leave(false);
  }
  expect(waits).toEqual([0, 0, 0, 188, 375, 750, 1500]);
  clock.stop();
});

test('does not start a waiting request after the run has ended', async () => {
  const { gate, answers, over } = await open(1, 3);
  over.abort();
  await new Promise(setImmediate);
  expect([answers, await gate.enter()]).toEqual([[true, false, false], false]);
});

/**
 * Simulates 1,066 requests of 200 ms at concurrency 32 in virtual time. Returns the seconds and the
 * share of failures.
 */
async function simulate(fails: (busy: number) => boolean) {
  const clock = openFastClock();
  const gate = openGate({ most: 32, clock, over: NEVER, say: () => {} });
  let [left, busy, failures] = [1066, 0, 0];
  const work = async () => {
    while (left-- > 0) {
      await gate.enter();
      // An overloaded service refuses at once.
      const isWell = !fails(busy);
      busy += isWell ? 1 : 0;
      await sleep(clock, isWell ? 200 : 20, NEVER);
      busy -= isWell ? 1 : 0;
      failures += isWell ? 0 : 1;
      gate.leave(isWell);
    }
  };
  await Promise.all(Array.from({ length: 32 }, work));
  clock.stop();
  return { seconds: clock.monotonicMs() / 1000, failedShare: failures / 1066 };
}

test('a run in which 3 % of the requests fail takes less than 9 s', async () => {
  const random = createRandom(3);
  expect((await simulate(() => random() < 0.03)).seconds).toBeLessThan(9);
});

test('settles at about eight concurrent requests when the service accepts eight', async () => {
  const { seconds, failedShare } = await simulate((busy) => busy >= 8);
  expect(failedShare).toBeLessThan(0.15);
  expect(seconds).toBeLessThan(60);
});
