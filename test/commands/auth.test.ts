// Tests the output and the stored files of `fleet auth`.

import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { findPlace } from '../../src/settings/config-folder.js';
import { saveSandboxProfile } from '../../src/settings/sandbox-profile.js';
import { newFolder } from '../support/folder.js';
import { type RunOptions, type RunResult, runFleet } from '../support/run.js';
import { openServer, sendJson, sendPage } from '../support/server.js';
import { typing } from '../support/typing.js';

const NOW_MS = Date.parse('2026-03-01T12:00:00Z');
const ORGANIZATION = '0f8fad5b-d9cb-469f-a165-70867728950e';

let folder: string;
let env: NodeJS.ProcessEnv;

beforeEach(() => {
  folder = newFolder();
  env = { FLEET_CONFIG_DIR: folder, PATH: process.env['PATH'] };
});

const fleet = (line: string, options: RunOptions = {}): Promise<RunResult> =>
  runFleet(line.split(' '), { now: () => NOW_MS, ...options, env: { ...env, ...options.env } });
const readJson = async (name: string) => JSON.parse(await readFile(join(folder, name), 'utf8'));

function jwt(claims: object): string {
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
  return `${part({ alg: 'HS256' })}.${part(claims)}.c2ln`;
}
const VALID = jwt({ sub: 'ann', role: 'admin', exp: NOW_MS / 1000 + 1800 });
const EXPIRED = jwt({ sub: 'ann', exp: NOW_MS / 1000 - 7200 });

describe('`auth login`', () => {
  it('stores the token from stdin with the given URLs', async () => {
    const run = await fleet(
      'auth login --with-token --no-check --base-url https://b.example.com/api/ --sse-url https://p.example.com',
      {
        stdin: `JWT ${VALID}\n`,
      },
    );
    expect(run).toEqual({
      code: 0,
      stdout: '',
      stderr: [
        'logging in: profile "default" at https://b.example.com/api/',
        'saved base_url https://b.example.com/api/',
        'saved sse_url https://p.example.com',
        `stored the token for profile "default" in ${folder}/credentials.json (mode 0600)`,
        'it expires in 30 min (2026-03-01 12:30:00)',
        '',
      ].join('\n'),
    });
    expect(await readJson('config.json')).toEqual({
      profiles: {
        default: { base_url: 'https://b.example.com/api/', sse_url: 'https://p.example.com' },
      },
    });
    expect(await readJson('credentials.json')).toEqual({ tokens: { default: VALID } });
    expect((await stat(join(folder, 'credentials.json'))).mode & 0o777).toBe(0o600);
  });

  it('asks for all values without settings and does not show the token', async () => {
    const { typed, ...terminal } = typing([
      ['Address of the service', `${'0a'.repeat(16)}\r`],
      ['this looks like a token, and is not repeated', '\x15api.example.com\r'],
      ['did you mean https://api.example.com?', '\x15https://api.example.com\r'],
      ['Push address', '\r'],
      ['Access token for profile "default" at https://api.example.com', `${VALID}\r`],
      ['Organization (UUID; Enter', `${ORGANIZATION.toUpperCase()}\r`],
    ]);
    const run = await fleet('auth login --no-check', terminal);
    expect([run.code, typed()]).toEqual([0, 6]);
    expect(run.stdout).toBe('');
    expect(run.stderr).toContain(`saved organization ${ORGANIZATION}`);
    expect(run.stderr).not.toContain(VALID);
    expect(await readJson('config.json')).toEqual({
      profiles: { default: { base_url: 'https://api.example.com', organization: ORGANIZATION } },
    });
    expect(await readJson('credentials.json')).toEqual({ tokens: { default: VALID } });
  });

  it('stores nothing when the prompt is left with Ctrl-C', async () => {
    const { typed: _typed, ...terminal } = typing([
      ['Push address', '\r'],
      ['Access token', '\x03'],
    ]);
    expect((await fleet('auth login --base-url https://x.example.com', terminal)).code).toBe(130);
    await expect(stat(join(folder, 'config.json'))).rejects.toThrow('ENOENT');
  });

  it('selects the first profile, and no later one', async () => {
    const first = await fleet('auth login --with-token --profile berlin', { stdin: 'one' });
    expect(first.stderr).toContain('now using profile "berlin"\n');
    expect(first.stderr).toContain(
      'no address yet: run "fleet config set base_url URL --profile berlin"\n',
    );
    const second = await fleet('auth login --with-token --profile munich', { stdin: 'two' });
    expect(second.stderr).toContain('to use it without --profile: fleet profile use munich\n');
    expect((await readJson('config.json')).profile).toBe('berlin');
    expect((await fleet('auth token')).stdout).toBe('one\n');
    expect((await fleet('auth token --profile munich')).stdout).toBe('two\n');
  });

  it('warns about an expired token and about a token source with higher priority', async () => {
    const run = await fleet('auth login --with-token', {
      stdin: EXPIRED,
      env: { FLEET_TOKEN: 'other' },
    });
    expect(run.code).toBe(0);
    expect(run.stderr).toContain(
      'warning: this token expired 2 h ago (2026-03-01 10:00:00); the service will refuse it\n',
    );
    expect(run.stderr).toContain(
      'warning: FLEET_TOKEN overrides the stored token, which is not used as long as that is set\n',
    );
    expect(run.stderr).not.toContain(EXPIRED);
  });

  const TERMINAL: RunOptions = { terminal: { columns: 80 } };
  it.each<[string, string | RunOptions, number, string]>([
    ['--with-token', '', 2, 'error: the token is empty'],
    ['--with-token', 'secret\nsecret', 2, 'error: the token has more than one line'],
    ['--with-token', 's'.repeat(70_000), 2, 'error: stdin has more than a token'],
    ['', 'secret', 2, 'error: cannot ask without a terminal'],
    ['--no-input', TERMINAL, 2, 'cannot ask with --no-input'],
    ['--with-token', TERMINAL, 2, 'reads the token from a pipe or a file'],
    ['--with-token --base-url x', 'secret', 2, '"x" is not an absolute http'],
    [
      '--with-token --base-url http://x.example.com',
      'secret',
      3,
      'would send the token unencrypted',
    ],
    ['--with-token --profile ../x', 'secret', 2, '"../x" cannot be the name of a profile'],
  ])('rejects %s and stores nothing', async (flags, given, code, message) => {
    const options = typeof given === 'string' ? { stdin: given } : given;
    const run = await fleet(`auth login ${flags}`.trim(), options);
    expect([run.code, run.stderr]).toEqual([code, expect.stringContaining(message)]);
    expect(run.stderr).not.toContain('secret');
    await expect(stat(join(folder, 'credentials.json'))).rejects.toThrow('ENOENT');
  });
});

