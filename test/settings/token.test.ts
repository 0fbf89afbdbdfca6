// Tests the sources of the token and its renewal with real files and shell commands.

import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { FleetError } from '../../src/errors.js';
import type { SettingFlags } from '../../src/settings/keys.js';
import { resolveSettings } from '../../src/settings/resolve.js';
import { loadStored, saveProfile, saveToken } from '../../src/settings/store.js';
import type { TokenSource } from '../../src/settings/token.js';
import {
  findToken,
  organizationsOf,
  parseToken,
  readClaims,
  readExpiry,
} from '../../src/settings/token.js';
import { systemClock } from '../../src/system/clock.js';
import { openSecrets } from '../../src/system/secrets.js';
import { newFolder } from '../support/folder.js';
import { refusal } from '../support/refusal.js';

const NOW_S = 1_700_000_000;

let folder: string;
let env: NodeJS.ProcessEnv;
let clockMs: number;
let notices: string[];
let abort: AbortController;

beforeEach(() => {
  folder = newFolder();
  env = { FLEET_CONFIG_DIR: folder, PATH: process.env['PATH'] };
  clockMs = NOW_S * 1000;
  notices = [];
  abort = new AbortController();
});

async function open(flags: SettingFlags = {}): Promise<TokenSource> {
  const stored = await loadStored(env);
  const settings = resolveSettings({ flags, env, stored });
  return findToken({
    env,
    stored,
    settings,
    clock: { ...systemClock(), wallMs: () => clockMs, monotonicMs: () => clockMs },
    signal: abort.signal,
    notice: (line) => void notices.push(line),
    secrets: openSecrets(),
    anonymous: () => Promise.reject(new Error('no login is renewed here')),
  });
}

function openCommand(command: string, flags?: SettingFlags): Promise<TokenSource> {
  env['FLEET_TOKEN_COMMAND'] = command;
  return open(flags);
}

function jwt(claims: object): string {
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
  return `${part({ alg: 'HS256' })}.${part(claims)}.c2ln`;
}

/** A command that prints `token-1`, `token-2`, … and counts its runs. */
async function countingCommand(print = 'echo token-$n'): Promise<string> {
  await writeFile(join(folder, 'runs'), '0');
  const runs = join(folder, 'runs');
  return `n=$(($(cat ${runs}) + 1)); echo $n > ${runs}; ${print}`;
}
const countRuns = async () => Number(await readFile(join(folder, 'runs'), 'utf8'));

describe('the token source', () => {
  it('the token comes from the first of five sources that provides one', async () => {
    await expect(open()).rejects.toMatchObject({
      kind: 'config',
      message: 'no access token for profile "default"',
      hint: 'run "fleet auth login" or set FLEET_TOKEN',
    });
    const place = await loadStored(env);
    const used = async () => {
      const source = await open();
      return [source.origin, await source.get()];
    };
    await saveToken(place, 'default', 'from-store');
    expect(await used()).toEqual(['stored by auth login', 'from-store']);
    await saveProfile(place, 'default', { token_command: 'echo from-profile' });
    expect(await used()).toEqual(['command of profile "default"', 'from-profile']);
    env['FLEET_TOKEN_COMMAND'] = 'echo "  from-command  "; echo';
    expect(await used()).toEqual(['FLEET_TOKEN_COMMAND', 'from-command']);
    const path = join(folder, 'token.txt');
    await writeFile(path, 'JWT from-file\r\n');
    env['FLEET_TOKEN_FILE'] = path;
    expect(await used()).toEqual([`file ${path} (FLEET_TOKEN_FILE)`, 'from-file']);
    env['FLEET_TOKEN'] = ' from-variable\n';
    expect(await used()).toEqual(['FLEET_TOKEN', 'from-variable']);
    env['FLEET_TOKEN'] = '';
    env['FLEET_TOKEN_FILE'] = '';
    env['FLEET_TOKEN_COMMAND'] = '';
    expect(await used()).toEqual(['command of profile "default"', 'from-profile']);
  });

  it('replaces a refused token only when the stored token has changed', async () => {
    const path = join(folder, 'token.txt');
    await writeFile(path, 'one');
    const place = await loadStored(env);
    await saveToken(place, 'default', 'one');
    const stored = await open();
    env['FLEET_TOKEN_FILE'] = path;
    const file = await open();
    for (const source of [stored, file])
      expect([await source.get(), await source.renew('one')]).toEqual(['one', undefined]);
    await writeFile(path, 'two');
    await saveToken(place, 'default', 'two');
    for (const source of [stored, file])
      expect([await source.renew('one'), await source.get()]).toEqual(['two', 'two']);
  });

  it('does not use a stored token for another base URL', async () => {
    const place = await loadStored(env);
    await saveProfile(place, 'default', { base_url: 'https://one.example' });
    await saveToken(place, 'default', 'one');
    const source = await open();
    expect(await source.get()).toBe('one');
    await saveProfile(place, 'default', { base_url: 'https://two.example' });
    expect(await source.get()).toBe('one');
    await saveToken(place, 'default', 'two');
    await expect(source.get()).rejects.toThrow('was given another address while this command ran');
    await expect(source.renew('one')).rejects.toThrow('another address');
    expect(await (await open()).get()).toBe('two');
  });

  it('reads a token from a pipe only once', async () => {
    const path = join(folder, 'pipe');
    env['FLEET_TOKEN_FILE'] = path;
    const { execFileSync, spawn } = await import('node:child_process');
    execFileSync('mkfifo', [path]);
    spawn('sh', ['-c', `echo once > ${path}`]);
    const source = await open();
    expect([await source.get(), await source.get(), await source.renew('once')]).toEqual([
      'once',
      'once',
      undefined,
    ]);
  });

  it('limits the size of a token file', async () => {
    env['FLEET_TOKEN_FILE'] = '/dev/zero';
    await expect((await open()).get()).rejects.toMatchObject(
      refusal('config', /holds more than a token/),
    );
  });

  it('the error shows the path of an unreadable token file', async () => {
    env['FLEET_TOKEN_FILE'] = join(folder, 'missing');
    const message = `the token file ${folder}/missing cannot be read: no such file or directory`;
    await expect((await open()).get()).rejects.toMatchObject({ kind: 'config', message });
  });
});

