// Folders are made with the mode that is asked for, and what takes none is an error at once.

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

test('each folder that is made is for the owner alone; one that is there stays as it is', async () => {
  const base = newFolder();
  const { mode } = await stat(base);
  await makeFolder(join(base, 'a', 'b'), OWN_FOLDER_MODE);
  await makeFolder(join(base, 'a', 'b'), OWN_FOLDER_MODE);
  expect((await stat(base)).mode).toBe(mode);
  for (const name of ['a', 'a/b']) expect((await stat(join(base, name))).mode & 0o777).toBe(0o700);
});

// Node's own way would try again for ever.
test.runIf(existsSync('/proc/self'))(
  'a file system that takes no folders is an error',
  async () => {
    await expect(makeFolder('/proc/fleet/a')).rejects.toThrow('ENOENT');
  },
);

describe('a file that another program has open for a moment', () => {
  const busyFor = (times: number, code: string) => {
    let tries = 0;
    return () => {
      tries += 1;
      if (tries <= times) throw Object.assign(new Error(`${code}: no`), { code });
      return tries;
    };
  };

  test.each(['EPERM', 'EACCES', 'EBUSY'])(
    '%s is waited out on Windows, where it passes',
    (code) => {
      expect(untilFree(busyFor(3, code), 'win32')).toBe(4);
    },
  );

  test.each([
    ['linux', busyFor(1, 'EPERM')],
    ['win32', busyFor(1, 'ENOSPC')],
    ['win32', busyFor(Number.POSITIVE_INFINITY, 'EPERM')],
  ] as const)('%s: any other error, and one that lasts, is thrown', (platform, work) => {
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
])('%s is a whole path', (path, onLinux, onWindows) => {
  expect([isWholePath(path, 'linux'), isWholePath(path, 'win32')]).toEqual([onLinux, onWindows]);
});

test('Windows has names that are no files', () => {
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
