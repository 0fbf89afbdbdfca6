// The flags of `fleet completion`.

import type { OptionValues, Command as TypedCommand } from '@commander-js/extra-typings';
import { createOption, type FlagsOf, type NoFlags } from '../../cli/command.js';

/** Adds the flags of `fleet completion`. */
export function addCompletionFlags<A extends unknown[], O extends OptionValues>(
  command: TypedCommand<A, O>,
) {
  return command
    .option('--install', 'show the change, ask, and make it')
    .addOption(createOption('--uninstall', 'remove what --install wrote').conflicts('install'))
    .option('-y, --yes', 'do not ask');
}

export type CompletionOptions = FlagsOf<typeof addCompletionFlags<[], NoFlags>>;
