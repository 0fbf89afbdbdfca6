// Tests the package: the built program, its manual and the licenses of its libraries, and no
// development files.

import { execFileSync, spawnSync } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { pathOf } from '../src/cli/help.js';
import { TOPIC_NAMES } from '../src/cli/topics.js';
import { newFolder } from './support/folder.js';
import { everyCommand } from './support/pages.js';
import { isExecutable } from './support/program.js';
import { hasTool } from './support/tools.js';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const MANUAL = `${ROOT}dist/man/`;
/** `man1/fleet.1` and so on. */
const PAGES = ['man1', 'man7'].flatMap((folder) =>
  readdirSync(MANUAL + folder).map((name) => `${folder}/${name}`),
);
const read = (path: string) => readFileSync(ROOT + path, 'utf8');
const MANIFEST = JSON.parse(read('package.json')) as {
  engines: { node: string };
  dependencies?: { [name: string]: string };
  devDependencies: { [name: string]: string };
  bundledLibraries: string[];
  version: string;
  homepage: string;
  repository: { url: string };
  bugs: { url: string };
};

/** A larger tarball contains something unnecessary. */
const LARGEST_BYTES = 3_200_000;

/** Checks that the package contains exactly the necessary files. */
function expectPacked({ size, files }: { size: number; files: { path: string }[] }): void {
  const paths = files.map(({ path }) => path);
  const isExpected =
    /^(?:package\.json|README\.md|LICENSE|CHANGELOG\.md|bin\/.+|dist\/[^/]+\.cjs|dist\/[a-z-]+\.md|dist\/jq\.wasm|dist\/man\/man[17]\/.+\.[17])$/;
  expect(paths.filter((path) => !isExpected.test(path))).toEqual([
    'dist/coastline.json',
    'dist/page.html',
    'dist/THIRD-PARTY-LICENSES.txt',
    'dist/towns.json',
  ]);
  expect(paths).toEqual(
    expect.arrayContaining([
      'LICENSE',
      'bin/fleet.js',
      'dist/main.cjs',
      'dist/bulk.md',
      'dist/man/man1/fleet.1',
    ]),
  );
  expect(size).toBeLessThan(LARGEST_BYTES);
}

test('the build keeps the executables and deletes other old files', () => {
  const copy = newFolder();
  for (const path of ['package.json', 'tsconfig.json', 'scripts', 'bin', 'docs', 'src'])
    cpSync(ROOT + path, join(copy, path), { recursive: true });
  symlinkSync(`${ROOT}node_modules`, join(copy, 'node_modules'), 'junction');
  mkdirSync(join(copy, 'dist'));
  for (const name of ['fleet', 'fleet.exe', 'old.cjs']) writeFileSync(join(copy, 'dist', name), '');
  execFileSync(process.execPath, ['scripts/build.js'], { cwd: copy, stdio: 'ignore' });
  const kept = ['fleet', 'fleet.exe', 'old.cjs', 'main.cjs'].map((name) =>
    existsSync(join(copy, 'dist', name)),
  );
  expect(kept).toEqual([true, true, false, true]);
});

test('the bundle does not need any packages at run time', () => {
  const names = Object.keys({ ...MANIFEST.dependencies, ...MANIFEST.devDependencies });
  const bundled = readdirSync(`${ROOT}dist`).filter((name) => name.endsWith('.cjs'));
  const asked = bundled.flatMap((name) => {
    const statements = read(`dist/${name}`).matchAll(/\b(?:require|import)\("([^".][^"]*)"\)/g);
    return [...statements].map(([, from = '']) => from);
  });
  expect(
    asked.filter((from) => names.some((name) => from === name || from.startsWith(`${name}/`))),
  ).toEqual([]);
  expect(MANIFEST.dependencies).toBeUndefined();
});

test('the package contains the licenses of its bundled libraries', () => {
  const licences = read('dist/THIRD-PARTY-LICENSES.txt');
  for (const name of [
    'commander',
    'undici',
    'chalk',
    'conf',
    'ajv',
    'eventsource',
    'eventsource-parser',
    'jq-wasm',
    'maplibre-gl',
    'world-atlas',
    'topojson-client',
  ])
    expect(licences).toMatch(new RegExp(`^${name} \\d\\S* \\(\\S+\\)$`, 'm'));
});

test('package.json lists exactly the bundled libraries', () => {
  const headings = read('dist/THIRD-PARTY-LICENSES.txt').matchAll(/^(\S+) \d\S* \(.+\)$/gm);
  const licensed = new Set([...headings].map(([, name]) => name));
  const direct = Object.keys(MANIFEST.devDependencies).filter((name) => licensed.has(name));
  expect(MANIFEST.bundledLibraries).toEqual(direct.sort());
});

test('package.json has the homepage, the repository and the bug tracker URL', () => {
  const { homepage, repository, bugs } = MANIFEST;
  for (const url of [homepage, repository.url, bugs.url]) expect(url).toMatch(/^(?:git\+)?https:/);
});

test('all documents state the same minimum version of Node', () => {
  const [, oldest] = /OLDEST = '([\d.]+)'/.exec(read('bin/fleet.js')) ?? [];
  expect(MANIFEST.engines.node).toBe(`>=${oldest}`);
  expect(read('README.md')).toContain(`Node ${oldest} or later`);
});

