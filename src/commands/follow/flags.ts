// The flags of what is followed, and how each is read at the door.

import type { OptionValues, Command as TypedCommand } from '@commander-js/extra-typings';
import { wholeNumber } from '../../cli/options.js';
import { usageError } from '../../errors.js';
import { parseDuration } from '../../terminal/time.js';
import type { Condition } from '../list/where.js';

/** A parser for commander: a duration above 0, in milliseconds. */
export function readDuration(flag: string): (text: string) => number {
  return (text) => {
    const milliseconds = parseDuration(text, flag);
    if (milliseconds > 0) return milliseconds;
    throw usageError(`${flag} takes a time above 0, not "${text}"`);
  };
}

/** Adds the flags that say when it ends; `readUntil` reads a condition. */
export function addEndFlags<A extends unknown[], O extends OptionValues>(
  command: TypedCommand<A, O>,
  readUntil: (text: string, before: Condition[] | undefined) => Condition[],
) {
  return command
    .option('--until <condition>', 'exit with 0 at the first match (repeatable)', readUntil)
    .option('--for <duration>', 'exit after this time: with 0, or 124 when --until was not met', readDuration('--for'))
    .option('--max-events <n>', 'exit after this many alerts', wholeNumber('--max-events', 1));
}
