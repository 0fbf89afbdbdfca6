// The outcome that each status of an answer gives a change: `failed` needs proof that nothing happened.

import { expect, test } from 'vitest';
import { jsonLines, runFleet } from '../support/run.js';
import { openServer, sendJson } from '../support/server.js';

const A = 'aaaaaaaa-0000-4000-8000-000000000001';
const B = 'bbbbbbbb-0000-4000-8000-000000000002';

const ORGANIZATION = 'aaaaaaaa-0000-4000-8000-00000000000a';

const CHANGES = [
  { args: ['bicycles', 'act', '-', 'take_over'], stdin: `${A}\n${B}` },
  { args: ['alerts', 'act', '-', 'resolve'], stdin: `${A}\n${B}` },
  { args: ['bicycles', 'create', '--from', '-'], stdin: 'name\nAda\nBea\n' },
  { args: ['bicycles', 'edit', '-'], stdin: `uuid,note\n${A},x\n${B},x\n` },
];

const UNKNOWN = [
  ...[300, 301, 302, 303, 304, 305, 306, 307, 308],
  ...[500, 501, 502, 503, 504, 505, 507, 508, 511, 520, 530, 599, 600, 799, 999],
];
const FAILED = [408, 409, 423, 425, 499];
const REFUSED = [400, 404, 410, 422];

const EXPECTED = [
  ...UNKNOWN.map((status) => [status, 'unknown'] as const),
  ...FAILED.map((status) => [status, 'failed'] as const),
  ...REFUSED.map((status) => [status, 'refused'] as const),
];

test.each(EXPECTED)('reports a change that got HTTP %d as %s', async (status, outcome) => {
  for (const { args, stdin } of CHANGES) {
    const { env } = await openServer((response, { method, path }) => {
      if (method === 'GET' && path.startsWith('/bicycles/')) {
        const uuid = path.split('/')[2];
        return sendJson(response, 200, { uuid, name: 'Ada', note: '', organization: 'o' });
      }
      if (method === 'GET') return sendJson(response, 200, []);
      sendJson(response, status, { detail: { message: 'concurrent edition' } });
    });
    const flags = ['--yes', '--json', '--concurrency', '1'];
    const run = await runFleet([...args, ...flags], {
      env: { ...env, FLEET_ORGANIZATION: ORGANIZATION },
      stdin,
    });
    const results = jsonLines<{ outcome: string; message: string }>(run.stdout);
    expect([args[1], run.code, ...results.map((one) => one.outcome)]).toEqual([
      args[1],
      9,
      outcome,
      outcome,
    ]);
    for (const { message } of results) {
      if (outcome === 'unknown')
        expect(message).toContain('it is unknown whether the request was carried out');
      else expect(message).not.toContain('unknown');
    }
  }
});
