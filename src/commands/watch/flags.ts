// The flags of `fleet watch`.

import type { OptionValues, Command as TypedCommand } from '@commander-js/extra-typings';
import { SENDERS } from '../../api/push.js';
import type { FlagsOf, NoFlags } from '../../cli/command.js';
import { BICYCLES, collectWith, offersOf, plain, withOffers } from '../../cli/completions.js';
import { collect, someOf, wholeNumber } from '../../cli/options.js';
import { addEndFlags, addIdleFlag, addRoleFlag, RESYNC_PAGES } from '../../follow/flags.js';
import { readCondition } from '../../list/flags.js';
import type { Condition, ShowAnyOf } from '../../list/where.js';
import { addFilters } from '../bicycles/list-flags.js';
import { CROSSINGS, crossingCondition } from './crossing.js';
import { MESSAGES } from './messages.js';

const BICYCLE_HELP = 'follow only this bicycle (repeatable)';
const SENDER_HELP = `show only messages from this sender: ${SENDERS.join(', ')} (repeatable)`;
const WHERE_HELP = 'show only what matches FIELD=VALUE (repeatable: all must match)';

const showAnyOf: ShowAnyOf = (field, values) => {
  const path = ['sender', 'topic'].includes(field) ? field : `message.${field}`;
  const texts = values.map((value) => JSON.stringify(value)).join(', ');
  return `fleet watch --json --jq 'select(.${path} | IN(${texts}))'`;
};

const readFieldCondition = readCondition(MESSAGES);

/** Parses a value of `--until` for commander: a condition, `entered` or `left`. */
const readUntil = withOffers(
  (text: string, before: Condition[] | undefined) => {
    const crossing = crossingCondition(text);
    if (crossing === undefined) return readFieldCondition(text, before);
    return [...(before ?? []), crossing];
  },
  async (point) => {
    const offers = await offersOf(readFieldCondition)?.(point);
    return { ...offers, words: [...plain(CROSSINGS), ...(offers?.words ?? [])] };
  },
);

/** The flag `--all` of watches and replays. */
export const ALL_FLAG = ['--all', 'also show moves of less than 5 m'] as const;

/** Adds the flags of `fleet watch`. Times are in milliseconds. */
export function addWatchFlags<A extends unknown[], O extends OptionValues>(
  command: TypedCommand<A, O>,
) {
  const filtered = addFilters(command)
    .option('--bicycle <bicycle>', BICYCLE_HELP, collectWith(BICYCLES))
    .option('--topic <topic>', 'follow any topic, not encoded (repeatable)', collect)
    .option('--sender <name>', SENDER_HELP, someOf('sender', SENDERS))
    .option('--where <condition>', WHERE_HELP, readCondition(MESSAGES, showAnyOf))
    .option(...ALL_FLAG);
  return addRoleFlag(addIdleFlag(addEndFlags(filtered, 'messages', readUntil)))
    .option(
      '--resync-pages <n>',
      'read this many pages of the list at most, at the start and after gaps; 0: none',
      wholeNumber('--resync-pages', 0),
      RESYNC_PAGES,
    )
    .option(
      '--live',
      'draw a full-screen board instead of lines, which can also act on bicycles; ? lists its keys',
    );
}

export type WatchOptions = FlagsOf<typeof addWatchFlags<[], NoFlags>>;
