// Tests which answers to a change mean `done`: only a 2xx that is empty or contains this bicycle
// (cli.md section 4, promise 9).

import { expect, test } from 'vitest';
import { jsonLines, runFleet } from '../support/run.js';
import { openServer, sendJson } from '../support/server.js';

const A = 'aaaaaaaa-0000-4000-8000-000000000001';
const B = 'bbbbbbbb-0000-4000-8000-000000000002';
const CONCURRENT = { detail: { message: 'concurrent edition', code: 'conflict' } };

interface Result {
  uuid: string;
  outcome: string;
  status: number | null;
  message: string | null;
}

/** Acts on A and B. Every POST gets the same answer, or one of `answers` after the other. */
async function outcomesOf(
  answers: readonly { status?: number; type?: string; body?: string; isCut?: boolean }[],
  flags: readonly string[] = [],
) {
  let posts = 0;
  const { env, asked } = await openServer((response, _asked, socket) => {
    const {
      status = 200,
      type = 'application/json',
      body = '',
      isCut,
    } = answers[posts] ?? answers.at(-1) ?? {};
    posts += 1;
    if (isCut !== true) return void response.writeHead(status, { 'content-type': type }).end(body);
    response.writeHead(status, { 'content-type': type, 'content-length': '1000' });
    response.write(body);
    setTimeout(() => socket.destroy(), 10);
  });
  const args = [
    'bicycles',
    'act',
    A,
    B,
    'take_over',
    '--yes',
    '--json',
    '--concurrency',
    '1',
    ...flags,
  ];
  const run = await runFleet(args, { env });
  const results = jsonLines<Result>(run.stdout);
  return { ...run, first: results.find(({ uuid }) => uuid === A), results, asked };
}

test.each([
  ['nothing', { body: '' }, 'done'],
  ['204', { status: 204 }, 'done'],
  ['this bicycle', { body: `{"uuid":"${A.toUpperCase()}","state":"in_maintenance"}` }, 'done'],
  ['this bicycle, with errors among its fields', { body: `{"uuid":"${A}","errors":[]}` }, 'done'],
  ['this bicycle and an error', { body: `{"uuid":"${A}","error":"boom"}` }, 'unknown'],
  ['a uuid that is not text', { body: '{"uuid":5}' }, 'unknown'],
  ['an object that names no uuid', { body: '{"state":"in_maintenance"}' }, 'done'],
  ['an error object', { body: '{"error":"boom"}' }, 'unknown'],
  ['an object with errors', { body: '{"uuid":null,"errors":["boom"]}' }, 'unknown'],
  ['another bicycle', { body: '{"uuid":"cccccccc-0000-4000-8000-000000000003"}' }, 'unknown'],
  ['plain text', { type: 'text/plain', body: 'OK' }, 'unknown'],
  ['an array', { body: '[]' }, 'unknown'],
  ['a string', { body: '"ok"' }, 'unknown'],
  ['null', { body: 'null' }, 'unknown'],
  [
    'a page for people',
    { type: 'text/html', body: '<!doctype html><title>Maintenance</title>' },
    'unknown',
  ],
  ['incomplete JSON', { body: '{"uuid":' }, 'unknown'],
  ['JSON from a connection that breaks off', { body: '{"uuid":', isCut: true }, 'unknown'],
  [
    'a page from a connection that breaks off',
    { type: 'text/html', body: '<html>', isCut: true },
    'unknown',
  ],
  ['JSON nested without end', { body: '['.repeat(100_000) }, 'unknown'],
] as const)('`bicycles act` reports the outcome of %s', async (_case, answer, outcome) => {
  const { first } = await outcomesOf([answer]);
  expect(first?.outcome).toBe(outcome);
});

test('describes an unexpected response to a single change and exits with 7', async () => {
  const { env } = await openServer(
    (response) => void response.writeHead(200, { 'content-type': 'text/plain' }).end('OK'),
  );
  const { code, stderr } = await runFleet(['bicycles', 'act', A, 'take_over'], { env });
  expect(code).toBe(7);
  expect(stderr).toContain(
    'text ("OK") where the bicycle was expected; whether "take_over" was carried out is unknown',
  );
});

test('retries a change once after a conflict with a concurrent edit', async () => {
  const conflict = { status: 409, body: JSON.stringify(CONCURRENT) };
  const { first, asked } = await outcomesOf([conflict, { body: '' }]);
  expect(first?.outcome).toBe('done');
  expect(asked).toHaveLength(3);
});

test('reports a second conflict with a concurrent edit as failed', async () => {
  const { first, asked } = await outcomesOf([{ status: 409, body: JSON.stringify(CONCURRENT) }]);
  expect(first).toMatchObject({
    outcome: 'failed',
    status: 409,
    message: expect.stringContaining('concurrent edition'),
  });
  expect(asked).toHaveLength(4);
});

test('does not retry a change after a conflict for another reason', async () => {
  const { first, asked } = await outcomesOf([{ status: 409, body: '{"detail":"it is reserved"}' }]);
  expect(first).toMatchObject({ outcome: 'refused', status: 409 });
  expect(asked).toHaveLength(2);
});

test('rejects `--field dry_run=true`', async () => {
  const { code, asked } = await outcomesOf([{ status: 204 }], ['--field', 'dry_run=true']);
  expect([code, asked]).toEqual([2, []]);
});

test.each([
  ['nothing', '', 0],
  ['the bicycle', '{"uuid":"x","name":"Ada"}', 0],
  ['text', 'OK', 7],
  ['another bicycle', '{"uuid":"x","name":"Bea"}', 7],
  ['an error', '{"error":"boom"}', 7],
  ['what breaks off', '{"uuid": "a0', 7],
])('`bicycles create` handles a response with %s', async (_case, body, code) => {
  const { env } = await openServer((response) =>
    body.startsWith('{') ? sendJson(response, 201, body) : void response.writeHead(201).end(body),
  );
  // The variable has an invalid value, and the flag has priority.
  const own = { ...env, FLEET_ORGANIZATION: 'acme' };
  const run = await runFleet(['bicycles', 'create', '--name', 'Ada', '--organization', A], {
    env: own,
  });
  expect(run.code).toBe(code);
  if (code === 0) return;
  expect(run.stderr).toContain('whether "Ada" was created is unknown');
  expect(run.stderr).toContain(
    'hint: before you create the bicycle again, check whether it exists',
  );
});
