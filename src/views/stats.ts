// Counts as bars on a terminal, as rows everywhere else.

import { BICYCLE } from '../api/bicycle.js';
import { cut, widthOf } from '../terminal/cells.js';
import { clean } from '../terminal/clean.js';
import type { Color, Paint } from '../terminal/colour.js';
import { countNoun } from '../terminal/formats/renderer.js';
import type { Shape } from '../terminal/formats.js';
import { drawBar } from '../terminal/progress.js';
import { lookOf } from './bicycle.js';
import { drawRow, type PlacedCell } from './rows.js';

/** One value of a group, and how many have it. */
export interface StatsRow {
  group: string;
  value: string;
  count: number;
  /** Of the group, to a tenth. */
  percent: number;
}

/** Counts in every format. */
export const STATS: Shape<StatsRow> = {
  noun: { one: 'row', many: 'rows' },
  fields: ['group', 'value', 'count', 'percent'],
  columns: [
    { header: 'GROUP', field: 'group', keep: 3 },
    { header: 'VALUE', field: 'value', keep: 4 },
    { header: 'COUNT', field: 'count', keep: 2, align: 'right' },
    { header: 'PERCENT', field: 'percent', keep: 1, align: 'right' },
  ],
};

const WIDEST_BAR_COLUMNS = 40;
const PERCENT_COLUMNS = 7;

/** A block a group, below how many bicycles there are in all: each value with its count, its part and a bar. */
export function drawStats(rows: readonly StatsRow[], total: number, width: number, paint: Paint): string {
  const lines = [paint.bold(countNoun(total, BICYCLE))];
  const longest = Math.max(0, ...rows.map(({ value }) => widthOf(clean(value))));
  const nameWidth = Math.min(longest, Math.max(8, Math.floor(width / 2.2)));
  const countWidth = Math.max(0, ...rows.map(({ count }) => String(count).length)) + 1;
  const room = Math.max(0, Math.min(WIDEST_BAR_COLUMNS, width - nameWidth - countWidth - PERCENT_COLUMNS - 4));
  for (const group of new Set(rows.map((row) => row.group))) {
    const values = rows.filter((row) => row.group === group);
    lines.push('', paint.dim(cut(clean(group).toUpperCase(), width)));
    const most = Math.max(1, ...values.map(({ count }) => count));
    for (const row of values) {
      const cells: PlacedCell[] = [
        { text: clean(row.value), width: nameWidth },
        { text: String(row.count), width: countWidth, align: 'right' },
        { text: `${row.percent.toFixed(1)} %`, width: PERCENT_COLUMNS, align: 'right' },
        { text: ` ${drawBar(row.count / most, room)}`, color: colorOf(row) },
      ];
      lines.push(drawRow(cells, paint).trimEnd());
    }
  }
  return lines.map((line) => `${line}\n`).join('');
}

/** Charges below this many percent need somebody soon. */
const LOW_CHARGES: readonly string[] = ['0-9', '10-19'];

function colorOf({ group, value }: StatsRow): Color | undefined {
  if (group === 'state') return lookOf(value).color;
  if (group === 'charge' && LOW_CHARGES.includes(value)) return 'red';
  if (group === 'silence' && (value === 'longer ago' || value === 'never')) return 'yellow';
  return 'cyan';
}
