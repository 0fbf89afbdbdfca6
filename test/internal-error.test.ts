// Internal errors exit with 1, print the stack only with --verbose, and print JSON lines with
// --json.

import { expect, test } from 'vitest';
import { systemClock } from '../src/system/clock.js';
import { runFleet } from './support/run.js';

const broken = {
  ...systemClock(),
  monotonicMs(): number {
    throw new Error('a clock that broke');
  },
};
const env = { FLEET_BASE_URL: 'http://127.0.0.1:1', FLEET_TOKEN: 'secret-token' };

test.each([
  [[], false],
  [['--json'], false],
  [['-v'], true],
  [['--json', '-v'], true],
])('exits with 1 after an internal error in `bicycles list %j`', async (flags, hasStack) => {
  const { code, stderr } = await runFleet(['bicycles', 'list', ...flags], { env, clock: broken });
  expect([code, stderr]).toEqual([1, expect.stringContaining('a clock that broke')]);
  expect(/\bat .*monotonicMs/.test(stderr)).toBe(hasStack);
  if (flags.includes('--json'))
    for (const line of stderr.trim().split('\n')) expect(() => JSON.parse(line)).not.toThrow();
});
