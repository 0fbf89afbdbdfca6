// Read-only profiles: no command sends a request that changes something, and everything that reads still works.

import { beforeEach, describe, expect, it } from 'vitest';
import { openTestClient } from '../support/client.js';
import { newFolder } from '../support/folder.js';
import { type RunOptions, runFleet } from '../support/run.js';
import { inState, useSandbox } from '../support/sandbox.js';
import { openServer, sendJson } from '../support/server.js';

const sandbox = useSandbox({ bicycles: 20, now: () => nowMs });
let folder: string;
let nowMs = Date.parse('2026-03-01T12:00:00Z');

beforeEach(async () => {
  folder = newFolder();
  await fleet(['config', 'set', 'base_url', sandbox().baseUrl]);
});

const fleet = (args: readonly string[], options: RunOptions = {}) =>
  runFleet(args, {
    now: () => nowMs,
    ...options,
    env: { FLEET_CONFIG_DIR: folder, FLEET_TOKEN: token, ...options.env },
  });
let token = '';
beforeEach(async () => {
  token = await sandbox().token();
});

/** The requests of a command that were not GET, without logins. */
async function changesOf(use: () => Promise<void>): Promise<string[]> {
  const before = sandbox().requests.length;
  await use();
  return sandbox()
    .requests.slice(before)
    .filter(({ method, url }) => method !== 'GET' && !url.includes('/jwt/'))
    .map(({ method, url }) => `${method} ${url}`);
}

/** Command lines that change something; `-` reads the UUID from stdin. */
const changes = (uuid: string): [string, string[]][] => [
  ['act', ['bicycles', 'act', uuid, 'reserve']],
  ['act -', ['bicycles', 'act', '-', 'reserve', '--yes']],
  ['edit', ['bicycles', 'edit', uuid, '--note', 'x', '--yes']],
  ['create', ['bicycles', 'create', '--name', 'New', '--organization', organization()]],
  ['alerts act', ['alerts', 'act', uuid, 'resolve']],
  ['api -X POST', ['api', `/bicycles/${uuid}/actions/`, '-X', 'POST', '-f', 'type=reserve']],
  ['api -X DELETE', ['api', `/bicycles/${uuid}/`, '-X', 'DELETE', '--yes']],
];
const organization = () => sandbox().organizations[0]?.uuid ?? '';

describe('a read-only setting', () => {
  it.each([
    [
      'of the profile',
      ['config', 'set', 'read_only', 'true'],
      {},
      'profile "default" is read-only',
    ],
    ['of the environment', [], { FLEET_READ_ONLY: '1' }, 'FLEET_READ_ONLY forbids every change'],
    [
      'of the profile that FLEET_READ_ONLY=0 does not lift',
      ['config', 'set', 'read_only', 'true'],
      { FLEET_READ_ONLY: '0' },
      'profile "default" is read-only',
    ],
  ])('%s rejects every change with exit 3', async (_what, setup, env, message) => {
    if (setup.length > 0) expect((await fleet(setup)).code).toBe(0);
    const [uuid = ''] = inState(sandbox(), 'available');
    const sent = await changesOf(async () => {
      for (const [name, args] of changes(uuid)) {
        const run = await fleet(args, { env, stdin: `${uuid}\n` });
        expect([name, run.code, run.stderr]).toEqual([
          name,
          3,
          expect.stringContaining(`error: nothing was sent: ${message}`),
        ]);
      }
    });
    expect(sent).toEqual([]);
  });

  it('allows reading, a dry run and FLEET_READ_ONLY=0 without a setting', async () => {
    const [uuid = ''] = inState(sandbox(), 'available');
    const env = { FLEET_READ_ONLY: '1' };
    expect((await fleet(['bicycles', 'list'], { env })).code).toBe(0);
    const dry = await fleet(['bicycles', 'act', uuid, 'reserve', '--dry-run'], { env });
    expect([dry.code, dry.stdout]).toEqual([0, expect.stringContaining('POST')]);
    const allowed = { FLEET_READ_ONLY: '0' };
    const act = ['bicycles', 'act', uuid, 'reserve'];
    expect((await fleet(act, { env: allowed })).code).toBe(0);
  });

  it.each(['yes', 'ja', '2'])('rejects every command when the value is %s', async (value) => {
    const run = await fleet(['bicycles', 'list'], { env: { FLEET_READ_ONLY: value } });
    expect([run.code, run.stderr]).toEqual([
      3,
      expect.stringContaining(`FLEET_READ_ONLY: "${value}" is neither true nor false`),
    ]);
  });

  it('allows a login and a renewal', async () => {
    const env = { FLEET_READ_ONLY: '1', FLEET_TOKEN: '' };
    const line = 'auth login --email operator@example.com --password-stdin';
    expect((await fleet(line.split(' '), { env, stdin: 'x' })).code).toBe(0);
    nowMs += 20 * 60_000;
    const before = sandbox().requests.length;
    expect((await fleet(['bicycles', 'list'], { env })).code).toBe(0);
    expect(
      sandbox()
        .requests.slice(before)
        .map(({ url, status }) => `${url} ${status}`),
    ).toContain('/jwt/refresh_token/ 200');
  });

  it('a read-only setting is shown by config list and profile list', async () => {
    await fleet(['config', 'set', 'read_only', 'true']);
    const listed = await fleet(['config', 'list'], { env: { FLEET_READ_ONLY: '0' } });
    expect(listed.stdout).toMatch(/^read_only +true +profile +profile "default"$/m);
    const profiles = JSON.parse((await fleet(['profile', 'list', '--json'])).stdout);
    expect(profiles).toMatchObject([{ name: 'default', read_only: true }]);
  });
});

it.each(['POST', 'PUT', 'PATCH', 'DELETE'])(
  'a read-only client rejects %s before it sends anything',
  async (method) => {
    const { url, asked } = await openServer((response) => sendJson(response, 200, {}));
    const readOnlyFailure = new Error('read-only') as never;
    const { client } = await openTestClient(url, { readOnlyFailure });
    const request = { method, path: '/x/' };
    await expect(client.send(request)).rejects.toThrow('read-only');
    await expect(client.probe(request)).rejects.toThrow('read-only');
    await client.send({ path: '/x/' });
    expect(asked.map((one) => one.method)).toEqual(['GET']);
  },
);
