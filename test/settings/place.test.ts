// Tests that settings are read only from absolute paths that only the user can write.

import { execFileSync, spawnSync } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { findPlace } from '../../src/settings/config-folder.js';
import {
  deleteProfile,
  deleteToken,
  loadStored,
  loadTokens,
  saveProfile,
  saveToken,
  useProfile,
} from '../../src/settings/store.js';
import { newFolder } from '../support/folder.js';
import { PROGRAM_ARGS, PROGRAM_FILE, PROGRAM_LINE, preload } from '../support/program.js';
import { type RunResult, runFleet } from '../support/run.js';
import { hasTool } from '../support/tools.js';

const ADDRESS = 'http://127.0.0.1:1';
/** A user that runs no tests. */
const STRANGER_UID = 54_321;

let root: string;
/** The folder of the settings and the variables that select it. */
let folder: string;
let env: NodeJS.ProcessEnv;

const home = process.cwd();

// The current folder contains settings that must never be used.
beforeEach(() => {
  root = newFolder();
  folder = join(root, 'settings');
  env = { FLEET_CONFIG_DIR: folder };
  process.chdir(root);
  return () => process.chdir(home);
});

/** Runs a command line with only this environment. */
function fleet(line: string, env: NodeJS.ProcessEnv, input = ''): Promise<RunResult> {
  return runFleet(line.split(' '), {
    env: { PATH: process.env['PATH'], FLEET_CONFIG_DIR: undefined, ...env },
    stdin: input,
  });
}

/** Settings with a token command that creates a file, which shows that it ran. */
function writeSettings(place = folder): { config: string; mark: string } {
  mkdirSync(place, { recursive: true, mode: 0o700 });
  const config = join(place, 'config.json');
  const mark = join(root, 'mark');
  const profile = {
    base_url: ADDRESS,
    retries: 0,
    token_command: `touch ${mark}; echo token-of-the-command`,
  };
  writeFileSync(config, JSON.stringify({ profiles: { default: profile } }), { mode: 0o600 });
  return { config, mark };
}

describe('the settings folder', () => {
  it.each<[string, NodeJS.ProcessEnv, string]>([
    ['FLEET_CONFIG_DIR', { FLEET_CONFIG_DIR: '/x', HOME: '/h', XDG_CONFIG_HOME: '/c' }, '/x'],
    ['XDG_CONFIG_HOME', { HOME: '/h', XDG_CONFIG_HOME: '/c' }, '/c/fleet'],
    [
      'HOME, where XDG_CONFIG_HOME is relative',
      { HOME: '/h', XDG_CONFIG_HOME: 'c' },
      '/h/.config/fleet',
    ],
    [
      'HOME, where XDG_CONFIG_HOME is empty',
      { HOME: '/h', XDG_CONFIG_HOME: '' },
      '/h/.config/fleet',
    ],
    ['XDG_CONFIG_HOME without a home', { HOME: '', XDG_CONFIG_HOME: '/c' }, '/c/fleet'],
  ])('derives the settings folder from %s', (_name, env, folder) => {
    if (process.platform === 'linux') expect(findPlace(env).folder).toBe(folder);
  });

  it.each<[string, NodeJS.ProcessEnv]>([
    ['an empty HOME', { HOME: '' }],
    ['a relative HOME', { HOME: '.' }],
    ['a relative XDG_CONFIG_HOME and no home', { HOME: '', XDG_CONFIG_HOME: '.config' }],
  ])('does not use the working directory for settings with %s', async (_name, env) => {
    const { mark } = writeSettings(join(root, '.config', 'fleet'));
    const run = await fleet('bicycles list', env);
    const hint =
      /^error: there is no folder for the settings: HOME is.*\nhint: set HOME or FLEET_CONFIG_DIR to an absolute path\n/;
    expect(run).toEqual({ code: 3, stdout: '', stderr: expect.stringMatching(hint) });
    for (const line of ['auth token', 'config set retries 1', 'config path'])
      expect([line, (await fleet(line, env)).code]).toEqual([line, 3]);
    expect((await fleet('auth login --with-token --no-check', env, 'a-token-to-keep')).code).toBe(
      3,
    );
    expect(existsSync(mark)).toBe(false);
    expect((await fleet('--version', env)).code).toBe(0);
  });

  it.each(['', '.', '.config/fleet', '~/fleet'])(
    'is rejected as FLEET_CONFIG_DIR=%j',
    async (chosen) => {
      const { mark } = writeSettings(join(root, '.config', 'fleet'));
      const run = await fleet('auth token', { FLEET_CONFIG_DIR: chosen, HOME: root });
      const error = 'error: there is no folder for the settings: FLEET_CONFIG_DIR is ';
      expect(run).toEqual({ code: 3, stdout: '', stderr: expect.stringContaining(error) });
      expect(existsSync(mark)).toBe(false);
    },
  );
});

