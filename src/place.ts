// Where the program stands on the disk; right for the sources and for the bundle, which lie equally deep.

import { fileURLToPath } from 'node:url';

/** The path of `bin/fleet.js`. */
export function programPath(): string {
  return fileURLToPath(new URL('../bin/fleet.js', import.meta.url));
}
