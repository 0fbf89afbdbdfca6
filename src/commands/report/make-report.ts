// Computes the report. All periods and parts are computed in one pass over the mirror.

import type { Context } from '../../context.js';
import type { Row } from '../../mirror/database.js';
import type { Mirror } from '../../mirror/open.js';
import { tallyAlerts } from './alerts.js';
import { computeFigures, coverageOf, type Knowledge, type PartFigure } from './figures.js';
import { readSight } from './gaps.js';
import { openGroups } from './groups.js';
import { type IdleBicycle, tallyHistory } from './history.js';
import { type Interval, intervalBefore, type PartKind, splitByTime } from './parts.js';
import { TallyTable } from './tally.js';

export interface FleetReport {
  readonly period: {
    readonly from: string;
    readonly until: string;
    readonly timezone: string;
    readonly before: { readonly from: string; readonly until: string };
    /**
     * Whether the period ends before the requested end, because the mirror has no certain data
     * after it.
     */
    readonly ends_early: boolean;
  };
  readonly coverage: number;
  readonly by: PartKind | null;
  readonly figures: readonly PartFigure[];
  readonly idle: readonly IdleRow[];
}

export interface IdleRow {
  readonly uuid: string;
  readonly name: string | null;
  readonly since: string;
  readonly seconds: number;
  readonly certain: boolean;
}

export interface ReportInput {
  readonly period: Interval;
  readonly endsEarly: boolean;
  readonly by: PartKind | undefined;
}

/** Computes the report of a period. The mirror may contain no data for the period. */
export async function makeFleetReport(
  context: Context,
  mirror: Mirror,
  { period, endsEarly, by }: ReportInput,
): Promise<FleetReport> {
  const { database } = mirror;
  const { zone } = context;
  const status = await mirror.status();
  const sight = await readSight(database, status.keptSince);
  const knowledge: Knowledge = { sight, hasAlerts: status.hasAlerts };
  const isByTime = by === 'day' || by === 'week' || by === 'month';
  const timeParts = isByTime ? splitByTime(period, by, zone) : [];
  const intervals = new IntervalList();
  for (const each of [period, ...timeParts]) {
    intervals.add(each);
    intervals.add(intervalBefore(each));
  }
  const table = new TallyTable(intervals.all);
  const groupsByUuid = new Map<string, readonly string[]>();
  const groupOf = await openGroups(context, database, by);
  const groupsOf = (bicycle: Row) => {
    const groups = groupOf(bicycle);
    if (groups.length > 0) groupsByUuid.set(String(bicycle['uuid']), groups);
    return groups;
  };
  const idle = await tallyHistory({ database, table, sight, period, groupsOf });
  await tallyAlerts(database, table, groupsByUuid);
  const figuresOf = (interval: Interval, part: string | null, group?: string): PartFigure[] => {
    const measure = (each: Interval) => ({
      interval: each,
      tally: table.tally(intervals.add(each), group),
    });
    const figures = computeFigures(measure(interval), measure(intervalBefore(interval)), knowledge);
    return figures.map((figure) => ({ part, ...figure }));
  };
  const before = intervalBefore(period);
  return {
    period: {
      from: isoOf(period.fromMs),
      until: isoOf(period.untilMs),
      timezone: zone.name ?? Intl.DateTimeFormat().resolvedOptions().timeZone,
      before: { from: isoOf(before.fromMs), until: isoOf(before.untilMs) },
      ends_early: endsEarly,
    },
    coverage: coverageOf(period, sight),
    by: by ?? null,
    figures: [
      ...figuresOf(period, null),
      ...timeParts.flatMap((part) => figuresOf(part, part.name)),
      ...table.groups().flatMap((group) => figuresOf(period, group, group)),
    ],
    idle: idle.map((each) => idleRow(each, period)),
  };
}

function idleRow({ uuid, name, sinceMs, isCertain }: IdleBicycle, period: Interval): IdleRow {
  return {
    uuid,
    name,
    since: isoOf(sinceMs),
    seconds: (period.untilMs - sinceMs) / 1000,
    certain: isCertain,
  };
}

function isoOf(ms: number): string {
  return new Date(ms).toISOString();
}

/**
 * Collects intervals without duplicates. The same interval can be needed twice. For example, a day
 * is needed as a period of its own, and as the period before the next day.
 */
class IntervalList {
  readonly all: Interval[] = [];
  readonly #indexes = new Map<string, number>();

  /** Returns the index of the interval in `all`. Appends the interval when it is new. */
  add({ fromMs, untilMs }: Interval): number {
    const key = `${fromMs} ${untilMs}`;
    const known = this.#indexes.get(key);
    if (known !== undefined) return known;
    this.#indexes.set(key, this.all.length);
    this.all.push({ fromMs, untilMs });
    return this.all.length - 1;
  }
}
