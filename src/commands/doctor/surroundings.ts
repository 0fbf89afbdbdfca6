// Checks the build and the terminal.

import type { Context } from '../../context.js';
import { BUN_VERSION, programVersion } from '../../program-files.js';
import { type Finding, ok } from './finding.js';

export function checkBuild(): Finding {
  const build =
    BUN_VERSION === undefined ? `npm package, Node ${process.versions.node}` : `one executable, Bun ${BUN_VERSION}`;
  return ok('fleet', `version ${programVersion()}, ${build}, ${process.platform} ${process.arch}`);
}

export function checkTerminal({ io: { stdout } }: Context): Finding {
  if (!stdout.isTerminal) return ok('terminal', 'stdout is not a terminal: output is not cut and has no colour');
  const colours = ['no colour', '16 colours', '256 colours', 'true colour'][stdout.colorLevel] ?? 'no colour';
  return ok('terminal', `${stdout.width()} columns, ${stdout.height()} rows, ${colours}`);
}
