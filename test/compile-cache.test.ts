// The compile cache must be in a folder that only the user can write, because its content is
// executed.

import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  readdirSync,
  statSync,
  symlinkSync,
} from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { beforeEach, expect, onTestFinished, test } from 'vitest';
import { newFolder } from './support/folder.js';
import { hasTool } from './support/tools.js';

const PROGRAM = fileURLToPath(new URL('../bin/fleet.js', import.meta.url));
const { findFolder } = createRequire(import.meta.url)('../bin/compile-cache.js') as {
  findFolder(env: NodeJS.ProcessEnv, user: number): string | undefined;
};
const USER = process.getuid?.() ?? 0;
const STRANGER = 65_534;

let home: string;

beforeEach(() => {
  home = newFolder();
});

test('the compile cache folder is private with any umask', () => {
  const umask = process.umask(0);
  onTestFinished(() => void process.umask(umask));
  expect(findFolder({ XDG_CACHE_HOME: join(home, 'xdg'), HOME: home }, USER)).toBe(
    join(home, 'xdg/fleet'),
  );
  expect(findFolder({ HOME: home }, USER)).toBe(join(home, '.cache/fleet'));
  for (const folder of ['xdg', 'xdg/fleet', '.cache', '.cache/fleet'])
    expect(statSync(join(home, folder)).mode & 0o777, folder).toBe(0o700);
});

test.each<[string, NodeJS.ProcessEnv]>([
  ['no home', {}],
  ['an empty home', { HOME: '' }],
  ['a relative home', { HOME: 'home' }],
  ['a relative XDG_CACHE_HOME and no home', { XDG_CACHE_HOME: 'cache' }],
])('%s disables the compile cache', (_what, env) => {
  const before = process.cwd();
  process.chdir(home);
  onTestFinished(() => process.chdir(before));
  expect(findFolder(env, USER)).toBeUndefined();
  expect(readdirSync(home)).toEqual([]);
});

test.each([0o777, 0o770, 0o750, 0o705])('ignores a compile cache folder with mode %o', (mode) => {
  const folder = join(home, '.cache/fleet');
  mkdirSync(folder, { recursive: true });
  chmodSync(folder, mode);
  expect(findFolder({ HOME: home }, USER)).toBeUndefined();
});

test('ignores a compile cache folder that is a symlink', () => {
  mkdirSync(join(home, '.cache'));
  mkdirSync(join(home, 'elsewhere'), { mode: 0o700 });
  symlinkSync(join(home, 'elsewhere'), join(home, '.cache/fleet'));
  expect(findFolder({ HOME: home }, USER)).toBeUndefined();
});

test('ignores a compile cache folder that other users can replace', () => {
  const cache = join(home, '.cache');
  mkdirSync(cache);
  chmodSync(cache, 0o777);
  expect(findFolder({ HOME: home }, USER)).toBeUndefined();
  chmodSync(cache, 0o1777);
  expect(findFolder({ HOME: home }, USER)).toBe(join(cache, 'fleet'));
});

test.runIf(hasTool('root'))(
  'ignores a compile cache folder that belongs to another user, and folders in it',
  () => {
    const folder = join(home, '.cache/fleet');
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    chownSync(folder, STRANGER, STRANGER);
    expect(findFolder({ HOME: home }, USER)).toBeUndefined();
    chownSync(folder, USER, USER);
    chownSync(join(home, '.cache'), STRANGER, STRANGER);
    expect(findFolder({ HOME: home }, USER)).toBeUndefined();
  },
);

test('a run does not write to the program folder', () => {
  const dist = fileURLToPath(new URL('../dist', import.meta.url));
  const before = readdirSync(dist);
  const env = { PATH: process.env['PATH'], HOME: home };
  for (let run = 0; run < 2; run += 1) execFileSync(process.execPath, [PROGRAM, '--help'], { env });
  expect(readdirSync(dist)).toEqual(before);
  const canKeep = 'enableCompileCache' in createRequire(import.meta.url)('node:module');
  expect(existsSync(join(home, '.cache/fleet'))).toBe(canKeep);
});
