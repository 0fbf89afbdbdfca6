// Creates commander commands with the types of @commander-js/extra-typings, which know the declared flags.

import type { Command as TypedCommand, Option as TypedOption } from '@commander-js/extra-typings';
import { Command, Option } from 'commander';

/** The root of a command line. */
export function createRoot(name: string): TypedCommand {
  return new Command(name) as unknown as TypedCommand;
}

/** An option that needs more than its words. */
export function createOption<const Usage extends string>(
  flags: Usage,
  description: string,
): TypedOption<Usage> {
  return new Option(flags, description) as unknown as TypedOption<Usage>;
}
