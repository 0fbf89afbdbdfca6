// The flags of `fleet apply`.

import type { OptionValues, Command as TypedCommand } from '@commander-js/extra-typings';
import { addRunFlags } from '../../bulk/flags.js';
import { createOption, type FlagsOf, type NoFlags } from '../../cli/command.js';
import { readDuration } from '../../follow/flags.js';
import { DAY_MS } from '../../system/time-units.js';

/** Adds the flags of `fleet apply`. */
export function addApplyFlags<A extends unknown[], O extends OptionValues>(
  command: TypedCommand<A, O>,
) {
  const maxAge = createOption(
    '--max-age <duration>',
    "refuse an older plan, by the service's clock",
  )
    .argParser(readDuration('--max-age'))
    .default(DAY_MS, '24h');
  const flagged = command
    .option('-y, --yes', 'do not ask before the requests are sent')
    .option('--dry-run', 'show the plan as a table; send nothing')
    .addOption(maxAge);
  return addRunFlags(flagged);
}

export type ApplyOptions = FlagsOf<typeof addApplyFlags<[], NoFlags>>;
