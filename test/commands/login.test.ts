// Tests the login with a password and the renewal of its token by one command at a time.

import { EventEmitter } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { PassThrough, Readable } from 'node:stream';
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
import { typing } from '../support/typing.js';

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

describe('`auth login --email`', () => {
  it('stores the token and the refresh token, but not the password', async () => {
    const { baseUrl } = await openSandbox({ bicycles: 3, now: () => nowMs });
    const run = await logIn(baseUrl, ' -v');
    expect([run.code, run.stderr]).toEqual([
      0,
      expect.stringContaining('logged in as operator@example.com\n'),
    ]);
    expect(run.stderr).toContain('checked: 3 bicycles');
    expect(run.stderr).not.toMatch(/horse|eyJ/);
    const { tokens, logins } = await credentials();
    const login = {
      email: 'operator@example.com',
      refreshPath: '/jwt/refresh_token/',
      sinceMs: nowMs,
      refreshToken: expect.any(String),
    };
    expect(logins).toEqual({ default: login });
    expect(run.stderr).toContain(
      'the token names 2 organizations and none is chosen: run "fleet config set organization NAME"',
    );
    expect(readExpiry(tokens.default)).toBe(nowMs + 30 * MINUTE_MS);
    const status = await fleet('auth status');
    expect(status.stdout).toContain('token         logged in as operator@example.com\n');
    expect(status.stdout).toContain('renewable     with the refresh token: ');
    expect(JSON.parse((await fleet('auth status --json')).stdout)).toMatchObject({
      renewable: true,
      renewable_until: null,
    });
    await fleet('auth logout');
    expect(await credentials()).toEqual({ tokens: {} });
  });

  it('asks for the push address and the password on a terminal, and does not show the password', async () => {
    const { baseUrl, sseUrl, organizations } = await openSandbox({
      bicycles: 3,
      now: () => nowMs,
    });
    const { typed, ...terminal } = typing([
      ['Push address', `${sseUrl}\r`],
      ['Password of operator@example.com', `${PASSWORD}\r`],
      ['Organization (number, name or UUID', `${organizations[1]?.name}\r`],
    ]);
    const run = await fleet(
      `auth login --email operator@example.com --base-url ${baseUrl}`,
      terminal,
    );
    expect([run.code, typed()]).toEqual([0, 3]);
    expect(run.stderr).not.toContain('horse');
    expect(run.stderr).toContain(`(${organizations[0]?.name})`);
    const { profiles } = JSON.parse(await readFile(join(folder, 'config.json'), 'utf8'));
    expect(profiles.default).toMatchObject({
      organization: organizations[1]?.uuid,
      sse_url: sseUrl,
    });
  });

  it.each<[string, string, string, number, string]>([
    [
      'a wrong password',
      '',
      'wrong horse',
      4,
      'the service refused the login: it does not know this e-mail address with this password',
    ],
    ['no password', '', '', 2, 'the password is empty'],
    [
      'an invalid path',
      ' --login-path https://evil.example/',
      'x',
      2,
      '--login-path must be a path relative',
    ],
    [
      'a path that leads out of the base URL',
      ' --login-path /../x',
      'x',
      2,
      '--login-path must be a path relative',
    ],
    [
      'a path that is not there',
      ' --login-path /login',
      'x',
      5,
      'hint: this service has no login at this path',
    ],
  ])('refuses %s and stores nothing', async (_what, more, stdin, code, message) => {
    const { baseUrl } = await openSandbox({ bicycles: 3, now: () => nowMs });
    const run = await logIn(baseUrl, more, stdin);
    expect([run.code, run.stderr]).toEqual([code, expect.stringContaining(message)]);
    await expect(credentials()).rejects.toThrow('ENOENT');
  });

  it('refuses a password that is not UTF-8', async () => {
    const { url, asked } = await openServer((response) => sendJson(response, 200, {}));
    const stdin = Readable.from([Buffer.from('Gr\xfcn9\n', 'latin1')]);
    const run = await fleet(
      `auth login --email operator@example.com --password-stdin --base-url ${url}`,
      { stdin },
    );
    expect([run.code, run.stderr]).toEqual([
      2,
      expect.stringContaining('the password on stdin is not UTF-8'),
    ]);
    expect(asked).toEqual([]);
  });

  it.each(['first\nsecond\n', 'first\n\n', 'fir\0st\n'])(
    'refuses a password of several lines or with a NUL: %j',
    async (stdin) => {
      const { url, asked } = await openServer((response) => sendJson(response, 200, {}));
      const run = await logIn(url, '', stdin);
      expect([run.code, run.stderr]).toEqual([
        2,
        expect.stringContaining('the password has several lines or a NUL character'),
      ]);
      expect(asked).toEqual([]);
    },
  );

  it('ignores a byte order mark before a password', async () => {
    const { url, asked } = await openServer((response) => sendJson(response, 400, {}));
    await logIn(url, '', `\uFEFF${PASSWORD}\r\n`);
    expect(JSON.parse(asked[0]?.body ?? '').password).toBe(PASSWORD);
  });

  it('a login with a password sends no token and follows no redirect', async () => {
    const { url, asked } = await openServer((response, { path }) =>
      sendJson(response, 307, {}, { location: `http://127.0.0.1:9${path}` }),
    );
    expect((await logIn(url)).code).not.toBe(0);
    // The search for another prefix sends no token.
    expect(asked.map(({ headers }) => headers.authorization)).toEqual(asked.map(() => undefined));
    expect(
      asked.filter(({ body }) => body !== '').map(({ method, path }) => [method, path]),
    ).toEqual([['POST', '/jwt/login/']]);
  });

  it('rejects flags without --email and conflicting flags', async () => {
    for (const flag of ['--password-stdin', '--login-path /x/', '--client-id app'])
      expect((await fleet(`auth login ${flag}`)).stderr).toContain(
        `${flag.split(' ')[0]} needs --email`,
      );
    expect((await fleet('auth login --with-token --email a@b.c')).stderr).toContain(
      'cannot be used together',
    );
  });
});

