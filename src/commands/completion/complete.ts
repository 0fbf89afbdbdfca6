// Answers the shell: the words that fit at the cursor, a line each with a tab before what it is; never an error.

import type { CommandUnknownOpts as Command, Option } from '@commander-js/extra-typings';
import { flagsOf, followLine, readFlag, takesValue } from '../../cli/line.js';
import {
  type CompletionPoint,
  NOTHING,
  type Offer,
  type Offers,
  offerCommand,
  offersOf,
  plain,
  type Sources,
} from '../../cli/offers.js';
import { splitLine } from '../../cli/split.js';
import type { Context } from '../../context.js';
import type { Stored } from '../../settings/store.js';
import { clean } from '../../terminal/clean.js';
import { findLiveBicycles, findLiveNamed } from './live.js';

export interface CompleteOptions {
  /** The line up to the cursor, for a shell that cannot tell its words. */
  line?: string;
}

/** The longest description: a line of a menu, not a page. */
const LONGEST_DESCRIPTION_CHARACTERS = 60;

/**
 * Prints what fits, then a last line that begins with a colon and names what the shell should do besides: `files`, `nospace`, `replace`.
 * @param words the words behind `fleet`, the last of them the one at the cursor, which may be empty
 */
export async function complete(
  context: Context,
  program: Command,
  words: readonly string[],
  options: CompleteOptions,
): Promise<void> {
  const typed = options.line === undefined ? words : splitLine(options.line).slice(1);
  await context.io.stdout.write(show(await offer(program, typed, openSources(context, program, typed))));
}

/** What fits for the last of the words. */
export async function offer(program: Command, words: readonly string[], from: Sources): Promise<Offers> {
  const before = words.slice(0, -1);
  const typed = words.at(-1) ?? '';
  const { command, operands, awaiting, isLiteral } = followLine(program, before);
  const place = { command, operands, from };
  if (awaiting !== undefined) return listed(await offerValue(awaiting, { ...place, typed: lastOf(typed) }), '', typed);
  if (!isLiteral && /^--[^=]+=/.test(typed)) {
    const { option, value = '' } = readFlag(command, typed);
    if (option === undefined || !takesValue(option)) return NOTHING;
    const head = typed.slice(0, typed.length - value.length);
    return listed(await offerValue(option, { ...place, typed: lastOf(value) }), head, value);
  }
  if (!isLiteral && typed.startsWith('-') && typed !== '-') {
    const flags = [...offerFlags(flagsOf(command)), { value: '--help', description: 'show this help' }];
    return { words: matching(flags, typed) };
  }
  if (command.commands.length > 0) {
    const commands = operands.length === 0 ? command.createHelp().visibleCommands(command).map(offerCommand) : [];
    return { words: matching(commands, typed) };
  }
  const offers = await offerOperand({ ...place, typed });
  // Nothing fits but flags: these are shown without being asked for.
  if (typed === '' && offers.words.length === 0) return { words: offerFlags(command.options) };
  return offers.isMatched === true ? offers : { ...offers, words: matching(offers.words, typed) };
}

/** The words for the value of a flag. */
async function offerValue({ argChoices, parseArg, flags }: Option, place: CompletionPoint): Promise<Offers> {
  if (argChoices !== undefined) return { words: plain(argChoices) };
  const complete = offersOf(parseArg);
  if (complete !== undefined) return complete(place);
  return { words: [], isFile: /\bfile\b/i.test(flags) };
}

/** The words for the next operand of a command. */
async function offerOperand(place: CompletionPoint): Promise<Offers> {
  const { registeredArguments } = place.command;
  const last = registeredArguments.at(-1);
  const next = registeredArguments[place.operands.length] ?? (last?.variadic === true ? last : undefined);
  return (await offersOf(next?.parseArg)?.(place)) ?? NOTHING;
}

/** The value that is being typed where several stand with commas between. */
function lastOf(typed: string): string {
  return typed.slice(typed.lastIndexOf(',') + 1);
}

/** The offers with what stands before them in the same word; those that stand there already are left out. */
function listed(offers: Offers, head: string, typed: string): Offers {
  const comma = offers.isList === true ? typed.lastIndexOf(',') + 1 : 0;
  const said = new Set(typed.slice(0, comma).split(','));
  const words = offers.words
    .filter(({ value }) => comma === 0 || !said.has(value))
    .map((word) => ({ ...word, value: head + typed.slice(0, comma) + word.value }));
  return { ...offers, words: offers.isMatched === true ? words : matching(words, head + typed) };
}

function matching(words: readonly Offer[], typed: string): Offer[] {
  return words.filter(({ value }) => value.startsWith(typed));
}

function offerFlags(options: readonly Option[]): Offer[] {
  const shown = options.filter(({ hidden }) => !hidden);
  return shown.map(({ long, short, description }) => ({ value: long ?? short ?? '', description }));
}

function show({ words, isFile, isOpen, isReplacing }: Offers): string {
  const lines = words.map(({ value, description }) => {
    if (description === undefined || description === '') return value;
    const told = clean(description);
    return `${value}\t${told.length <= LONGEST_DESCRIPTION_CHARACTERS ? told : `${told.slice(0, LONGEST_DESCRIPTION_CHARACTERS - 1)}…`}`;
  });
  const besides = [isFile && 'files', isOpen && 'nospace', isReplacing && 'replace'].filter(Boolean);
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
    named: async (kind, typed) => {
      const live = await findLiveNamed(context, values, kind, typed).catch(() => NOTHING);
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
