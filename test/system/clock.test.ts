// Tests the system clock.

import { afterEach, expect, test, vi } from 'vitest';
import { systemClock } from '../../src/system/clock.js';

afterEach(() => void vi.unstubAllGlobals());

test('the system clock runs no action early, even if the timer fires early', async () => {
  const later = globalThis.setTimeout;
  vi.stubGlobal('setTimeout', (action: () => void, milliseconds: number) =>
    later(action, milliseconds / 2),
  );
  const clock = systemClock();
  const startMs = clock.monotonicMs();
  await new Promise<void>((resolve) => void clock.after(40, resolve));
  expect(clock.monotonicMs() - startMs).toBeGreaterThanOrEqual(40);
});
