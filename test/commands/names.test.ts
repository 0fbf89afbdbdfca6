// Tests that every command accepts the name of an organization. The transcripts in
// test/transcripts/names show the rest.

import { describe, expect, test } from 'vitest';
import type { Sandbox } from '../../src/sandbox/index.js';
import { type RunOptions, runFleet } from '../support/run.js';
import { openSandbox } from '../support/sandbox.js';
import { openServer, sendJson } from '../support/server.js';

async function fleet(
  sandbox: Sandbox,
  args: readonly string[],
  { env = {}, ...options }: RunOptions = {},
) {
  const { baseUrl: FLEET_BASE_URL, sseUrl: FLEET_SSE_URL } = sandbox;
  const token = { FLEET_TOKEN: await sandbox.token() };
  return runFleet(args, { ...options, env: { FLEET_BASE_URL, FLEET_SSE_URL, ...token, ...env } });
}

describe('the --organization flag', () => {
  test('--organization accepts a name when the service lists organizations', async () => {
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
});

test('replaces a lone surrogate in a UUID before requesting the bicycle', async () => {
  const { env } = await openServer((response, { path }) => {
    if (path.startsWith('/bicycles/?'))
      response.end('[{"uuid":"a\\ud83d","name":"Ada","state":"lost"}]');
    else if (path.startsWith('/alerts/')) response.end('[]');
    else sendJson(response, path === '/bicycles/a%EF%BF%BD/' ? 200 : 500, { name: 'Ada' });
  });
  const run = await runFleet(['bicycles', 'get', 'Ada', '--json'], { env });
  expect(run).toMatchObject({ code: 0, stdout: expect.stringContaining('"name":"Ada"') });
});