describe('the token of `auth login --email`', () => {
  it('renews in the second half of its lifetime, by any command and repeatedly', async () => {
    const { baseUrl, requests } = await openSandbox({ bicycles: 3, now: () => nowMs });
    await logIn(baseUrl);
    nowMs += 14 * MINUTE_MS;
    expect((await fleet('bicycles list')).code).toBe(0);
    expect(renewals(requests)).toHaveLength(0);
    for (let run = 1; run <= 5; run++) {
      nowMs += 16 * MINUTE_MS - (run === 1 ? 14 * MINUTE_MS : 0);
      expect((await fleet('bicycles list')).code).toBe(0);
      expect(renewals(requests)).toHaveLength(run);
    }
  });

  it('the token of `auth login --email` is renewed once by ten concurrent commands', async () => {
    const { baseUrl, requests } = await openSandbox({ bicycles: 3, now: () => nowMs });
    await logIn(baseUrl);
    nowMs += 20 * MINUTE_MS;
    const runs = await Promise.all(Array.from({ length: 10 }, () => fleet('bicycles list')));
    expect(runs.map(({ code }) => code)).toEqual(Array.from({ length: 10 }, () => 0));
    expect(renewals(requests)).toHaveLength(1);
  });

  it('does not delay Ctrl-C or a logout during an unanswered renewal', async () => {
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

  it('names the login command when an expired token cannot be renewed', async () => {
    const { baseUrl } = await openSandbox({ bicycles: 3, service: 'interface', now: () => nowMs });
    await logIn(baseUrl, ' --profile berlin');
    nowMs += 31 * MINUTE_MS;
    const run = await fleet('bicycles list --profile berlin');
    expect(run.code).toBe(4);
    expect(run.stderr).toContain(
      'the token of profile "berlin" has expired and could not be renewed',
    );
    expect(run.stderr).toContain(
      'hint: run "fleet auth login --email operator@example.com --profile berlin" for a new token\n',
    );
    expect(run.stderr).not.toContain('eyJ');
  });

  it('uses a token that cannot be renewed until it expires, and warns', async () => {
    const { baseUrl } = await openSandbox({ bicycles: 3, now: () => nowMs });
    await logIn(baseUrl);
    nowMs += 20 * MINUTE_MS;
    const stored = await readFile(join(folder, 'credentials.json'), 'utf8');
    await writeFile(
      join(folder, 'credentials.json'),
      stored.replace('/jwt/refresh_token/', '/jwt/no_refresh/'),
      {
        mode: 0o600,
      },
    );
    const run = await fleet('bicycles list');
    expect(run.code).toBe(0);
    expect(run.stderr).toContain('the old token is used until it ends at 2026-03-01 12:30:00');
    expect(run.stderr).toContain('run "fleet auth login --email operator@example.com"');
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

  it.each<[string, (life: number) => string, string]>([
    [
      'one that has ended',
      (life) => jwt({ exp: seconds() - life }),
      'the renewed token expires before the old one',
    ],
    ['a word', () => 'null', 'the renewed token expires before the old one'],
    [
      'half a megabyte',
      () => jwt({ exp: seconds() + 9999, x: 'x'.repeat(5e5) }),
      'longer than any token',
    ],
  ])('keeps the valid token when a renewal returns %s', async (_what, worse, message) => {
    const { url } = await openTokens((isRenewal) =>
      isRenewal ? worse(60) : jwt({ iat: seconds(), exp: seconds() + 1800 }),
    );
    await logIn(url);
    const { tokens } = await credentials();
    nowMs += 20 * MINUTE_MS;
    const run = await fleet('bicycles list');
    expect([run.code, run.stderr]).toEqual([0, expect.stringContaining(message)]);
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
  ])('does not renew tokens that %s with every request', async (_what, minutes, tokenOf, times) => {
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
  });

  it.each(['', ' --json', ' -v'])(
    'does not quote the answer to a request that held a password (flags:%s)',
    async (flags) => {
      const { url } = await openServer((response) =>
        sendJson(response, 400, { detail: 'not "two+words%2B9" Gr\\u00fcn9 &#39;hunter2&#39;' }),
      );
      const run = await logIn(url, flags, 'two words+9 Grün9\n');
      expect(run.code).toBe(4);
      expect(run.stderr).toContain('its reason is not shown');
      expect(run.stderr).not.toMatch(/words|Gr|hunter2/);
    },
  );

  it.each<[string, number, object, string, string]>([
    [
      'a locked account',
      403,
      { detail: [{ message: 'The account is locked for 5 minutes', code: 'locked' }] },
      'the account is locked for 5 minutes',
      'wait 5 minutes, then log in again',
    ],
    ['an inactive account', 403, { detail: 'User is inactive.' }, 'not active', 'to activate'],
    ['a 403 without a reason', 403, {}, 'may not log in, or it is locked', 'wait some minutes'],
    [
      'a service that asks for a user name',
      400,
      { username: ['This field is required.'] },
      'it asks for more than an e-mail address and a password (username)',
      'get a token another way',
    ],
  ])('names the cause of a refused login: %s', async (_what, status, body, reason, hint) => {
    const { url } = await openServer((response) => sendJson(response, status, body));
    const run = await logIn(url);
    expect(run.code).toBe(4);
    expect(run.stderr).toContain(`error: the service refused the login: `);
    expect(run.stderr).toContain(reason);
    expect(run.stderr).toContain(hint);
    expect(run.stderr).not.toContain('its role');
  });
});

it('logs in with the token_command of the guide', async () => {
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

it('repeats renewals while one command runs and stops when it ends', async () => {
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

it('quotes no text that looks like a token', async () => {
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

it('quotes no JWT in the notice of `config set token_command`', async () => {
  const jwt = 'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJhbm4ifQ.c2lnbmF0dXJl';
  const run = await fleet(`config set token_command echo${'\u00a0'}${jwt}`, {});
  expect([run.code, run.stderr]).toEqual([0, expect.stringContaining('set token_command')]);
  expect(run.stderr).not.toContain(jwt);
});
