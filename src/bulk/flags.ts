// The flags of every command that can change many bicycles or alerts.

import type { OptionValues, Command as TypedCommand } from '@commander-js/extra-typings';
import { createOption } from '../cli/command.js';
import { oneOf, wholeNumber } from '../cli/options.js';
import { usageError } from '../errors.js';

/** The maximum number of requests in flight. More requests would burden the service. */
const MOST_CONCURRENT = 64;

/** Adds the flags of a command that can change many bicycles or alerts. */
export function addBulkFlags<A extends unknown[], O extends OptionValues>(
  command: TypedCommand<A, O>,
) {
  const planned = command
    .option('--dry-run', 'print the requests; send nothing')
    .option('--plan <file>', 'write a plan for "fleet apply"; send nothing', readPlanPath);
  return addRunFlags(planned).option(
    '--journal <file>',
    'record every request and answer, to resume after a crash',
    readJournalPath,
  );
}

/** Adds the flags of a run: its speed, and its behaviour after a failure or a crash. */
export function addRunFlags<A extends unknown[], O extends OptionValues>(
  command: TypedCommand<A, O>,
) {
  return command
    .option(
      '--concurrency <n>',
      'requests in flight at once, 1 to 64',
      wholeNumber('--concurrency', 1, MOST_CONCURRENT),
      8,
    )
    .option('--keep-going', 'continue after a failure (the default)')
    .addOption(createOption('--fail-fast', 'stop at the first failure').conflicts('keepGoing'))
    .option(
      '--settle <seconds>',
      'when resuming, wait this long for requests of the earlier run that may still arrive',
      wholeNumber('--settle', 0),
      60,
    )
    .option(
      '--unknown <choice>',
      `what to do with an unknown outcome: ${UNKNOWN_CHOICES.join(', ')} (default: ask, else leave)`,
      oneOf('choice', UNKNOWN_CHOICES),
    );
}

function readJournalPath(path: string): string {
  if (path !== '' && path !== '-') return path;
  throw usageError(
    `--journal must be a file, not "${path}"`,
    'a resumed run reads the journal again; for example: --journal run.journal',
  );
}

/** Parses the path of `--plan`. */
export function readPlanPath(path: string): string {
  if (path !== '' && path !== '-') return path;
  throw usageError(`--plan must be a file, not "${path}"`, 'for example: --plan monday.plan');
}

/** The choices for requests with an outcome that stays unknown. */
const UNKNOWN_CHOICES = ['leave', 'done', 'resend'] as const;

export type UnknownChoice = (typeof UNKNOWN_CHOICES)[number];
