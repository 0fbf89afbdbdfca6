// Tests the renewal of login tokens with a refresh token or with the token itself.

import { EventEmitter } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
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
const USED_UP = 'could not be renewed: the service refused the renewal of the token';

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

describe('the requests of a token renewal', () => {
  it('sends the client ID and the newest refresh token, again and again', async () => {
    const sandbox = await openSandbox({ bicycles: 3, now: () => nowMs });
    await logIn(sandbox.baseUrl, { flags: ' --client-id night-shift' });
    const sent = [(await readStored()).logins.default.refreshToken];
    for (let run = 0; run < 3; run++) {
      nowMs += 20 * MINUTE_MS;
      expect((await fleet('bicycles list')).code).toBe(0);
      sent.push((await readStored()).logins.default.refreshToken);
    }
    expect(new Set(sent).size).toBe(4);
    expect(renewals(sandbox)).toEqual(
      sent
        .slice(0, 3)
        .map((token) => ({ client_id: 'night-shift', refresh_token: token, status: 200 })),
    );
  });

  it('renews an expired token with the refresh token', async () => {
    const sandbox = await openSandbox({ bicycles: 3, now: () => nowMs });
    await logIn(sandbox.baseUrl);
    nowMs += 600 * MINUTE_MS;
    expect(await fleet('bicycles list --count')).toEqual({ code: 0, stdout: '3\n', stderr: '' });
    expect(renewals(sandbox)).toMatchObject([{ client_id: 'fleet', status: 200 }]);
  });

  it('renews with the token itself at a service without refresh tokens', async () => {
    const sandbox = await openSandbox({ bicycles: 3, service: 'interface', now: () => nowMs });
    await logIn(sandbox.baseUrl);
    const { token } = (await readStored()).tokens;
    nowMs += 20 * MINUTE_MS;
    expect((await fleet('bicycles list')).code).toBe(0);
    expect(renewals(sandbox)).toEqual([{ token: expect.any(String), status: 200 }]);
    expect((await readStored()).tokens.default).not.toBe(token);
  });

  it('renews with the token itself once when the service refuses the refresh token', async () => {
    const bodies: string[] = [];
    const { url } = await openServer((response, { path, body }) => {
      if (!path.startsWith('/jwt/')) return sendPage(response, []);
      const token = jwt(nowMs + 30 * MINUTE_MS, { n: bodies.length });
      if (path === '/jwt/login/') return sendJson(response, 200, { token, refresh_token: 'r1' });
      bodies.push(body);
      if (body.includes('refresh_token')) return sendJson(response, 400, { detail: 'no' });
      sendJson(response, 200, { token });
    });
    await logIn(url);
    nowMs += 20 * MINUTE_MS;
    expect((await fleet('bicycles list')).code).toBe(0);
    expect(bodies.map((body) => Object.keys(JSON.parse(body)))).toEqual([
      ['client_id', 'refresh_token'],
      ['token'],
    ]);
  });

  it('keeps the refresh token when a renewal returns none', async () => {
    const { url } = await openServer((response, { path }) => {
      const token = jwt(nowMs + 30 * MINUTE_MS);
      const more = path === '/jwt/login/' ? { refresh_token: 'r1-of-the-login' } : {};
      if (path.startsWith('/jwt/')) return sendJson(response, 200, { token, ...more });
      sendPage(response, []);
    });
    await logIn(url);
    nowMs += 20 * MINUTE_MS;
    await fleet('bicycles list');
    expect((await readStored()).logins.default.refreshToken).toBe('r1-of-the-login');
  });
});

describe('a token that cannot be renewed', () => {
  it('a token that cannot be renewed is not described as renewable when the refresh token is null', async () => {
    const sandbox = await openSandbox({ bicycles: 3, now: () => nowMs });
    const login = await logIn(sandbox.baseUrl, { email: 'contractor@example.com' });
    expect(login.stderr).toContain(
      'it expires in 30 min (2026-03-01 12:30:00); the service does not renew it: log in again then\n',
    );
    nowMs += 20 * MINUTE_MS;
    const status = await fleet('auth status');
    expect(status.stdout).toContain('expires       in 10 min');
    expect(status.stdout).not.toContain('renew');
    expect(JSON.parse((await fleet('auth status --json')).stdout)).toMatchObject({
      renewable: false,
      renewable_until: null,
    });
    expect(await fleet('bicycles list --count')).toMatchObject({ code: 0, stderr: '' });
    nowMs += 20 * MINUTE_MS;
    const ended = await fleet('bicycles list');
    expect(ended.code).toBe(4);
    expect(ended.stderr).toContain('hint: run "fleet auth login --email contractor@example.com"');
    expect(renewals(sandbox)).toEqual([]);
  });

  it('does not report a token as renewable after the service refused both forms of the renewal', async () => {
    const sandbox = await openSandbox({ bicycles: 3, now: () => nowMs });
    await logIn(sandbox.baseUrl);
    const stored = await readStored();
    stored.logins.default.refreshToken = 'unknown-refresh-token';
    await writeFile(join(folder, 'credentials.json'), JSON.stringify(stored));
    nowMs += 20 * MINUTE_MS;
    const first = await fleet('bicycles list');
    expect(first.code).toBe(0);
    expect(first.stderr).toContain(`${USED_UP}: its answer is not shown (HTTP 401`);
    expect(first.stderr).toContain('the old token is used until it ends');
    expect(renewals(sandbox).map(({ status }) => status)).toEqual([401, 400]);
    // No command retries before the token has expired.
    expect(await fleet('bicycles list --count')).toMatchObject({ code: 0, stderr: '' });
    expect(renewals(sandbox)).toHaveLength(2);
    expect((await fleet('auth status')).stdout).not.toContain('renew');
  });
});

describe('renewal of a token with a lifetime of 60 s', () => {
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

  it('renewal of a token with a lifetime of 60 s is renewed three times by a long bulk run', async () => {
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

  it('renewal of a token with a lifetime of 60 s is renewed by one of two processes, and the other uses the new token', async () => {
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

  it('ends with exit 4 when another program used up the refresh token', async () => {
    const sandbox = await openShortLived();
    await logIn(sandbox.baseUrl);
    const { refreshToken } = (await readStored()).logins.default;
    const body = JSON.stringify({ client_id: 'other', refresh_token: refreshToken });
    const headers = { accept: 'application/json; version=1.0', 'content-type': 'application/json' };
    const used = await fetch(`${sandbox.baseUrl}/jwt/refresh_token/`, {
      method: 'POST',
      body,
      headers,
    });
    expect(used.status).toBe(200);
    nowMs += 40_000;
    const good = await fleet('bicycles list --count');
    expect([good.code, good.stderr]).toEqual([0, expect.stringContaining(USED_UP)]);
    nowMs += 40_000;
    const ended = await fleet('bicycles list --count');
    expect(ended.code).toBe(4);
    expect(ended.stderr).toContain('the token of profile "default" has expired and could not');
    expect(ended.stderr).toContain('hint: run "fleet auth login --email operator@example.com"');
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

it('keeps a login that replaced the token during a failing renewal', async () => {
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
