// Tests atomic writes of whole files: links, permissions, existing files and failures.

import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import {
  openWholeFile,
  type WholeFileOptions,
  writeWholeFile,
} from '../../src/system/whole-file.js';
import { newFolder } from '../support/folder.js';

let folder: string;
beforeEach(() => {
  folder = newFolder();
});

async function writeInParts(file: string, text: string, options?: WholeFileOptions) {
  const draft = await openWholeFile(file, options);
  try {
    for (const part of text) await draft.write(part);
    await draft.end();
  } finally {
    await draft.discard();
  }
}

const writeAtOnce = async (file: string, text: string, options?: WholeFileOptions) =>
  writeWholeFile(file, text, options);

describe.each([
  ['written at once', writeAtOnce],
  ['written in parts', writeInParts],
])('a file %s', (_how, write) => {
  test('replaces the target of a symbolic link and keeps the link', async () => {
    const [target, link] = [join(folder, 'target'), join(folder, 'link')];
    writeFileSync(target, 'old');
    symlinkSync('target', link);
    await write(link, 'new');
    expect(lstatSync(link).isSymbolicLink()).toBe(true);
    expect(readFileSync(target, 'utf8')).toBe('new');
  });

  test('creates the missing target of a symbolic link', async () => {
    symlinkSync('target', join(folder, 'link'));
    await write(join(folder, 'link'), 'new');
    expect(readFileSync(join(folder, 'target'), 'utf8')).toBe('new');
  });

  test('keeps the permissions of the file that it replaces', async () => {
    const file = join(folder, 'file');
    writeFileSync(file, 'old');
    chmodSync(file, 0o640);
    await write(file, 'new');
    expect(statSync(file).mode & 0o777).toBe(0o640);
  });

  test('sets the given permissions', async () => {
    const file = join(folder, 'file');
    writeFileSync(file, 'old', { mode: 0o644 });
    await write(file, 'new', { mode: 0o600 });
    expect(statSync(file).mode & 0o777).toBe(0o600);
  });

  test('does not replace an existing file when the caller asks for a new file', async () => {
    const file = join(folder, 'file');
    await write(file, 'first', { isNew: true });
    await expect(write(file, 'second', { isNew: true })).rejects.toMatchObject({ code: 'EEXIST' });
    expect(readFileSync(file, 'utf8')).toBe('first');
    expect(readdirSync(folder)).toEqual(['file']);
  });

  test('a lock holder replaces the draft file of a killed process', async () => {
    const file = join(folder, 'file');
    writeFileSync(`${file}.draft`, 'half');
    await write(file, 'new', { isLocked: true });
    expect(readdirSync(folder)).toEqual(['file']);
  });

  test('leaves no draft file when the write fails', async () => {
    await expect(write(join(folder, 'missing', 'file'), 'new')).rejects.toMatchObject({
      code: 'ENOENT',
    });
    mkdirSync(join(folder, 'sub'));
    await expect(write(join(folder, 'sub'), 'new')).rejects.toThrow();
    expect(readdirSync(folder)).toEqual(['sub']);
  });

  test('writes a file with the longest possible name', async () => {
    const name = 'x'.repeat(255);
    await write(join(folder, name), 'new');
    expect(readdirSync(folder)).toEqual([name]);
  });
});

test('readers see the old file until the new file is complete', async () => {
  const file = join(folder, 'file');
  writeFileSync(file, 'old');
  const draft = await openWholeFile(file);
  await draft.write('new');
  expect(readFileSync(file, 'utf8')).toBe('old');
  await draft.end();
  expect(readFileSync(file, 'utf8')).toBe('new');
  await draft.discard();
  expect(existsSync(file)).toBe(true);
});
