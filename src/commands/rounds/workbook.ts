// Writes the tours as a workbook. Each van has a sheet, and the bicycles without a tour have a
// separate sheet.

import type { Sheet } from 'write-excel-file/node';
import { widthOf } from '../../terminal/cells.js';
import { cleanCell } from '../../terminal/clean.js';
import { textOf } from '../../terminal/values.js';
import { describeVan, type RoundRow, type Rounds, rowsOf } from './plan.js';

type Cells = NonNullable<Sheet<Buffer>['data']>;
type Cell = Cells[number][number];
type Field = Exclude<keyof RoundRow, 'van'>;

const STOP_FIELDS: readonly Field[] = [
  'stop',
  'name',
  'serial_number',
  'state',
  'state_of_charge',
  'latitude',
  'longitude',
  'map',
  'leg_m',
  'arrival',
  'arrival_s',
  'uuid',
];
const LEFT_OUT_FIELDS: readonly Field[] = [
  'name',
  'serial_number',
  'state',
  'latitude',
  'longitude',
  'map',
  'left_out',
  'uuid',
];
const NARROWEST_COLUMN = 8;
const WIDEST_COLUMN = 50;
/** The text of a map link in a cell. */
const MAP_TEXT = 'map';

/** Returns the bytes of the workbook. */
export async function drawRoundsWorkbook(rounds: Rounds): Promise<Buffer> {
  const { default: writeWorkbook } = await import('write-excel-file/node');
  const rows = rowsOf(rounds);
  const sheets = rounds.vans.map((van) =>
    sheetOf(
      `Van ${van.van}`,
      STOP_FIELDS,
      rows.filter((row) => row.van === van.van),
    ),
  );
  const leftOut = rows.filter(({ van }) => van === null);
  if (leftOut.length > 0) sheets.push(sheetOf('Left out', LEFT_OUT_FIELDS, leftOut));
  sheets.push({
    sheet: 'Summary',
    columns: [{ width: WIDEST_COLUMN }],
    data: [
      ...rounds.vans.map((van): Cells[number] => [describeVan(van)]),
      [`Left out: ${leftOut.length}`],
    ],
  });
  return writeWorkbook(sheets).toBuffer();
}

function sheetOf(name: string, fields: readonly Field[], rows: readonly RoundRow[]): Sheet<Buffer> {
  const header = fields.map((field): Cell => ({ value: field, fontWeight: 'bold' }));
  return {
    sheet: name,
    data: [header, ...rows.map((row) => fields.map((field) => cellFor(row, field)))],
    columns: fields.map((field) => ({ width: widthFor(field, rows) })),
    stickyRowsCount: 1,
  };
}

function cellFor(row: RoundRow, field: Field): Cell {
  const value = row[field];
  if (value === null || value === undefined) return null;
  if (typeof value === 'number') return value;
  const text = cleanCell(textOf(value) ?? '');
  // The link is not escaped for the formula, because only digits vary in it.
  if (field === 'map')
    return { type: 'Formula', value: `=HYPERLINK("${text}","${MAP_TEXT}")`, textColor: '#0563C1' };
  return text === '' ? null : { type: String, value: text };
}

function widthFor(field: Field, rows: readonly RoundRow[]): number {
  if (field === 'map') return NARROWEST_COLUMN;
  const texts = rows.map((row) => textOf(row[field]) ?? '');
  const widest = Math.max(widthOf(field), ...texts.map((text) => widthOf(text.slice(0, 200))));
  return Math.min(WIDEST_COLUMN, Math.max(NARROWEST_COLUMN, widest) + 2);
}