test.skipIf(isExecutable)('an older Node prints one line with the required version', async () => {
  const folder = newFolder();
  const old = join(folder, 'old.mjs');
  writeFileSync(
    old,
    "Object.defineProperty(process, 'versions', { value: { node: '18.20.8' } });\n",
  );
  const { status, stdout, stderr } = spawnSync(process.execPath, [
    '--import',
    old,
    `${ROOT}bin/fleet.js`,
    'bicycles',
  ]);
  expect([status, `${stdout}`, `${stderr}`]).toEqual([
    3,
    '',
    expect.stringMatching(/^error: fleet needs Node .*18\.20\.8\n$/),
  ]);
  // Syntax that Node 8 to 12 cannot parse.
  expect(read('bin/fleet.js').match(/\?\.\w|\?\?|catch \{|#\w+ =/g)).toBeNull();
});

test('the lock file contains the binaries of every platform and no registry URL', () => {
  interface Locked {
    version?: string;
    resolved?: string;
    optionalDependencies?: { [name: string]: string };
  }
  const { packages } = JSON.parse(read('package-lock.json')) as {
    packages: { [path: string]: Locked };
  };
  /** Folders in which Node searches from a folder: its own node_modules and those above it. */
  const find = (folder: string, name: string): Locked | undefined =>
    packages[`${folder === '' ? '' : `${folder}/`}node_modules/${name}`] ??
    (folder === ''
      ? undefined
      : find(folder.slice(0, Math.max(0, folder.lastIndexOf('/node_modules/'))), name));
  const missing = Object.entries(packages).flatMap(([folder, { optionalDependencies = {} }]) =>
    Object.entries(optionalDependencies).flatMap(([name, wanted]) => {
      const { version } = find(folder, name) ?? {};
      const isExact = /^\d/.test(wanted);
      return version === undefined || (isExact && version !== wanted)
        ? [`${folder}: ${name}@${wanted}`]
        : [];
    }),
  );
  expect(missing).toEqual([]);
  expect(Object.values(packages).filter(({ resolved }) => resolved !== undefined)).toEqual([]);
});

test('the manual has a page for each command and topic', () => {
  const pages = [
    ...everyCommand().map((command) => `man1/${pathOf(command).replaceAll(' ', '-')}.1`),
    ...TOPIC_NAMES.map((topic) => `man7/fleet-${topic}.7`),
  ];
  expect(PAGES.toSorted()).toEqual(pages.sort());
});

test('a manual page shows the same flags and examples as --help', () => {
  const page = readFileSync(`${MANUAL}man1/fleet-bicycles-list.1`, 'utf8');
  expect(page).toContain('.SS Flags\n.nf\n  \\-\\-state');
  expect(page).toContain(
    '\n  \\-\\-limit <n>           show at most this many, following the pages\n',
  );
  expect(page).toContain(
    'fleet bicycles list \\-\\-all \\-\\-where \\(aqlatest_gps_timestamp<\\-2h\\(aq',
  );
  for (const name of PAGES) {
    const text = readFileSync(MANUAL + name, 'utf8');
    expect([name, text.match(/^[.'](?!(?:TH|SH|SS|nf|fi)\b).*/m)]).toEqual([name, null]);
    expect([name, /[^\x00-\x7f]/.test(text)]).toEqual([name, false]);
  }
});

test('the tarball contains only the necessary files and no install scripts', () => {
  const folder = newFolder();
  const copy = join(folder, 'copy');
  for (const path of [
    'package.json',
    'scripts',
    'bin',
    'dist',
    'README.md',
    'LICENSE',
    'CHANGELOG.md',
  ])
    cpSync(ROOT + path, join(copy, path), { recursive: true });
  const before = readFileSync(join(copy, 'package.json'), 'utf8');
  const packFiles = () => execFileSync(process.execPath, ['scripts/pack.js', '..'], { cwd: copy });
  const path = join(folder, `fleet-cli-${MANIFEST.version}.tgz`);
  expect(`${packFiles()}`).toBe(`${path}\n`);
  const first = readFileSync(path);
  packFiles();
  expect(readFileSync(path).equals(first)).toBe(true);
  expect(readFileSync(join(copy, 'package.json'), 'utf8')).toBe(before);
  const made = join(copy, 'dist', 'package');
  const packed = JSON.parse(readFileSync(join(made, 'package.json'), 'utf8'));
  expect(packed.man.toSorted()).toEqual(PAGES.map((page) => `dist/man/${page}`).sort());
  expect(packed).not.toHaveProperty('scripts');
  expect(packed).not.toHaveProperty('devDependencies');
  // Optional dependencies would have to come from a registry.
  const { optionalDependencies: _, ...offline } = packed;
  writeFileSync(join(made, 'package.json'), JSON.stringify(offline));
  const text = execFileSync('npm', ['pack', '--json', '--loglevel=error'], {
    cwd: made,
    encoding: 'utf8',
  });
  const [tarball] = JSON.parse(text);
  expectPacked(tarball);
  const install =
    'npm install --global --prefix ../../../installed --offline --omit=optional ./fleet-cli-*.tgz';
  const { stdout, stderr } = spawnSync('sh', ['-c', install], { cwd: made, encoding: 'utf8' });
  // npm warns about every script that an installation may run.
  expect(stdout + stderr).toMatch(/added 1 package/);
  expect(stdout + stderr).not.toMatch(/script/);
});

test.runIf(hasTool('mandoc'))('mandoc accepts the manual pages', () => {
  const files = PAGES.map((page) => MANUAL + page);
  const { status, stdout } = spawnSync('mandoc', ['-T', 'lint', ...files], { encoding: 'utf8' });
  expect({ status, stdout }).toEqual({ status: 0, stdout: '' });
});

test.runIf(hasTool('groff'))('groff accepts the manual pages', () => {
  const files = PAGES.map((page) => MANUAL + page);
  const { status, stderr } = spawnSync('groff', ['-man', '-Tutf8', '-ww', ...files], {
    encoding: 'utf8',
  });
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
});
