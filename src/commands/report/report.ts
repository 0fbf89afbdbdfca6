// `fleet report`: prints fleet metrics from the mirror. Shows each metric next to its value in the
// previous period.

import type { Context } from '../../context.js';
import { printReport } from '../../list/change-report.js';
import { noticeOldMirror, openChosen, withMirror } from '../../list/offline.js';
import { writeResult } from '../../list/output-file.js';
import type { Mirror } from '../../mirror/open.js';
import { WEEK_MS } from '../../system/time-units.js';
import { showLocalTime } from '../../system/time-zone.js';
import { chooseFormat, REPORT_FORMATS, type Shape } from '../../terminal/formats.js';
import { labelOf, showFigure, UNCERTAIN } from '../../views/fleet-report.js';
import type { PartFigure } from './figures.js';
import type { ReportOptions } from './flags.js';
import {
  type FleetReport,
  type IdleRow,
  makeFleetReport,
  type ReportInput,
} from './make-report.js';
import type { Interval } from './parts.js';
import { readPeriod } from './period.js';
import { isEmptyPeriod } from './tables.js';

const DEFAULT_LENGTH_MS = WEEK_MS;

/** Prints the report. Throws a FleetError of kind `config` when there is no mirror. */
export async function showFleetReport(context: Context, options: ReportOptions): Promise<void> {
  const asked = readPeriod(context, options, DEFAULT_LENGTH_MS);
  const format = chooseFormat((await context.settings()).output, REPORT_FORMATS);
  const { document, jq } = context.flags;
  // The charts of an HTML report need a period with several parts, such as days. For such a report,
  // `--by` therefore defaults to `day`.
  const by = options.by ?? (document === 'html' ? 'day' : undefined);
  const report = await withMirror(openChosen(context, options.to), async (mirror) => {
    // SQLite blocks this thread, so fleet could not react to a signal here. The signal then ends
    // the process.
    if (mirror.database.kind === 'sqlite') context.leaveSignals();
    await noticeOldMirror(context, await mirror.status());
    const input = await fitPeriod(mirror, asked);
    return makeFleetReport(context, mirror, { ...input, by });
  });
  await warn(context, report);
  if (document !== undefined) {
    const { drawFleetPage } = await import('./page.js');
    const { drawMarkdown } = await import('./markdown.js');
    const draw = document === 'html' ? drawFleetPage : drawMarkdown;
    return writeResult(context, draw(report, context.zone));
  }
  if (jq !== undefined || ['json', 'jsonl', 'yaml'].includes(format))
    return printReport(context, WHOLE, [withoutParts(report)], format);
  if (format === 'xlsx' && context.flags.file !== undefined) {
    const { drawFiguresWorkbook } = await import('./workbook.js');
    return writeResult(context, await drawFiguresWorkbook(report));
  }
  await context.io.startPager(context.notice);
  await printReport(context, figuresShape(report), report.figures, format);
  const isWholeTable = format === 'table' && context.flags.file === undefined;
  if (!isWholeTable || context.flags.columns !== undefined || report.idle.length === 0) return;
  await context.io.stdout.write('\n');
  await printReport(context, IDLE, report.idle, format);
}

/**
 * A delay of at most this length causes no notice, because even a current mirror is a few seconds
 * behind the service.
 */
const USUAL_DELAY_MS = 30_000;

/** Limits the period to the time for which the mirror's data is complete. */
async function fitPeriod(
  mirror: Mirror,
  { fromMs, untilMs }: Interval,
): Promise<Omit<ReportInput, 'by'>> {
  const { asOfMs, isCurrent } = await mirror.status();
  const lastMs = Math.max(fromMs, Math.min(untilMs, asOfMs ?? fromMs));
  const endsEarly = lastMs < untilMs && !(isCurrent && untilMs - lastMs < USUAL_DELAY_MS);
  return { period: { fromMs, untilMs: lastMs }, endsEarly };
}

async function warn(context: Context, report: FleetReport): Promise<void> {
  const { period, coverage, by, figures } = report;
  const show = (iso: string) => showLocalTime(Date.parse(iso), context.zone);
  if (period.ends_early)
    await context.notice(
      isEmptyPeriod(report)
        ? '! the mirror is not current: its complete data ends before the period; for details, run: fleet mirror status'
        : `! the mirror is not current: the report covers only its complete data, which ends at ${show(period.until)}; for details, run: fleet mirror status`,
    );
  await context.notice(
    `${show(period.from)} to ${show(period.until)} (${period.timezone}), ${coverage} % of this period is covered by the mirror`,
  );
  if (figures.some(({ certain, before_certain: isSure }) => !certain || !isSure))
    await context.notice(`${UNCERTAIN} marks uncertain numbers`);
  if (by === 'zone')
    await context.notice('numbers by zone use the current positions of the bicycles');
}

/** Without `--by` the report has no parts, so the field `part` is removed from its metrics. */
function withoutParts(report: FleetReport): object {
  if (report.by !== null) return report;
  return { ...report, figures: report.figures.map(({ part: _part, ...figure }) => figure) };
}

const WHOLE: Shape<object> = {
  noun: { one: 'report', many: 'reports' },
  columns: [],
  fields: [],
  single: true,
};

/** The output table for the metrics. */
function figuresShape({ by }: FleetReport): Shape<PartFigure> {
  const part = { header: by?.toUpperCase() ?? '', field: 'part', keep: 9, maximum: 30 };
  const fields = ['name', 'value', 'unit', 'before', 'coverage', 'certain', 'before_certain'];
  return {
    noun: { one: 'figure', many: 'figures' },
    fields: by === null ? fields : ['part', ...fields],
    columns: [
      ...(by === null ? [] : [part]),
      {
        header: 'FIGURE',
        field: 'name',
        keep: 8,
        cell: ({ name }) => ({ text: labelOf(name) }),
      },
      {
        header: 'VALUE',
        field: 'value',
        keep: 10,
        align: 'right',
        cell: ({ value, unit, certain }) => ({ text: showFigure(value, unit, certain) }),
      },
      {
        header: 'BEFORE',
        field: 'before',
        keep: 7,
        align: 'right',
        cell: ({ before, unit, before_certain: isSure }) => ({
          text: showFigure(before, unit, isSure),
        }),
      },
      {
        header: 'COVERAGE',
        field: 'coverage',
        keep: 6,
        align: 'right',
        cell: ({ coverage }) => ({ text: `${coverage} %` }),
      },
    ],
  };
}

/** The output table for the bicycles that were idle longest. */
const IDLE: Shape<IdleRow> = {
  noun: { one: 'bicycle', many: 'bicycles' },
  fields: ['uuid', 'name', 'since', 'seconds', 'certain'],
  columns: [
    { header: 'IDLE LONGEST', field: 'name', keep: 5, maximum: 30 },
    {
      header: 'IDLE',
      field: 'seconds',
      keep: 6,
      align: 'right',
      cell: ({ seconds, certain }) => ({ text: showFigure(seconds, 's', certain) }),
    },
    { header: 'UUID', field: 'uuid', keep: 4 },
  ],
};