describe('the check of `auth login`', () => {
  /** Types the token when the prompt asks for it, and then the other answers. */
  function answering(...further: [question: string, answer: string][]): RunOptions {
    const { typed: _typed, ...terminal } = typing([
      ['Push address', '\r'],
      ['Access token', `${VALID}\r`],
      ...further,
    ]);
    return terminal;
  }
  const login = (url: string, flags: string, options: RunOptions) =>
    fleet(`auth login --base-url ${url}${flags}`, options);
  const isSaved = async () =>
    (await stat(join(folder, 'credentials.json')).catch(() => undefined)) !== undefined;

  it('requests one page of bicycles and then saves', async () => {
    await fleet(`config set organization ${ORGANIZATION}`);
    const { url, asked } = await openServer((response) => sendPage(response, [], { count: 7 }));
    const run = await login(url, '', answering());
    expect([run.code, run.stderr]).toEqual([
      0,
      expect.stringContaining(`checked: 7 bicycles at ${url}/\n`),
    ]);
    expect(asked.map(({ path, headers }) => [path, headers.authorization])).toEqual([
      [`/bicycles/?organization=${ORGANIZATION}`, `JWT ${VALID}`],
    ]);
    expect(await isSaved()).toBe(true);
  });

  it.each(['', ' --with-token'])(
    'fails after a refused token and saves nothing: %j',
    async (flags) => {
      const { url, asked } = await openServer((response) =>
        sendJson(response, 401, { detail: 'Signature has expired.' }),
      );
      const run = await login(url, flags, flags === '' ? answering() : { stdin: VALID });
      expect([run.code, await isSaved(), asked.length]).toEqual([4, false, 1]);
      expect(run.stderr).toContain('Signature has expired. (HTTP 401');
    },
  );

  it.each(['', ' --with-token'])(
    'names another prefix that answers, and requests it without the token: %j',
    async (flags) => {
      const { url, asked } = await openServer((response, { path }) =>
        path.startsWith('/api/bicycles/')
          ? sendJson(response, 200, { count: 3, results: [] })
          : sendJson(response, 404, '<html><title>Not Found</title></html>', {
              'content-type': 'text/html',
            }),
      );
      const run = await login(url, flags, flags === '' ? answering() : { stdin: VALID });
      expect([run.code, await isSaved()]).toEqual([5, false]);
      expect(run.stderr).toContain(
        `hint: nothing was saved; the service answers at ${url}/api: use --base-url ${url}/api\n`,
      );
      const [first, ...others] = asked.map(({ headers }) => headers.authorization);
      expect([first, others.includes(`JWT ${VALID}`)]).toEqual([`JWT ${VALID}`, false]);
    },
  );

  it('warns when the service cannot be reached', async () => {
    const run = await login('http://127.0.0.1:1', ' --with-token', { stdin: VALID });
    expect(run.code).toBe(0);
    expect(run.stderr).toContain(
      'warning: not checked: cannot reach the service at http://127.0.0.1:1: connection refused\n',
    );
    expect(await isSaved()).toBe(true);
  });

  it('saves without a request with --no-check', async () => {
    const { url, asked } = await openServer((response) =>
      sendJson(response, 403, { detail: 'Not for you.' }),
    );
    expect((await login(url, ' --with-token --no-check', { stdin: VALID })).code).toBe(0);
    expect((await login(url, ' --no-check', answering())).code).toBe(0);
    expect([asked, await isSaved()]).toEqual([[], true]);
  });
});

