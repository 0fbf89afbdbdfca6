// Creates commander commands with the types of @commander-js/extra-typings, which infer the
// declared flags.

import type { Command as TypedCommand, Option as TypedOption } from '@commander-js/extra-typings';
import { Command, Option } from 'commander';

/** Creates the root command. */
export function createRoot(name: string): TypedCommand {
  return new Command(name) as unknown as TypedCommand;
}

/** Creates an option with further settings, such as conflicts. */
export function createOption<const Usage extends string>(
  flags: Usage,
  description: string,
): TypedOption<Usage> {
  return new Option(flags, description) as unknown as TypedOption<Usage>;
}

/** The flags that a command has before a function adds flags. */
export type NoFlags = Record<never, never>;

/** Allows callers to pass undefined for a flag without a value. */
type WithUndefined<Values> = {
  [Name in keyof Values]: NoFlags extends Pick<Values, Name>
    ? Values[Name] | undefined
    : Values[Name];
};

/**
 * The parsed values of the flags that a function adds, as commander passes them to the action. The
 * declaration is the only place with the type and the default of a flag.
 */
export type FlagsOf<Declare extends (...given: never) => { opts(): unknown }> = WithUndefined<
  ReturnType<ReturnType<Declare>['opts']>
>;
