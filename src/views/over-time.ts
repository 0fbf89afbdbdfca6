// Rentals, returns, changes of state and alerts by hour, day or week, with bars on a terminal.

import type { Shape } from '../terminal/formats.js';
import { drawBar } from '../terminal/progress.js';
import type { Cell } from '../terminal/table.js';
import { MISSING } from '../terminal/values.js';
import { UNCERTAIN } from './fleet-report.js';

/** The counts of one hour, day or week. A count is null when it is unknown. */
export interface OverTimeRow {
  /** The local time at which the part begins: `2026-11-23`, or `2026-11-23 14:00`. */
  readonly part: string;
  readonly from: string;
  readonly until: string;
  readonly rentals: number | null;
  readonly returns: number | null;
  readonly changes: number | null;
  readonly alerts: number | null;
  /** The share of the time for which the mirror has data, in percent. */
  readonly coverage: number;
  /** Whether the mirror has recorded every change during this time. */
  readonly certain: boolean;
}

/** The counts of a report over time, in the order of their columns. */
export const OVER_TIME_COUNTS = ['rentals', 'returns', 'changes', 'alerts'] as const;
export type OverTimeCount = (typeof OVER_TIME_COUNTS)[number];

export const COUNT_LABELS: { readonly [name in OverTimeCount]: string } = {
  rentals: 'Rentals',
  returns: 'Returns',
  changes: 'Changes of state',
  alerts: 'Alerts',
};

const BAR_COLUMNS = 20;
/** The bar character for times without data in the mirror. */
const HATCH = '╱';

/**
 * Formats a count. An unknown count is `-`, and an uncertain count has a mark. Gaps in the mirror
 * do not make alert counts uncertain.
 */
export function showCount(row: OverTimeRow, name: OverTimeCount): string {
  const value = row[name];
  if (value === null) return MISSING;
  return `${row.certain || name === 'alerts' ? '' : UNCERTAIN}${value}`;
}

/**
 * Returns the columns of the table. With `hasBars`, the table fits the terminal and has an
 * additional column of bars.
 */
export function overTimeShape(
  { by, rows }: { readonly by: string; readonly rows: readonly OverTimeRow[] },
  hasBars: boolean,
): Shape<OverTimeRow> {
  const most = Math.max(1, ...rows.map(({ rentals }) => rentals ?? 0));
  const keeps: { readonly [name in OverTimeCount]: number } = {
    rentals: 8,
    returns: 6,
    changes: 5,
    alerts: 4,
  };
  return {
    noun: { one: 'row', many: 'rows' },
    fields: ['part', 'from', 'until', ...OVER_TIME_COUNTS, 'coverage', 'certain'],
    columns: [
      { header: by.toUpperCase(), field: 'part', keep: 9 },
      ...OVER_TIME_COUNTS.map((name) => ({
        header: name.toUpperCase(),
        field: name,
        keep: keeps[name],
        align: 'right' as const,
        cell: (row: OverTimeRow) => ({ text: showCount(row, name) }),
      })),
      {
        header: 'SEEN',
        field: 'coverage',
        keep: 3,
        align: 'right',
        cell: ({ coverage }) => ({ text: `${coverage} %` }),
      },
      ...(hasBars
        ? [
            {
              header: 'CHART',
              field: 'bar',
              keep: 7,
              minimum: BAR_COLUMNS,
              cell: (row: OverTimeRow) => barCell(row, most),
            },
          ]
        : []),
    ],
  };
}

/**
 * Returns a bar for the number of rentals. A hatched part represents the share of time without
 * data.
 */
function barCell({ rentals, coverage }: OverTimeRow, most: number): Cell {
  const hatched = Math.ceil(((100 - coverage) / 100) * BAR_COLUMNS);
  const room = BAR_COLUMNS - hatched;
  const bar = drawBar((rentals ?? 0) / most, BAR_COLUMNS);
  const shown = Array.from(bar)
    .slice(0, Math.max(room, rentals === null ? 0 : 1))
    .join('');
  return {
    text: `${shown.padEnd(room)}${HATCH.repeat(hatched)}`.slice(0, BAR_COLUMNS),
    color: hatched > 0 ? 'yellow' : 'blueBright',
  };
}
