// Declares `fleet doctor`: its checks and exit codes.

import type { CommandUnknownOpts as Command } from '@commander-js/extra-typings';
import { addVerb } from '../../cli/examples.js';
import type { Run } from '../../context.js';
import { addRoleFlag } from '../../follow/flags.js';

export function addDoctor(program: Command, run: Run): void {
  const doctor = addVerb(
    program,
    [
      'doctor',
      'find out what is wrong with settings, network or service',
      `Check everything that a command needs, one row per check: failures first, then warnings, then what is ok, with what
to do next. Checks settings and their sources, file modes, token, proxy, HTTP, the prefix of the address,
API version, organization, clock and push channel. Changes nothing; a request or a token command takes 5 s at most.

Exit code 0 without failures, else the code of the first failure, which may be the cause of later ones.`,
    ],
    ['the profile in use', 'fleet doctor'],
    [
      'print only the problems, for a program',
      `fleet doctor --json | jq '.[] | select(.outcome != "ok")'`,
    ],
    ['another profile', 'fleet doctor --profile sandbox'],
  );
  addRoleFlag(doctor).action(run(async () => (await import('./doctor.js')).examine));
}
