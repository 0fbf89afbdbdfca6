// Tests names of bicycles and organizations in every command, and values that only a service knows.

import { describe, expect, test } from 'vitest';
import type { Sandbox, ServiceKind } from '../../src/sandbox/index.js';
import { type RunOptions, runFleet } from '../support/run.js';
import { openSandbox } from '../support/sandbox.js';
import { openServer, sendJson } from '../support/server.js';

const KINDS: readonly ServiceKind[] = ['observed', 'interface'];

async function fleet(
  sandbox: Sandbox,
  args: readonly string[],
  { env = {}, ...options }: RunOptions = {},
) {
  const { baseUrl: FLEET_BASE_URL, sseUrl: FLEET_SSE_URL } = sandbox;
  const token = { FLEET_TOKEN: await sandbox.token() };
  return runFleet(args, { ...options, env: { FLEET_BASE_URL, FLEET_SSE_URL, ...token, ...env } });
}

/** Returns a bicycle with a unique, ordinary name, and its organization. */
function pick(sandbox: Sandbox) {
  const [organization = { uuid: '', name: '' }] = sandbox.organizations;
  const bicycle = sandbox
    .bicycles(organization.uuid)
    .find(({ name, state }) => /^\w+ \d{4}$/.test(name) && state === 'available');
  if (bicycle === undefined) throw new Error('the sandbox has no such bicycle');
  return { organization, name: bicycle.name, uuid: bicycle.uuid };
}

describe.each(KINDS)('a service of the kind %s', (service) => {
  test('`act`, `alerts list` and `watch` accept a name or a UUID prefix', async () => {
    const sandbox = await openSandbox({ bicycles: 60, service });
    const { name, uuid, organization } = pick(sandbox);
    for (const text of [name, uuid.slice(0, 8)]) {
      const act = await fleet(sandbox, ['bicycles', 'act', text, 'reserve', '--dry-run']);
      expect([act.code, act.stdout]).toEqual([
        0,
        expect.stringContaining(`/bicycles/${uuid}/actions/`),
      ]);
      expect(act.stderr).toContain(
        text === name ? `"${text}" is ${uuid}\n` : `"${text}" is ${uuid} (${name})\n`,
      );
      const alerts = await fleet(sandbox, ['alerts', 'list', '--bicycle', text, '--all', '--json']);
      expect(alerts.code).toBe(0);
      expect(sandbox.requests.at(-1)?.url).toContain(`bicycle=${uuid}`);
      const args = [
        'watch',
        organization.uuid,
        '--bicycle',
        text,
        '--until',
        'state=available',
        '--for',
        '20s',
      ];
      const watched = await fleet(sandbox, args);
      expect([watched.code, watched.stdout]).toEqual([0, expect.stringContaining(name)]);
    }
  });

  test('exits with 5 for an unknown name before it sends anything else', async () => {
    const sandbox = await openSandbox({ bicycles: 60, service });
    for (const args of [
      ['bicycles', 'act', 'Nobody', 'rent'],
      ['alerts', 'list', '--bicycle', 'Nobody'],
      ['watch', sandbox.organizations[0]?.uuid ?? '', '--bicycle', 'Nobody'],
    ]) {
      const { code, stderr } = await fleet(sandbox, args);
      expect([code, stderr]).toEqual([5, expect.stringContaining('is named "Nobody"')]);
    }
    expect(sandbox.requests.filter(({ method }) => method !== 'GET')).toEqual([]);
  });

  test('accepts values that only the service knows and rejects misspelled ones', async () => {
    const sandbox = await openSandbox({ bicycles: 60, service });
    await fleet(sandbox, [
      'alerts',
      'list',
      '--type',
      'drone.landed',
      '--state',
      'vaporised',
      '--count',
    ]);
    expect(sandbox.requests[0]?.url).toContain('alert_type=drone.landed');
    await fleet(sandbox, ['bicycles', 'list', '--ordering', 'wheels,-name']);
    expect(decodeURIComponent(sandbox.requests.at(-1)?.url ?? '')).toContain(
      'ordering=wheels,-name',
    );
    const slip = await fleet(sandbox, ['bicycles', 'list', '--ordering', 'nane']);
    expect([slip.code, slip.stderr]).toEqual([2, expect.stringContaining('did you mean "name"?')]);
  });
});

