// Tests the system clock: timers, a date that is set, and a machine that sleeps.

import { afterEach, expect, test, vi } from 'vitest';
import { openMonotonic, systemClock } from '../../src/system/clock.js';

afterEach(() => void vi.unstubAllGlobals());

test('the system clock waits the full time when a timer fires early', async () => {
  const later = globalThis.setTimeout;
  vi.stubGlobal('setTimeout', (action: () => void, milliseconds: number) =>
    later(action, milliseconds / 2),
  );
  const clock = systemClock();
  const startMs = clock.monotonicMs();
  await new Promise<void>((resolve) => void clock.after(40, resolve));
  expect(clock.monotonicMs() - startMs).toBeGreaterThanOrEqual(40);
});

const HOUR_MS = 3_600_000;

test.each([
  ['time passes', { running: 5_000, up: 5_000, date: 5_000 }, 5_000],
  ['the date is set forward', { running: 5_000, up: 5_000, date: HOUR_MS }, 5_000],
  ['the date is set back', { running: 5_000, up: 5_000, date: -HOUR_MS }, 5_000],
  ['the machine sleeps', { running: 5_000, up: HOUR_MS, date: HOUR_MS }, HOUR_MS],
  ['the machine sleeps, and the date is set', { running: 0, up: HOUR_MS, date: -5_000 }, HOUR_MS],
  ['the uptime has whole seconds', { running: 5_000, up: 5_900, date: HOUR_MS }, 5_000],
])('measured durations are correct when %s', (_what, passed, expected) => {
  const times = { running: 1_000, up: 90_000, date: 1_700_000_000_000 };
  const monotonicMs = openMonotonic({
    runningMs: () => times.running,
    upMs: () => times.up,
    dateMs: () => times.date,
  });
  const startMs = monotonicMs();
  times.running += passed.running;
  times.up += passed.up;
  times.date += passed.date;
  expect(monotonicMs() - startMs).toBe(expected);
  times.running += 100;
  times.up += 100;
  times.date += 100;
  expect(monotonicMs() - startMs).toBe(expected + 100);
});
