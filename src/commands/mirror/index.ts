// Declares `fleet mirror`: its verbs, their flags and examples.

import type { CommandUnknownOpts as Command } from '@commander-js/extra-typings';
import { addVerb } from '../../cli/examples.js';
import type { Run } from '../../context.js';
import { readTo, TO } from '../../list/mirror-flags.js';
import { addMirrorRunFlags, addReplayFlags, addWriterFlags } from './flags.js';

const DESCRIPTION = `Keep a copy of the fleet, with its history, in SQLite or PostgreSQL, and query it in SQL. Other
commands answer from it with --offline, and any SQL tool can read it.`;

const ONCE = `Bring the mirror up to date and exit: for cron, where nothing can run all the time. What
happened in between is a gap: its end is recorded, not each step.`;

const STATUS =
  'Show how old and how complete the mirror is, and its gaps. Exits with 0 only when it is current, else with 9.';

const QUERY = `Run one SQL statement that only reads, in the dialect of the database. Prints in every format; geojson needs the
columns latitude and longitude, uuid a column uuid. In PostgreSQL a role that is a superuser is refused. "fleet help mirror" shows the tables and ten useful queries.`;

const UPGRADE = `Bring the tables of a mirror that fleet 0.1.0 made (schema 3) up to those of this version, as "mirror run" does when
it starts. It is done whole or not at all; on a large history in PostgreSQL it takes minutes. A mirror with an older
schema is refused: move it away, and start a new one with "fleet mirror run". Its history stays readable with SQL tools.`;

export function addMirror(program: Command, run: Run): void {
  const summary = 'keep a copy of the fleet in a database, and query it';
  const mirror = addVerb(
    program,
    ['mirror', summary, DESCRIPTION],
    ['keep it current', 'fleet mirror run'],
    ['how old and how complete it is', 'fleet mirror status'],
    [
      'the fleet by state',
      "fleet mirror query 'select state, count(*) from latest group by state'",
    ],
  );
  addRun(mirror, run);
  const once = addVerb(
    mirror,
    ['once', 'bring the mirror up to date and exit', ONCE],
    ['every ten minutes, by cron', 'fleet mirror once --quiet'],
    ['before a report', 'fleet mirror once --quiet && fleet bicycles list --offline --all -o csv'],
  );
  addWriterFlags(once).action(run(async () => (await import('./run.js')).mirrorOnce));
  addVerb(
    mirror,
    ['status', 'show how old and how complete the mirror is', STATUS],
    ['how old, how complete, which gaps', 'fleet mirror status'],
    [
      'only when it is current',
      'fleet mirror status > /dev/null && fleet bicycles list --offline --all -o csv',
    ],
  )
    .option(...TO, readTo)
    .action(run(async () => (await import('./status.js')).showMirrorStatus));
  addVerb(
    mirror,
    ['query', 'query the mirror in SQL', QUERY],
    [
      'the fleet by state',
      "fleet mirror query 'select state, count(*) from latest group by state order by 2 desc'",
    ],
    [
      'as CSV, for a spreadsheet',
      "fleet mirror query 'select * from rentals where start_known limit 1000' -o csv",
    ],
  )
    .option(...TO, readTo)
    .argument('<sql>', 'the statement, or - for stdin')
    .option(
      '--allow-superuser',
      'also query as a superuser of PostgreSQL, who can change the server',
    )
    .action(run(async () => (await import('./query.js')).runQuery));
  addReplay(mirror, run);
  addVerb(
    mirror,
    ['upgrade', 'bring the mirror of an older version up to date', UPGRADE],
    ['the mirror of the profile in use', 'fleet mirror upgrade'],
    ['from a script, before its writers are started again', 'fleet mirror upgrade --quiet'],
  )
    .option(...TO, readTo)
    .action(run(async () => (await import('./upgrade.js')).upgradeMirror));
}

const RUN = `Keep the mirror current until Ctrl-C: reads the list once, follows the push channel, catches up after
every gap, and reads alerts every 30 seconds. Resumes where it stopped, also after a crash.
One can run for each organization; in SQLite, one for each database.`;

function addRun(mirror: Command, run: Run): void {
  const writer = addVerb(
    mirror,
    ['run', 'keep the mirror current until Ctrl-C', RUN],
    ['keep a mirror of the profile in use', 'fleet mirror run'],
    [
      'take over when the writer on another host ends',
      'fleet mirror run --to postgres://db.example/fleet --standby',
    ],
    [
      '90 days in PostgreSQL, with metrics',
      'fleet mirror run --to postgres://db/fleet --keep 90d --metrics 9464',
    ],
  );
  addMirrorRunFlags(writer).action(run(async () => (await import('./run.js')).runMirror));
}

const REPLAY = `Play the recorded changes as "fleet watch" would have shown them: lines, JSON lines with --json, or
the board with --live. Changes found in the list after a gap are played when they were found.`;

function addReplay(mirror: Command, run: Run): void {
  const replay = addVerb(
    mirror,
    ['replay', 'play what was recorded, at any speed', REPLAY],
    ['the last two hours in two minutes', 'fleet mirror replay --since 2h'],
    [
      'the bicycles that were lost yesterday, as JSON lines',
      'fleet mirror replay --since 1d --where state=lost --speed max --json',
    ],
  );
  addReplayFlags(replay).action(run(async () => (await import('./replay.js')).replayMirror));
}
