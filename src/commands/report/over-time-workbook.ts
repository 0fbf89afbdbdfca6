// Writes counts over time as a workbook: one sheet contains the counts and a chart, and the other
// contains the times without data.

import type { SheetChart } from '../../terminal/formats/xlsx-chart.js';
import { writeXlsxSheets } from '../../terminal/formats/xlsx-file.js';
import type { CountsOverTime } from './count-over-time.js';
import { sheetOf } from './workbook.js';

export function drawOverTimeWorkbook(counts: CountsOverTime): Promise<Buffer> {
  const { by, rows, unseen, timezone } = counts;
  const header = [
    ...[by, `from (${timezone})`, `until (${timezone})`, 'rentals', 'returns'],
    ...['changes of state', 'alerts', 'seen (%)', 'certain'],
  ];
  const cells = rows.map(
    ({ part, from, until, rentals, returns, changes, alerts, coverage, certain }) => [
      ...[part, from, until, rentals, returns, changes, alerts, coverage, certain],
    ],
  );
  const iso = (ms: number) => new Date(ms).toISOString();
  const times = unseen.map(({ fromMs, untilMs }) => [
    ...[iso(fromMs), iso(untilMs), Math.round((untilMs - fromMs) / 1000)],
  ]);
  const sheet = sheetOf(`by ${by}`, header, cells, timezone);
  return writeXlsxSheets([
    { ...sheet, chart: chartOf(counts) },
    sheetOf('not seen', [`from (${timezone})`, `until (${timezone})`, 'seconds'], times, timezone),
  ]);
}

/** The columns of rentals and returns, counted from 1. */
const RENTALS_COLUMN = 4;
const RETURNS_COLUMN = 5;

function chartOf({ by, rows }: CountsOverTime): SheetChart {
  const highest = Math.max(
    1,
    ...rows.map(({ rentals, returns }) => (rentals ?? 0) + (returns ?? 0)),
  );
  return {
    title: `Rentals and returns by ${by}`,
    categoryColumn: 1,
    series: [
      { name: 'rentals', column: RENTALS_COLUMN },
      { name: 'returns', column: RETURNS_COLUMN },
    ],
    hatched: {
      name: 'no data in the mirror',
      values: rows.map(({ coverage }) => ((100 - coverage) / 100) * highest),
    },
  };
}