test('sorts by several orderings one after the other', async () => {
  const sandbox = await openSandbox({ bicycles: 60 });
  const { stdout, code } = await fleet(sandbox, [
    'bicycles',
    'list',
    '--ordering',
    'state,-name',
    '--all',
    '--json',
  ]);
  expect(code).toBe(0);
  const keys = (JSON.parse(stdout) as { state: string; name: string }[]).map(({ state }) => state);
  expect(keys).toEqual([...keys].sort());
});

describe('the organization of a command', () => {
  test('accepts a name when the service lists organizations', async () => {
    const sandbox = await openSandbox({ bicycles: 60 });
    const [, other = { uuid: '', name: '' }] = sandbox.organizations;
    const byName = await fleet(sandbox, [
      'bicycles',
      'list',
      '--organization',
      other.name,
      '--all',
      '-o',
      'uuid',
    ]);
    const byUuid = await fleet(sandbox, [
      'bicycles',
      'list',
      '--organization',
      other.uuid,
      '--all',
      '-o',
      'uuid',
    ]);
    expect(byName).toMatchObject({ code: 0, stdout: byUuid.stdout });
    for (const line of ['bicycles stats -o csv', 'alerts list -o csv'])
      expect(
        (await fleet(sandbox, [...line.split(' '), '--organization', other.name.toLowerCase()]))
          .code,
      ).toBe(0);
    const create = [
      'bicycles',
      'create',
      '--name',
      'Ada',
      '--organization',
      other.name,
      '--dry-run',
    ];
    expect((await fleet(sandbox, create)).stdout).toContain(`/organizations/${other.uuid}/`);
    const watched = await fleet(sandbox, [
      'watch',
      other.name,
      '--for',
      '10s',
      '--resync-pages',
      '0',
    ]);
    expect(watched.code).toBe(0);
    const unknown = await fleet(sandbox, ['bicycles', 'list', '--organization', 'Nobody']);
    expect([unknown.code, unknown.stderr]).toEqual([5, expect.stringContaining(`(${other.name})`)]);
    const refused = await fleet(sandbox, ['bicycles', 'list', '--organization', other.name], {
      env: { FLEET_TOKEN: 'old' },
    });
    expect([refused.code, refused.stderr]).toEqual([4, expect.stringContaining('HTTP 401')]);
  });

  test('requires a UUID when the service lists no organizations', async () => {
    const sandbox = await openSandbox({ bicycles: 5, service: 'interface' });
    const { code, stderr } = await fleet(sandbox, [
      'bicycles',
      'list',
      '--organization',
      'Nordlicht Bikes',
    ]);
    expect([code, stderr]).toEqual([2, expect.stringContaining('lists no organizations by name')]);
  });

  test('lists several organizations with their names and creates nothing', async () => {
    const sandbox = await openSandbox({ bicycles: 5 });
    const { code, stderr } = await fleet(sandbox, ['bicycles', 'create', '--name', 'Ada']);
    expect(code).toBe(2);
    for (const { uuid, name } of sandbox.organizations)
      expect(stderr).toContain(`${uuid} (${name})`);
    expect(sandbox.requests.filter(({ method }) => method !== 'GET')).toEqual([]);
  });
});

test('requests a bicycle with half a surrogate pair in its UUID with the replacement character', async () => {
  const { env } = await openServer((response, { path }) => {
    if (path.startsWith('/bicycles/?'))
      response.end('[{"uuid":"a\\ud83d","name":"Ada","state":"lost"}]');
    else if (path.startsWith('/alerts/')) response.end('[]');
    else sendJson(response, path === '/bicycles/a%EF%BF%BD/' ? 200 : 500, { name: 'Ada' });
  });
  const run = await runFleet(['bicycles', 'get', 'Ada', '--json'], { env });
  expect(run).toMatchObject({ code: 0, stdout: expect.stringContaining('"name":"Ada"') });
});