describe.skipIf(process.platform === 'win32')(
  'rejects settings that other users own or can write',
  () => {
    const refusal = (path: string) =>
      new RegExp(`^error: ${path} (can be written by others|belongs to another user)`);

    it.each([
      ['file', 0o606],
      ['file', 0o620],
      ['folder', 0o707],
      ['folder', 0o1777],
    ])('rejects a %s with mode %i', async (what, mode) => {
      const { config, mark } = writeSettings();
      expect(await fleet('auth token', env)).toMatchObject({
        code: 0,
        stdout: 'token-of-the-command\n',
      });
      rmSync(mark);
      const path = what === 'file' ? config : folder;
      chmodSync(path, mode);
      for (const line of [
        'auth token',
        'bicycles list',
        'config list',
        'auth login --with-token --no-check',
      ]) {
        const run = await fleet(line, env, 'a-token-to-keep');
        expect([line, run.code]).toEqual([line, 3]);
        expect(run.stderr).toMatch(refusal(path));
        expect(run.stderr).toContain(`run: chmod go-w ${path}\n`);
      }
      expect(existsSync(mark)).toBe(false);
      // The command in the hint repairs it.
      execFileSync('chmod', ['go-w', path]);
      expect((await fleet('auth token', env)).code).toBe(0);
    });

    it('rejects stored tokens that other users can modify', async () => {
      expect((await fleet('auth login --with-token --no-check', env, 'a-token-to-keep')).code).toBe(
        0,
      );
      chmodSync(join(folder, 'credentials.json'), 0o666);
      expect(await fleet('auth token', env)).toMatchObject({ code: 3, stdout: '' });
    });

    it('warns once about stored tokens that other users can read', async () => {
      await fleet('auth login --with-token --no-check', env, 'a-token-to-keep');
      const credentials = join(folder, 'credentials.json');
      const warning = `warning: other users can read ${credentials} (mode 0644), which contains the token; run: chmod 600 ${credentials}\n`;
      const list = `bicycles list --all --retries 0 --base-url ${ADDRESS}`;
      for (const mode of [0o644, 0o640, 0o604]) {
        chmodSync(credentials, mode);
        const octal = (mode & 0o777).toString(8);
        const told = warning.replace('644', octal);
        expect((await fleet('auth token', env)).stderr).toBe(told);
        expect((await fleet(list, env)).stderr.split(told)).toHaveLength(2);
        expect((await fleet('auth status', env)).stderr).toContain(told);
      }
      chmodSync(credentials, 0o600);
      expect((await fleet('auth token', env)).stderr).toBe('');
      // Settings without a token may be readable.
      chmodSync(join(folder, 'config.json'), 0o644);
      expect((await fleet('auth token', env)).stderr).toBe('');
    });

    it.runIf(hasTool('root'))(
      'rejects a settings file and a settings folder of another user',
      async () => {
        const { config, mark } = writeSettings();
        for (const path of [config, folder]) {
          chownSync(path, STRANGER_UID, STRANGER_UID);
          const run = await fleet('auth token', env);
          expect(run).toMatchObject({ code: 3, stdout: '' });
          expect(run.stderr).toContain(
            `error: ${path} belongs to another user (uid ${STRANGER_UID}), and is not used`,
          );
          expect(run.stderr).toContain(`run: sudo chown root ${path}\n`);
          expect(existsSync(mark)).toBe(false);
          chownSync(path, 0, 0);
        }
      },
    );

    it('checks the folders of a symlink and of its target', async () => {
      const elsewhere = join(root, 'elsewhere');
      const { config } = writeSettings(elsewhere);
      mkdirSync(folder, { mode: 0o700 });
      symlinkSync(config, join(folder, 'config.json'));
      expect((await fleet('auth token', env)).code).toBe(0);
      for (const path of [config, elsewhere, folder]) {
        const { mode } = statSync(path);
        chmodSync(path, mode | 0o022);
        expect([path, (await fleet('auth token', env)).code]).toEqual([path, 3]);
        chmodSync(path, mode);
      }
      // A symlink stays a symlink when its target is written.
      expect((await fleet('config set retries 2', env)).code).toBe(0);
      expect(statSync(config).mode & 0o777).toBe(0o600);
      expect(
        execFileSync('readlink', [join(folder, 'config.json')], { encoding: 'utf8' }).trim(),
      ).toBe(config);
    });

    it.each(['000', '277'])('creates private files and folders with umask %s', (umask) => {
      folder = join(root, 'a', 'b', 'fleet');
      const line = `umask ${umask} && exec ${PROGRAM_LINE} auth login --with-token --no-check --base-url ${ADDRESS}`;
      const run = spawnSync('sh', ['-c', line], {
        env: { FLEET_CONFIG_DIR: folder },
        input: 'a-token-to-keep',
      });
      expect(run.status).toBe(0);
      const modes = ['', 'config.json', 'credentials.json'].map(
        (name) => statSync(join(folder, name)).mode & 0o777,
      );
      expect(modes.map((mode) => mode.toString(8))).toEqual(['700', '600', '600']);
    });

    /** Runs `config set` on a system that writes half of a text; `after` adds code to it. */
    function writeHalf(after = '') {
      const short = join(root, 'short.cjs');
      writeFileSync(
        short,
        `const fs = require('node:fs');
       const { writeSync, renameSync } = fs;
       fs.writeSync = (file, text) => writeSync(file, text.slice(0, text.length / 2));
       ${after}`,
      );
      const args = [...PROGRAM_ARGS, 'config', 'set', 'retries', '3'];
      return spawnSync(PROGRAM_FILE, args, {
        env: { ...env, ...preload(short) },
        encoding: 'utf8',
      });
    }

    it('keeps the old settings when the disk becomes full during a write', () => {
      const { config } = writeSettings();
      const whole = readFileSync(config, 'utf8');
      const run = writeHalf();
      const stderr = expect.stringContaining(
        `error: ${config} could not be written: no space left on the device\n`,
      );
      expect(run).toMatchObject({ status: 3, stdout: '', stderr });
      expect(readFileSync(config, 'utf8')).toBe(whole);
      expect(readdirSync(folder)).toEqual(['config.json']);
    });

    it('keeps the old settings when a run is killed on a full disk', async () => {
      const { config } = writeSettings();
      const whole = readFileSync(config, 'utf8');
      const killed = `fs.renameSync = (...names) => { renameSync(...names); process.kill(process.pid, 'SIGKILL'); };`;
      expect(writeHalf(killed).signal).toBe('SIGKILL');
      expect(readFileSync(config, 'utf8')).toBe(whole);
      expect((await fleet('config set retries 4', env)).code).toBe(0);
      expect(JSON.parse(readFileSync(config, 'utf8')).profiles.default.retries).toBe(4);
      expect(readdirSync(folder)).toEqual(['config.json']);
    });

    it("concurrent writers do not overwrite each other's changes", async () => {
      const place = findPlace(env);
      const names = Array.from({ length: 8 }, (_, number) => `profile-${number}`);
      await Promise.all(
        names.flatMap((name) => [
          saveProfile(place, name, {}),
          saveToken(place, name, `of-${name}`),
        ]),
      );
      const [first = '', second = '', third = ''] = names;
      await Promise.all([
        deleteProfile(place, first),
        useProfile(place, second),
        deleteToken(place, third),
      ]);
      const stored = await loadStored(env);
      expect([...stored.profiles.keys()].sort()).toEqual(names.slice(1));
      expect(stored.active).toBe('profile-1');
      expect([...(await loadTokens(place)).keys()].sort()).toEqual([second, ...names.slice(3)]);
      expect(readdirSync(place.folder).sort()).toEqual(['config.json', 'credentials.json']);
    });

    it('rejects a named pipe as the settings file', async () => {
      mkdirSync(folder, { mode: 0o700 });
      execFileSync('mkfifo', ['-m', '600', join(folder, 'config.json')]);
      expect((await fleet('config list', env)).stderr).toContain('it is not a regular file');
    });
  },
);

