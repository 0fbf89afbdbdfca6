// Declares `fleet check`, which checks the fleet against rules.

import type { CommandUnknownOpts as Command } from '@commander-js/extra-typings';
import { addVerb } from '../../cli/examples.js';
import type { Run } from '../../context.js';
import { addCheckFlags } from './flags.js';

const DESCRIPTION = `Check the fleet against the rules in a YAML or JSON file, or - for stdin. A rule has a name, a selection in the
words of "bicycles list", and a limit. The verdict is ok, violated or unknown: never ok on data that is not complete
or not current. Exit code 0 when all rules are ok, otherwise 9. The form of a rule: fleet help check`;

export function addCheck(program: Command, run: Run): void {
  const check = addVerb(
    program,
    ['check', 'check the fleet against rules', DESCRIPTION],
    ['the rules of a permit', 'fleet check docs/permit.yaml'],
    ['the bicycles of violated rules', 'fleet check docs/permit.yaml --show'],
    [
      'check every minute, and post each change of a verdict',
      'fleet check docs/permit.yaml --every 60s --state-file ~/check.state --post https://hooks.example.com/services/T0/B0 --template slack',
    ],
  ).argument('<rules>', 'a file with rules, or - for stdin');
  addCheckFlags(check).action(run(async () => (await import('./check.js')).checkRules));
}
