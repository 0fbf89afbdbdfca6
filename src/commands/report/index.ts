// Declares `fleet report`, which prints metrics from the mirror.

import type { CommandUnknownOpts as Command } from '@commander-js/extra-typings';
import { addVerb } from '../../cli/examples.js';
import type { Run } from '../../context.js';
import { addReportFlags } from './flags.js';

const DESCRIPTION = `Print figures of the fleet from the mirror, beside the figures of the period before: size, time in states, rentals,
alerts, and the bicycles that were idle longest. ~ marks a figure that a gap makes uncertain, and - a figure that
cannot be known. Every definition, also in SQL: fleet help report. Formats: table, json, csv, xlsx, md, html.`;

export function addReport(program: Command, run: Run): void {
  const report = addVerb(
    program,
    ['report', 'print figures of the fleet from the mirror', DESCRIPTION],
    ['the last seven days', 'fleet report'],
    ['each day of a month, as a page', 'fleet report --since 30d --by day --file month.html'],
    ['this week, for a chat', 'fleet report --since monday -o md'],
  );
  addReportFlags(report).action(run(async () => (await import('./report.js')).showFleetReport));
}
