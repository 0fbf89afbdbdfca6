// Tests `fleet profile`: listing, selecting and deleting profiles.

import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { newFolder } from '../support/folder.js';
import { type RunOptions, type RunResult, runFleet } from '../support/run.js';
import { useSandbox } from '../support/sandbox.js';
import { typing } from '../support/typing.js';

const ORGANIZATION = '0f8fad5b-d9cb-469f-a165-70867728950e';

let folder: string;

beforeEach(() => {
  folder = newFolder();
});

const fleet = (line: string, options: RunOptions = {}): Promise<RunResult> =>
  runFleet(line.split(' '), { ...options, env: { FLEET_CONFIG_DIR: folder, ...options.env } });
const readJson = async (name: string) => JSON.parse(await readFile(join(folder, name), 'utf8'));

const answering = (keys: string): RunOptions => typing([['y/N', keys]]);

async function makeTwo(): Promise<void> {
  await fleet(
    'auth login --with-token --no-check --profile berlin --base-url https://b.example.com/api',
    {
      stdin: 'token-b',
    },
  );
  await fleet(`config set organization ${ORGANIZATION} --profile berlin`);
  await fleet('config set retries 1 --profile munich.east');
}

describe('`profile list`', () => {
  it('`profile list` is empty at first and prints the next step', async () => {
    expect(await fleet('profile list')).toEqual({
      code: 0,
      stdout: '',
      stderr: 'No profiles yet. Run "fleet auth login", or "fleet sandbox" to try\n',
    });
    expect(await fleet('profile list --json')).toEqual({ code: 0, stdout: '[]\n', stderr: '' });
  });

  it('prints a bold header on a terminal with colors', async () => {
    await makeTwo();
    const { stdout } = await fleet('profile list', {
      terminal: { columns: 120 },
      env: { FORCE_COLOR: '1' },
    });
    expect(stdout).toMatch(
      /^\u001b\[1mNAME\u001b\[22m +\u001b\[1mACTIVE\u001b\[22m +\u001b\[1mBASE_URL\u001b/,
    );
  });

  it('marks the profile in use', async () => {
    await makeTwo();
    expect((await fleet('profile list')).stdout).toBe(
      [
        'NAME         ACTIVE  BASE_URL                   ORGANIZATION                          TOKEN  PROTECTED  READ_ONLY',
        `berlin       true    https://b.example.com/api  ${ORGANIZATION}  true   false      false`,
        'munich.east  false   -                          -                                     false  false      false',
        '',
      ].join('\n'),
    );
    const rows = JSON.parse(
      (await fleet('profile list --json', { env: { FLEET_PROFILE: 'munich.east' } })).stdout,
    );
    expect(rows).toEqual([
      {
        name: 'berlin',
        active: false,
        base_url: 'https://b.example.com/api',
        organization: ORGANIZATION,
        token: true,
        protected: false,
        read_only: false,
      },
      {
        name: 'munich.east',
        active: true,
        base_url: null,
        organization: null,
        token: false,
        protected: false,
        read_only: false,
      },
    ]);
  });

  it('does not print an invalid URL, because it may contain a password, not even in completions', async () => {
    const config = { profiles: { default: { base_url: 'https://u:secret@b.example.com' } } };
    await writeFile(join(folder, 'config.json'), JSON.stringify(config), { mode: 0o600 });
    expect(JSON.parse((await fleet('profile list --json')).stdout)).toMatchObject([
      { base_url: '(refused)' },
    ]);
    expect(
      (await runFleet(['__complete', 'profile', 'use', ''], { env: { FLEET_CONFIG_DIR: folder } }))
        .stdout,
    ).toBe('default\n:\n');
  });

  it('reports that the selected profile does not exist', async () => {
    await makeTwo();
    const run = await fleet('profile list', { env: { FLEET_PROFILE: 'gone' } });
    expect([run.code, run.stderr]).toEqual([0, 'The profile in use, "gone", does not exist yet\n']);
  });
});

describe('`profile use`', () => {
  it('selects an existing profile', async () => {
    await makeTwo();
    expect(await fleet('profile use munich.east')).toEqual({
      code: 0,
      stdout: '',
      stderr: 'now using profile "munich.east"\n',
    });
    expect((await fleet('config get retries')).stdout).toBe('1\n');
    expect((await fleet('config get retries --profile berlin')).stdout).toBe('3\n');
    expect((await fleet('profile use default')).code).toBe(0);
    expect((await fleet('config get profile')).stdout).toBe('default\n');
  });

  it.each(['use sandbox', 'delete sandbox --yes'])(
    'explains how to create the first profile: %s',
    async (line) => {
      const { code, stderr } = await fleet(`profile ${line}`);
      expect([code, stderr]).toEqual([
        2,
        expect.stringContaining('there are no profiles yet: "fleet sandbox" or '),
      ]);
    },
  );

  it('rejects unknown profiles and suggests the nearest one', async () => {
    await makeTwo();
    expect(await fleet('profile use berlni')).toEqual({
      code: 2,
      stdout: '',
      stderr:
        'error: unknown profile "berlni"\nhint: did you mean "berlin"? profiles: berlin, munich.east\n',
    });
  });

  it('reports that FLEET_PROFILE has priority', async () => {
    await makeTwo();
    const run = await fleet('profile use munich.east', { env: { FLEET_PROFILE: 'berlin' } });
    expect(run.stderr).toContain('warning: FLEET_PROFILE is set to "berlin" and overrides it\n');
  });
});

describe('`profile delete`', () => {
  it('deletes the token as well and selects the default profile', async () => {
    await makeTwo();
    const run = await fleet('profile delete berlin --yes');
    expect(run).toEqual({
      code: 0,
      stdout: '',
      stderr: 'deleted profile "berlin" and its token\nnow using profile "default"\n',
    });
    expect(await readJson('config.json')).toEqual({ profiles: { 'munich.east': { retries: 1 } } });
    expect(await readJson('credentials.json')).toEqual({ tokens: {} });
    expect((await fleet('profile delete munich.east -y')).stderr).toBe(
      'deleted profile "munich.east"\n',
    );
  });

  it.each([
    ['y\r', 'deleted profile "berlin" and its token\n', ['munich.east']],
    ['\r', 'nothing was deleted\n', ['berlin', 'munich.east']],
  ])('asks for confirmation on a terminal; %j', async (keys, said, left) => {
    await makeTwo();
    const run = await fleet('profile delete berlin', answering(keys));
    expect([run.code, run.stderr]).toEqual([
      0,
      expect.stringContaining('Delete profile "berlin" and its token?'),
    ]);
    expect(run.stderr).toContain(said);
    expect(Object.keys((await readJson('config.json')).profiles)).toEqual(left);
  });

  it.each<[string, RunOptions, string]>([
    ['profile delete berlin', {}, 'hint: add --yes to skip the question\n'],
    [
      'profile delete berlin --no-input',
      { terminal: { columns: 80 } },
      'cannot ask with --no-input',
    ],
    ['profile delete brlin --yes', {}, 'did you mean "berlin"?'],
  ])('rejects %s', async (line, options, message) => {
    await makeTwo();
    const run = await fleet(line, options);
    expect([run.code, run.stderr]).toEqual([2, expect.stringContaining(message)]);
    expect(Object.keys((await readJson('config.json')).profiles)).toEqual([
      'berlin',
      'munich.east',
    ]);
  });
});

describe('a protected profile', () => {
  const service = useSandbox({ bicycles: 20 });

  async function makeProtected(): Promise<string> {
    const { baseUrl, token } = service();
    await fleet(`auth login --with-token --profile main --base-url ${baseUrl}`, {
      stdin: await token(),
    });
    await fleet(`config set organization ${service().organizations[0]?.uuid} --profile main`);
    expect((await fleet('config set protected true --profile main')).code).toBe(0);
    const [bicycle] = service()
      .bicycles()
      .filter(({ state }) => state === 'available');
    return bicycle?.uuid ?? '';
  }

  it.each([
    ['a transition', (uuid: string) => `bicycles act ${uuid} rent`],
    ['a creation', () => 'bicycles create --name Ada'],
    ['a POST', (uuid: string) => `api /bicycles/${uuid}/actions/ -f type=rent`],
  ])('asks before %s', async (_what, lineFor) => {
    const line = lineFor(await makeProtected());
    const before = service().requests.filter(({ method }) => method === 'POST').length;
    const sent = () => service().requests.filter(({ method }) => method === 'POST').length - before;
    const refused = await fleet(line);
    expect([refused.code, refused.stderr, sent()]).toEqual([
      2,
      expect.stringContaining('--yes'),
      0,
    ]);
    const no = await fleet(line, answering('\r'));
    expect([no.code, no.stderr, sent()]).toEqual([
      2,
      expect.stringMatching(/protected\s+profile/),
      0,
    ]);
    const yes = await fleet(`${line} --yes`);
    expect([yes.code, sent()]).toEqual([0, 1]);
  });

  it('needs no confirmation to read, and is marked in the list', async () => {
    await makeProtected();
    expect((await fleet('bicycles list -q')).code).toBe(0);
    expect((await fleet('profile list')).stdout).toMatch(/^main .* true +true +false$/m);
    expect((await fleet('config list')).stdout).toMatch(
      /^protected +true +profile +profile "main"$/m,
    );
  });
});
