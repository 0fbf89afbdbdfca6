// The flags of `watch`, `board`, `map` and `alerts watch`.

import type { OptionValues, Command as TypedCommand } from '@commander-js/extra-typings';
import { TOPIC_ROLES } from '../api/push.js';
import { createOption, type FlagsOf, type NoFlags } from '../cli/command.js';
import { oneOf, wholeNumber } from '../cli/options.js';
import { usageError } from '../errors.js';
import type { Condition } from '../list/where.js';
import { parseDuration, showDuration } from '../terminal/time.js';

/** Returns a flag parser for durations of at least `leastMs`. The parser returns milliseconds. */
export function readDuration(flag: string, leastMs = 1): (text: string) => number {
  return (text) => {
    const milliseconds = parseDuration(text, flag);
    if (milliseconds >= leastMs) return milliseconds;
    throw usageError(
      `${flag} must be ${leastMs === 1 ? 'a time above 0' : `${showDuration(leastMs)} or more`}, not "${text}"`,
    );
  };
}

/** The default of `--idle`: a live stream without data for this long is treated as dead. */
export const IDLE_MS = 90_000;
/** The default number of list pages that are read at the start and after a gap. */
export const RESYNC_PAGES = 5;

/** The maximum of `--idle`: one day. Node's timers cannot wait longer than 24 days. */
const LONGEST_IDLE_SECONDS = 86_400;

/** Parses a duration such as `8s`, or a number of seconds. Returns milliseconds. */
function readIdle(text: string): number {
  const isNumber = /^\d+(\.\d+)?$/.test(text);
  const milliseconds = isNumber ? Number(text) * 1000 : parseDuration(text, '--idle');
  if (milliseconds > 0 && milliseconds <= LONGEST_IDLE_SECONDS * 1000) return milliseconds;
  throw usageError(
    `--idle must be above 0 and at most ${LONGEST_IDLE_SECONDS} seconds, not "${text}"`,
  );
}

/** Adds `--idle`. The parsed value is in milliseconds. */
export function addIdleFlag<A extends unknown[], O extends OptionValues>(
  command: TypedCommand<A, O>,
) {
  const idle = createOption(
    '--idle <duration>',
    'silence after which the connection is dead: 8s, 2m',
  );
  // The first argument of `default` is a parsed value, which is in milliseconds. The second
  // argument is the text for the help page, in seconds.
  return command.addOption(idle.argParser(readIdle).default(IDLE_MS, String(IDLE_MS / 1000)));
}

/** Adds `--role`. */
export function addRoleFlag<A extends unknown[], O extends OptionValues>(
  command: TypedCommand<A, O>,
) {
  return command.option(
    '--role <role>',
    'subscribe as admin, fleet_operator, mechanic, renter, spectator, or as the user of the token',
    oneOf('role', TOPIC_ROLES),
  );
}

/** Adds the flags that determine when a command ends by itself. `readUntil` parses a condition. */
export function addEndFlags<A extends unknown[], O extends OptionValues>(
  command: TypedCommand<A, O>,
  nouns: 'messages' | 'alerts',
  readUntil: (text: string, before: Condition[] | undefined) => Condition[],
) {
  return command
    .option(
      '--until <condition>',
      nouns === 'messages'
        ? 'exit with 0 at the first match; also entered, left (repeatable)'
        : 'exit with 0 at the first match (repeatable)',
      readUntil,
    )
    .option(
      '--for <duration>',
      'exit after this time: with 0, or 124 when --until was not met',
      readDuration('--for'),
    )
    .option('--max-events <n>', `exit after this many ${nouns}`, wholeNumber('--max-events', 1));
}

/** The parsed flags that end a command. `for` is in milliseconds. */
export type EndOptions = FlagsOf<typeof addEndFlags<[], NoFlags>>;
