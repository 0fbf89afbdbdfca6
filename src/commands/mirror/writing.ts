// What `fleet mirror` writes: run and once, their flags and examples.

import type { CommandUnknownOpts as Command } from '@commander-js/extra-typings';
import { examples } from '../../cli/examples.js';
import { collect, wholeNumber } from '../../cli/options.js';
import type { Run } from '../../context.js';
import { usageError } from '../../errors.js';
import { readTo, TO } from '../database.js';
import { readDuration } from '../follow/flags.js';

const RUN = `Keep the mirror current until Ctrl-C: reads the list once, follows the push channel, catches up after
every gap, and reads alerts every 30 seconds. Goes on where it was stopped, also after a crash.
One writer at a time keeps a mirror.`;

const ONCE = `Bring the mirror up to date and exit: for cron, where nothing can run all the time. What
happened in between is a gap: its end is recorded, not each step.`;

const HIGHEST_PORT = 65_535;

export function addWriting(mirror: Command, run: Run): void {
  for (const add of [addRun, addOnce]) add(mirror, run);
}

function addRun(mirror: Command, run: Run): void {
  const command = mirror
    .command('run')
    .summary('keep the mirror current until Ctrl-C')
    .description(RUN)
    .option(...TO, readTo)
    .option(
      '--organization <organization>',
      'UUID or name (repeatable; default: from the settings, else all of the token)',
      collect,
    )
    .option(
      '--keep <duration>',
      'forget history older than this, such as 90d (default: keep all)',
      readDuration('--keep'),
    )
    .option('--metrics <port>', 'serve /metrics (Prometheus) and /healthz on this port of loopback', readPort)
    .option('--idle <seconds>', 'treat the connection as dead after this much silence', readSeconds, 90_000)
    .action((options, self) => run(self, async (context) => (await import('./run.js')).runMirror(context, options)));
  // Commander would show the default as it is kept, in milliseconds.
  for (const option of command.options) if (option.long === '--idle') option.default(90_000, '90');
  examples(
    command,
    ['keep a mirror of the profile in use', 'fleet mirror run'],
    [
      'in PostgreSQL, history of 90 days, with metrics',
      'fleet mirror run --to postgres://fleet@db.example/fleet --keep 90d --metrics 9464',
    ],
  );
}

function addOnce(mirror: Command, run: Run): void {
  const command = mirror
    .command('once')
    .summary('bring the mirror up to date and exit')
    .description(ONCE)
    .option(...TO, readTo)
    .option(
      '--organization <organization>',
      'UUID or name (repeatable; default: from the settings, else all of the token)',
      collect,
    )
    .option(
      '--keep <duration>',
      'forget history older than this, such as 90d (default: keep all)',
      readDuration('--keep'),
    )
    .action((options, self) => run(self, async (context) => (await import('./run.js')).mirrorOnce(context, options)));
  examples(
    command,
    ['every ten minutes, by cron', 'fleet mirror once --quiet'],
    ['before a report', 'fleet mirror once --quiet && fleet bicycles list --offline --all -o csv'],
  );
}

const readWhole = wholeNumber('--metrics', 0);

function readPort(text: string): number {
  const port = readWhole(text);
  if (port <= HIGHEST_PORT) return port;
  throw usageError(`--metrics takes a port up to ${HIGHEST_PORT}, not "${text}"`);
}

/** An idle limit beyond a day is none. */
const LONGEST_IDLE_SECONDS = 86_400;

function readSeconds(text: string): number {
  const seconds = Number(text);
  if (/^\d+(\.\d+)?$/.test(text) && seconds > 0 && seconds <= LONGEST_IDLE_SECONDS) return seconds * 1000;
  throw usageError(`--idle takes seconds above 0, up to ${LONGEST_IDLE_SECONDS}, not "${text}"`);
}
