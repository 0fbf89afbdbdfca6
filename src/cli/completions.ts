// The completion data of a flag or an argument, declared next to its value parser.

import type { CommandUnknownOpts as Command } from '@commander-js/extra-typings';

/** One word to offer. */
export interface Offer {
  value: string;
  /** A description of the word, for shells that show descriptions. */
  description?: string;
  /** Whether the word is offered even when it does not begin with the text that the user typed. */
  replaces?: boolean;
}

export interface Offers {
  words: readonly Offer[];
  /** Whether file names are offered too. */
  isFile?: boolean;
  /** Whether the user will keep typing after the word, so that the shell must not add a space. */
  isOpen?: boolean;
  /** Whether the value can be a comma-separated list. */
  isList?: boolean;
}

/** The kinds of resources that fleet can complete by name. */
export type NamedWord = 'organization' | 'zone' | 'model';

/** The external data that completions use. */
export interface Sources {
  profiles(): Promise<readonly Offer[]>;
  /** Returns the resources with UUIDs or names that begin with the typed text. */
  named(kind: NamedWord, typed: string): Promise<Offers>;
  /** Returns the bicycles with UUIDs or names that begin with the typed text. */
  bicycles(typed: string): Promise<Offers>;
}

/** The position in the command line for which completions are requested. */
export interface CompletionPoint {
  /**
   * The text that the user has typed so far. If the text is a comma-separated list, this is only
   * the last value of the list.
   */
  typed: string;
  command: Command;
  /** The operands of the command, without flags and their values. */
  operands: readonly string[];
  from: Sources;
}

export type Complete = (place: CompletionPoint) => Offers | Promise<Offers>;

export const NOTHING: Offers = { words: [] };

const COMPLETIONS = new WeakMap<object, Complete>();
const COLUMNS = new WeakMap<object, readonly string[]>();

/** Returns completions without descriptions for these words. */
export function plain(values: readonly string[]): Offer[] {
  return values.map((value) => ({ value }));
}

/** Attaches completions to a parser. Flags with different completions must not share a parser. */
export function withOffers<P extends object>(parse: P, complete: Complete): P {
  COMPLETIONS.set(parse, complete);
  return parse;
}

/** Creates a parser that accepts any text. */
export function anyText(complete: Complete): (text: string) => string {
  return withOffers((text) => text, complete);
}

/** Creates a parser that collects the values of a repeatable flag or of a variadic argument. */
export function collectWith(
  complete: Complete,
): (text: string, before: string[] | undefined) => string[] {
  return withOffers((text, before) => [...(before ?? []), text], complete);
}

/**
 * Returns the function that offers completions for the values of a parser. Undefined when the
 * parser has no such function.
 */
export function offersOf(parse: object | undefined): Complete | undefined {
  return parse === undefined ? undefined : COMPLETIONS.get(parse);
}

/** Declares the fields that completion offers for a command's `--columns` flag. */
export function offerColumns(command: object, fields: readonly string[]): void {
  COLUMNS.set(command, fields);
}

export function columnsOf(command: object): readonly string[] {
  return COLUMNS.get(command) ?? [];
}

export function offerCommand(command: Command): Offer {
  return { value: command.name(), description: command.summary() };
}

/** Completions that several commands use for their flags and arguments. */
export const PROFILES: Complete = async ({ from }) => ({ words: await from.profiles() });
export const ORGANIZATIONS: Complete = ({ from, typed }) => from.named('organization', typed);
export const ZONES: Complete = ({ from, typed }) => from.named('zone', typed);
export const MODELS: Complete = ({ from, typed }) => from.named('model', typed);
export const BICYCLES: Complete = ({ from, typed }) => from.bicycles(typed);
