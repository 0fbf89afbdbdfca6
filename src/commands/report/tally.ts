// Adds up the times, rentals and alerts of one interval, for the fleet or a part of it.

import type { Interval } from './parts.js';

/** The states for which there is a figure with their share of the time. */
export const SHARED_STATES = ['available', 'in_maintenance', 'lost'] as const;
export type SharedState = (typeof SHARED_STATES)[number];

export interface FleetTally {
  /** The sum of the times of all bicycles in the fleet, in milliseconds. */
  fleetMs: number;
  stateMs: { [state in SharedState]: number };
  rentals: number;
  /** Milliseconds of the rentals that ended. */
  rentalLengths: number[];
  /** Milliseconds between rentals. */
  pauses: number[];
  alertsOpened: number;
  alertsResolved: number;
  alertsStopped: number;
  resolutions: number[];
  /** The longest time for which a bicycle has been available at the end, in milliseconds. */
  idleMs: number | undefined;
  /** The groups of figures that are uncertain although the mirror saw the whole interval. */
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

/** The tallies for each group and interval. The first group is the whole fleet. */
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
   * Returns the tally of an interval for a group. Without a group, it is the tally of the whole
   * fleet.
   */
  tally(interval: number, group?: string): FleetTally {
    const tallies = group === undefined ? this.#whole : this.#groups.get(group);
    return tallies?.[interval] ?? newTally();
  }

  /**
   * Returns the tallies to which a bicycle of these groups is added. Each has one entry for each
   * interval.
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
