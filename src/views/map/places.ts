// Where the bicycles of a fleet are: points of the square world by state, and those that have no place on it.

import type { Bicycle } from '../../api/bicycle.js';
import { numberOf } from '../../terminal/values.js';
import { valueIn } from '../counts.js';
import { LIMIT_DEGREES, worldX, worldY } from './projection.js';

/** States beyond these are drawn alike: a service may send any number of them. */
export const MOST_STATES = 16;
/** What they are called together. */
const OTHER_STATES = 'other';

export interface Places {
  /** A point of the world each, see projection.ts. */
  readonly xs: Float64Array;
  readonly ys: Float64Array;
  /** The index of its state in `states`. */
  readonly stateOf: Uint8Array;
  /** Which bicycle of the input it is. */
  readonly bicycleOf: Uint32Array;
  /** The names of states, the most frequent first; where there are more than MOST_STATES, the last is `other`. */
  readonly states: readonly string[];
  /** Bicycles of the input that have no place: without a position, with one that cannot be, too near to a pole. */
  readonly unplaced: Unplaced;
}

export interface Unplaced {
  readonly missing: readonly number[];
  readonly impossible: readonly number[];
  readonly polar: readonly number[];
}

/** Finds the places of bicycles; `counts` are the states by their number, in the order of the legend. */
export function findPlaces(bicycles: readonly Bicycle[], states: readonly string[]): Places {
  const known = states.length > MOST_STATES ? [...states.slice(0, MOST_STATES - 1), OTHER_STATES] : states;
  const indexes = new Map(states.map((name, index) => [name, Math.min(index, MOST_STATES - 1)]));
  const xs = new Float64Array(bicycles.length);
  const ys = new Float64Array(bicycles.length);
  const stateOf = new Uint8Array(bicycles.length);
  const bicycleOf = new Uint32Array(bicycles.length);
  const unplaced = { missing: [] as number[], impossible: [] as number[], polar: [] as number[] };
  let count = 0;
  for (const [index, bicycle] of bicycles.entries()) {
    const why = whyUnplaced(bicycle);
    if (why !== undefined) {
      unplaced[why].push(index);
      continue;
    }
    xs[count] = worldX(numberOf(bicycle.longitude) ?? 0);
    ys[count] = worldY(numberOf(bicycle.latitude) ?? 0);
    stateOf[count] = indexes.get(valueIn('state', bicycle, 0)) ?? MOST_STATES - 1;
    bicycleOf[count] = index;
    count += 1;
  }
  return {
    xs: xs.subarray(0, count),
    ys: ys.subarray(0, count),
    stateOf: stateOf.subarray(0, count),
    bicycleOf: bicycleOf.subarray(0, count),
    states: known,
    unplaced,
  };
}

function whyUnplaced({ latitude, longitude }: Bicycle): keyof Unplaced | undefined {
  if (isNothing(latitude) || isNothing(longitude)) return 'missing';
  const [north, east] = [numberOf(latitude), numberOf(longitude)];
  if (north === undefined || east === undefined) return 'impossible';
  if (Math.abs(north) > 90 || Math.abs(east) > 180) return 'impossible';
  return Math.abs(north) > LIMIT_DEGREES ? 'polar' : undefined;
}

function isNothing(value: unknown): boolean {
  return value === undefined || value === null || value === '';
}
