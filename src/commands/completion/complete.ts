// Answers the shell: the words that fit at the cursor, a line each with a tab before what it is; never an error.

import type { CommandUnknownOpts as Command } from '@commander-js/extra-typings';
import { completeLine } from '../../cli/complete.js';
import { NOTHING, type Offer, type Offers, type Sources } from '../../cli/completions.js';
import { followLine } from '../../cli/line.js';
import { splitLine } from '../../cli/split.js';
import type { Context } from '../../context.js';
import type { Stored } from '../../settings/store.js';
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
  await context.io.stdout.write(show(await completeLine(program, typed, openSources(context, program, typed))));
}

function show({ words, isFile, isOpen }: Offers): string {
  const lines = words.map(({ value, description = '' }) =>
    description === '' ? value : `${value}\t${cut(clean(description), LONGEST_DESCRIPTION_COLUMNS)}`,
  );
  const besides = [isFile && 'files', isOpen && 'nospace'].filter(Boolean);
  return `${[...lines, `:${besides.join(',')}`].join('\n')}\n`;
}

/** The settings as far as they can be read, and the service as far as it answers at once. */
function openSources(context: Context, program: Command, words: readonly string[]): Sources {
  const { values } = followLine(program, words);
  // The next command reports what is wrong with settings or service; one who presses a key wants words.
  const fromProfiles = async (offer: (profiles: Stored['profiles']) => Offer[] | Promise<Offer[]>) => {
    try {
      return await offer((await (await import('../../settings/store.js')).loadStored(context.io.env)).profiles);
    } catch {
      return [];
    }
  };
  return {
    profiles: () =>
      fromProfiles(async (profiles) => {
        const { parseAddress } = await import('../../settings/keys.js');
        // One that is refused may hold a password.
        const isShown = (address: unknown) => typeof address === 'string' && 'value' in parseAddress(address);
        return [...profiles].map(([value, { base_url: address }]) => ({
          value,
          ...(isShown(address) ? { description: String(address) } : {}),
        }));
      }),
    named: async (kind) => {
      const live = await findLiveNamed(context, values, kind).catch(() => NOTHING);
      if (live.words.length > 0 || kind !== 'organization') return live;
      const { isUuid } = await import('../../api/links.js');
      const known = new Map<string, Offer>();
      await fromProfiles((profiles) => {
        for (const [name, { organization: value }] of profiles)
          if (typeof value === 'string' && isUuid(value))
            known.set(value, { value, description: `of profile ${name}` });
        return [];
      });
      return { words: [...known.values()] };
    },
    bicycles: (typed) => findLiveBicycles(context, values, typed).catch(() => NOTHING),
  };
}
