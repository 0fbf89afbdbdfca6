// The positions of a fleet's bicycles by state, and the bicycles without a position.

import type { Bicycle } from '../../api/bicycle.js';
import { LIMIT_DEGREES, type Point, worldX, worldY } from '../../globe/projection.js';
import type { Town } from '../../globe/towns.js';
import { numberOf, textOf } from '../../terminal/values.js';
import { ID_DIGITS } from '../bicycle.js';
import { openCounter, valueIn } from '../counts.js';
import type { StatsRow } from '../stats.js';
import type { Coast } from './coast.js';

/**
 * The maximum number of states that have their own mark. All further states share one mark, because
 * a service may have any number of states.
 */
export const MOST_STATES = 16;
/** The name in the legend for all states that share the last mark. */
const OTHER_STATES = 'other';

/** A bicycle with a position. */
export interface BicyclePoint extends Point {
  readonly bicycle: Bicycle;
  /** The index of its state in `states`. */
  readonly state: number;
}

export interface Scene {
  readonly places: readonly BicyclePoint[];
  /** The states with their counts, most frequent first. */
  readonly counts: readonly StatsRow[];
  /** The names of the states. When there are more than MOST_STATES, the last one is `other`. */
  readonly states: readonly string[];
  /** The bicycles that have no usable position, grouped by the reason. */
  readonly unplaced: readonly Unplaced[];
}

/** The bicycles without a position, with the reason. */
export interface Unplaced {
  readonly label: string;
  readonly bicycles: readonly Bicycle[];
}

const MISSING = 'without a position';
const IMPOSSIBLE = 'with an impossible position';
const POLAR = 'nearer than 5 degrees to a pole';

/** The data that every drawing needs. */
export interface MapInput extends Scene {
  /**
   * `title` is the subject of the map, and `moment` is the time of its data. Both may still contain
   * control characters.
   */
  readonly title: string;
  readonly moment: string;
  readonly coast: Coast;
  /** Largest first. */
  readonly towns?: readonly Town[];
}

/** Collects the positions of bicycles, and counts the bicycles by state. */
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

/** Returns longitude and latitude in degrees, or the reason why a bicycle has no position. */
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

/**
 * Returns a bicycle's name, or the first part of its UUID. The result may still contain control
 * characters.
 */
export function nameOf({ name, uuid }: Bicycle): string {
  return textOf(name) || (textOf(uuid) ?? '-').slice(0, ID_DIGITS);
}
