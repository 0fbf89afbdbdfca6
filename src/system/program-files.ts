// Finds the program's own files, on the disk or inside the executable.

import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import manifest from '../../package.json' with { type: 'json' };

/**
 * The version of Bun in the executable that `npm run build:binary` makes; undefined when Node runs
 * the package.
 */
export const BUN_VERSION = process.versions['bun'];

/**
 * Returns the path of a file in `dist/` for `fs` and Worker. In the executable these files are in a
 * virtual file system.
 */
export function distPath(name: string): string {
  // Bun passes the path of the program in the virtual file system as the first argument.
  if (BUN_VERSION !== undefined) return `${dirname(process.argv[1] ?? '')}/${name}`;
  return packagePath(`dist/${name}`);
}

/**
 * Returns the path of a file in the package. This module is in `src/system/`, and in `dist/` after
 * the build.
 */
function packagePath(name: string): string {
  const folder = import.meta.url.endsWith('.ts') ? '../..' : '..';
  return fileURLToPath(new URL(`${folder}/${name}`, import.meta.url));
}

/** Returns the command that starts this program again: the executable and its first arguments. */
export function ownCommand(): [file: string, ...args: string[]] {
  if (BUN_VERSION !== undefined) return [process.execPath];
  return [process.execPath, packagePath('bin/fleet.js')];
}

/** The version in package.json. */
export function programVersion(): string {
  return manifest.version;
}
