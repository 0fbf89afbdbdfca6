// Counts as bars on a terminal, as rows everywhere else.

import { drawBar } from '../terminal/bar.js';
import { cut, pad, widthOf } from '../terminal/cells.js';
import { clean } from '../terminal/clean.js';
import { type Color, type Paint, paintIn } from '../terminal/colour.js';
import { countNoun } from '../terminal/formats/renderer.js';
import type { Shape } from '../terminal/formats.js';
import { lookOf } from './bicycle.js';

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

export interface StatsLayout {
  /** Columns of the terminal. */
  width: number;
  paint: Paint;
  /** How many bicycles were counted. */
  total: number;
  /** Values are not cut, and lines may be longer than the width. */
  isWhole?: boolean;
}

const GAP = '  ';
const WIDEST_BAR_COLUMNS = 40;
const NARROWEST_BAR_COLUMNS = 5;

/** A block a group: each value with its count, its part and a bar; every line ends in a newline and fits the width. */
export function drawStats(rows: readonly StatsRow[], { width, paint, total, isWhole = false }: StatsLayout): string {
  const lines = [paint.bold(countNoun(total, { one: 'bicycle', many: 'bicycles' }))];
  const groups = new Map<string, StatsRow[]>();
  for (const row of rows) groups.set(row.group, [...(groups.get(row.group) ?? []), row]);
  const names = rows.map(({ value }) => widthOf(isWhole ? clean(value) : cut(clean(value), width)));
  const longest = Math.max(0, ...names);
  const nameWidth = isWhole ? longest : Math.min(longest, Math.max(8, Math.floor(width / 2.2)));
  const countWidth = Math.max(0, ...rows.map(({ count }) => String(count).length));
  for (const [group, values] of groups) {
    lines.push('', paint.dim(cut(clean(group).toUpperCase(), width)));
    const most = Math.max(1, ...values.map(({ count }) => count));
    for (const row of values) {
      const { value, count, percent } = row;
      const numbers = `${String(count).padStart(countWidth)}${GAP}${percent.toFixed(1).padStart(5)} %`;
      const head = `${pad(cut(clean(value), nameWidth), nameWidth)}${GAP}${numbers}`;
      const room = Math.min(WIDEST_BAR_COLUMNS, width - widthOf(head) - GAP.length);
      const bar = room < NARROWEST_BAR_COLUMNS ? '' : drawBar(count / most, room);
      const color = colorOf(row);
      lines.push(`${isWhole ? head : cut(head, width)}${bar === '' ? '' : `${GAP}${paintIn(paint, color, bar)}`}`);
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
