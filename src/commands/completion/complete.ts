// Answers the shell: the words that fit at the cursor, a line each with a tab before what it is; never an error.

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
  /** The line up to the cursor, for a shell that cannot tell its words. */
  line?: string;
}

/** The longest description: a line of a menu, not a page. */
const LONGEST_DESCRIPTION_COLUMNS = 60;

/**
 * Prints what fits, then a last line that begins with a colon and names what the shell should do besides: `files`, `nospace`.
 * @param words the words behind `fleet`, the last of them the one at the cursor, which may be empty
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

/** The settings as far as they can be read, and the service as far as it answers at once. */
function openSources(context: Context, program: Command, words: readonly string[]): Sources {
  const { values } = followLine(program, words);
  return {
    // The next command reports what is wrong with settings or service; one who presses a key wants words.
    profiles: () => listProfiles(context).catch(() => []),
    named: (kind) => findLiveNamed(context, values, kind).catch(() => NOTHING),
    bicycles: (typed) => findLiveBicycles(context, values, typed).catch(() => NOTHING),
  };
}

async function listProfiles({ io }: Context): Promise<Offer[]> {
  const { loadStored } = await import('../../settings/store.js');
  const { parseAddress } = await import('../../settings/keys.js');
  const { profiles } = await loadStored(io.env);
  // An address that is refused may hold a password.
  const isShown = (address: unknown) =>
    typeof address === 'string' && 'value' in parseAddress(address);
  return [...profiles].map(([value, { base_url: address }]) =>
    isShown(address) ? { value, description: String(address) } : { value },
  );
}
