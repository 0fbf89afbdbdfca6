// The built program as tests start it: by Node, or as the executable that FLEET_BINARY names (`npm run test:binary`).

import { fileURLToPath, pathToFileURL } from 'node:url';

const BINARY = process.env['FLEET_BINARY'];

/** Whether it is the executable: what only Node does is not tested then. */
export const isExecutable = BINARY !== undefined;

const START: readonly [file: string, ...args: string[]] =
  BINARY === undefined
    ? [process.execPath, fileURLToPath(new URL('../../bin/fleet.js', import.meta.url))]
    : [BINARY];

/** What starts it: a file, and the arguments before its own. */
export const [PROGRAM_FILE, ...PROGRAM_ARGS] = START;

/** The same for a shell. */
export const PROGRAM_LINE = START.map((word) => `'${word}'`).join(' ');

/** What in the environment makes it load a file first. */
export function preload(path: string): NodeJS.ProcessEnv {
  return isExecutable
    ? { BUN_OPTIONS: `--preload ${path}` }
    : { NODE_OPTIONS: `--import ${pathToFileURL(path)}` };
}
