// Tests a login that replaces a token while another command uses it, and the file of `auth token`.
// The transcripts in test/transcripts/auth show `fleet auth` itself.

import { chmodSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { newFolder } from '../support/folder.js';
import { type RunResult, runFleet } from '../support/run.js';
import { openServer, sendJson } from '../support/server.js';

it('repeats a request with the new token that another login stored', async () => {
  const env = { FLEET_CONFIG_DIR: newFolder() };
  const logIn = (token: string, ...flags: string[]): Promise<RunResult> =>
    runFleet(['auth', 'login', '--with-token', '--no-check', ...flags], { env, stdin: token });
  let login: Promise<RunResult> | undefined;
  const { url } = await openServer(async (response, { headers }) => {
    if (headers.authorization === 'JWT new-token-of-the-store') return sendJson(response, 200, []);
    login ??= logIn('new-token-of-the-store');
    await login;
    sendJson(response, 401, { detail: 'Signature has expired.' });
  });
  await logIn('old-token-of-the-store', '--base-url', url);
  expect((await runFleet(['bicycles', 'list', '--json'], { env })).stdout).toBe('[]\n');
});

const modeOf = (path: string) => statSync(path).mode & 0o777;

it.skipIf(process.platform === 'win32')(
  '`auth token --file` writes a file that only its owner can read',
  async () => {
    const path = join(newFolder(), 'token');
    const run = await runFleet(['auth', 'token', '--file', path], {
      env: { FLEET_TOKEN: 'a-token-of-ann' },
    });
    expect(run.code).toBe(0);
    expect(readFileSync(path, 'utf8')).toBe('a-token-of-ann\n');
    expect(modeOf(path)).toBe(0o600);
  },
);

it.skipIf(process.platform === 'win32')(
  '`auth token --file` keeps the permissions of an existing file',
  async () => {
    const path = join(newFolder(), 'token');
    writeFileSync(path, '');
    chmodSync(path, 0o640);
    await runFleet(['auth', 'token', '--file', path], { env: { FLEET_TOKEN: 'a-token-of-ann' } });
    expect(readFileSync(path, 'utf8')).toBe('a-token-of-ann\n');
    expect(modeOf(path)).toBe(0o640);
  },
);
