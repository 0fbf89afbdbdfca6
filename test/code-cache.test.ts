// What V8 compiled in one run is kept for the next, and nothing depends on it.

import { execFileSync } from 'node:child_process';
import { cpSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, expect, test } from 'vitest';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const MANIFEST = JSON.parse(readFileSync(`${ROOT}package.json`, 'utf8')) as { version: string };

let copy: string;

beforeEach(() => {
  copy = mkdtempSync(join(tmpdir(), 'fleet-code-cache-'));
  for (const part of ['bin', 'dist', 'package.json']) {
    cpSync(join(ROOT, part), join(copy, part), { recursive: true, filter: (from) => !/code-cache$|\.map$/.test(from) });
  }
});

afterEach(() => rmSync(copy, { recursive: true, force: true }));

function run(argv: readonly string[], env: NodeJS.ProcessEnv = {}): string {
  const { NODE_OPTIONS: _flags, NODE_V8_COVERAGE: _coverage, NODE_DISABLE_COMPILE_CACHE: _off, ...rest } = process.env;
  return execFileSync(process.execPath, [join(copy, 'bin/fleet.js'), ...argv], {
    encoding: 'utf8',
    env: { ...rest, ...env },
  });
}

function kept(): string[] {
  const folder = join(copy, 'dist/code-cache');
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .map((name) => join(folder, name))
    .filter((path) => statSync(path).isFile());
}

const VERSION = `${MANIFEST.version}\n`;

test('a run keeps what it compiled, and the next one takes it', () => {
  const page = run(['--help']);
  const before = kept().map((path) => [path, statSync(path).mtimeMs]);
  expect(before.length).toBeGreaterThan(2);
  expect(run(['--help'])).toBe(page);
  // What V8 refuses is written anew: nothing was.
  expect(kept().map((path) => [path, statSync(path).mtimeMs])).toEqual(before);
});

test.each([
  ['garbage', () => Buffer.from('not what V8 wrote')],
  ['nothing', () => Buffer.alloc(0)],
  ['its first half', (whole: Buffer) => whole.subarray(0, whole.length / 2)],
])('a file that holds %s is refused and written anew', (_what, damage) => {
  const page = run(['--help']);
  const [largest = ''] = kept().sort((a, b) => statSync(b).size - statSync(a).size);
  const damaged = damage(readFileSync(largest));
  writeFileSync(largest, damaged);
  expect(run(['--help'])).toBe(page);
  expect(readFileSync(largest).length).toBeGreaterThan(damaged.length);
});

test('a build that is put over another one is not taken for it', () => {
  run(['--help']);
  const main = join(copy, 'dist/main.cjs');
  const text = readFileSync(main, 'utf8');
  const [, start = ''] = /"\.\/(start-[^"]+)"/.exec(text) ?? [];
  const other = start.replace(/-.+\./, (hash) => `-${'x'.repeat(hash.length - 2)}.`);
  renameSync(join(copy, 'dist', start), join(copy, 'dist', other));
  // As long as before, and V8 compares no more than the length.
  writeFileSync(main, text.replaceAll(start, other));
  expect(run(['--version'])).toBe(VERSION);
});

test('where nothing can be written, nothing is, and nobody hears of it', () => {
  writeFileSync(join(copy, 'dist/code-cache'), 'a file where the folder would be');
  expect(run(['--version'])).toBe(VERSION);
  expect(readFileSync(join(copy, 'dist/code-cache'), 'utf8')).toBe('a file where the folder would be');
});

test.each([{ NODE_DISABLE_COMPILE_CACHE: '1' }, { NODE_OPTIONS: '--enable-source-maps' }])(
  'with %o nothing is kept',
  (env) => {
    expect(run(['--version'], env)).toBe(VERSION);
    expect(() => kept()).toThrow('ENOENT');
  },
);
