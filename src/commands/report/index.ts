// Declares `fleet report`, which prints figures from the mirror.

import type { CommandUnknownOpts as Command } from '@commander-js/extra-typings';
import { addVerb } from '../../cli/examples.js';
import { oneOf } from '../../cli/options.js';
import type { Run } from '../../context.js';
import { readTo, TO } from '../../list/mirror-flags.js';
import { PARTS } from './parts.js';

const DESCRIPTION = `Print figures of the fleet from the mirror, beside the figures of the period before: size, time in states, rentals,
alerts, and the bicycles that were idle longest. ~ marks a figure that a gap makes uncertain, and - a figure that
cannot be known. Every definition, also in SQL: fleet help report. Formats: table, json, csv, xlsx, md, html.`;

export function addReport(program: Command, run: Run): void {
  addVerb(
    program,
    ['report', 'print figures of the fleet from the mirror', DESCRIPTION],
    ['the last seven days', 'fleet report'],
    ['each day of a month, as a page', 'fleet report --since 30d --by day --file month.html'],
    ['this week, for a chat', 'fleet report --since monday -o md'],
  )
    .option(
      '--since <time>',
      'start of the period: 7d, monday, "2026-11-23 08:00" (default: 7d before its end)',
    )
    .option('--until <time>', 'end of the period, like --since (default: now)')
    .option('--by <part>', `also each ${PARTS.join(', ')}`, oneOf('part', PARTS))
    .option(...TO, readTo)
    .action(run(async () => (await import('./report.js')).showFleetReport));
}
