// Counts as rows, with bars on a terminal.

import { CHARGE_EMPTY_PERCENT, NEVER_HEARD } from '../page/groups.js';
import type { Color } from '../terminal/colour.js';
import type { Shape } from '../terminal/formats.js';
import { drawBar } from '../terminal/progress.js';
import { lookOf, showText } from './bicycle.js';

/** A value of a group and its number. */
export interface StatsRow {
  group: string;
  value: string;
  count: number;
  /** The share of the group, with one decimal. */
  percent: number;
}

/** Counts in every format. */
export const STATS: Shape<StatsRow> = {
  noun: { one: 'row', many: 'rows' },
  fields: ['group', 'value', 'count', 'percent'],
  columns: [
    { header: 'GROUP', field: 'group', keep: 3 },
    {
      header: 'VALUE',
      field: 'value',
      keep: 4,
      // On a terminal only the bars have colours.
      cell: (row, { terminal }) => ({
        ...showText(row.value),
        color: terminal ? undefined : colorOf(row),
      }),
    },
    { header: 'COUNT', field: 'count', keep: 2, align: 'right' },
    { header: 'PERCENT', field: 'percent', keep: 1, align: 'right' },
  ],
};

const BAR_COLUMNS = 20;

/** Counts with bars, for a terminal. */
export const STATS_WITH_BARS: Shape<StatsRow> = {
  ...STATS,
  columns: [
    ...STATS.columns,
    {
      header: 'SHARE',
      field: 'percent',
      keep: 0,
      minimum: BAR_COLUMNS,
      cell: (row) => ({ text: drawBar(row.percent / 100, BAR_COLUMNS), color: colorOf(row) }),
    },
  ],
};

function colorOf({ group, value }: StatsRow): Color | undefined {
  if (group === 'state') return lookOf(value).color;
  // A group of charges is named by its lower bound.
  if (group === 'charge' && Number.parseInt(value, 10) < CHARGE_EMPTY_PERCENT) return 'red';
  if (group === 'silence' && (value === 'longer ago' || value === NEVER_HEARD)) return 'yellow';
  return 'cyan';
}
