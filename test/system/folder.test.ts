// Tests that folders are created with the requested mode and that errors are reported.

import { existsSync } from 'node:fs';
import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import {
  isDeviceName,
  isWholePath,
  makeFolder,
  OWN_FOLDER_MODE,
  untilFree,
} from '../../src/system/folder.js';
import { newFolder } from '../support/folder.js';

test('creates private folders and keeps the mode of existing folders', async () => {
  const base = newFolder();
  const { mode } = await stat(base);
  await makeFolder(join(base, 'a', 'b'), OWN_FOLDER_MODE);
  await makeFolder(join(base, 'a', 'b'), OWN_FOLDER_MODE);
  expect((await stat(base)).mode).toBe(mode);
  for (const name of ['a', 'a/b']) expect((await stat(join(base, name))).mode & 0o777).toBe(0o700);
});

// Node's own implementation would retry forever.
test.runIf(existsSync('/proc/self'))(
  'reports the error of a file system that cannot create folders',
  async () => {
    await expect(makeFolder('/proc/fleet/a')).rejects.toThrow('ENOENT');
  },
);

describe('a file opened by another program', () => {
  const busyFor = (times: number, code: string) => {
    let tries = 0;
    return () => {
      tries += 1;
      if (tries <= times) throw Object.assign(new Error(`${code}: no`), { code });
      return tries;
    };
  };

  test.each(['EPERM', 'EACCES', 'EBUSY'])('retries after a temporary %s on Windows', (code) => {
    expect(untilFree(busyFor(3, code), 'win32')).toBe(4);
  });

  test.each([
    ['linux', busyFor(1, 'EPERM')],
    ['win32', busyFor(1, 'ENOSPC')],
    ['win32', busyFor(Number.POSITIVE_INFINITY, 'EPERM')],
  ] as const)('%s: throws other errors and permanent ones', (platform, work) => {
    expect(() => untilFree(work, platform)).toThrow('no');
  });
});

test.each([
  ['/home/ann', true, false],
  ['C:\\Users\\ann', false, true],
  ['c:/Users/ann', false, true],
  ['\\\\server\\share', false, true],
  ['/c/Users/ann', true, false],
  ['\\Users\\ann', false, false],
  ['C:fleet', false, false],
  ['fleet', false, false],
])('checks whether %s is an absolute path', (path, onLinux, onWindows) => {
  expect([isWholePath(path, 'linux'), isWholePath(path, 'win32')]).toEqual([onLinux, onWindows]);
});

test('recognizes reserved device names on Windows', () => {
  const names = [
    'NUL',
    'con',
    './nul',
    'Aux.journal',
    'com1',
    'nul:',
    'CON .txt',
    'console',
    'nullable',
    'a.nul',
    'com',
  ];
  expect(names.filter((name) => isDeviceName(name, 'win32'))).toEqual(names.slice(0, 7));
  expect(names.filter((name) => isDeviceName(name, 'linux'))).toEqual([]);
});
