// Tests the renewal of a token by several commands, and by one that runs for a long time. The
// transcripts in test/transcripts/auth show logins and single renewals.

import { EventEmitter } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { openContext } from '../../src/context.js';
import { readExpiry } from '../../src/settings/token.js';
import { type Clock, systemClock } from '../../src/system/clock.js';
import { openIo } from '../../src/terminal/io.js';
import { newFolder } from '../support/folder.js';
import { readText } from '../support/guides.js';
import { type RunOptions, type RunResult, runFleet } from '../support/run.js';
import { openSandbox } from '../support/sandbox.js';
import { openServer, sendJson, sendPage } from '../support/server.js';

/** How long a test waits on a busy machine. */
const WAIT_MS = 90_000;

let folder: string;
let nowMs: number;

beforeEach(() => {
  folder = newFolder();
  nowMs = Date.parse('2026-03-01T12:00:00Z');
});

const fleet = (line: string, options: RunOptions = {}): Promise<RunResult> =>
  runFleet(line.split(' '), {
    now: () => nowMs,
    ...options,
    env: { FLEET_CONFIG_DIR: folder, ...options.env },
  });
const credentials = async () =>
  JSON.parse(await readFile(join(folder, 'credentials.json'), 'utf8'));
const PASSWORD = 'correct horse battery';
const logIn = (url: string, more = '', stdin = `${PASSWORD}\n`) =>
  fleet(`auth login --email operator@example.com --password-stdin --base-url ${url}${more}`, {
    stdin,
  });
const MINUTE_MS = 60_000;
const jwt = (claims: object) =>
  `eyJhbGciOiJIUzI1NiJ9.${Buffer.from(JSON.stringify(claims)).toString('base64url')}.c2lnbmF0dXJl`;
/** Same value as in src/settings/token.ts. */
const CHECK_EVERY_MS = 30_000;
const renewals = (requests: readonly ({ url: string } | { path: string })[]) =>
  requests.filter((request) =>
    ('url' in request ? request.url : request.path).endsWith('/jwt/refresh_token/'),
  );

describe('the token of `auth login --email`', () => {
  it('ten concurrent commands renew the token of `auth login --email` once', async () => {
    const { baseUrl, requests } = await openSandbox({ bicycles: 3, now: () => nowMs });
    await logIn(baseUrl);
    nowMs += 20 * MINUTE_MS;
    const runs = await Promise.all(Array.from({ length: 10 }, () => fleet('bicycles list')));
    expect(runs.map(({ code }) => code)).toEqual(Array.from({ length: 10 }, () => 0));
    expect(renewals(requests)).toHaveLength(1);
  });

  it('an unanswered token renewal does not delay Ctrl-C or a logout', async () => {
    const { url, asked } = await openServer((response, { path }) => {
      if (path.includes('login'))
        sendJson(response, 200, { token: jwt({ exp: nowMs / 1000 + 1800 }) });
      else if (!path.includes('refresh')) sendJson(response, 200, []);
    });
    await logIn(url);
    nowMs += 20 * MINUTE_MS;
    const signals = new EventEmitter();
    const renewing = fleet('bicycles list', { signals });
    await vi.waitFor(() => expect(renewals(asked)).toHaveLength(1), WAIT_MS);
    const own = new EventEmitter();
    const waiting = fleet('bicycles list', { signals: own });
    setTimeout(() => own.emit('SIGINT', 'SIGINT'), 100);
    expect((await waiting).code).toBe(130);
    expect((await fleet('auth logout')).code).toBe(0);
    signals.emit('SIGINT', 'SIGINT');
    expect((await renewing).code).toBe(130);
  });
});

describe('a service that returns wrong tokens', () => {
  const seconds = () => Math.floor(nowMs / 1000);
  /** Starts a service with separate tokens for login and renewal, and empty lists. */
  const openTokens = async (tokenOf: (isRenewal: boolean) => string) => {
    const { url, asked } = await openServer((response, { path }) =>
      path.startsWith('/jwt/')
        ? sendJson(response, 200, { token: tokenOf(path.includes('refresh')) })
        : sendPage(response, []),
    );
    return { url, posts: () => asked.filter(({ path }) => path.includes('refresh')).length };
  };

  it('keeps the valid token when a renewal returns an oversized response', async () => {
    const { url } = await openTokens((isRenewal) =>
      isRenewal
        ? jwt({ exp: seconds() + 9999, x: 'x'.repeat(5e5) })
        : jwt({ iat: seconds(), exp: seconds() + 1800 }),
    );
    await logIn(url);
    const { tokens } = await credentials();
    nowMs += 20 * MINUTE_MS;
    const run = await fleet('bicycles list');
    expect([run.code, run.stderr]).toEqual([0, expect.stringContaining('longer than any token')]);
    expect((await credentials()).tokens).toEqual(tokens);
  });

  const lives =
    (endsInS: number, claims = {}) =>
    () =>
      jwt({ exp: seconds() + endsInS, n: Math.random(), ...claims });
  it.each<[string, number, () => string, number]>([
    ['live for five minutes and do not say when they began', 1, lives(300), 0],
    ['are half spent', 3, lives(300), 1],
    ['have ended by the clock of this machine', 0, lives(-3600), 0],
  ])(
    'tokens that %s are not renewed with every request',
    async (_what, minutes, tokenOf, times) => {
      const { url, posts } = await openTokens(tokenOf);
      await logIn(url);
      nowMs += minutes * MINUTE_MS;
      const before = posts();
      const stdin = Array.from(
        { length: 20 },
        (_, at) => `aaaaaaaa-0000-4000-8000-${String(at).padStart(12, '0')}`,
      );
      await fleet('bicycles act - take_over --yes --concurrency 1', { stdin: stdin.join('\n') });
      expect(posts() - before).toBe(times);
    },
  );
});

