// Tests `fleet bicycles create` and `act` with the sandbox: bodies, answers, refusals and
// confirmation.

import { EventEmitter } from 'node:events';
import { describe, expect, test } from 'vitest';
import { environmentOf } from '../support/environment.js';
import { type RunOptions, runFleet } from '../support/run.js';
import { useSandbox } from '../support/sandbox.js';
import { openServer, sendJson } from '../support/server.js';

const ORGANIZATION = '5f0c1d2e-3b4a-4958-8677-6a5b4c3d2e1f';

const service = useSandbox({ bicycles: 60 });

async function fleet(args: string[], options: RunOptions = {}) {
  return runFleet(args, {
    ...options,
    env: { ...(await environmentOf(service())), ...options.env },
  });
}

function inState(state: string) {
  const bicycle = service()
    .bicycles()
    .find((one) => one.state === state);
  if (bicycle === undefined) throw new Error(`no bicycle is ${state}`);
  return bicycle;
}

const SINGLE_CHANGES = [
  ['bicycles', 'create', '--name', 'Ada'],
  ['api', '/bicycles/', '-X', 'POST', '-f', 'name=Ada'],
];

test.each(SINGLE_CHANGES)(
  '%s %s: waits one second for a silent service after Ctrl-C and reports an unknown outcome',
  async (...args) => {
    const { url, asked } = await openServer(() => {});
    const signals = new EventEmitter();
    const env = { FLEET_BASE_URL: url, FLEET_TOKEN: 't', FLEET_ORGANIZATION: ORGANIZATION };
    const running = runFleet(args, { env, signals });
    while (asked.length === 0) await new Promise((resolve) => setTimeout(resolve, 5));
    signals.emit('SIGINT');
    const { code, stderr } = await running;
    expect(code).toBe(130);
    expect(stderr).toMatch(
      /waiting 1 s for 1 request in flight.*whether it was carried out is unknown/s,
    );
  },
);

