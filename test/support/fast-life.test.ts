// Campaigns require that all clocks of the program have the same speed.

import { afterEach, expect, test, vi } from 'vitest';
import { systemClock } from '../../src/system/clock.js';

const { now: date } = Date;
const { now } = performance;
const { bigint } = process.hrtime;
const { setTimeout: later } = globalThis;

afterEach(() => {
  Date.now = date;
  performance.now = now;
  process.hrtime.bigint = bigint;
  globalThis.setTimeout = later;
  vi.unstubAllEnvs();
});

test.each([
  ['fast-life.js', 10, { FLEET_TEST_SPEED: '10', FLEET_TEST_EPOCH: String(Date.now()) }],
  ['hurry.js', 3, { FLEET_TEST_HURRY: '3' }],
])('%s', async (file, speed, env) => {
  for (const [name, value] of Object.entries(env)) vi.stubEnv(name, value);
  await import(new URL(file, import.meta.url).href);
  const clock = systemClock();
  const began = { realMs: now.call(performance), monotonicMs: clock.monotonicMs() };
  await new Promise((resolve) => later(resolve, 50));
  const passedMs = clock.monotonicMs() - began.monotonicMs;
  expect(passedMs).toBeGreaterThan(45 * speed);
  expect(passedMs).toBeLessThan((now.call(performance) - began.realMs) * speed);
});
