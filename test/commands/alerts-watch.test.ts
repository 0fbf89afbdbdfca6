// Tests `fleet alerts watch` over real sockets while the service fails.

import { describe, expect, test } from 'vitest';
import { runFleet } from '../support/run.js';
import { startFleet } from '../support/running.js';
import { sendJson, sendPage, withServer } from '../support/server.js';

const FAST = ['--every', '100ms'];

describe.concurrent('failures during `alerts watch`', () => {
  test('waits for the time in the Retry-After header of a 429', async () => {
    const times: number[] = [];
    await withServer(
      (response) => {
        times.push(performance.now());
        if (times.length === 2)
          sendJson(response, 429, { detail: 'slow down' }, { 'retry-after': '2' });
        else sendPage(response, []);
      },
      async ({ env }) => {
        const running = startFleet(['alerts', 'watch', ...FAST], { env });
        // The third answer is in flight when it is requested; its report comes later.
        await running.until(
          () => times.length >= 3 && /can be read again after/.test(running.stderr()),
        );
        await running.stop();
        expect((times[2] ?? 0) - (times[1] ?? 0)).toBeGreaterThan(1_950);
        expect(running.stderr()).toMatch(/could not be read: .*; trying again in 2 s\n/);
      },
    );
  });

  test('`alerts watch` exits with 7 after JSON that is nested too deeply', async () => {
    const deep = `{"results":[{"uuid":"a","extra":${'['.repeat(5000)}${']'.repeat(5000)}}]}`;
    await withServer(
      (response) => sendJson(response, 200, deep),
      async ({ env }) => {
        const { code, stderr } = await runFleet(['alerts', 'watch'], { env });
        expect([code, stderr]).toEqual([
          7,
          expect.stringContaining('nested deeper than 500 levels'),
        ]);
      },
    );
  });
});