it('logs in with the token_command from the guide', async () => {
  const { baseUrl } = await openSandbox({ bicycles: 3 });
  const line =
    /^fleet config set token_command "(.*)"$/m.exec(readText('docs/settings.md'))?.[1] ?? '';
  const command = line.replace('https://bikes.example.com/api', baseUrl);
  expect(command).toContain(`${baseUrl}/jwt/login/`);
  await writeFile(
    join(folder, '.fleet-login.json'),
    JSON.stringify({ email: 'operator@example.com', password: 'x' }),
  );
  const env = {
    HOME: folder,
    PATH: process.env['PATH'],
    FLEET_BASE_URL: baseUrl,
    FLEET_TOKEN_COMMAND: command,
  };
  const run = await runFleet(['bicycles', 'list', '--count'], {
    env: { ...env, FLEET_CONFIG_DIR: folder },
  });
  expect(run).toEqual({ code: 0, stdout: '3\n', stderr: '' });
});

it('a long-running command renews its token until the command ends', async () => {
  const { baseUrl, requests } = await openSandbox({ bicycles: 3, now: () => nowMs });
  await logIn(baseUrl);
  const over = new AbortController();
  const timers: { inMs: number; action: () => void }[] = [];
  const clock: Clock = {
    ...systemClock(() => nowMs),
    after: (inMs, action) => {
      if (inMs !== CHECK_EVERY_MS) return systemClock().after(inMs, action);
      const timer = { inMs, action };
      timers.push(timer);
      return () => void timers.splice(timers.indexOf(timer), 1);
    },
  };
  const streams = {
    stdin: new PassThrough(),
    stdout: new PassThrough(),
    stderr: new PassThrough(),
  };
  const world = {
    ...streams,
    env: { FLEET_CONFIG_DIR: folder },
    signals: new EventEmitter(),
    clock,
  };
  const signals = { signal: over.signal, urgentSignal: over.signal, leaveSignals() {} };
  const io = openIo(world, { noColor: true, isJson: false, clock });
  const { context, close } = openContext(world, io, {}, signals);
  const source = await context.token();
  await source.get();
  for (let round = 1; round <= 20; round++) {
    for (const minutes of [14, 1]) {
      nowMs += minutes * MINUTE_MS;
      timers.shift()?.action();
      const times = minutes === 14 ? round - 1 : round;
      await vi.waitFor(
        () => expect([renewals(requests).length, timers.length]).toEqual([times, 1]),
        WAIT_MS,
      );
    }
  }
  expect([source.isRenewable, readExpiry(await source.get())]).toEqual([
    true,
    nowMs + 30 * MINUTE_MS,
  ]);
  await close();
  expect(timers).toEqual([]);
});

it('error messages do not quote text that looks like a token', async () => {
  const jwt = 'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJhbm4ifQ.c2lnbmF0dXJl';
  for (const token of [jwt, '9944b09199c62bcf9418ad846dd0e4bbdfc6ee4b'])
    for (const line of [
      `auth login --with-token --base-url ${token}`,
      `config set base_url ${token}`,
      `config set organization ${token}`,
      `config set timeout ${token}`,
      `config set token_command ${token}`,
    ]) {
      const run = await fleet(line, { stdin: 'x' });
      expect([line.split(' ')[2], run.code, run.stderr]).toEqual([
        expect.any(String),
        2,
        expect.not.stringContaining(token),
      ]);
    }
});

it('the notice of `config set token_command` contains no JWT', async () => {
  const jwt = 'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJhbm4ifQ.c2lnbmF0dXJl';
  const run = await fleet(`config set token_command echo${'\u00a0'}${jwt}`, {});
  expect([run.code, run.stderr]).toEqual([0, expect.stringContaining('set token_command')]);
  expect(run.stderr).not.toContain(jwt);
});