it('does not wait for the renewal lock when a stored token cannot be renewed', async () => {
  await saveToken(await loadStored(env), 'default', 'stored');
  await mkdir(join(folder, 'credentials.json.renewal.lock'));
  const source = await open();
  const patience = new Promise((resolve) =>
    setTimeout(resolve, 10_000, 'waits for the lock').unref(),
  );
  expect(await Promise.race([source.renew('stored'), patience])).toBeUndefined();
});

describe('a token command', () => {
  it('a token command runs once when several workers report the same refused token', async () => {
    const source = await openCommand(await countingCommand());
    await source.get();
    const workers = Array.from({ length: 8 }, () => source.renew('token-1'));
    expect(new Set(await Promise.all(workers))).toEqual(new Set(['token-2']));
    expect(await source.renew('token-1')).toBe('token-2');
    expect(await source.get()).toBe('token-2');
    expect(await countRuns()).toBe(2);
  });

  it('a token command runs again when its token expires within a minute', async () => {
    const [first, second] = [jwt({ exp: NOW_S + 1800 }), jwt({ exp: NOW_S + 3600 })];
    const source = await openCommand(
      await countingCommand(`if [ $n = 1 ]; then echo ${first}; else echo ${second}; fi`),
    );
    expect(await source.get()).toBe(first);
    clockMs = (NOW_S + 1739) * 1000;
    expect(await source.get()).toBe(first);
    clockMs = (NOW_S + 1740) * 1000;
    expect(await source.get()).toBe(second);
    expect(await source.get()).toBe(second);
    expect(await countRuns()).toBe(2);
  });

  it('a token command with short-lived tokens does not run for every request', async () => {
    const source = await openCommand(await countingCommand(`echo ${jwt({ exp: NOW_S + 40 })}`));
    await source.get();
    clockMs += 19_000;
    await source.get();
    expect(await countRuns()).toBe(1);
    clockMs += 2_000;
    await source.get();
    expect(await countRuns()).toBe(2);
  });

  it.each([
    [
      'echo secret; echo "first" >&2; echo " vault is sealed " >&2; exit 3',
      'failed with exit code 3: vault is sealed',
    ],
    ['echo secret; exit 4', 'failed with exit code 4'],
    ['no-such-program-of-fleet', 'failed with exit code 127'],
    ['kill -9 $$', 'was ended by SIGKILL'],
    ['true', 'is empty'],
    ['echo secret; echo secret', 'has more than one line'],
    ['echo "secret secret"', 'has characters that no token has'],
    [`echo '"secret"'`, 'is in quotes'],
    ['printf "secret\\033[31m"', 'has characters that no token has'],
    ['head -c 100000 /dev/zero | tr "\\0" s', 'printed more than a token'],
  ])('an error omits the output of the failed token command: %s', async (command, message) => {
    const source = await openCommand(command);
    const error = (await source.get().catch((thrown) => thrown)) as FleetError;
    expect(error).toMatchObject({ kind: 'config', message: expect.stringContaining(message) });
    expect(error.message + error.hint + notices.join()).not.toContain('secret');
  });

  it('a token command gets an empty stdin, and its stderr is printed', async () => {
    const source = await openCommand('echo "open https://login.example.com" >&2; cat; echo token');
    expect(await source.get()).toBe('token');
    expect(notices).toEqual(['open https://login.example.com']);
  });

  it('a token command runs again after it times out', async () => {
    const command = await countingCommand('if [ $n = 1 ]; then sleep 20; fi; echo token');
    const source = await openCommand(command, { timeout: 1 });
    const message = 'the token command (FLEET_TOKEN_COMMAND) gave no token within 1 s (--timeout)';
    await expect(source.get()).rejects.toMatchObject({ kind: 'config', message });
    expect(await source.get()).toBe('token');
  });

  it('keeps the valid token when the token command fails', async () => {
    const [first, second] = [jwt({ exp: NOW_S + 1800 }), jwt({ exp: NOW_S + 3600 })];
    const command = `case $n in 1) echo ${first};; 2|4) exit 1;; *) echo ${second};; esac`;
    const source = await openCommand(await countingCommand(command));
    expect(await source.get()).toBe(first);
    clockMs = (NOW_S + 1741) * 1000;
    expect([await source.get(), await source.get()]).toEqual([first, first]);
    expect(notices).toEqual([expect.stringContaining('the old token is used until it ends at')]);
    expect(await countRuns()).toBe(2);
    clockMs = (NOW_S + 1800) * 1000;
    expect(await source.get()).toBe(second);
    clockMs = (NOW_S + 3601) * 1000;
    await expect(source.get()).rejects.toThrow('failed with exit code 1');
    await expect(source.renew(second)).resolves.toBeUndefined();
  });

  it.each([
    'set -x; echo TOKEN',
    'echo got=TOKEN >&2; echo TOKEN',
    `echo '{"t":"TOKEN"}' >&2; echo TOKEN`,
  ])('the stderr of a token command shows no opaque token: %s', async (line) => {
    const token = '9944b09199c62bcf9418ad846dd0e4bbdfc6ee4b';
    const code = 'https://sso.example.com/?code=0123456789abcdef0123456789abcdef01234567';
    env['FLEET_TOKEN_COMMAND'] = `echo "open ${code}" >&2; ${line.replaceAll('TOKEN', token)}`;
    expect(await (await open()).get()).toBe(token);
    expect(notices[0]).toBe(`open ${code}`);
    expect(notices.join('\n')).toContain('[hidden]');
    expect(notices.join('\n')).not.toContain(token.slice(0, 10));
  });

  it('tokens on the stderr of a token command are hidden', async () => {
    const token = jwt({ sub: 'ann' });
    env['FLEET_TOKEN_COMMAND'] =
      `echo "+ got JWT=${token}, ok" >&2; head -c 250000 /dev/zero | tr "\\0" x >&2; echo ${token}`;
    expect(await (await open()).get()).toBe(token);
    expect(notices[0]).toBe('+ got JWT=[hidden], ok');
    expect(notices.slice(1).join('')).toBe('x'.repeat(250_000));
    expect(notices.length).toBeGreaterThan(2);
  });

  it.each([
    ['> Authorization: Basic YW5uOlMzY3JldA==', '> Authorization: Basic [hidden]'],
    ['{"access_token": "S3-cret", "expires": 60}', '{"access_token": "[hidden]", "expires": 60}'],
    ['+ CLIENT_SECRET=S3-cret', '+ CLIENT_SECRET=[hidden]'],
    ['cannot open https://ann:S3-cret@vault/', 'cannot open https://ann:[hidden]@vault/'],
    ['+ echo q7Xw-Lk2_Vb93hTr-0pZs5Nd8_Yc4JmEa1', '+ echo [hidden]'],
    ['open https://id.example/q7Xw-Lk2_Vb93hTr-0pZs5Nd8_Yc4JmEa1', undefined],
    ['token: expired', undefined],
    ['token: expired, log in', undefined],
    ['pass --token with the value', undefined],
    [
      '+ vault login --password S3-cret -method=ldap',
      '+ vault login --password [hidden] -method=ldap',
    ],
    ["+ vault login --password 'S3, cret#1'", "+ vault login --password '[hidden]'"],
    [
      `+ curl -d '{"password":"S3,cret#1"}' https://id.example/`,
      `+ curl -d '{"password":"[hidden]"}' https://id.example/`,
    ],
    ["+ PASSWORD='S3 cret;1'", "+ PASSWORD='[hidden]'"],
    [`+ PASSWORD='S3'"'"'s cret'`, "+ PASSWORD='[hidden]'"],
    ['{"password": "S3\\"cret"}', '{"password": "[hidden]"}'],
    ['password=S3,cret#1', 'password=[hidden]'],
    ['> Cookie: theme=dark; sid=S3-cret', '> Cookie: [hidden]'],
    ['{"token":null,"expires":60}', undefined],
  ])('removes secrets from the stderr line %s of a token command', async (line, shown = line) => {
    const script = join(folder, 'token.sh');
    await writeFile(script, `cat >&2 <<'END'\n${line}\nEND\nexit 1\n`);
    const source = await openCommand(`sh ${script}`);
    await expect(source.get()).rejects.toThrow(`failed with exit code 1: ${shown}`);
    expect(notices).toEqual([shown]);
  });

  it('a token command is stopped by the signal that ends fleet', async () => {
    const source = await openCommand('sleep 20; echo late');
    const waiting = source.get();
    const reason = new FleetError('interrupted', 'interrupted');
    setTimeout(() => abort.abort(reason), 50);
    await expect(waiting).rejects.toBe(reason);
    await expect(source.get()).rejects.toBe(reason);
  });

  it('a token command cannot call itself through fleet', async () => {
    const source = await openCommand('echo inner=$FLEET_INSIDE_TOKEN_COMMAND | tr -d " "');
    expect(await source.get()).toMatch(/^inner=echo/);
    env['FLEET_INSIDE_TOKEN_COMMAND'] = env['FLEET_TOKEN_COMMAND'];
    await expect((await open()).get()).rejects.toThrow(
      'runs fleet, which would run the same command again',
    );
  });
});

