// Checks the build, the terminal, and whether certificates are verified.

import type { Context } from '../../context.js';
import { BUN_VERSION, programVersion } from '../../program-files.js';
import { unsetVariable } from '../../shell-words.js';
import { type Finding, ok, warning } from './finding.js';

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

/** A warning where an address of https is asked and nobody looks at its certificate. */
export function checkVerification({ io }: Context, name: string, { protocol }: URL): Finding[] {
  if (protocol !== 'https:' || io.env['NODE_TLS_REJECT_UNAUTHORIZED'] !== '0') return [];
  return [
    warning(
      `${name} tls`,
      'NODE_TLS_REJECT_UNAUTHORIZED=0: certificates are not verified, and anyone on the network path can read the token',
      `${unsetVariable('NODE_TLS_REJECT_UNAUTHORIZED')}; a private certificate authority goes into NODE_EXTRA_CA_CERTS`,
    ),
  ];
}
