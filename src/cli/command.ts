// Creates commander commands with the types of @commander-js/extra-typings, which infer the
// declared flags.

import type { Command as TypedCommand, Option as TypedOption } from '@commander-js/extra-typings';
import { Command, Option } from 'commander';

/** Creates the root command. */
export function createRoot(name: string): TypedCommand {
  return new Command(name) as unknown as TypedCommand;
}

/** Creates an option with settings such as conflicts. */
export function createOption<const Usage extends string>(
  flags: Usage,
  description: string,
): TypedOption<Usage> {
  return new Option(flags, description) as unknown as TypedOption<Usage>;
}
