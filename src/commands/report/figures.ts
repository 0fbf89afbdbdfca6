// Computes the metrics of a report from the tallies of its intervals. docs/report.md defines each
// metric.

import { DAY_MS, SECOND_MS } from '../../system/time-units.js';
import type { Sight } from './gaps.js';
import type { Interval } from './parts.js';
import type { FigureDoubt, FleetTally, SharedState } from './tally.js';

export type Unit = 'bicycles' | '%' | 'rentals' | 'rentals/day' | 's' | 'alerts';

/** A metric in a report, as in the JSON output. */
export interface Figure {
  readonly name: string;
  /** The value, or null when it is unknown. */
  readonly value: number | null;
  readonly unit: Unit;
  /** The value for the previous period. */
  readonly before: number | null;
  /** The share of the period for which the mirror has data, in percent. */
  readonly coverage: number;
  readonly certain: boolean;
  readonly before_certain: boolean;
}

/** A metric for a part of the report. `part` is null for the whole period. */
export interface PartFigure extends Figure {
  readonly part: string | null;
}

interface Definition {
  readonly name: string;
  readonly unit: Unit;
  /** The kinds of uncertain data that affect this metric. */
  readonly doubts: readonly FigureDoubt[];
  readonly isOfAlerts?: boolean;
  /**
   * Computes the metric. `lengthMs` is the length of the interval. Returns undefined when there is
   * not enough data.
   */
  compute(tally: FleetTally, lengthMs: number): number | undefined;
}

const MEDIAN = 0.5;
const P90 = 0.9;

function share(state: SharedState): Definition {
  return {
    name: `${state}_share`,
    unit: '%',
    doubts: ['states'],
    compute: ({ stateMs, fleetMs }) => ratio(100 * stateMs[state], fleetMs),
  };
}

function lengths(
  name: string,
  doubts: readonly FigureDoubt[],
  listOf: (tally: FleetTally) => number[],
  isOfAlerts = false,
): Definition[] {
  const definition = (suffix: string, part: number): Definition => ({
    name: `${name}_${suffix}`,
    unit: 's',
    doubts,
    isOfAlerts,
    compute: (tally) => percentile(listOf(tally), part),
  });
  return [definition('median', MEDIAN), definition('p90', P90)];
}

const DEFINITIONS: readonly Definition[] = [
  {
    name: 'fleet_size_mean',
    unit: 'bicycles',
    doubts: ['states'],
    compute: ({ fleetMs }, lengthMs) => ratio(fleetMs, lengthMs),
  },
  share('available'),
  share('in_maintenance'),
  share('lost'),
  { name: 'rentals', unit: 'rentals', doubts: ['rentals'], compute: ({ rentals }) => rentals },
  {
    name: 'rentals_per_bicycle_day',
    unit: 'rentals/day',
    doubts: ['rentals', 'states'],
    compute: ({ rentals, fleetMs }) => ratio(rentals, fleetMs / DAY_MS),
  },
  ...lengths('rental_length', ['lengths'], ({ rentalLengths }) => rentalLengths),
  ...lengths('time_between_rentals', ['pauses', 'rentals'], ({ pauses }) => pauses),
  alertCount('alerts_opened', ({ alertsOpened }) => alertsOpened),
  alertCount('alerts_resolved', ({ alertsResolved }) => alertsResolved),
  alertCount('alerts_stopped', ({ alertsStopped }) => alertsStopped),
  ...lengths('alert_resolution', [], ({ resolutions }) => resolutions, true),
  {
    name: 'idle_longest',
    unit: 's',
    doubts: ['idle'],
    compute: ({ idleMs }) => (idleMs === undefined ? undefined : idleMs / SECOND_MS),
  },
];

function alertCount(name: string, compute: (tally: FleetTally) => number): Definition {
  return { name, unit: 'alerts', doubts: [], isOfAlerts: true, compute };
}

function ratio(part: number, whole: number): number | undefined {
  return whole > 0 ? part / whole : undefined;
}

/**
 * Returns a percentile in seconds. This is the shortest length for which at least the given share
 * of all lengths is not longer.
 */
function percentile(lengthsMs: number[], part: number): number | undefined {
  if (lengthsMs.length === 0) return undefined;
  const sorted = Float64Array.from(lengthsMs).sort();
  const place = Math.max(0, Math.ceil(sorted.length * part - 1e-9) - 1);
  return (sorted[place] ?? 0) / SECOND_MS;
}

/** The tally of an interval. */
export interface Measured {
  readonly tally: FleetTally;
  readonly interval: Interval;
}

/** The data that the mirror has about the period. */
export interface Knowledge {
  readonly sight: Sight;
  /** Whether the list of alerts was read completely. */
  readonly hasAlerts: boolean;
}

/** Computes all metrics of an interval, together with their values for the previous interval. */
export function computeFigures(now: Measured, before: Measured, knowledge: Knowledge): Figure[] {
  return DEFINITIONS.map((definition) => {
    const current = computeOne(definition, now, knowledge);
    const previous = computeOne(definition, before, knowledge);
    return {
      name: definition.name,
      value: current.value,
      unit: definition.unit,
      before: previous.value,
      coverage: coverageOf(now.interval, knowledge.sight),
      certain: current.isCertain,
      before_certain: previous.isCertain,
    };
  });
}

function computeOne(
  { doubts, isOfAlerts = false, compute }: Definition,
  { tally, interval }: Measured,
  { sight, hasAlerts }: Knowledge,
): { value: number | null; isCertain: boolean } {
  const { fromMs, untilMs } = interval;
  const seen = sight.shareOf(interval);
  const isUnread = isOfAlerts && !hasAlerts && tally.alertsOpened === 0;
  if (seen === 0 || isUnread) return { value: null, isCertain: false };
  const lengthMs = untilMs - Math.max(fromMs, sight.beginMs ?? fromMs);
  const isCertain =
    sight.sawWhole(fromMs, untilMs) &&
    (!isOfAlerts || hasAlerts) &&
    !doubts.some((doubt) => tally.doubts.has(doubt));
  const value = compute(tally, lengthMs);
  return { value: value === undefined ? null : rounded(value), isCertain };
}

/** Rounds to three decimals. For a time in seconds, this is a precision of one millisecond. */
function rounded(value: number): number {
  return Math.round(value * 1000) / 1000;
}

/**
 * Returns the coverage in percent with two decimals. The result is rounded down, so that 100 means
 * no gaps.
 */
export function coverageOf(interval: Interval, sight: Sight): number {
  return Math.floor(sight.shareOf(interval) * 10_000 + 1e-7) / 100;
}