describe('the profile of `auth login`', () => {
  const OTHER = 'http://127.0.0.1:4';
  const HERE = 'http://127.0.0.1:4010';
  const pipe = (flags: string, options: RunOptions = {}) =>
    fleet(`auth login --with-token --no-check${flags}`, { stdin: VALID, ...options });
  const profiles = async () => (await readJson('config.json')).profiles;
  const tokens = async () => (await readJson('credentials.json')).tokens;

  /** Stores the profile of `fleet sandbox` and selects it. */
  async function useSandbox(): Promise<void> {
    await saveSandboxProfile(
      findPlace(env),
      { base_url: HERE, sse_url: 'http://127.0.0.1:4011', organization: ORGANIZATION },
      'sandbox-token',
    );
    await fleet('profile use sandbox');
  }

  it('the profile of `auth login` is never the sandbox profile', async () => {
    await useSandbox();
    const before = await profiles();
    const run = await pipe(` --base-url ${OTHER}`);
    expect(run.code).toBe(0);
    expect(run.stderr).toContain(`logging in: profile "127.0.0.1-4" at ${OTHER}\n`);
    expect(run.stderr).toContain('because "sandbox" belongs to "fleet sandbox"\n');
    expect(run.stderr).toContain(
      'now using profile "127.0.0.1-4"; back to the other: fleet profile use sandbox\n',
    );
    expect(await profiles()).toEqual({ ...before, '127.0.0.1-4': { base_url: OTHER } });
    expect(await tokens()).toEqual({ sandbox: 'sandbox-token', '127.0.0.1-4': VALID });
    expect((await fleet('config get organization')).code).toBe(3);
  });

  it('needs a URL while the sandbox profile is in use', async () => {
    await useSandbox();
    expect(await pipe('')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('set the address of the service'),
    });
    const { typed, ...terminal } = typing([
      ['Address of the service', `${OTHER}\r`],
      ['Push address', '\r'],
      [`Access token for profile "127.0.0.1-4" at ${OTHER}`, `${VALID}\r`],
      ['Organization (UUID; Enter', '\r'],
    ]);
    const run = await fleet('auth login --no-check', terminal);
    expect([run.code, typed()]).toEqual([0, 4]);
    expect((await profiles())['127.0.0.1-4']).toEqual({ base_url: OTHER });
  });

  it.each([' --profile sandbox', ''])('cannot be the named sandbox profile: %j', async (flags) => {
    const run = await pipe(
      `${flags} --base-url ${OTHER}`,
      flags === '' ? { env: { FLEET_PROFILE: 'sandbox' } } : {},
    );
    expect(run.code).toBe(2);
    expect(run.stderr).toContain(
      'the profile "sandbox" belongs to "fleet sandbox", which overwrites it',
    );
  });

  it('the profile of `auth login` is a different profile for a different service, or the profile that already has its URL', async () => {
    await pipe(` --base-url ${HERE}`);
    await fleet(`config set organization ${ORGANIZATION}`);
    const run = await pipe(` --base-url ${OTHER}`);
    expect(run.stderr).toContain(
      `this is not the profile in use, because "default" holds ${HERE}\n`,
    );
    expect(await profiles()).toEqual({
      default: { base_url: HERE, organization: ORGANIZATION },
      '127.0.0.1-4': { base_url: OTHER },
    });
    await fleet('profile use default');
    await pipe(` --base-url ${OTHER}`, { stdin: 'newer-token' });
    expect(await tokens()).toEqual({ default: VALID, '127.0.0.1-4': 'newer-token' });
    // The error does not name the environment as the source of the token.
    await fleet('profile use default');
    await pipe('', { env: { FLEET_BASE_URL: 'http://127.0.0.1:5' } });
    expect((await profiles())['127.0.0.1-5']).toEqual({ base_url: 'http://127.0.0.1:5' });
    expect((await tokens()).default).toBe(VALID);
  });

  it('the profile of `auth login` is the named profile, without the settings of its previous service', async () => {
    await pipe(` --profile berlin --base-url ${HERE} --sse-url ${HERE}`);
    await fleet(`config set organization ${ORGANIZATION} --profile berlin`);
    await fleet('config set timeout 9 --profile berlin');
    const run = await pipe(` --profile berlin --base-url ${OTHER}`);
    expect(run.stderr).toContain(`this replaces the address ${HERE}\n`);
    expect(run.stderr).toContain('removed organization, which belonged to the other service\n');
    expect(await profiles()).toEqual({ berlin: { base_url: OTHER, timeout: 9 } });
  });

  it('the profile of `auth login` is the profile in use when only the URL prefix changes', async () => {
    await pipe(` --base-url ${HERE}`);
    await pipe(` --base-url ${HERE}/api`);
    expect(await profiles()).toEqual({ default: { base_url: `${HERE}/api` } });
  });
});

