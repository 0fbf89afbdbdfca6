// Declares `fleet demo`: a guided tour with its own sandbox.

import type { CommandUnknownOpts as Command } from '@commander-js/extra-typings';
import { addVerb } from '../../cli/examples.js';
import { wholeNumber } from '../../cli/options.js';
import type { Run } from '../../context.js';

export function addDemo(program: Command, run: Run): void {
  addVerb(
    program,
    [
      'demo',
      'walk through the main commands on a sandbox of its own',
      'Start a sandbox on free ports, walk through list, create, act, alerts, watch and map with each command shown before its output, and stop it.',
    ],
    ['run the demo', 'fleet demo'],
    ['watch the fleet for longer', 'fleet demo --seconds 20'],
  )
    .option('--seconds <n>', 'how long to watch at the end', wholeNumber('--seconds', 1), 5)
    .action(run(async () => (await import('./demo.js')).runDemo));
}