describe.skipIf(process.platform === 'win32')('a folder above the settings', () => {
  it.each([
    [0o777, false],
    [0o775, false],
    [0o1777, true],
    [0o755, true],
  ])('with mode %o is accepted: %s', async (mode, isAccepted) => {
    const parent = join(root, 'shared');
    mkdirSync(join(parent, 'mine', 'fleet'), { recursive: true, mode: 0o700 });
    chmodSync(parent, mode);
    const run = await fleet('config list', { FLEET_CONFIG_DIR: join(parent, 'mine', 'fleet') });
    if (isAccepted) expect(run.code).toBe(0);
    else
      expect([run.code, run.stderr]).toEqual([
        3,
        expect.stringContaining(`others can replace it, because they can write ${parent}`),
      ]);
  });

  it.each([
    ['itself', (open: string) => open],
    [
      'behind another link',
      (open: string) => {
        const first = join(root, 'first');
        symlinkSync(open, first);
        return first;
      },
    ],
  ])('refuses settings behind a link in a writable folder: the link %s', async (_name, linkTo) => {
    const open = join(root, 'open');
    const mine = join(root, 'mine');
    mkdirSync(mine, { mode: 0o700 });
    mkdirSync(open);
    chmodSync(open, 0o777);
    symlinkSync(mine, join(open, 'link'));
    const run = await fleet('config list', { FLEET_CONFIG_DIR: linkTo(join(open, 'link')) });
    expect([run.code, run.stderr]).toEqual([
      3,
      expect.stringContaining(`because they can write ${open}`),
    ]);
  });
});
