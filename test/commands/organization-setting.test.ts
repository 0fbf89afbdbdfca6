// Tests an organization that is set by name: it is stored with its UUID, and a refused login is
// reported as such.

import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { newFolder } from '../support/folder.js';
import { runFleet } from '../support/run.js';
import { openSandbox } from '../support/sandbox.js';
import { openServer, sendJson } from '../support/server.js';

let folder: string;
let nowMs: number;
beforeEach(() => {
  folder = newFolder();
  nowMs = Date.parse('2026-03-01T12:00:00Z');
});

const fleet = (args: readonly string[], { stdin = '', env = {} } = {}) =>
  runFleet(args, { now: () => nowMs, stdin, env: { FLEET_CONFIG_DIR: folder, ...env } });
const logIn = (url: string) =>
  fleet(
    ['auth', 'login', '--email', 'operator@example.com', '--password-stdin', '--base-url', url],
    { stdin: 'x' },
  );
const readProfile = async () =>
  JSON.parse(await readFile(join(folder, 'config.json'), 'utf8')).profiles.default;

describe('config set organization', () => {
  it('stores the UUID with the name', async () => {
    const { baseUrl, organizations } = await openSandbox({ bicycles: 5, now: () => nowMs });
    const [, { uuid, name } = { uuid: '', name: '' }] = organizations;
    await logIn(baseUrl);
    const set = await fleet(['config', 'set', 'organization', name.toUpperCase()]);
    expect([set.code, set.stderr]).toEqual([
      0,
      `set organization to ${uuid} (${name.toUpperCase()}) in profile "default"\n`,
    ]);
    expect(await readProfile()).toMatchObject({
      organization: uuid,
      organization_name: name.toUpperCase(),
    });
    const [first] = organizations;
    await fleet(['config', 'set', 'organization', first?.uuid ?? '']);
    expect(await readProfile()).toEqual({ base_url: baseUrl, organization: first?.uuid });
  });

  it('rejects an unknown name and stores nothing', async () => {
    const { baseUrl, organizations } = await openSandbox({ bicycles: 5, now: () => nowMs });
    await logIn(baseUrl);
    const set = await fleet(['config', 'set', 'organization', 'Nordlicht Bike']);
    expect([set.code, set.stderr]).toEqual([
      5,
      expect.stringContaining(`did you mean "${organizations[0]?.name}"?`),
    ]);
    expect(await readProfile()).toEqual({ base_url: baseUrl });
  });

  it('rejects a name when no URL is configured', async () => {
    const set = await fleet(['config', 'set', 'organization', 'Nordlicht']);
    expect([set.code, set.stderr]).toEqual([3, expect.stringContaining('no address')]);
  });
});

describe('an organization that is set by name', () => {
  /** Writes a profile as an older version of fleet or a user may have left it. */
  const setName = async () => {
    const profile = { ...(await readProfile()), organization: 'Nordlicht Bikes' };
    const config = JSON.stringify({ profiles: { default: profile } });
    await writeFile(join(folder, 'config.json'), config, { mode: 0o600 });
  };

  it.each([
    ['bicycles', 'list'],
    ['bicycles', 'stats'],
    ['alerts', 'list'],
    ['watch', '--for', '1s'],
  ])('ends with exit 4 when the login is refused: %s %s', async (...args) => {
    const { baseUrl } = await openSandbox({ bicycles: 5, service: 'interface', now: () => nowMs });
    await logIn(baseUrl);
    await setName();
    nowMs += 60 * 60_000;
    const run = await fleet(args, { env: { FLEET_SSE_URL: baseUrl } });
    expect(run.code).toBe(4);
    expect(run.stderr).toContain('hint: run "fleet auth login --email operator@example.com"');
    expect(run.stderr).not.toContain('by name');
  });

  it('ends with exit 4 when the service answers the list of organizations with 403', async () => {
    const { url } = await openServer((response) =>
      sendJson(response, 403, { detail: 'Authentication credentials were not accepted.' }),
    );
    const run = await fleet(['bicycles', 'list', '--organization', 'Nordlicht'], {
      env: { FLEET_BASE_URL: url, FLEET_TOKEN: 'token-of-the-test' },
    });
    expect([run.code, run.stderr]).toEqual([
      4,
      expect.stringContaining('hint: use the UUID of the organization, or log in again'),
    ]);
  });
});
