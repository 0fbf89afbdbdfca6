// Prints completions for the shell. Each line contains a word, a tab and a description. Never
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
  /** The command line up to the cursor. Set when the shell cannot split the line into words. */
  line?: string;
}

/** The maximum width of a description, so that it fits on one line of a menu. */
const LONGEST_DESCRIPTION_COLUMNS = 60;

/**
 * Prints the completions. If the last line starts with a colon, it contains instructions for the
 * shell script: `files` or `nospace`.
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
 * Opens the sources of completions: the settings and the service. If a source cannot be read, it
 * offers no completions.
 */
function openSources(context: Context, program: Command, words: readonly string[]): Sources {
  const { values } = followLine(program, words);
  return {
    // Failures are ignored here, because the command itself reports them when the user runs it.
    profiles: () => listProfiles(context).catch(() => []),
    named: (kind, typed) => findLiveNamed(context, values, kind, typed).catch(() => NOTHING),
    bicycles: (typed) => findLiveBicycles(context, values, typed).catch(() => NOTHING),
  };
}

async function listProfiles({ io }: Context): Promise<Offer[]> {
  const { loadStored } = await import('../../settings/store.js');
  const { parseAddress } = await import('../../settings/keys.js');
  const { profiles } = await loadStored(io.env);
  // An invalid URL is not shown, because it may contain a password.
  const isShown = (address: unknown) =>
    typeof address === 'string' && 'value' in parseAddress(address);
  return [...profiles].map(([value, { base_url: address }]) =>
    isShown(address) ? { value, description: String(address) } : { value },
  );
}
