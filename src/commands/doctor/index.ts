// The declaration of `fleet doctor`: what it looks at, and how it ends.

import type { CommandUnknownOpts as Command } from '@commander-js/extra-typings';
import { examples } from '../../cli/examples.js';
import type { Run } from '../../context.js';

export function addDoctor(program: Command, run: Run): void {
  const doctor = program
    .command('doctor')
    .summary('find out what is wrong with settings, network or service')
    .description(
      `Look at everything that a command needs, one line a finding: failures first, then warnings, then what is ok, and
what to do next. Settings and where they come from, file modes, disk, token, proxy, certificate, HTTP, the prefix of
the address, API version, organization, clock, push channel, terminal. It asks the service as every command does,
changes nothing, and each step takes --timeout at most.

Exit code 0 without failures, else the code of the first failure, from which later ones may follow ("fleet help exit-codes").`,
    )
    .action((_options: object, command: Command) =>
      run(command, async (context) => (await import('./doctor.js')).examine(context)),
    );
  examples(
    doctor,
    ['the profile in use', 'fleet doctor'],
    ['what is not well, for a program', `fleet doctor --json | jq '.[] | select(.outcome != "ok")'`],
    ['an address before it is saved', 'fleet doctor --profile sandbox --timeout 5'],
  );
}
