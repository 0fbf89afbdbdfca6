// Tests a login that replaces a token while another command uses it. The transcripts in
// test/transcripts/auth show `fleet auth` itself.

import { expect, it } from 'vitest';
import { newFolder } from '../support/folder.js';
import { type RunResult, runFleet } from '../support/run.js';
import { openServer, sendJson } from '../support/server.js';

it('repeats a request with the new token when another login stored one meanwhile', async () => {
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
