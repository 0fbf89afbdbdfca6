// Tests the output and the files of `fleet config`.

import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { newFolder } from '../support/folder.js';
import { jsonLines, type RunResult, runFleet } from '../support/run.js';

let folder: string;

beforeEach(() => {
  folder = newFolder();
});

const fleet = (
  args: string | string[],
  env: NodeJS.ProcessEnv = {},
  stdin = '',
): Promise<RunResult> =>
  runFleet(typeof args === 'string' ? args.split(' ') : args, {
    env: { FLEET_CONFIG_DIR: folder, ...env },
    stdin,
  });
const readConfig = async () => JSON.parse(await readFile(join(folder, 'config.json'), 'utf8'));

describe('`config set`, `config get` and `config unset`', () => {
  it('`config` commands change the profile in use', async () => {
    expect(await fleet('config set base-url https://b.example.com/api')).toEqual({
      code: 0,
      stdout: '',
      stderr:
        'created profile "default"\nset base_url to https://b.example.com/api in profile "default"\n',
    });
    await fleet('config set timeout 2.5');
    await fleet(['config', 'set', 'token_command', 'echo "my token"']);
    expect(await readConfig()).toEqual({
      profiles: {
        default: {
          base_url: 'https://b.example.com/api',
          timeout: 2.5,
          token_command: 'echo "my token"',
        },
      },
    });
    expect(await fleet('config get base_url')).toEqual({
      code: 0,
      stdout: 'https://b.example.com/api\n',
      stderr: '',
    });
    expect((await fleet('config get timeout')).stdout).toBe('2.5\n');
    expect((await fleet('config get timeout --timeout 9')).stdout).toBe('9\n');
    expect((await fleet('config get profile')).stdout).toBe('default\n');
    expect((await fleet('config unset timeout')).stderr).toBe(
      'removed timeout from profile "default"\n',
    );
    expect((await fleet('config unset timeout')).stderr).toBe(
      'timeout is not set in profile "default"\n',
    );
    expect((await fleet('config get timeout')).stdout).toBe('30\n');
  });

  it.each([
    ['config get base_url', 'http://127.0.0.1:1'],
    ['config path', '/'],
    ['auth token', 'opaque'],
  ])('%s writes to --file', async (line, text) => {
    const file = join(folder, 'result.txt');
    const env = { FLEET_BASE_URL: 'http://127.0.0.1:1', FLEET_TOKEN: 'opaque' };
    expect(await fleet([...line.split(' '), '--file', file], env)).toMatchObject({
      code: 0,
      stdout: '',
    });
    expect(await readFile(file, 'utf8')).toContain(text);
  });

  it.each(['sandbox', 'demo', 'gbfs', 'mirror run'])('%s rejects --file', async (line) => {
    const run = await fleet([...line.split(' '), '--file', join(folder, 'result.txt')]);
    expect([run.code, run.stderr]).toEqual([
      2,
      expect.stringContaining('no result to write to --file'),
    ]);
  });

  it('`config` commands report an environment variable that has priority', async () => {
    const run = await fleet('config set base_url https://b.example.com', {
      FLEET_BASE_URL: 'https://c.example.com',
    });
    expect(run.stderr).toContain('warning: FLEET_BASE_URL is set and overrides it\n');
  });

  it('`config` commands allow plain http only with a setting', async () => {
    const refused = await fleet('config set base_url http://b.example.com');
    expect([refused.code, refused.stderr]).toEqual([
      3,
      'error: base_url: plain http to b.example.com would send the token unencrypted\n' +
        'hint: use https, or allow it for this profile with: fleet config set allow_http true\n',
    ]);
    expect((await fleet('config set allow_http true')).stderr).toContain(
      'warning: over plain http anyone on the network path',
    );
    expect((await fleet('config set base_url http://b.example.com')).code).toBe(0);
  });

  it('`config` commands repair an invalid value', async () => {
    await writeFile(
      join(folder, 'config.json'),
      JSON.stringify({ profiles: { default: { timeout: 'soon', base_url: 'x' } } }),
    );
    const broken = await fleet('config get timeout');
    expect([broken.code, broken.stderr]).toEqual([
      3,
      'error: timeout of profile "default": "soon" is not a number of seconds above 0\n' +
        'hint: write it like 30 or 2.5; set it with: fleet config set timeout VALUE\n',
    ]);
    expect((await fleet('config set timeout 5')).code).toBe(0);
    expect((await fleet('config unset base_url')).code).toBe(0);
    expect(await readConfig()).toEqual({ profiles: { default: { timeout: 5 } } });
  });

  it.each([
    [
      'config get base_url',
      3,
      'error: base_url is not set\nhint: set it with: fleet config set base_url VALUE',
    ],
    [
      'config get base_ulr',
      2,
      'error: unknown key "base_ulr"\nhint: did you mean "base_url"? keys: base_url, sse_url,',
    ],
    ['config set retires 3', 2, 'did you mean "retries"?'],
    ['config list --json -o csv', 2, '--json and --output csv cannot be used together'],
    ['config unset xyz', 2, 'hint: keys: base_url, sse_url, organization'],
    ['config get token', 2, 'did you mean "token_command"?'],
    ['config set profile x', 2, 'unknown key "profile"'],
    ['config set timeout soon', 2, 'error: timeout: "soon" is not a number of seconds above 0'],
    [
      'config set organization https://x.example',
      2,
      '"https://x.example" is neither a UUID nor the URL',
    ],
    ['config set output jsn', 2, 'did you mean "json"?'],
    ['config set retries 1 --profile a/b', 2, '"a/b" cannot be the name of a profile'],
    ['config unset retries --profile nobody', 3, 'there is no profile "nobody" (--profile)'],
    ['config get retries --profile nobody', 3, 'there is no profile "nobody" (--profile)'],
  ])('refuse: %s', async (line, code, message) => {
    const run = await fleet(line);
    expect([run.code, run.stderr]).toEqual([code, expect.stringContaining(message)]);
    await expect(readConfig()).rejects.toThrow('ENOENT');
  });
});

