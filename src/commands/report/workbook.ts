// Writes a report as a workbook with one sheet for each table.

import { widthOf } from '../../terminal/cells.js';
import { type XlsxCell, xlsxCellOf } from '../../terminal/formats/xlsx-cell.js';
import { packRows, writeXlsxSheets } from '../../terminal/formats/xlsx-file.js';
import { labelOf } from '../../views/fleet-report.js';
import type { PartFigure } from './figures.js';
import type { FleetReport } from './make-report.js';

const NARROWEST_COLUMN = 8;
const WIDEST_COLUMN = 60;
/** The width that is added to a column, because its header has a margin and a filter button. */
const FILTER_WIDTH = 5;

type SheetRows = readonly (readonly unknown[])[];

export function drawFiguresWorkbook(report: FleetReport): Promise<Buffer> {
  const { figures, by, idle, period } = report;
  const { timezone } = period;
  const sheets = [
    sheetOf('figures', FIGURE_HEADER, figures.filter(isWhole).map(figureCells), timezone),
    ...(by === null
      ? []
      : [
          sheetOf(
            `by ${by}`,
            [by, ...FIGURE_HEADER],
            figures
              .filter((each) => !isWhole(each))
              .map((each) => [each.part, ...figureCells(each)]),
            timezone,
          ),
        ]),
    sheetOf(
      'idle longest',
      ['name', 'uuid', `since (${timezone})`, 'seconds', 'certain'],
      idle.map(({ name, uuid, since, seconds, certain }) => [name, uuid, since, seconds, certain]),
      timezone,
    ),
    sheetOf(
      'period',
      ['from', 'until', 'before from', 'before until', 'timezone', 'coverage', 'ends early'],
      [
        [
          ...[period.from, period.until, period.before.from, period.before.until],
          ...[timezone, report.coverage, period.ends_early],
        ],
      ],
      timezone,
    ),
  ];
  return writeXlsxSheets(sheets);
}

const FIGURE_HEADER = [
  ...['figure', 'name', 'value', 'unit', 'before', 'coverage', 'certain', 'before certain'],
];

function figureCells(figure: PartFigure): unknown[] {
  const { name, value, unit, before, coverage, certain, before_certain: isSure } = figure;
  return [labelOf(name), name, value, unit, before, coverage, certain, isSure];
}

function isWhole({ part }: PartFigure): boolean {
  return part === null;
}

/** Returns a sheet whose columns are as wide as their contents. */
export function sheetOf(
  name: string,
  header: readonly string[],
  rows: SheetRows,
  timezone: string,
) {
  // A string with a date and a time of day is always treated as a time. It is written in local
  // time.
  const fieldOf = (value: unknown) =>
    typeof value === 'string' && /^\d{4}-\d\d-\d\dT/.test(value) ? 'created' : '';
  const cells: XlsxCell[][] = rows.map((row) =>
    row.map((value) => xlsxCellOf(value, fieldOf(value), timezone)),
  );
  const columnWidths = header.map((title, column) => {
    const texts = rows.map((row) => String(row[column] ?? ''));
    const widest = Math.max(
      NARROWEST_COLUMN,
      widthOf(title) + FILTER_WIDTH,
      ...texts.map((text) => widthOf(text) + 2),
    );
    return Math.min(WIDEST_COLUMN, widest);
  });
  const layout = { name, header, columnWidths, rowCount: rows.length };
  return { layout, packedRows: [packRows(cells, 2)] };
}
