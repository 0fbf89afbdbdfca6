// What completion offers for a flag or an argument; declared beside the parser of its value.

import type { CommandUnknownOpts as Command } from '@commander-js/extra-typings';

/** One word to offer. */
export interface Offer {
  value: string;
  /** What it is, for the shells that show it. */
  description?: string;
}

export interface Offers {
  words: readonly Offer[];
  /** Files fit as well. */
  isFile?: boolean;
  /** The word goes on: no space after it. */
  isOpen?: boolean;
  /** The value may be a list with commas. */
  isList?: boolean;
}

/** What is completed by its name. */
export type NamedWord = 'organization' | 'zone' | 'model';

/** What the words depend on besides the program. */
export interface Sources {
  profiles(): Promise<readonly Offer[]>;
  named(kind: NamedWord): Promise<Offers>;
  /** Those whose UUID begins as typed. */
  bicycles(typed: string): Promise<Offers>;
}

/** The place that is to be completed. */
export interface CompletionPoint {
  /** What is typed so far; in a list of words the last of them. */
  typed: string;
  command: Command;
  /** The words that belong to the command, flags and their values left out. */
  operands: readonly string[];
  from: Sources;
}

export type Complete = (place: CompletionPoint) => Offers | Promise<Offers>;

export const NOTHING: Offers = { words: [] };

const COMPLETIONS = new WeakMap<object, Complete>();
const COLUMNS = new WeakMap<object, readonly string[]>();

/** Words without a description. */
export function plain(values: readonly string[]): Offer[] {
  return values.map((value) => ({ value }));
}

/** The parser with its completion. One parser has one completion: do not give it to two flags. */
export function withOffers<P extends object>(parse: P, complete: Complete): P {
  COMPLETIONS.set(parse, complete);
  return parse;
}

/** A parser for commander that takes any text. */
export function anyText(complete: Complete): (text: string) => string {
  return withOffers((text) => text, complete);
}

/** A parser for commander that collects a repeatable flag, or the words of an argument. */
export function collectWith(
  complete: Complete,
): (text: string, before: string[] | undefined) => string[] {
  return withOffers((text, before) => [...(before ?? []), text], complete);
}

/** What completion offers for what a parser reads; undefined where nothing is known. */
export function offersOf(parse: object | undefined): Complete | undefined {
  return parse === undefined ? undefined : COMPLETIONS.get(parse);
}

/** Declares the fields that `--columns` of a command can name. */
export function offerColumns(command: object, fields: readonly string[]): void {
  COLUMNS.set(command, fields);
}

export function columnsOf(command: object): readonly string[] {
  return COLUMNS.get(command) ?? [];
}

export function offerCommand(command: Command): Offer {
  return { value: command.name(), description: command.summary() };
}

/** The words that several declarations share. */
export const PROFILES: Complete = async ({ from }) => ({ words: await from.profiles() });
export const ORGANIZATIONS: Complete = ({ from }) => from.named('organization');
export const ZONES: Complete = ({ from }) => from.named('zone');
export const MODELS: Complete = ({ from }) => from.named('model');
export const BICYCLES: Complete = ({ from, typed }) => from.bicycles(typed);
