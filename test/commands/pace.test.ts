// The pace of a bulk run: how many may be under way, what slows all of them, how they come back.

import { expect, test } from 'vitest';
import { openPace, type Pace } from '../../src/commands/bicycles/bulk/pace.js';

/** How many of `wanted` are let in at once; all of them leave again without a failure. */
async function letIn(pace: Pace, wanted: number): Promise<number> {
  let count = 0;
  const entered = Array.from({ length: wanted }, () => pace.enter().then((mayGo) => (count += mayGo ? 1 : 0)));
  await new Promise((resolve) => setTimeout(resolve, 5));
  const atOnce = count;
  for (let left = wanted; left > 0; left--) {
    pace.leave(true);
    await new Promise((resolve) => setImmediate(resolve));
  }
  await Promise.all(entered);
  return atOnce;
}

test('never more than the most, which is where it starts', async () => {
  const pace = openPace(8);
  expect(await letIn(pace, 20)).toBe(8);
  expect(await letIn(pace, 5)).toBe(5);
});

test('a failure halves it once for all that were under way, and each round without one gives one back', async () => {
  const pace = openPace(8);
  for (let count = 0; count < 8; count++) await pace.enter();
  pace.leave(false);
  expect(pace.failuresInARow()).toBe(1);
  for (let count = 0; count < 7; count++) pace.leave(true);
  expect(pace.failuresInARow()).toBe(0);
  // What was under way before does not count.
  expect(await letIn(pace, 5)).toBe(4);
  expect(await letIn(pace, 20)).toBe(5);
  expect(await letIn(pace, 20)).toBe(8);
});

test('failures in a row make everybody wait, longer each time', async () => {
  const pace = openPace(1);
  const waits: number[] = [];
  for (let count = 0; count < 4; count++) {
    const startedAt = performance.now();
    await pace.enter();
    waits.push(performance.now() - startedAt);
    pace.leave(false);
  }
  expect(waits[1]).toBeLessThan(50);
  expect(waits[2]).toBeGreaterThanOrEqual(124);
  expect(waits[3]).toBeGreaterThanOrEqual(249);
});

test('a pause holds everybody, and the one that was paused comes in again behind those who waited', async () => {
  const pace = openPace(2);
  await pace.enter();
  await pace.enter();
  const order: string[] = [];
  const startedAt = performance.now();
  const waiting = pace.enter().then(() => order.push('waiting'));
  const paused = pace.pause(200).then(() => order.push('paused'));
  pace.leave(true);
  await waiting;
  expect(performance.now() - startedAt).toBeGreaterThanOrEqual(199);
  expect(order).toEqual(['waiting']);
  pace.leave(true);
  await paused;
  expect(order).toEqual(['waiting', 'paused']);
});

test('a stop lets all go, with no', async () => {
  const pace = openPace(1);
  await pace.enter();
  const waiting = [pace.enter(), pace.pause(10_000)];
  pace.stop();
  expect(await Promise.all([...waiting, pace.enter()])).toEqual([false, false, false]);
});
