// Tests `fleet alerts act` with one and many alerts, with a journal, and on services with and
// without these actions.

import { expect, test } from 'vitest';
import { runFleet } from '../support/run.js';
import { openServer, sendJson } from '../support/server.js';

test('`alerts act` stops the run after HTTP 405', async () => {
  const { env, asked } = await openServer((response, asked) =>
    asked.method === 'GET'
      ? sendJson(response, 200, [])
      : sendJson(response, 405, { detail: 'Method "POST" not allowed.' }),
  );
  const uuids = Array.from(
    { length: 50 },
    (_, n) => `3cbf2500-27cf-4651-a3e0-${String(n).padStart(12, '0')}`,
  );
  const args = ['alerts', 'act', '-', 'resolve', '--yes', '--concurrency', '2'];
  const { code, stderr } = await runFleet(args, { env, stdin: uuids.join('\n') });
  expect([code, stderr]).toEqual([
    6,
    expect.stringContaining('this service has no actions on alerts'),
  ]);
  expect(asked.length).toBeLessThan(5);
});
