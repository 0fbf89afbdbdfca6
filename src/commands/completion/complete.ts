// Prints completions for the shell: one word on each line, with a tab and its description. Never
// fails.

import type { CommandUnknownOpts as Command } from '@commander-js/extra-typings';
import { completeLine } from '../../cli/complete.js';
import { NOTHING, type Offer, type Offers, type Sources } from '../../cli/completions.js';
import { followLine } from '../../cli/line.js';
import { splitLine } from '../../cli/split.js';
import type { Context } from '../../context.js';
import { cut } from '../../terminal/cells.js';
import { clean } from '../../terminal/clean.js';
import { findLiveBicycles, findLiveNamed } from './live.js';

export interface CompleteOptions {
  /** The line up to the cursor. A shell that cannot split the line into words passes it. */
  line?: string;
}

/** The longest description, which must fit on one line of a menu. */
const LONGEST_DESCRIPTION_COLUMNS = 60;

/**
 * Prints the completions. A last line with a colon contains instructions for the shell: `files`,
 * `nospace`.
 *
 * @param words the words after `fleet`; the last one is at the cursor and may be empty
 */
export async function complete(
  context: Context,
  program: Command,
  words: readonly string[],
  options: CompleteOptions,
): Promise<void> {
  const typed = options.line === undefined ? words : splitLine(options.line).slice(1);
  await context.io.stdout.write(
    show(await completeLine(program, typed, openSources(context, program, typed))),
  );
}

function show({ words, isFile, isOpen }: Offers): string {
  const lines = words.map(({ value, description = '' }) =>
    description === ''
      ? value
      : `${value}\t${cut(clean(description), LONGEST_DESCRIPTION_COLUMNS)}`,
  );
  const besides = [isFile && 'files', isOpen && 'nospace'].filter(Boolean);
  return `${[...lines, `:${besides.join(',')}`].join('\n')}\n`;
}

/**
 * Opens the sources of completions: the settings, if they can be read, and the service, if it
 * answers quickly.
 */
function openSources(context: Context, program: Command, words: readonly string[]): Sources {
  const { values } = followLine(program, words);
  return {
    // Errors are ignored here, because the next command reports them.
    profiles: () => listProfiles(context).catch(() => []),
    named: (kind, typed) => findLiveNamed(context, values, kind, typed).catch(() => NOTHING),
    bicycles: (typed) => findLiveBicycles(context, values, typed).catch(() => NOTHING),
  };
}

async function listProfiles({ io }: Context): Promise<Offer[]> {
  const { loadStored } = await import('../../settings/store.js');
  const { parseAddress } = await import('../../settings/keys.js');
  const { profiles } = await loadStored(io.env);
  // An invalid address may contain a password.
  const isShown = (address: unknown) =>
    typeof address === 'string' && 'value' in parseAddress(address);
  return [...profiles].map(([value, { base_url: address }]) =>
    isShown(address) ? { value, description: String(address) } : { value },
  );
}
