// `fleet bicycles stats`: counts the bicycles that match the filters, by state, charge, silence,
// alerts or any field.

import { BICYCLE, BICYCLE_FIELDS, bicycleUuid } from '../../api/bicycle.js';
import { fieldOf } from '../../api/resource.js';
import { unknownWord } from '../../cli/nearest.js';
import type { Context } from '../../context.js';
import { usageError } from '../../errors.js';
import { printReport } from '../../list/change-report.js';
import { readList } from '../../list/list.js';
import { isScreen } from '../../list/output-file.js';
import { writeFooter } from '../../list/write-footer.js';
import { loadPaint } from '../../terminal/colour.js';
import { fieldsOf, firstSegment } from '../../terminal/formats/columns.js';
import { countNoun } from '../../terminal/formats/renderer.js';
import { forScreen } from '../../terminal/marks.js';
import { countAlerts, DEFAULT_GROUPS, isNamedGroup, openCounter } from '../../views/counts.js';
import { STATS, type StatsRow } from '../../views/stats.js';
import { TIME_PARTS } from '../report/parts.js';
import { readOpenAlerts } from './alerts.js';
import type { StatsOptions } from './flags.js';
import { planBicycles } from './list.js';
import { STATS_GROUPS } from './methods-and-groups.js';

/** The width that is assumed when a terminal does not report its width. */
const USUAL_WIDTH = 80;

/**
 * Counts bicycles and prints the result. Throws the same errors as a list. When the list is
 * incomplete, throws an error of kind `partial` after printing.
 */
export async function showStats(
  context: Context,
  { by: word, ...filters }: StatsOptions,
): Promise<void> {
  const { document } = context.flags;
  const part = TIME_PARTS.find((each) => each === word);
  if (part !== undefined) {
    const { showStatsOverTime } = await import('../report/over-time.js');
    return showStatsOverTime(context, part, filters);
  }
  const { since, until } = filters;
  const timeFlags = { '--since': since, '--until': until, '-o html': document };
  const [flag] = Object.entries(timeFlags).find(([, value]) => value !== undefined) ?? [];
  if (flag !== undefined)
    throw usageError(`${flag} needs --by hour, day or week`, `add --by ${TIME_PARTS[1]}`);
  const by = word === undefined || isNamedGroup(word) ? word : fieldOf(word, BICYCLE);
  const counter = openCounter(by === undefined ? DEFAULT_GROUPS : [by], context.clock.wallMs());
  const seen = new Set<string>();
  const fields = new Set<string>(BICYCLE_FIELDS);
  const incomplete = await readList(
    context,
    await planBicycles(context, filters),
    filters,
    (bicycles) => {
      for (const { value } of bicycles) {
        const uuid = bicycleUuid(value);
        if (uuid !== undefined) seen.add(uuid);
        counter.add(value);
      }
      for (const field of fieldsOf(bicycles.map(({ value }) => value))) fields.add(field);
    },
  );
  checkGroup(by, fields);
  const rows = counter.rows();
  if (by === undefined) {
    const alerts = await readOpenAlerts(context, filters.organization, seen);
    rows.push(...countAlerts((alerts ?? []).map(({ value }) => value)));
  }
  await print(context, rows, counter.total());
  if (incomplete !== undefined) throw incomplete;
}

/**
 * Refuses a group that is neither a named group nor a field of a bicycle. Otherwise every bicycle
 * would be counted as `(none)`.
 */
function checkGroup(by: string | undefined, fields: ReadonlySet<string>): void {
  if (by === undefined || isNamedGroup(by) || fields.has(by) || fields.has(firstSegment(by)))
    return;
  throw unknownWord('field', by, [...new Set([...STATS_GROUPS, ...fields])]);
}

async function print(context: Context, rows: readonly StatsRow[], total: number): Promise<void> {
  const { io, flags } = context;
  const isTable = (await context.settings()).output.value === 'table' && flags.jq === undefined;
  const isPlain = flags.columns !== undefined || flags.headers === false;
  await io.startPager(context.notice);
  if (!isScreen(context) || !isTable || isPlain) return printReport(context, STATS, rows);
  const { drawStats } = await import('../../views/stats-screen.js');
  const screen = drawStats(rows, {
    width: io.stdout.width() ?? USUAL_WIDTH,
    height: io.stdout.height(),
    paint: await loadPaint(io.stdout.colorLevel),
  });
  await io.stdout.write(forScreen(screen, io.stdout));
  await writeFooter(context, [countNoun(total, BICYCLE)], true);
}
