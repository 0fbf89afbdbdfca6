// Asks before many are changed, also where stdin is the input: then the terminal itself is asked.

import { closeSync, openSync } from 'node:fs';
import { Readable } from 'node:stream';
import { ReadStream } from 'node:tty';
import type { Resource } from '../../api/resource.js';
import type { Context } from '../../context.js';
import { usageError } from '../../errors.js';
import { clean } from '../../terminal/clean.js';
import { type Asking, askText, askYesNo, canAsk } from '../../terminal/prompt.js';

export interface Question {
  resource: Resource;
  /** `retire`, `create`. */
  verb: string;
  count: number;
  /** Names or UUIDs of the first few. */
  examples: readonly string[];
  /** Where there is no way back: the number must be typed when there are several. */
  isGrave: boolean;
}

/** As many as one line holds beside the rest. */
export const EXAMPLES_SHOWN = 3;

/**
 * Asks whether the change shall be made. Throws a FleetError of kind `usage` when the answer is no and where nobody can be asked,
 * of kind `interrupted` on Ctrl-C. Nothing has been sent then.
 */
export async function askBefore(context: Context, change: Question, isStdinTaken: boolean): Promise<void> {
  const { resource, verb, count, isGrave } = change;
  const { one, many } = resource;
  const { profile, baseUrl, isProtected } = await context.settings();
  const more = count > change.examples.length ? ', …' : '';
  const what =
    count === 1 ? `${one} ${change.examples.join('')}` : `${count} ${many} (${change.examples.join(', ')}${more})`;
  const where = `at ${baseUrl.value?.href.replace(/\/$/, '')} (${isProtected.value ? 'protected ' : ''}profile ${profile.value})`;
  const question = clean(`${verb} ${what} ${where}?`);
  const instead = `use --yes to skip the question, or --dry-run to see what would be sent`;
  const isSure = await withTerminal(context, isStdinTaken, async (asking) => {
    if (!isGrave || count === 1) return askYesNo(asking, { message: question, instead });
    const message = `${question} This cannot be undone. Type the number of ${many} to go on:`;
    return (await askText(asking, { message, instead })).trim() === String(count);
  });
  if (!isSure) throw usageError(`nothing was sent: ${verb} was not confirmed`);
}

/** Asks whether what is in doubt shall be sent again; no where nobody can be asked. */
export async function askAgain(context: Context, message: string, isStdinTaken: boolean): Promise<boolean> {
  return withTerminal(context, isStdinTaken, async (asking) => {
    return canAsk(asking) && askYesNo(asking, { message: clean(message), instead: '' });
  });
}

/** Hands out stdin for a question or, where it is the input, the terminal behind it, as ssh and fzf do. */
async function withTerminal<T>(
  context: Context,
  isStdinTaken: boolean,
  ask: (asking: Asking) => Promise<T>,
): Promise<T> {
  if (!isStdinTaken) return ask(context);
  const { io } = context;
  const terminal = io.stderr.isTerminal && context.flags.input !== false ? openTerminal() : undefined;
  const stdin = terminal ?? Readable.from([]);
  try {
    return await ask({ ...context, io: { ...io, stdin, streams: { ...io.streams, stdin } } });
  } finally {
    terminal?.destroy();
  }
}

function openTerminal(): ReadStream | undefined {
  let descriptor: number | undefined;
  try {
    descriptor = openSync('/dev/tty', 'r');
    return new ReadStream(descriptor);
  } catch {
    if (descriptor !== undefined) closeSync(descriptor);
    return undefined;
  }
}
