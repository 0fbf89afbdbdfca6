// Makes the files of a release in the folder `release`: `npm run release`. The package, the executables
// for Linux and Windows, a list of the libraries in them (SBOM), and the checksums of all files.

import { execFileSync, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const FOLDER = resolve(ROOT, 'release');
const SECOND_FOLDER = join(FOLDER, 'again');
const { name: PACKAGE, version: VERSION } = JSON.parse(
  readFileSync(join(ROOT, 'package.json'), 'utf8'),
);
const TARBALL = `${PACKAGE}-${VERSION}.tgz`;
const CHECKSUMS = 'SHA256SUMS';

/** Runs npm. All of its output goes to stderr. */
function npm(...args) {
  runNpm(args, 2);
}

/** Runs npm and returns its stdout. */
function readFromNpm(...args) {
  return runNpm(args, 'pipe');
}

function runNpm(args, stdout) {
  const path = process.env.npm_execpath;
  const [file, ...first] = path?.endsWith('js') ? [process.execPath, path] : ['npm'];
  return execFileSync(file, [...first, ...args], {
    cwd: ROOT,
    encoding: 'utf8',
    maxBuffer: 64 * 1024 * 1024,
    stdio: ['ignore', stdout, 2],
  });
}

function announce(step) {
  process.stderr.write(`${step} …\n`);
}

function sha256(path) {
  return createHash('sha256').update(readFileSync(path)).digest('hex');
}

/** `npm run test:windows` skips its tests without Wine. A release must not skip them. */
function requireWine() {
  if (process.platform === 'win32') return;
  if (spawnSync('wine', ['--version']).status === 0) return;
  throw new Error('a release needs Wine to test fleet on Windows: apt-get install wine64 wine');
}

/** A release can be built again only from a commit. */
function requireCommittedSources() {
  const changes = execFileSync('git', ['status', '--porcelain'], { cwd: ROOT, encoding: 'utf8' });
  if (changes === '') return;
  throw new Error(`commit these changes before a release:\n${changes.trimEnd()}`);
}

/** Builds and packs twice, and compares the bytes. */
function packTwice() {
  for (const folder of [FOLDER, SECOND_FOLDER]) {
    mkdirSync(folder, { recursive: true });
    npm('run', '--silent', 'pack', '--', folder);
  }
  const [first, second] = [FOLDER, SECOND_FOLDER].map((folder) => sha256(join(folder, TARBALL)));
  if (first !== second)
    throw new Error(
      `npm run pack is not reproducible: compare ${join(FOLDER, TARBALL)} and ${join(SECOND_FOLDER, TARBALL)}`,
    );
  rmSync(SECOND_FOLDER, { recursive: true });
}

/** Builds both executables and checks them. Each build empties `dist`, so each result is copied. */
function buildExecutables() {
  const executables = [
    ['linux-x64', 'fleet', `fleet-${VERSION}-linux-x64`],
    ['windows-x64', 'fleet.exe', `fleet-${VERSION}-windows-x64.exe`],
  ];
  for (const [platform, built, released] of executables) {
    npm('run', '--silent', 'build:binary', '--', platform);
    cpSync(join(ROOT, 'dist', built), join(FOLDER, released));
  }
  const paths = executables.map(([, , released]) => join(FOLDER, released));
  const script = join(ROOT, 'scripts', 'check-executables.js');
  execFileSync(process.execPath, [script, ...paths], { stdio: ['ignore', 2, 2] });
}

/** The libraries in the bundle, such as `commander@14.0.3`: their licences are in the package. */
function readBundledLibraries() {
  const text = readFileSync(join(ROOT, 'dist', 'THIRD-PARTY-LICENSES.txt'), 'utf8');
  const headings = text.matchAll(/^((?:@[\w.-]+\/)?[\w.-]+) (\d\S*) \(.+\)$/gm);
  return new Set([...headings].map(([, name, version]) => `${name}@${version}`));
}

/** The runtime in the executables, as a component of the SBOM. Its version is that of the build. */
function describeRuntime() {
  const executable = join(FOLDER, `fleet-${VERSION}-linux-x64`);
  const text = readFileSync(executable).toString('latin1');
  const version = /\bBun v(\d+\.\d+\.\d+)/.exec(text)?.[1];
  if (version === undefined) throw new Error(`${executable} does not contain the version of Bun`);
  return {
    'bom-ref': `bun@${version}`,
    type: 'framework',
    name: 'bun',
    version,
    scope: 'optional',
    description: 'the runtime in the executables; the npm package does not contain it',
    purl: `pkg:npm/bun@${version}`,
    licenses: [{ license: { id: 'MIT' } }],
  };
}

/**
 * Writes the list of libraries in CycloneDX format. npm lists the tools of development too. Only the
 * libraries in the bundle and those that npm installs with the package stay in the list.
 */
function writeSbom() {
  const options = ['--sbom-format=cyclonedx', '--sbom-type=application', '--package-lock-only'];
  const sbom = JSON.parse(readFromNpm('sbom', ...options));
  const bundled = readBundledLibraries();
  const isTool = ({ properties = [] }) =>
    properties.some(({ name }) => name === 'cdx:npm:package:development');
  const components = sbom.components.filter(
    (component) => bundled.has(component['bom-ref']) || !isTool(component),
  );
  const kept = new Set(components.map((component) => component['bom-ref']));
  for (const library of bundled)
    if (!kept.has(library)) throw new Error(`npm sbom does not list ${library}, which is bundled`);
  const root = sbom.metadata.component;
  // npm would use the name of the folder.
  root.name = PACKAGE;
  const dependencies = sbom.dependencies
    .filter(({ ref }) => ref === root['bom-ref'] || kept.has(ref))
    .map(({ ref, dependsOn = [] }) => ({
      ref,
      dependsOn: dependsOn.filter((name) => kept.has(name)),
    }));
  components.push(describeRuntime());
  const text = JSON.stringify({ ...sbom, components, dependencies }, undefined, 2);
  writeFileSync(join(FOLDER, `${PACKAGE}-${VERSION}.cdx.json`), `${text}\n`);
}

/** Writes the checksums in the format of `sha256sum --check`. */
function writeChecksums() {
  const lines = readdirSync(FOLDER)
    .sort()
    .map((name) => `${sha256(join(FOLDER, name))}  ${name}\n`);
  writeFileSync(join(FOLDER, CHECKSUMS), lines.join(''));
  return lines.join('');
}

try {
  requireWine();
  requireCommittedSources();
  rmSync(FOLDER, { recursive: true, force: true });
  announce('testing fleet on Windows');
  npm('run', '--silent', 'test:windows');
  announce('packing twice');
  packTwice();
  announce('building the executables');
  buildExecutables();
  announce('listing the libraries');
  writeSbom();
  process.stdout.write(writeChecksums());
  process.stderr.write(`the files of release ${VERSION} are in ${FOLDER}\n`);
} catch (error) {
  process.stderr.write(`error: ${error.message}\n`);
  process.exitCode = 1;
}