it.each([
  ['abc', { value: 'abc' }],
  [' abc\r\n', { value: 'abc' }],
  ['JWT abc', { value: 'abc' }],
  ['bearer  abc', { value: 'abc' }],
  ['Authorization: JWT abc', { value: 'abc' }],
  ['JWTabc', { value: 'JWTabc' }],
  ['JWT', { value: 'JWT' }],
  ['', { reason: 'is empty' }],
  ['abc\r\nX-Evil: 1', { reason: 'has more than one line' }],
  ['abc def', { reason: 'has characters that no token has (white space, or beyond ASCII)' }],
  ['abc\u0000', { reason: 'has characters that no token has (white space, or beyond ASCII)' }],
  ['äbc', { reason: 'has characters that no token has (white space, or beyond ASCII)' }],
  [`'abc'`, { reason: 'is in quotes (jq prints without them with -r)' }],
])('extracts the token from the text %j', (text, parsed) =>
  expect(parseToken(text)).toEqual(parsed),
);

describe('token organizations', () => {
  const [A, B] = ['0f8fad5b-d9cb-469f-a165-70867728950e', '7c9e6679-7425-40de-944b-e07fc1f90ae7'];

  it('reads the organizations of a token from its `affs` claim', () => {
    const affs = {
      [A]: ['admin'],
      [B.toUpperCase()]: [],
      [`https://x.example.com/organizations/${B}/`]: ['renter'],
      all: [],
    };
    expect(organizationsOf(jwt({ affs }))).toEqual([A, B]);
  });

  it.each([undefined, null, 'x', [A], 5, {}])('are empty with affs %j', (affs) => {
    expect(organizationsOf(jwt({ affs }))).toEqual([]);
    expect(organizationsOf('opaque')).toEqual([]);
  });
});

describe('token claims', () => {
  it('reads token claims without verifying the signature', () => {
    expect(readClaims(jwt({ sub: 'ä', exp: 5 }))).toEqual({ sub: 'ä', exp: 5 });
    expect(readExpiry(jwt({ exp: 5.5 }))).toBe(5500);
  });

  it.each(['opaque', 'a.b', 'a.b.c', 'a.bnVsbA.c', 'a.WzFd.c', 'a..c', ''])(
    'are undefined for %j',
    (token) => {
      expect(readClaims(token)).toBeUndefined();
    },
  );

  it.each([undefined, 'soon', null, 1e300, Number.NaN])('have no expiry with exp %j', (exp) => {
    expect(readExpiry(jwt({ exp }))).toBeUndefined();
  });
});
