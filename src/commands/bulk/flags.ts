// The flags of every change that can be many.

import type { OptionValues, Command as TypedCommand } from '@commander-js/extra-typings';
import { createOption } from '../../cli/command.js';
import { oneOf, wholeNumber } from '../../cli/options.js';
import { usageError } from '../../errors.js';

/** Adds them to a command. */
export function addBulkFlags<A extends unknown[], O extends OptionValues>(command: TypedCommand<A, O>) {
  return command
    .option('--dry-run', 'print the requests and send nothing')
    .option('--concurrency <n>', 'requests in flight at once, 1 to 64', readConcurrency, 8)
    .option('--keep-going', 'go on after one that is not done (the default)')
    .addOption(createOption('--fail-fast', 'stop at the first that is not done').conflicts('keepGoing'))
    .option('--journal <file>', 'record each before it is sent and when it is answered, to resume after a crash')
    .option(
      '--settle <seconds>',
      'how long after a restart requests of a dead run may still arrive',
      wholeNumber('--settle', 0),
      60,
    )
    .option(
      '--unknown <choice>',
      `what becomes of those that no evidence decides: ${UNKNOWN_CHOICES.join(', ')} (default: asked, else leave)`,
      oneOf('choice', UNKNOWN_CHOICES),
    );
}

/** What can become of what no evidence decides. */
const UNKNOWN_CHOICES = ['leave', 'done', 'resend'] as const;

/** The most requests in flight: more would be an attack on the service rather than a hurry. */
const MOST_CONCURRENT = 64;

function readConcurrency(text: string): number {
  const value = wholeNumber('--concurrency', 1)(text);
  if (value <= MOST_CONCURRENT) return value;
  throw usageError(`--concurrency takes a whole number from 1 to ${MOST_CONCURRENT}, not "${text}"`);
}