describe('`bicycles create`', () => {
  test('builds links from UUIDs and prints the created bicycle', async () => {
    const organization = service().organizations[0]?.uuid ?? '';
    const model = service().models[0]?.uuid ?? '';
    const links = ['--organization', organization, '--model', model];
    const texts = ['--name', 'Žofie 🚲', '--serial-number', 'WTU-1', '--description', 'blue'];
    const { code, stdout, stderr } = await fleet([
      'bicycles',
      'create',
      ...links,
      ...texts,
      '--json',
    ]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    const request = service().requests.at(-1);
    expect(request).toMatchObject({ method: 'POST', url: '/bicycles/', status: 201 });
    expect(JSON.parse(request?.body ?? '')).toEqual({
      name: 'Žofie 🚲',
      organization: `${service().baseUrl}/organizations/${organization}/`,
      model: `${service().baseUrl}/bicycle_models/${model}/`,
      serial_number: 'WTU-1',
      description: 'blue',
    });
    const { uuid } = JSON.parse(stdout) as { uuid: string };
    expect(JSON.parse(stdout)).toEqual(service().bicycle(uuid));
  });

  test('sends a URL unchanged, uses the organization of the settings, and prints only the UUID with -o uuid', async () => {
    const organization = service().organizations[0]?.uuid ?? '';
    const { code, stdout } = await fleet(
      [
        'bicycles',
        'create',
        '--name',
        'B',
        '--lock',
        'https://elsewhere.example/locks/7/',
        '-o',
        'uuid',
      ],
      { env: { FLEET_ORGANIZATION: organization } },
    );
    expect(JSON.parse(service().requests.at(-1)?.body ?? '').lock).toBe(
      'https://elsewhere.example/locks/7/',
    );
    // The sandbox does not know this lock; its error is printed.
    expect([code, stdout === '']).toEqual([6, true]);
    const made = await fleet(['bicycles', 'create', '--name', 'B', '-o', 'uuid'], {
      env: { FLEET_ORGANIZATION: organization },
    });
    expect(made.stdout.trim()).toBe(
      service()
        .bicycles()
        .find(({ name }) => name === 'B')?.uuid,
    );
  });

  test.each([
    [['--organization', 'a087eaf3-00b3-49c9-8706-c4ebfb2627fd'], '--name is missing'],
    [['--name', ' ', '--organization', 'a087eaf3-00b3-49c9-8706-c4ebfb2627fd'], '--name is empty'],
  ])('rejects %j and sends nothing', async (args, words) => {
    const before = service().requests.length;
    const { code, stderr } = await fleet(['bicycles', 'create', ...args]);
    expect([code, stderr]).toEqual([2, expect.stringContaining(words)]);
    expect(service().requests).toHaveLength(before);
  });
});

describe('`bicycles act`', () => {
  test("prints the service's refusal with status and request id", async () => {
    const { uuid } = inState('lost');
    const { code, stdout, stderr } = await fleet(['bicycles', 'act', uuid, 'rent']);
    expect({ code, stdout }).toEqual({ code: 6, stdout: '' });
    expect(stderr).toMatch(
      /^error: the service refused "rent": Action 'rent' not allowed from current state 'lost'\. Available actions: .* \(HTTP 400, request [0-9a-f-]{36}\)\n$/,
    );
  });

  test('prints the refusal as one JSON object with --json', async () => {
    const { uuid } = inState('lost');
    const { stderr } = await fleet(['bicycles', 'act', uuid, 'rent', '--json']);
    const { error } = JSON.parse(stderr);
    expect(Object.keys(error)).toEqual(['kind', 'message', 'status', 'detail', 'trace', 'hint']);
    expect(error).toMatchObject({ kind: 'rejected', status: 400, trace: { from: 'sandbox-api' } });
  });

  test.each([
    ['a transition that does not exist', ['retrie'], 'did you mean "retire"?'],
    ['retire without --yes and without a terminal', ['retire'], '--yes'],
    ['declare_unrecoverable likewise', ['declare_unrecoverable'], '--yes'],
  ])('rejects %s and sends nothing', async (_case, args, words) => {
    const before = service().requests.length;
    const { code, stderr } = await fleet([
      'bicycles',
      'act',
      inState('in_maintenance').uuid,
      ...args,
    ]);
    expect([code, stderr]).toEqual([2, expect.stringContaining(words)]);
    expect(service().requests).toHaveLength(before);
  });

  test('`retire --yes` does not ask', async () => {
    const { uuid } = inState('in_maintenance');
    service().changeBicycle(uuid, { lock: null });
    expect((await fleet(['bicycles', 'act', uuid, 'retire', '--yes'])).code).toBe(0);
    expect(service().bicycle(uuid)?.state).toBe('retired');
  });

  test('--allow-unknown sends an action that the interface does not name', async () => {
    const { uuid } = inState('available');
    expect((await fleet(['bicycles', 'act', uuid, 'polish', '--allow-unknown'])).code).toBe(5);
    expect(service().requests.at(-1)?.body).toBe('{"type":"polish"}');
  });
});

test('maps every HTTP status to its exit code', async () => {
  const codes: Record<number, number> = {};
  for (const status of [400, 401, 403, 404, 409, 410, 429, 500, 503, 301]) {
    const { env } = await openServer((response) => sendJson(response, status, ''));
    codes[status] = (await runFleet(['bicycles', 'list', '--retries', '0'], { env })).code;
  }
  expect(codes).toEqual({
    301: 7,
    400: 6,
    401: 4,
    403: 4,
    404: 5,
    409: 6,
    410: 5,
    429: 7,
    500: 7,
    503: 7,
  });
});

test.each([
  ['--json'],
  ['-o', 'json'],
  ['-ojson'],
  ['--output=json'],
  ['-qo', 'json'],
  ['-qojsonl'],
])('prints an error as JSON with %s', async (...flags) => {
  const { code, stderr } = await fleet(['bicycles', 'list', ...flags, '--page', '9999']);
  expect(code).toBe(5);
  expect(JSON.parse(stderr).error.kind).toBe('not-found');
});
