// The flags of `fleet watch`.

import type { OptionValues, Command as TypedCommand } from '@commander-js/extra-typings';
import { SENDERS } from '../../api/push.js';
import type { FlagsOf, NoFlags } from '../../cli/command.js';
import { BICYCLES, collectWith } from '../../cli/completions.js';
import { collect, someOf, wholeNumber } from '../../cli/options.js';
import { addEndFlags, addIdleFlag, addRoleFlag, RESYNC_PAGES } from '../../follow/flags.js';
import { readCondition } from '../../list/flags.js';
import type { ShowAnyOf } from '../../list/where.js';
import { MESSAGES } from './messages.js';

const BICYCLE_HELP = 'follow only this bicycle, named as in "bicycles get" (repeatable)';
const SENDER_HELP = `show only messages from this sender, such as ${SENDERS.join(', ')} (repeatable)`;
const WHERE_HELP =
  'show only what matches FIELD=VALUE; also != < <= > >= ~ (repeatable: all must match)';

const showAnyOf: ShowAnyOf = (field, values) => {
  const path = ['sender', 'topic'].includes(field) ? field : `message.${field}`;
  const texts = values.map((value) => JSON.stringify(value)).join(', ');
  return `fleet watch --json --jq 'select(.${path} | IN(${texts}))'`;
};

/** Adds the flags of `fleet watch`. Times are in milliseconds. */
export function addWatchFlags<A extends unknown[], O extends OptionValues>(
  command: TypedCommand<A, O>,
) {
  const filtered = command
    .option('--bicycle <bicycle>', BICYCLE_HELP, collectWith(BICYCLES))
    .option('--topic <topic>', 'follow any topic, not encoded (repeatable)', collect)
    .option('--sender <name>', SENDER_HELP, someOf('sender', SENDERS))
    .option('--where <condition>', WHERE_HELP, readCondition(MESSAGES, showAnyOf));
  return addRoleFlag(addIdleFlag(addEndFlags(filtered, 'messages', readCondition(MESSAGES))))
    .option(
      '--resync-pages <n>',
      'read at most this many pages of the list at the start and after a gap; 0: none, and no count every 5 minutes',
      wholeNumber('--resync-pages', 0),
      RESYNC_PAGES,
    )
    .option('--live', 'draw a full-screen board instead of lines');
}

export type WatchOptions = FlagsOf<typeof addWatchFlags<[], NoFlags>>;
