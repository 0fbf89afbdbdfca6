// Locates the program's own files: beside it on the disk, or inside the executable.

import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import manifest from '../../package.json' with { type: 'json' };

/** The version of Bun in the executable that `npm run build:binary` makes; undefined where Node runs the package. */
export const BUN_VERSION = process.versions['bun'];

/** The path of a file of `dist/`, which `fs` and Worker take: the executable has them in a file system of its own. */
export function distPath(name: string): string {
  // Bun names the program in it as the first argument.
  if (BUN_VERSION !== undefined) return `${dirname(process.argv[1] ?? '')}/${name}`;
  return packagePath(`dist/${name}`);
}

/** The path of a file of the package: this one is in `src/system/`, and in `dist/` once it is built. */
function packagePath(name: string): string {
  const folder = import.meta.url.endsWith('.ts') ? '../..' : '..';
  return fileURLToPath(new URL(`${folder}/${name}`, import.meta.url));
}

/** What starts the program anew: the executable, and the arguments before its own. */
export function ownCommand(): [file: string, ...args: string[]] {
  if (BUN_VERSION !== undefined) return [process.execPath];
  return [process.execPath, packagePath('bin/fleet.js')];
}

/** The version in package.json. */
export function programVersion(): string {
  return manifest.version;
}
