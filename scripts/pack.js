// Makes the npm package: `npm run pack [-- FOLDER]`. Copies the built program into dist/package,
// writes a package.json for users there, and packs that folder into FOLDER (default: the root).

import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const PACKAGE = join(ROOT, 'dist', 'package');
/** The files of `dist` that are not part of the package. */
const LEFT_OUT = /^(?:package|fleet|fleet\.exe|.+\.map)$/;

function copyFiles() {
  rmSync(PACKAGE, { recursive: true, force: true });
  mkdirSync(join(PACKAGE, 'dist'), { recursive: true });
  for (const name of ['bin', 'README.md', 'LICENSE', 'CHANGELOG.md'])
    cpSync(join(ROOT, name), join(PACKAGE, name), { recursive: true });
  for (const name of readdirSync(join(ROOT, 'dist')).filter((each) => !LEFT_OUT.test(each)))
    cpSync(join(ROOT, 'dist', name), join(PACKAGE, 'dist', name), { recursive: true });
}

/**
 * Writes package.json with the pages of the manual, and without the fields for development: an
 * installation must not run the scripts.
 */
function writeManifest() {
  const own = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
  const { scripts, devDependencies, bundledLibraries, overrides, ...manifest } = own;
  manifest.files = ['bin', 'dist', 'CHANGELOG.md'];
  manifest.man = ['man1', 'man7'].flatMap((section) => {
    const pages = readdirSync(join(PACKAGE, 'dist', 'man', section));
    return pages.map((page) => `dist/man/${section}/${page}`);
  });
  writeFileSync(join(PACKAGE, 'package.json'), `${JSON.stringify(manifest, undefined, 2)}\n`);
}

/** Runs `npm pack` in the folder of the package. */
function pack(destination) {
  const npm = process.env.npm_execpath;
  const [file, ...first] = npm?.endsWith('js') ? [process.execPath, npm] : ['npm'];
  const args = ['pack', '--json', '--loglevel=error', '--pack-destination', destination];
  const text = execFileSync(file, [...first, ...args], { cwd: PACKAGE, encoding: 'utf8' });
  const [tarball] = JSON.parse(text);
  process.stdout.write(`${join(destination, basename(tarball.filename))}\n`);
}

copyFiles();
writeManifest();
pack(resolve(process.argv[2] ?? ROOT));
