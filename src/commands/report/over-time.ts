// `fleet bicycles stats --by hour|day|week`: rentals, returns, state changes and alerts over time,
// from the mirror.

import type { Context } from '../../context.js';
import { usageError } from '../../errors.js';
import { printReport } from '../../list/change-report.js';
import { noticeOldMirror, openChosen, withMirror } from '../../list/offline.js';
import { isScreen, writeResult } from '../../list/output-file.js';
import type { MirrorAddress } from '../../mirror/address.js';
import { DAY_MS, WEEK_MS } from '../../system/time-units.js';
import { chooseFormat, REPORT_FORMATS } from '../../terminal/formats.js';
import { overTimeShape } from '../../views/over-time.js';
import { countOverTime } from './count-over-time.js';
import { describeSight } from './describe-sight.js';
import { startOfPart, type TimePartKind } from './parts.js';
import { readPeriod } from './period.js';

/** The default length of the period. */
const DEFAULT_LENGTHS_MS: { readonly [kind in TimePartKind]: number } = {
  hour: DAY_MS,
  day: WEEK_MS,
  week: 8 * WEEK_MS,
};

interface OverTimeOptions {
  since?: string | undefined;
  until?: string | undefined;
  to?: MirrorAddress | undefined;
  offline?: boolean | undefined;
}

/** All options that are not filters. Any other option is a filter. */
const OTHER_OPTIONS = ['since', 'until', 'to', 'offline'];

/** Prints the counts. Throws a FleetError of kind `config` without a mirror. */
export async function showStatsOverTime(
  context: Context,
  by: TimePartKind,
  options: OverTimeOptions,
): Promise<void> {
  refuseFilters(by, options);
  const asked = readPeriod(context, options, DEFAULT_LENGTHS_MS[by]);
  const period = { ...asked, fromMs: startOfPart(asked.fromMs, by, context.zone) };
  const format = chooseFormat((await context.settings()).output, REPORT_FORMATS);
  const counts = await withMirror(openChosen(context, options.to), async (mirror) => {
    // SQLite blocks this thread, so fleet could not react to a signal here. The signal then ends
    // the process.
    if (mirror.database.kind === 'sqlite') context.leaveSignals();
    // With --offline, the age of the mirror was already printed.
    if (options.offline !== true) await noticeOldMirror(context, await mirror.status());
    return countOverTime(mirror, { period, by, zone: context.zone });
  });
  for (const line of describeSight(counts, context.zone)) await context.notice(line);
  const { document, jq } = context.flags;
  if (document !== undefined) {
    const { drawOverTimePage } = await import('./over-time-page.js');
    return writeResult(context, drawOverTimePage(counts, context.zone));
  }
  if (format === 'xlsx' && jq === undefined && context.flags.file !== undefined) {
    const { drawOverTimeWorkbook } = await import('./over-time-workbook.js');
    return writeResult(context, await drawOverTimeWorkbook(counts));
  }
  await context.io.startPager(context.notice);
  const isDrawn = isScreen(context) && context.flags.columns === undefined;
  await printReport(context, overTimeShape(counts, isDrawn), counts.rows, format);
}

/** Throws a usage error for filters, because the counts always cover the mirror's whole fleet. */
function refuseFilters(by: TimePartKind, options: object): void {
  const [filter] = Object.entries(options).find(
    ([name, value]) => value !== undefined && !OTHER_OPTIONS.includes(name),
  ) ?? [undefined];
  if (filter === undefined) return;
  throw usageError(
    `--${filter} cannot be used with --by ${by}, which always counts the whole fleet in the mirror`,
    `remove --${filter}, or use "fleet mirror query" for other counts`,
  );
}
