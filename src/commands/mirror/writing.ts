// What `fleet mirror` writes: run and once, their flags and examples.

import type { CommandUnknownOpts as Command } from '@commander-js/extra-typings';
import { examples } from '../../cli/examples.js';
import { collect, portNumber } from '../../cli/options.js';
import type { Run } from '../../context.js';
import { readTo, TO } from '../database.js';
import { addIdleFlag, readDuration } from '../follow/flags.js';

const RUN = `Keep the mirror current until Ctrl-C: reads the list once, follows the push channel, catches up after
every gap, and reads alerts every 30 seconds. Goes on where it was stopped, also after a crash.
One writer at a time keeps a mirror.`;

const ONCE = `Bring the mirror up to date and exit: for cron, where nothing can run all the time. What
happened in between is a gap: its end is recorded, not each step.`;

export function addWriting(mirror: Command, run: Run): void {
  for (const add of [addRun, addOnce]) add(mirror, run);
}

/** What run and once share. */
function addWriter(mirror: Command, name: string) {
  return mirror
    .command(name)
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
    );
}

function addRun(mirror: Command, run: Run): void {
  const command = addIdleFlag(
    addWriter(mirror, 'run')
      .summary('keep the mirror current until Ctrl-C')
      .description(RUN)
      .option(
        '--metrics <port>',
        'serve /metrics (Prometheus) and /healthz on this port of loopback',
        portNumber('--metrics'),
      ),
  ).action(run(async () => (await import('./run.js')).runMirror));
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
  const command = addWriter(mirror, 'once')
    .summary('bring the mirror up to date and exit')
    .description(ONCE)
    .action(run(async () => (await import('./run.js')).mirrorOnce));
  examples(
    command,
    ['every ten minutes, by cron', 'fleet mirror once --quiet'],
    ['before a report', 'fleet mirror once --quiet && fleet bicycles list --offline --all -o csv'],
  );
}
