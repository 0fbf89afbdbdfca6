// Tests the scripts that make a release, with small executables that are built here.

import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { newFolder } from './support/folder.js';

const SCRIPTS = fileURLToPath(new URL('../scripts/', import.meta.url));
const ARM64_OF_PE = 0xaa64;
const ARM64_OF_ELF = 0xb7;
const NAMES = ['bulk.md', 'jq.wasm', 'page.html'];

function embed(root: string, names: readonly string[]): Buffer {
  const paths = names.map((name) => `${root}/${name}\0`).join('');
  // The runtime contains a text that looks like the path of an embedded file.
  return Buffer.from(`${root}/noFile\0${' '.repeat(100_000)}${paths}\n---- Bun! ----\n`, 'latin1');
}

function makeElf(names: readonly string[] = NAMES, machine = 0x3e): Buffer {
  const header = Buffer.alloc(64);
  header.write('\x7fELF', 'latin1');
  header.writeUInt16LE(machine, 18);
  return Buffer.concat([header, embed('/$bunfs/root', ['fleet', 'fleet-ab12.js', ...names])]);
}

/** An executable with one section, which holds the entry point and the names. */
function makePe(names: readonly string[] = NAMES, machine = 0x8664): Buffer {
  const content = embed('B:/~BUN/root', ['fleet.exe', 'fleet-cd34.js', ...names]);
  const headers = Buffer.alloc(0x200);
  const pe = 0x80;
  const optionalHeader = pe + 24;
  const section = optionalHeader + 240;
  headers.write('MZ');
  headers.writeUInt32LE(pe, 0x3c);
  headers.write('PE\0\0', pe, 'latin1');
  headers.writeUInt16LE(machine, pe + 4);
  headers.writeUInt16LE(1, pe + 6);
  headers.writeUInt16LE(240, pe + 20);
  headers.writeUInt16LE(0x20b, optionalHeader);
  headers.writeUInt32LE(0x1000, optionalHeader + 16);
  headers.writeUInt16LE(3, optionalHeader + 68);
  headers.write('.bun', section);
  headers.writeUInt32LE(content.length, section + 8);
  headers.writeUInt32LE(0x1000, section + 12);
  headers.writeUInt32LE(content.length, section + 16);
  headers.writeUInt32LE(headers.length, section + 20);
  return Buffer.concat([headers, content]);
}

function check(linux: Buffer, windows: Buffer) {
  const folder = newFolder();
  const paths = [join(folder, 'fleet'), join(folder, 'fleet.exe')] as const;
  writeFileSync(paths[0], linux);
  writeFileSync(paths[1], windows);
  const args = [join(SCRIPTS, 'check-executables.js'), ...paths];
  const { status, stdout, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8' });
  return { status, stdout, stderr: stderr.replaceAll(`${folder}/`, '') };
}

describe('`check-executables`', () => {
  test('`check-executables` accepts two x64 programs with the same files', () => {
    expect(check(makeElf(), makePe())).toEqual({
      status: 0,
      stdout: 'both executables are for x64 and contain the same 5 files\n',
      stderr: '',
    });
  });

  test('`check-executables` rejects an executable that Bun did not build', () => {
    const { status, stderr } = check(makeElf().subarray(0, 64), makePe());
    expect(status).toBe(1);
    expect(stderr).toBe('error: fleet is not a valid executable: it contains no files of fleet\n');
  });

  test.each<[string, Buffer, Buffer, string]>([
    [
      'a script as fleet.exe',
      makeElf(),
      Buffer.from('#!/bin/sh\n'),
      'fleet.exe is not a valid executable: it is not a Windows executable',
    ],
    [
      'fleet.exe without a PE header',
      makeElf(),
      Buffer.from('MZ and more'),
      'fleet.exe is not a valid executable: the PE header is missing',
    ],
    [
      'fleet.exe for arm64',
      makeElf(),
      makePe(NAMES, ARM64_OF_PE),
      'fleet.exe is not a valid executable: it is for machine 0xaa64, not for x64',
    ],
    [
      'fleet.exe that is cut off',
      makeElf(),
      makePe().subarray(0, -1),
      'fleet.exe is not a valid executable: it is cut off: the section .bun reaches beyond its end',
    ],
    [
      'fleet.exe instead of fleet',
      makePe(),
      makePe(),
      'fleet is not a valid executable: it is not an ELF file',
    ],
    [
      'fleet for arm64',
      makeElf(NAMES, ARM64_OF_ELF),
      makePe(),
      'fleet is not a valid executable: it is for machine 0xb7, not for x64',
    ],
    [
      'fleet.exe without the page of the map',
      makeElf(),
      makePe(['bulk.md', 'jq.wasm']),
      'fleet.exe does not contain page.html',
    ],
    [
      'fleet without a guide',
      makeElf(['jq.wasm', 'page.html']),
      makePe(),
      'fleet does not contain bulk.md',
    ],
  ])('rejects %s', (_what, linux, windows, message) => {
    expect(check(linux, windows)).toEqual({
      status: 1,
      stdout: '',
      stderr: `error: ${message}\n`,
    });
  });
});

test.skipIf(process.platform === 'win32')('the release script fails without Wine', () => {
  const run = spawnSync(process.execPath, [join(SCRIPTS, 'release.js')], {
    env: { PATH: newFolder() },
    encoding: 'utf8',
  });
  expect(run).toMatchObject({
    status: 1,
    stdout: '',
    stderr: 'error: a release needs Wine to test fleet on Windows: apt-get install wine64 wine\n',
  });
});
