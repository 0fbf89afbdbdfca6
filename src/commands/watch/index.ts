// Declares `fleet watch`: its argument, flags and examples.

import type { CommandUnknownOpts as Command } from '@commander-js/extra-typings';
import { SENDERS } from '../../api/push.js';
import { BICYCLES, collectWith } from '../../cli/completions.js';
import { addVerb } from '../../cli/examples.js';
import { collect, someOf, wholeNumber } from '../../cli/options.js';
import type { Run } from '../../context.js';
import { addEndFlags, addIdleFlag, addRoleFlag, RESYNC_PAGES } from '../../follow/flags.js';
import { readCondition, readNamed } from '../../list/flags.js';
import type { ShowAnyOf } from '../../list/where.js';
import { MESSAGES } from './messages.js';

const DESCRIPTION = `Follow updates as the service pushes them, until Ctrl-C. Follows all bicycles of the
organization unless --bicycle or --topic is given.

FIELD in --where and --until is a field of the bicycle after the update (state,
state_of_charge ...), else of the message (alert_type), else sender or topic. message.FIELD
is a field of the message alone.

Lost connections, returns and gaps are reported on stderr, also with --quiet. With --json
stdout has one message per line exactly as received, and stderr has JSON lines. In --live, ?
lists the keys.`;

const BICYCLE_HELP = 'follow only this bicycle, named as in "bicycles get" (repeatable)';
const SENDER_HELP = `show only messages from this sender, such as ${SENDERS.join(', ')} (repeatable)`;
const WHERE_HELP =
  'show only what matches FIELD=VALUE; also != < <= > >= ~ (repeatable: all must match)';

const showAnyOf: ShowAnyOf = (field, values) => {
  const path = ['sender', 'topic'].includes(field) ? field : `message.${field}`;
  const texts = values.map((value) => JSON.stringify(value)).join(', ');
  return `fleet watch --json --jq 'select(.${path} | IN(${texts}))'`;
};

export function addWatch(program: Command, run: Run): void {
  const filtered = addVerb(
    program,
    ['watch', 'follow updates as they happen', DESCRIPTION],
    ['follow an organization', 'fleet watch a087eaf3-00b3-49c9-8706-c4ebfb2627fd'],
    ['show the fleet as a board', 'fleet watch --live'],
    ['only lost bicycles, as JSON lines', 'fleet watch --where state=lost --json'],
    [
      'wait until a bicycle is back, for a minute at most',
      'fleet watch --bicycle 14c6d2ad-7236-46f1-b76f-6d356b2105d2 --until state=available --for 60s',
    ],
  )
    .argument(
      '[organization]',
      'its UUID or name (default: from the settings)',
      readNamed('organization'),
    )
    .option('--bicycle <bicycle>', BICYCLE_HELP, collectWith(BICYCLES))
    .option('--topic <topic>', 'follow any topic, not encoded (repeatable)', collect)
    .option('--sender <name>', SENDER_HELP, someOf('sender', SENDERS))
    .option('--where <condition>', WHERE_HELP, readCondition(MESSAGES, showAnyOf));
  addRoleFlag(addIdleFlag(addEndFlags(filtered, 'messages', readCondition(MESSAGES))))
    .option(
      '--resync-pages <n>',
      'read at most this many pages of the list at the start and after a gap; 0: none, and no count every 5 minutes',
      wholeNumber('--resync-pages', 0),
      RESYNC_PAGES,
    )
    .option('--live', 'draw a full-screen board instead of lines')
    .action(run(async () => (await import('./watch.js')).watch));
}
