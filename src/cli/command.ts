// Creates commander commands with the types of @commander-js/extra-typings, which infer the
// declared flags.

import type { Command as TypedCommand, Option as TypedOption } from '@commander-js/extra-typings';
import { Command, Option } from 'commander';

/** Creates the root command. */
export function createRoot(name: string): TypedCommand {
  return new Command(name) as unknown as TypedCommand;
}

/** Creates an option. The caller can add settings to it, such as conflicts with other options. */
export function createOption<const Usage extends string>(
  flags: Usage,
  description: string,
): TypedOption<Usage> {
  return new Option(flags, description) as unknown as TypedOption<Usage>;
}

/** The flags of a command that has not declared any flags yet: an object without keys. */
export type NoFlags = Record<never, never>;

/** Makes each flag optional, so that callers can pass undefined for a flag that was not set. */
type WithUndefined<Values> = {
  [Name in keyof Values]: NoFlags extends Pick<Values, Name>
    ? Values[Name] | undefined
    : Values[Name];
};

/**
 * The parsed values of the flags that a function declares, as commander passes them to the action.
 * The type is derived from the declaration, so that each flag is described in only one place.
 */
export type FlagsOf<Declare extends (...given: never) => { opts(): unknown }> = WithUndefined<
  ReturnType<ReturnType<Declare>['opts']>
>;
