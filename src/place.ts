// Where the program stands on the disk; right for the sources and for the bundle, which lie equally deep.

import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** The path of `bin/fleet.js`. */
export function programPath(): string {
  return fileURLToPath(new URL('../bin/fleet.js', import.meta.url));
}

/** The version in package.json. */
export function programVersion(): string {
  const text = readFileSync(new URL('../package.json', import.meta.url), 'utf8');
  return (JSON.parse(text) as { version: string }).version;
}
