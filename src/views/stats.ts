// Counts as rows.

import { CHARGE_EMPTY_PERCENT, NEVER_HEARD } from '../page/groups.js';
import type { Color } from '../terminal/colour.js';
import type { Shape } from '../terminal/formats.js';
import { lookOf, showText } from './bicycle.js';

/** A value in a group, and how many bicycles or alerts have this value. */
export interface StatsRow {
  group: string;
  value: string;
  count: number;
  /** The percentage of this value in its group, with one decimal. */
  percent: number;
}

/**
 * Describes how counts are printed in every format. On a terminal, `drawStats` draws them instead.
 */
export const STATS: Shape<StatsRow> = {
  noun: { one: 'row', many: 'rows' },
  fields: ['group', 'value', 'count', 'percent'],
  columns: [
    { header: 'GROUP', field: 'group', keep: 3 },
    {
      header: 'VALUE',
      field: 'value',
      keep: 4,
      // Bars have colours only on a terminal.
      cell: (row, { terminal }) => ({
        ...showText(row.value),
        color: terminal ? undefined : colorOfStats(row),
      }),
    },
    { header: 'COUNT', field: 'count', keep: 2, align: 'right' },
    {
      header: 'PERCENT',
      field: 'percent',
      keep: 1,
      align: 'right',
      cell: ({ percent }) => ({ text: showPercent(percent) }),
    },
  ],
};

/** Formats a percentage with one decimal. */
export function showPercent(percent: number): string {
  return percent.toFixed(1);
}

/** Returns the colour in which a value and its bar are drawn. */
export function colorOfStats({ group, value }: StatsRow): Color | undefined {
  if (group === 'state') return lookOf(value).color;
  // The value is a range such as `10-19`, so `parseInt` returns its lower bound.
  if (group === 'charge' && Number.parseInt(value, 10) < CHARGE_EMPTY_PERCENT) return 'red';
  if (group === 'silence' && (value === 'longer ago' || value === NEVER_HEARD)) return 'yellow';
  return 'cyan';
}