describe('a refused token', () => {
  const REFUSE = (response: Parameters<typeof sendJson>[0]) =>
    sendJson(response, 401, { detail: 'Signature has expired.' });

  it.each<[NodeJS.ProcessEnv, string]>([
    [
      { FLEET_TOKEN: 'a-token-1' },
      'FLEET_TOKEN is set, so fleet uses no other token; set it to a new token, or: unset',
    ],
    [
      { FLEET_TOKEN_FILE: '/proc/self/comm' },
      'write a new token into /proc/self/comm (FLEET_TOKEN_FILE)\n',
    ],
    [{ FLEET_TOKEN_COMMAND: 'echo a-token-3' }, 'try the command of FLEET_TOKEN_COMMAND by hand\n'],
    [
      { FLEET_PROFILE: 'berlin' },
      'try the command of profile "berlin" by hand; this shows it: fleet config get token_com',
    ],
    [{}, 'run "fleet auth login" for a new token\n'],
  ])('of %j is renewed from its own source', async (variables, hint) => {
    const { url } = await openServer(REFUSE);
    await fleet(`auth login --with-token --no-check --base-url ${url}`, { stdin: 'a-token-5' });
    await runFleet(['config', 'set', 'token_command', 'echo a-token-4', '--profile', 'berlin'], {
      env,
    });
    await fleet(`config set base_url ${url} --profile berlin`);
    const run = await fleet('bicycles list', { env: variables });
    expect(run).toMatchObject({ code: 4, stdout: '' });
    expect(run.stderr).toContain(`hint: ${hint}`);
  });

  it('a refused token is replaced by the token that another login stored meanwhile', async () => {
    let login: Promise<RunResult> | undefined;
    const { url } = await openServer(async (response, { headers }) => {
      if (headers.authorization === 'JWT new-token-of-the-store')
        return sendJson(response, 200, []);
      login ??= fleet('auth login --with-token --no-check', { stdin: 'new-token-of-the-store' });
      await login;
      REFUSE(response);
    });
    await fleet(`auth login --with-token --no-check --base-url ${url}`, {
      stdin: 'old-token-of-the-store',
    });
    expect((await fleet('bicycles list --json')).stdout).toBe('[]\n');
  });
});

it('`auth logout` deletes the token, can be repeated, and names other token sources', async () => {
  await fleet('auth login --with-token', { stdin: 'one' });
  expect(await fleet('auth logout')).toEqual({
    code: 0,
    stdout: '',
    stderr: `removed the stored token of profile "default" from ${folder}/credentials.json\n`,
  });
  const again = await fleet('auth logout', { env: { FLEET_TOKEN_COMMAND: 'echo x' } });
  expect(again).toEqual({
    code: 0,
    stdout: '',
    stderr:
      'profile "default" has no stored token\na token still comes from: FLEET_TOKEN_COMMAND\n',
  });
  expect((await fleet('auth token')).code).toBe(3);
});

