// The flags of `fleet check`.

import type { OptionValues, Command as TypedCommand } from '@commander-js/extra-typings';
import type { FlagsOf, NoFlags } from '../../cli/command.js';
import { addDeliveryFlags } from '../../follow/delivery-flags.js';
import { readDuration } from '../../follow/flags.js';
import { ORGANIZATION_FLAG } from '../../list/flags.js';

const SHORTEST_PAUSE_MS = 1_000;

/** Adds the flags of `fleet check`. Times are in milliseconds. */
export function addCheckFlags<A extends unknown[], O extends OptionValues>(
  command: TypedCommand<A, O>,
) {
  const flagged = command
    .option(...ORGANIZATION_FLAG)
    .option('--show', 'list the bicycles of violated rules')
    .option(
      '--every <duration>',
      'keep checking, and print each change of a verdict',
      readDuration('--every', SHORTEST_PAUSE_MS),
    )
    .option('--for <duration>', 'with --every: end after this time', readDuration('--for'))
    .option(
      '--state-file <path>',
      'with --every: remember verdicts and waiting deliveries, across restarts',
    );
  return addDeliveryFlags(flagged, 'verdict');
}

export type CheckOptions = FlagsOf<typeof addCheckFlags<[], NoFlags>>;
