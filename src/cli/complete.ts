// Finds the completions for an unfinished command line: commands, flags, or the values of a flag.

import type { CommandUnknownOpts as Command, Option } from '@commander-js/extra-typings';
import type { CompletionPoint, Offer, Offers, Sources } from './completions.js';
import { NOTHING, offerCommand, offersOf, plain } from './completions.js';
import { flagsOf, followLine, readFlag, takesValue } from './line.js';

/** Returns the completions for the last word. */
export async function completeLine(
  program: Command,
  words: readonly string[],
  from: Sources,
): Promise<Offers> {
  const before = words.slice(0, -1);
  const typed = words.at(-1) ?? '';
  const { command, operands, awaiting, isLiteral } = followLine(program, before);
  const place = { command, operands, from };
  if (awaiting !== undefined)
    return listed(await offerValue(awaiting, { ...place, typed: lastOf(typed) }), '', typed);
  if (!isLiteral && /^--[^=]+=/.test(typed)) {
    const { option, value = '' } = readFlag(command, typed);
    if (option === undefined || !takesValue(option)) return NOTHING;
    const head = typed.slice(0, typed.length - value.length);
    const offers = await offerValue(option, { ...place, typed: lastOf(value) });
    // Words with a space are omitted, because bash would put quotes around the whole word,
    // including the flag.
    const words = offers.words.filter((word) => !word.value.includes(' '));
    return listed({ ...offers, words }, head, value);
  }
  if (!isLiteral && typed.startsWith('-') && typed !== '-') {
    const flags = [
      ...offerFlags(flagsOf(command)),
      { value: '--help', description: 'show this help' },
    ];
    return { words: matching(flags, typed) };
  }
  if (command.commands.length > 0) {
    const commands =
      operands.length === 0 ? command.createHelp().visibleCommands(command).map(offerCommand) : [];
    return { words: matching(commands, typed) };
  }
  const offers = await offerOperand({ ...place, typed });
  // The command accepts no operand here, so only a flag can follow. Flags are therefore offered
  // before the user types a dash.
  if (typed === '' && offers.words.length === 0) return { words: offerFlags(command.options) };
  return { ...offers, words: matching(offers.words, typed) };
}

/** Returns the completions for the value of a flag. */
async function offerValue(
  { argChoices, parseArg, flags }: Option,
  place: CompletionPoint,
): Promise<Offers> {
  if (argChoices !== undefined) return { words: plain(argChoices) };
  const complete = offersOf(parseArg);
  if (complete !== undefined) return complete(place);
  return { words: [], isFile: /\bfile\b/i.test(flags) };
}

/** Returns the completions for the next operand of a command. */
async function offerOperand(place: CompletionPoint): Promise<Offers> {
  const { registeredArguments } = place.command;
  const last = registeredArguments.at(-1);
  const next =
    registeredArguments[place.operands.length] ?? (last?.variadic === true ? last : undefined);
  return (await offersOf(next?.parseArg)?.(place)) ?? NOTHING;
}

/** Returns the text after the last comma, or the whole text without a comma. */
function lastOf(typed: string): string {
  return typed.slice(typed.lastIndexOf(',') + 1);
}

/**
 * Prepends the earlier values of a comma-separated list to each completion. Drops completions that
 * the list already contains.
 */
function listed(offers: Offers, head: string, typed: string): Offers {
  const comma = offers.isList === true ? typed.lastIndexOf(',') + 1 : 0;
  const said = new Set(typed.slice(0, comma).split(','));
  const words = offers.words
    .filter(({ value }) => comma === 0 || !said.has(value))
    .map((word) => ({ ...word, value: head + typed.slice(0, comma) + word.value }));
  return { ...offers, words: matching(words, head + typed) };
}

function matching(words: readonly Offer[], typed: string): Offer[] {
  return words.filter(({ value, replaces }) => replaces === true || value.startsWith(typed));
}

function offerFlags(options: readonly Option[]): Offer[] {
  const shown = options.filter(({ hidden }) => !hidden);
  return shown.map(({ long, short, description }) => ({ value: long ?? short ?? '', description }));
}
