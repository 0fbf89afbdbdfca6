// What `fleet mirror` takes: its verbs, their flags and examples.

import type { CommandUnknownOpts as Command } from '@commander-js/extra-typings';
import { examples } from '../../cli/examples.js';
import type { Run } from '../../context.js';
import { addReading } from './reading.js';
import { addWriting } from './writing.js';

const DESCRIPTION = `Keep a copy of the fleet, with its history, in SQLite or PostgreSQL, and ask it in SQL. Other
commands answer from it with --offline, and any SQL tool can read it.`;

export function addMirror(program: Command, run: Run): void {
  const mirror = program
    .command('mirror')
    .summary('keep and ask a copy of the fleet in a database')
    .description(DESCRIPTION);
  examples(
    mirror,
    ['keep it current', 'fleet mirror run'],
    ['how old and how complete it is', 'fleet mirror status'],
    ['the fleet by state', "fleet mirror query 'select state, count(*) from latest group by state'"],
  );
  addWriting(mirror, run);
  addReading(mirror, run);
}
