// The built program as the tests start it: with Node, or as the executable that FLEET_BINARY names
// (`npm run test:binary`).

import { fileURLToPath, pathToFileURL } from 'node:url';

const BINARY = process.env['FLEET_BINARY'];

/** Whether the program is the executable. Tests of Node's own behaviour are skipped then. */
export const isExecutable = BINARY !== undefined;

const START: readonly [file: string, ...args: string[]] =
  BINARY === undefined
    ? [process.execPath, fileURLToPath(new URL('../../bin/fleet.js', import.meta.url))]
    : [BINARY];

/** The file that starts the program, and the arguments before the program's own arguments. */
export const [PROGRAM_FILE, ...PROGRAM_ARGS] = START;

/** The same command as text for a shell. */
export const PROGRAM_LINE = START.map((word) => `'${word}'`).join(' ');

/** The environment that makes the program load a file first. */
export function preload(path: string): NodeJS.ProcessEnv {
  return isExecutable
    ? { BUN_OPTIONS: `--preload ${path}` }
    : { NODE_OPTIONS: `--import ${pathToFileURL(path)}` };
}
