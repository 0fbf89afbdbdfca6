// What `fleet mirror` reads: status and query, their flags and examples.

import type { CommandUnknownOpts as Command } from '@commander-js/extra-typings';
import { examples } from '../../cli/examples.js';
import { wholeNumber } from '../../cli/options.js';
import type { Run } from '../../context.js';
import { usageError } from '../../errors.js';
import { readTo, TO } from '../database.js';
import { readCondition } from '../list/flags.js';
import { BICYCLE_VOCABULARY } from '../list/vocabulary.js';

export function addReading(mirror: Command, run: Run): void {
  for (const add of [addStatus, addQuery, addReplay]) add(mirror, run);
}

function addStatus(mirror: Command, run: Run): void {
  const status = mirror
    .command('status')
    .summary('show how old and how complete the mirror is')
    .description(
      'Show how old and how complete the mirror is, and its gaps. Exits with 0 only when it is current, else with 9.',
    )
    .option(...TO, readTo)
    .action(run(async () => (await import('./status.js')).showStatus));
  examples(
    status,
    ['how old, how complete, which gaps', 'fleet mirror status'],
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
    .action(run(async () => (await import('./query.js')).runQuery));
  examples(
    query,
    ['the fleet by state', "fleet mirror query 'select state, count(*) from latest group by state order by 2 desc'"],
    ['as CSV, for a spreadsheet', "fleet mirror query 'select * from rentals order by started desc limit 1000' -o csv"],
  );
}

const REPLAY = `Play the recorded changes as "fleet watch" would have shown them: lines, JSON lines with --json, or
the board with --live. What a list showed after a gap comes when it was found.`;

function addReplay(mirror: Command, run: Run): void {
  const replay = mirror
    .command('replay')
    .summary('play what was recorded, at any speed')
    .description(REPLAY)
    .option(...TO, readTo)
    .option('--since <time>', 'from then on: a time, or an age such as 2h (default: from the beginning)')
    .option('--until <time>', 'up to then: a time, or an age such as 1h (default: to the end)')
    .option('--speed <factor>', 'so many times faster than it happened; max: without pauses', readSpeed, DEFAULT_SPEED)
    .option('--where <condition>', 'show only what matches FIELD=VALUE (repeatable)', readCondition(BICYCLE_VOCABULARY))
    .option('--max-events <n>', 'exit after this many messages', wholeNumber('--max-events', 1))
    .option('--live', 'draw a full-screen board instead of lines')
    .action(run(async () => (await import('./replay.js')).replayMirror));
  examples(
    replay,
    ['the last two hours in two minutes', 'fleet mirror replay --since 2h'],
    ['what was lost yesterday, as JSON lines', 'fleet mirror replay --since 1d --where state=lost --speed max --json'],
  );
}

/** An hour in a minute. */
const DEFAULT_SPEED = 60;

/** A parser for commander: a factor above 0, or `max`. */
export function readSpeed(text: string): number {
  if (text === 'max') return Number.POSITIVE_INFINITY;
  const factor = /^\d*\.?\d+x?$/.test(text) ? Number.parseFloat(text) : Number.NaN;
  if (factor > 0) return factor;
  throw usageError(`--speed takes a factor above 0, or max, not "${text}"`, 'for example 1, 60 or 0.5');
}