it('`auth token` prints the token in use', async () => {
  expect(await fleet('auth token', { env: { FLEET_TOKEN: 'JWT abc' } })).toEqual({
    code: 0,
    stdout: 'abc\n',
    stderr: '',
  });
  expect(await fleet('auth token')).toEqual({
    code: 3,
    stdout: '',
    stderr:
      'error: no access token for profile "default"\nhint: run "fleet auth login" or set FLEET_TOKEN\n',
  });
});

describe('`auth status`', () => {
  it('shows profile, URLs, source, expiry and claims, but not the token', async () => {
    await fleet(`config set organization ${ORGANIZATION}`);
    await fleet('auth login --with-token --no-check --base-url https://b.example.com/api', {
      stdin: VALID,
    });
    expect(await fleet('auth status')).toEqual({
      code: 0,
      stdout: [
        'profile       default',
        'address       https://b.example.com/api',
        'push address  -',
        `organization  ${ORGANIZATION}`,
        'token         stored by auth login',
        'expires       in 30 min (2026-03-01T12:30:00.000Z)',
        'claim sub     ann',
        'claim role    admin',
        'claim exp     1772368200',
        '',
      ].join('\n'),
      stderr: '',
    });
    const json = await fleet('auth status --json');
    expect(JSON.parse(json.stdout)).toEqual({
      profile: 'default',
      base_url: 'https://b.example.com/api',
      sse_url: null,
      organization: ORGANIZATION,
      source: 'stored',
      source_detail: 'stored by auth login',
      expires: '2026-03-01T12:30:00.000Z',
      expires_in_seconds: 1800,
      expired: false,
      renewable: false,
      renewable_until: null,
      claims: { sub: 'ann', role: 'admin', exp: 1772368200 },
    });
  });

  it('exits with 3 without a token', async () => {
    const run = await fleet('auth status');
    expect([run.code, run.stdout]).toEqual([
      3,
      'profile       default\naddress       -\npush address  -\norganization  -\ntoken         none\n',
    ]);
    expect(run.stderr).toContain('hint: run "fleet auth login" or set FLEET_TOKEN\n');
    const json = await fleet('auth status --json');
    expect(JSON.parse(json.stdout)).toMatchObject({ source: null, expires: null, claims: null });
    expect(JSON.parse(json.stderr)).toMatchObject({ error: { kind: 'config' } });
  });

  it('exits with 4 when the token has expired', async () => {
    await fleet('auth login --with-token', { stdin: EXPIRED });
    const run = await fleet('auth status');
    expect(run.code).toBe(4);
    expect(run.stdout).toContain('expired       2 h ago (2026-03-01T10:00:00.000Z)\n');
    expect(run.stderr).toBe(
      'error: the token expired 2 h ago (2026-03-01 10:00:00)\nhint: run "fleet auth login" for a new token\n',
    );
    expect(JSON.parse((await fleet('auth status --json')).stdout)).toMatchObject({
      expired: true,
      expires_in_seconds: -7200,
    });
  });

  it('shows the token source when it fails', async () => {
    const run = await fleet('auth status', { env: { FLEET_TOKEN_COMMAND: 'exit 7' } });
    expect([run.code, run.stdout]).toEqual([
      3,
      expect.stringContaining('token         FLEET_TOKEN_COMMAND\n'),
    ]);
    expect(run.stderr).toContain(
      'error: the token command (FLEET_TOKEN_COMMAND) failed with exit code 7\n',
    );
  });

  it('escapes control characters of a hostile claim', async () => {
    const run = await fleet('auth status', {
      env: { FLEET_TOKEN: jwt({ 'a\x1b[2J': 'b\x1b[31m\u009b', list: ['\u0085'] }) },
    });
    expect(run.code).toBe(0);
    expect(run.stdout.replaceAll('\n', '')).not.toMatch(/[\x00-\x1f\x7f-\x9f]/);
    const json = await fleet('auth status --json', { env: { FLEET_TOKEN: jwt({ a: '\u009b' }) } });
    expect(json.stdout).toContain('\\u009b');
  });

  it('accepts an opaque token', async () => {
    const run = await fleet('auth status', { env: { FLEET_TOKEN: 'opaque' } });
    expect(run.code).toBe(0);
    expect(run.stdout).toContain(
      'expires       unknown\nclaims        none: the token is not a JWT\n',
    );
    expect(run.stdout).not.toContain('opaque');
  });
});