describe('`config list`', () => {
  it('shows each value with its origin', async () => {
    await fleet('config set base_url https://b.example.com/api --profile berlin');
    await fleet('auth login --with-token --profile berlin', {}, 'secret');
    const run = await fleet('--profile berlin config list --retries 5', {
      FLEET_API_VERSION: '1.1',
    });
    expect(run).toEqual({
      code: 0,
      stdout: [
        'KEY            VALUE                      ORIGIN       FROM',
        'profile        berlin                     flag         --profile',
        'base_url       https://b.example.com/api  profile      profile "berlin"',
        'sse_url        -                          default      default',
        'organization   -                          default      default',
        'api_version    1.1                        environment  FLEET_API_VERSION',
        'output         table                      default      default',
        'timeout        30                         default      default',
        'retries        5                          flag         --retries',
        'token_command  -                          default      default',
        'allow_http     false                      default      default',
        'protected      false                      default      default',
        'read_only      false                      default      default',
        'mirror         -                          default      default',
        'token          (hidden)                   profile      stored by auth login',
        '',
      ].join('\n'),
      stderr: '',
    });
  });

  it('writes JSON, without tokens', async () => {
    const run = await fleet('config list --json', { FLEET_TOKEN: 'secret' });
    const rows = JSON.parse(run.stdout);
    expect(rows).toHaveLength(14);
    expect(rows[1]).toEqual({ key: 'base_url', value: null, origin: 'default', from: 'default' });
    expect(rows.at(-1)).toEqual({
      key: 'token',
      value: '(hidden)',
      origin: 'environment',
      from: 'FLEET_TOKEN',
    });
    expect(run.stdout).not.toContain('secret');
    const lines = jsonLines((await fleet('config list -o jsonl')).stdout);
    expect(lines.map(({ key }) => key)).toEqual(rows.map(({ key }: { key: string }) => key));
  });

  it('fits the terminal and supports every format', async () => {
    const address = `https://${'long-'.repeat(20)}.example.com/api`;
    await fleet(`config set base_url ${address}`);
    for (const line of ['config list', 'profile list']) {
      const run = await runFleet(line.split(' '), {
        env: { FLEET_CONFIG_DIR: folder, NO_COLOR: '1' },
        terminal: { columns: 50 },
      });
      expect([run.code, run.stdout]).toEqual([0, expect.stringContaining('https://lon')]);
      expect(run.stdout.split('\n').filter((written) => written.length > 50)).toEqual([]);
      // Output to a pipe is not shortened.
      expect((await fleet(line)).stdout).toContain(address);
    }
    const inFormat = async (format: string) => (await fleet(`config list -o ${format}`)).stdout;
    expect(await inFormat('csv')).toMatch(
      /^key,value,origin,from\nprofile,default,default,default\n/,
    );
    expect(await inFormat('tsv')).toContain(`base_url\t${address}\tprofile\t`);
    expect(await inFormat('yaml')).toContain(`- key: base_url\n  value: ${address}\n`);
    expect((await fleet('config list --columns key,from -o csv')).stdout).toMatch(/^key,from\n/);
    expect((await fleet('profile list -o csv')).stdout).toMatch(/^name,active,base_url,/);
    expect((await fleet('profile list -o geojson')).code).toBe(2);
    const status = await fleet('auth status -o yaml', { FLEET_TOKEN: 'an-opaque-token' });
    expect([status.code, status.stdout]).toEqual([
      0,
      expect.stringMatching(/^profile: default\nbase_url: https/),
    ]);
  });

  it('explains how to repair a broken file and does not change it', async () => {
    await writeFile(join(folder, 'config.json'), '{"profiles": ');
    for (const line of ['config list', 'config set retries 1', 'profile list', 'auth status']) {
      const run = await fleet(line);
      expect([run.code, run.stdout, run.stderr]).toEqual([
        3,
        '',
        `error: ${folder}/config.json cannot be understood: incomplete JSON\n` +
          `hint: it was left as it is: fix it, or reset it with: mv ${folder}/config.json ${folder}/config.json.broken and run "fleet auth login" again\n`,
      ]);
    }
    expect(await readFile(join(folder, 'config.json'), 'utf8')).toBe('{"profiles": ');
  });
});

it('`config path` prints the path of a missing, valid or broken file', async () => {
  expect(await fleet('config path')).toEqual({
    code: 0,
    stdout: `${folder}/config.json\n`,
    stderr: '',
  });
  await writeFile(join(folder, 'config.json'), '{');
  expect((await fleet('config path')).stdout).toBe(`${folder}/config.json\n`);
});
