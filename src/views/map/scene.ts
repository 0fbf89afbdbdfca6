// Where the bicycles of a fleet are: points of the square world by state, and those that have no place on it.

import type { Bicycle } from '../../api/bicycle.js';
import { LIMIT_DEGREES, type Point, worldX, worldY } from '../../globe/projection.js';
import type { Town } from '../../globe/towns.js';
import { numberOf, textOf } from '../../terminal/values.js';
import { ID_DIGITS } from '../bicycle.js';
import { openCounter, valueIn } from '../counts.js';
import type { StatsRow } from '../stats.js';
import type { Coast } from './coast.js';

/** States beyond these are drawn alike: a service may send any number of them. */
export const MOST_STATES = 16;
/** What they are called together. */
const OTHER_STATES = 'other';

/** A bicycle that is somewhere. */
export interface BicyclePoint extends Point {
  readonly bicycle: Bicycle;
  /** The index of its state in `states`. */
  readonly state: number;
}

export interface Scene {
  readonly places: readonly BicyclePoint[];
  /** Every state with its number, the most frequent first. */
  readonly counts: readonly StatsRow[];
  /** Their names; where there are more than MOST_STATES, the last is `other`. */
  readonly states: readonly string[];
  /** One for each reason that there is. */
  readonly unplaced: readonly Unplaced[];
}

/** Bicycles that have no place on a map, and why. */
export interface Unplaced {
  readonly label: string;
  readonly bicycles: readonly Bicycle[];
}

const MISSING = 'without a position';
const IMPOSSIBLE = 'with an impossible position';
const POLAR = 'nearer than 5 degrees to a pole';

/** What every drawing takes. */
export interface MapInput extends Scene {
  /** What it shows and when that was read; not cleaned yet. */
  readonly title: string;
  readonly moment: string;
  readonly coast: Coast;
  /** The largest first. */
  readonly towns?: readonly Town[];
}

/** Finds the places of bicycles, and counts them by state. */
export function sceneOf(bicycles: Iterable<Bicycle>): Scene {
  const all = [...bicycles];
  const counter = openCounter(['state'], 0);
  for (const bicycle of all) counter.add(bicycle);
  const counts = counter.rows();
  const names = counts.map(({ value }) => value);
  const indexes = new Map(names.map((name, index) => [name, Math.min(index, MOST_STATES - 1)]));
  const unplaced = [MISSING, IMPOSSIBLE, POLAR].map((label) => ({
    label,
    bicycles: [] as Bicycle[],
  }));
  const places = all.flatMap((bicycle): BicyclePoint[] => {
    const position = positionOf(bicycle);
    const why =
      typeof position === 'string'
        ? position
        : Math.abs(position[1]) > LIMIT_DEGREES
          ? POLAR
          : undefined;
    if (typeof position === 'string' || why !== undefined) {
      unplaced.find(({ label }) => label === why)?.bicycles.push(bicycle);
      return [];
    }
    const state = indexes.get(valueIn('state', bicycle, 0)) ?? 0;
    return [{ bicycle, x: worldX(position[0]), y: worldY(position[1]), state }];
  });
  const states =
    names.length > MOST_STATES ? [...names.slice(0, MOST_STATES - 1), OTHER_STATES] : names;
  return {
    places,
    counts,
    states,
    unplaced: unplaced.filter(({ bicycles }) => bicycles.length > 0),
  };
}

/** Longitude and latitude in degrees, or why a bicycle is nowhere on the globe. */
export function positionOf({
  latitude,
  longitude,
}: Bicycle): readonly [longitude: number, latitude: number] | string {
  if (isNothing(latitude) || isNothing(longitude)) return MISSING;
  const [east = 181, north = 91] = [numberOf(longitude), numberOf(latitude)];
  return Math.abs(east) <= 180 && Math.abs(north) <= 90 ? [east, north] : IMPOSSIBLE;
}

function isNothing(value: unknown): boolean {
  return value === undefined || value === null || value === '';
}

/** What a bicycle is called: its name, else the beginning of its UUID; not cleaned yet. */
export function nameOf({ name, uuid }: Bicycle): string {
  return textOf(name) || (textOf(uuid) ?? '-').slice(0, ID_DIGITS);
}
