// Tests the renewal of tokens during long commands, by several processes, and while something else
// happens. The transcripts in test/transcripts/auth show single renewals.

import { EventEmitter } from 'node:events';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { parseFault, type Sandbox } from '../../src/sandbox/index.js';
import { openFastClock } from '../support/fast-clock.js';
import { newFolder } from '../support/folder.js';
import { type RunOptions, runFleet } from '../support/run.js';
import { startFleet, startProgram } from '../support/running.js';
import { inState, openSandbox } from '../support/sandbox.js';
import { openServer, sendJson, sendPage } from '../support/server.js';

/** How long a test waits on a busy machine. */
const WAIT_MS = 90_000;

const MINUTE_MS = 60_000;

let folder: string;
let nowMs: number;

beforeEach(() => {
  folder = newFolder();
  nowMs = Date.parse('2026-03-01T12:00:00Z');
});

const fleet = (line: string, options: RunOptions = {}) =>
  runFleet(line.split(' '), {
    now: () => nowMs,
    ...options,
    env: { FLEET_CONFIG_DIR: folder, ...options.env },
  });

const logIn = (
  url: string,
  {
    email = 'operator@example.com',
    flags = '',
    ...options
  }: RunOptions & { email?: string; flags?: string } = {},
) =>
  fleet(`auth login --email ${email} --password-stdin --base-url ${url}${flags}`, {
    stdin: 'correct horse\n',
    ...options,
  });

const readStored = async () => JSON.parse(await readFile(join(folder, 'credentials.json'), 'utf8'));

/** The bodies of the renewals that a sandbox received. */
const renewals = ({ requests }: Sandbox) =>
  requests
    .filter(({ url }) => url.endsWith('/jwt/refresh_token/'))
    .map(({ body, status }) => ({ ...JSON.parse(body), status }));

const jwt = (expiresAtMs: number, more: object = {}) => {
  const claims = { exp: expiresAtMs / 1000, ...more };
  return `eyJhbGciOiJIUzI1NiJ9.${Buffer.from(JSON.stringify(claims)).toString('base64url')}.c2ln`;
};

describe('renewal of a 60-second token', () => {
  const openShortLived = () =>
    openSandbox({ bicycles: 40, now: () => nowMs, faults: [parseFault('expire=60s')] });

  it.each(['watch', 'mirror'])('is renewed three times by a long %s', async (kind) => {
    const clock = openFastClock(nowMs);
    const now = () => clock.wallMs();
    const sandbox = await openSandbox({ bicycles: 40, now, faults: [parseFault('expire=60s')] });
    const organization = sandbox.organizations[0]?.uuid ?? '';
    await logIn(sandbox.baseUrl, { now });
    const database = `sqlite:${join(folder, 'mirror.db')}`;
    const command =
      kind === 'watch'
        ? ['watch', organization, '--for', '180s']
        : ['mirror', 'run', '--organization', organization, '--to', database];
    const env = { FLEET_CONFIG_DIR: folder, FLEET_SSE_URL: sandbox.sseUrl };
    const running = startFleet(command, { env, clock });
    try {
      await running.until(() => renewals(sandbox).length >= 3);
      const run = await (kind === 'mirror' ? running.stop() : running.ended);
      expect([run.code, run.stderr]).toEqual([
        kind === 'mirror' ? 130 : 0,
        expect.not.stringMatching(/renewed|expired|401/),
      ]);
      expect(new Set(renewals(sandbox).map(({ status }) => status))).toEqual(new Set([200]));
    } finally {
      clock.stop();
    }
  });

  it('a long bulk run renews its 60-second token three times', async () => {
    const sandbox = await openSandbox({
      bicycles: 60,
      now: () => nowMs,
      faults: [parseFault('expire=60s')],
      onRequest: ({ method }) => {
        if (method === 'POST') nowMs += 11_000;
      },
    });
    await logIn(sandbox.baseUrl);
    const uuids = inState(sandbox, 'available', 12).join(' ');
    const run = await fleet(`bicycles act ${uuids} take_over --yes --concurrency 1`);
    expect([run.code, run.stderr]).toEqual([0, expect.not.stringMatching(/renewed|expired|401/)]);
    expect(inState(sandbox, 'in_maintenance').length).toBeGreaterThanOrEqual(12);
    const sent = renewals(sandbox);
    expect(sent.length).toBeGreaterThanOrEqual(3);
    expect(new Set(sent.map(({ status }) => status))).toEqual(new Set([200]));
  });

  it('only one of two processes renews a 60-second token', async () => {
    // These tokens are valid by the machine's clock, because separate processes use them.
    nowMs = Date.now() - 40_000;
    const sandbox = await openShortLived();
    await logIn(sandbox.baseUrl);
    nowMs = Date.now();
    const env = { PATH: process.env['PATH'], FLEET_CONFIG_DIR: folder };
    const runs = [1, 2].map(() => startProgram(['bicycles', 'list', '--count'], env));
    expect(await Promise.all(runs.map(({ ended }) => ended))).toEqual(
      runs.map(() => ({ code: 0, stdout: '40\n', stderr: '' })),
    );
    expect(renewals(sandbox)).toMatchObject([{ status: 200 }]);
  });
});

it('stores the new refresh token when Ctrl-C arrives during a renewal', async () => {
  const { url, asked } = await openServer(async (response, { path }) => {
    if (!path.startsWith('/jwt/')) return sendPage(response, []);
    const isLogin = path === '/jwt/login/';
    if (!isLogin) await new Promise((resolve) => setTimeout(resolve, 300));
    const token = jwt(nowMs + 30 * MINUTE_MS);
    sendJson(response, 200, { token, refresh_token: isLogin ? 'first-token' : 'second-token' });
  });
  await logIn(url);
  nowMs += 20 * MINUTE_MS;
  const signals = new EventEmitter();
  const running = fleet('bicycles list', { signals });
  await vi.waitFor(() => expect(asked.at(-1)?.path).toBe('/jwt/refresh_token/'), WAIT_MS);
  signals.emit('SIGINT', 'SIGINT');
  expect((await running).code).toBe(130);
  expect((await readStored()).logins.default.refreshToken).toBe('second-token');
});

it('uses the token of another login when the renewal fails', async () => {
  let onRenewal: () => Promise<unknown> = async () => {};
  const { url } = await openServer(async (response, { path }) => {
    if (!path.startsWith('/jwt/')) return sendPage(response, []);
    if (path === '/jwt/login/')
      return sendJson(response, 200, { token: jwt(nowMs + 30 * MINUTE_MS), refresh_token: 'x1' });
    await onRenewal();
    sendJson(response, 401, {});
  });
  await logIn(url);
  nowMs += 31 * MINUTE_MS;
  onRenewal = () => logIn(url);
  expect(await fleet('bicycles list --count')).toMatchObject({ code: 0, stderr: '' });
});
