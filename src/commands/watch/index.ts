// Declares `fleet watch`: its argument, flags and examples.

import type { CommandUnknownOpts as Command } from '@commander-js/extra-typings';
import { addVerb } from '../../cli/examples.js';
import type { Run } from '../../context.js';
import { readNamed } from '../../list/flags.js';
import { addWatchFlags } from './flags.js';

const DESCRIPTION = `Follow updates as the service pushes them, until Ctrl-C. Follows all bicycles of the
organization unless --bicycle or --topic is given. With the filters of "bicycles list" it
shows the bicycles that match, and those that "entered" or "left" the selection.

FIELD in --where and --until is a field of the bicycle after the update (state,
state_of_charge ...), else of the message (alert_type), else sender or topic. message.FIELD
is a field of the message alone.

With --json stdout has one message per line exactly as received, and stderr has JSON lines.
In --live, ? lists the keys. More: fleet help watching`;

export function addWatch(program: Command, run: Run): void {
  const watch = addVerb(
    program,
    ['watch', 'follow updates as they happen', DESCRIPTION],
    ['follow an organization', 'fleet watch a087eaf3-00b3-49c9-8706-c4ebfb2627fd'],
    ['show the fleet as a board', 'fleet watch --live'],
    ['the bicycles that become lost or are found', 'fleet watch --state lost --json'],
    [
      'wait until a bicycle is back, for a minute at most',
      'fleet watch --bicycle 14c6d2ad-7236-46f1-b76f-6d356b2105d2 --until state=available --for 60s',
    ],
  ).argument(
    '[organization]',
    'its UUID or name (default: from the settings)',
    readNamed('organization'),
  );
  addWatchFlags(watch).action(run(async () => (await import('./watch.js')).watch));
}
