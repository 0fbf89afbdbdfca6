// What `fleet mirror` reads: status and query, their flags and examples.

import type { CommandUnknownOpts as Command } from '@commander-js/extra-typings';
import { examples } from '../../cli/examples.js';
import type { Run } from '../../context.js';
import { readTo } from '../database.js';

/** The flag of every command of the mirror, and what it is for. */
export const TO = ['--to <address>', 'database: sqlite:PATH or postgres://… (default: from the profile)'] as const;

export function addReading(mirror: Command, run: Run): void {
  for (const add of [addStatus, addQuery]) add(mirror, run);
}

function addStatus(mirror: Command, run: Run): void {
  const status = mirror
    .command('status')
    .summary('show how old and how whole the mirror is')
    .description(
      'Show how old the mirror is, how whole, and its gaps. Exits with 0 only when it is current, else with 9.',
    )
    .option(...TO, readTo)
    .action((options, command) =>
      run(command, async (context) => (await import('./status.js')).showStatus(context, options)),
    );
  examples(
    status,
    ['how old, how whole, which gaps', 'fleet mirror status'],
    ['only when it is current', 'fleet mirror status -q && fleet bicycles list --offline --all -o csv'],
  );
}

function addQuery(mirror: Command, run: Run): void {
  const query = mirror
    .command('query')
    .summary('ask the mirror in SQL')
    .description(
      [
        'Run one SQL statement that only reads, in the dialect of the database. Prints in every format; geojson needs the',
        'columns latitude and longitude, uuid a column uuid. "fleet help mirror" shows the tables and ten useful queries.',
      ].join('\n'),
    )
    .argument('<sql>', 'the statement, or - for stdin')
    .option(...TO, readTo)
    .action((sql, options, command) =>
      run(command, async (context) => (await import('./query.js')).runQuery(context, sql, options)),
    );
  examples(
    query,
    ['the fleet by state', "fleet mirror query 'select state, count(*) from latest group by state order by 2 desc'"],
    ['as CSV, for a spreadsheet', "fleet mirror query 'select * from rentals order by started desc limit 1000' -o csv"],
  );
}
