// Collects the times, rentals and alerts of an interval, for the whole fleet or a part of it.

import type { Interval } from './parts.js';

/** For each of these states, the report shows the share of time that bicycles spent in it. */
export const SHARED_STATES = ['available', 'in_maintenance', 'lost'] as const;
export type SharedState = (typeof SHARED_STATES)[number];

export interface FleetTally {
  /** The total time of all bicycles in the fleet, in milliseconds. */
  fleetMs: number;
  stateMs: { [state in SharedState]: number };
  rentals: number;
  /** The lengths of the rentals that ended, in milliseconds. */
  rentalLengths: number[];
  /** The lengths of the pauses between two rentals, in milliseconds. */
  pauses: number[];
  alertsOpened: number;
  alertsResolved: number;
  alertsStopped: number;
  resolutions: number[];
  /**
   * At the end of the interval, the longest time that any bicycle had been available, in
   * milliseconds.
   */
  idleMs: number | undefined;
  /** The kinds of metrics that are uncertain for another reason than a gap in the mirror. */
  readonly doubts: Set<FigureDoubt>;
}

export type FigureDoubt = 'states' | 'rentals' | 'lengths' | 'pauses' | 'idle';

export function newTally(): FleetTally {
  return {
    fleetMs: 0,
    stateMs: { available: 0, in_maintenance: 0, lost: 0 },
    rentals: 0,
    rentalLengths: [],
    pauses: [],
    alertsOpened: 0,
    alertsResolved: 0,
    alertsStopped: 0,
    resolutions: [],
    idleMs: undefined,
    doubts: new Set(),
  };
}

/** The tallies by group and interval. The whole fleet counts as a group. */
export class TallyTable {
  readonly intervals: readonly Interval[];
  readonly #groups = new Map<string, FleetTally[]>();
  readonly #whole: FleetTally[];

  constructor(intervals: readonly Interval[]) {
    this.intervals = intervals;
    this.#whole = intervals.map(newTally);
  }

  /** Returns the names of the groups in alphabetical order. */
  groups(): string[] {
    return [...this.#groups.keys()].sort();
  }

  /**
   * Returns the tally of an interval for a group, or for the whole fleet when `group` is undefined.
   */
  tally(interval: number, group?: string): FleetTally {
    const tallies = group === undefined ? this.#whole : this.#groups.get(group);
    return tallies?.[interval] ?? newTally();
  }

  /**
   * Returns the tallies that include a bicycle of these groups: the tallies of the whole fleet and
   * those of each group. Each inner array has one tally per interval.
   */
  talliesOf(groups: readonly string[]): readonly (readonly FleetTally[])[] {
    return [this.#whole, ...groups.map((group) => this.#groupOf(group))];
  }

  #groupOf(group: string): FleetTally[] {
    const known = this.#groups.get(group);
    if (known !== undefined) return known;
    const made = this.intervals.map(newTally);
    this.#groups.set(group, made);
    return made;
  }
}
