// The flags of every command that can change many bicycles or alerts.

import type { OptionValues, Command as TypedCommand } from '@commander-js/extra-typings';
import { createOption, type FlagsOf, type NoFlags } from '../cli/command.js';
import { collect, oneOf, wholeNumber } from '../cli/options.js';
import { usageError } from '../errors.js';
import { addInputFlags } from '../input/flags.js';

/**
 * The maximum of `--concurrency`. A larger number of requests in flight would overload the service.
 */
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

/** Adds `--yes`, which skips the confirmation question. */
export function addYesFlag<A extends unknown[], O extends OptionValues>(
  command: TypedCommand<A, O>,
  description: string,
) {
  return command.option('-y, --yes', description);
}

/** The parsed flags of every command that changes bicycles or alerts. */
export type ChangeOptions = FlagsOf<typeof addBulkFlags<[], NoFlags>> &
  FlagsOf<typeof addYesFlag<[], NoFlags>>;

/**
 * Adds the flags of `act`. `words` contains the parts of the help text that are different for
 * bicycles and for alerts.
 */
export function addActFlags<A extends unknown[], O extends OptionValues>(
  command: TypedCommand<A, O>,
  words: { many: string; yes: string; unknown: string },
) {
  const flagged = addYesFlag(command, words.yes)
    .option('--field <name=value>', 'add a text field to the request body (repeatable)', collect)
    .option('--allow-unknown', words.unknown);
  return addBulkFlags(addInputFlags(flagged, words.many));
}

/** The parsed flags of `act`. */
export type ActOptions = FlagsOf<typeof addActFlags<[], NoFlags>>;

/** Adds the flags that control the speed of a run and its behaviour after a failure or a crash. */
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

/** Checks the path that `--plan` names. */
export function readPlanPath(path: string): string {
  if (path !== '' && path !== '-') return path;
  throw usageError(`--plan must be a file, not "${path}"`, 'for example: --plan monday.plan');
}

/**
 * The choices for a request whose outcome is unknown: leave it as it is, mark it as done, or send
 * it again.
 */
const UNKNOWN_CHOICES = ['leave', 'done', 'resend'] as const;

export type UnknownChoice = (typeof UNKNOWN_CHOICES)[number];
