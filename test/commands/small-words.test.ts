// Tests the messages for unusual answers, paths and environments.

import { expect, test } from 'vitest';
import { hostile } from '../support/hostile.js';
import { openMisbehaving } from '../support/misbehaving.js';
import { runFleet } from '../support/run.js';
import { openServer, sendJson } from '../support/server.js';

const A = 'aaaaaaaa-0000-4000-8000-000000000001';
const ENV = { FLEET_BASE_URL: 'http://127.0.0.1:1', FLEET_TOKEN: 't' };

async function listOn(behaviour: Parameters<typeof openMisbehaving>[0]) {
  const { env } = await openMisbehaving(behaviour);
  return runFleet(['bicycles', 'list', '--timeout', '1', '--retries', '0'], { env });
}

test('reports an invalid HTTP status as a non-HTTP response', async () => {
  const { code, stderr } = await listOn(
    (socket) => void socket.end('HTTP/1.1 099 Odd\r\nContent-Length: 0\r\n\r\n'),
  );
  expect(stderr).toContain('the answer is not HTTP');
  expect(stderr).not.toMatch(/assert/i);
  expect(code).toBe(8);
});

test.each([
  [
    'headers of more than 64 kB',
    hostile('bigHeader', { bytes: 70_000 }),
    'the headers of the answer are larger than 64 kB',
  ],
  ['no answer', hostile('silent'), 'no answer in time'],
])('%s: reports that the service was reached', async (_case, behaviour, words) => {
  const { code, stderr } = await listOn(behaviour);
  expect(stderr).toContain(`no usable answer from the service at http://127.0.0.1:`);
  expect(stderr).toContain(words);
  expect(stderr).not.toContain('cannot reach');
  expect(code).toBe(8);
});

test('does not blame the base URL when a 404 mentions a bicycle', async () => {
  const { url } = await openServer((response) =>
    sendJson(response, 404, { detail: 'No Bicycle matches the given query.' }),
  );
  const { code, stderr } = await runFleet(['api', `/bicycles/${A}/`], {
    env: { ...ENV, FLEET_BASE_URL: url },
  });
  expect(stderr).toContain('check the ID: it is unknown, or you have no access');
  expect(stderr).not.toContain('prefix');
  expect(code).toBe(5);
});

test.each([
  [{}, false],
  [{ 'X-Service-RequestId': 'r1' }, true],
])('asks for the request id of a 500 if present: %j', async (headers, isQuoted) => {
  const { url } = await openServer((response) => void response.writeHead(500, headers).end());
  const { stderr } = await runFleet(['bicycles', 'list'], {
    env: { ...ENV, FLEET_BASE_URL: url },
  });
  expect(stderr.includes('quote the request id')).toBe(isQuoted);
});

test.each(['/a\r\nX', '/a\tb', 'http://127.0.0.1:1/\nx'])('rejects `api %j`', async (path) => {
  const { code, stderr } = await runFleet(['api', path], { env: ENV });
  expect([code, stderr]).toEqual([2, expect.stringContaining('control character')]);
});

test('`config path` and `version` support --json and escape control characters', async () => {
  const env = { FLEET_CONFIG_DIR: '/tmp/x\u001b[31m' };
  expect((await runFleet(['config', 'path'], { env })).stdout).not.toContain('\u001b');
  expect(JSON.parse((await runFleet(['config', 'path', '--json'], { env })).stdout)).toEqual({
    path: '/tmp/x\u001b[31m/config.json',
  });
  expect(JSON.parse((await runFleet(['version', '--json'])).stdout)).toEqual({
    version: expect.stringMatching(/^\d/),
  });
});
