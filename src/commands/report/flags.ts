// The flags of `fleet report`.

import type { OptionValues, Command as TypedCommand } from '@commander-js/extra-typings';
import type { FlagsOf, NoFlags } from '../../cli/command.js';
import { oneOf } from '../../cli/options.js';
import { readTo, TO } from '../../list/mirror-flags.js';
import { PARTS } from './parts.js';

/** Adds the flags of `fleet report`. */
export function addReportFlags<A extends unknown[], O extends OptionValues>(
  command: TypedCommand<A, O>,
) {
  return command
    .option(
      '--since <time>',
      'start of the period: 7d, monday, "2026-11-23 08:00" (default: 7d before its end)',
    )
    .option('--until <time>', 'end of the period, like --since (default: now)')
    .option('--by <part>', `also each ${PARTS.join(', ')}`, oneOf('part', PARTS))
    .option(...TO, readTo);
}

export type ReportOptions = FlagsOf<typeof addReportFlags<[], NoFlags>>;
