// Tests the search for tours: known instances, limits, one-way legs, balance and repeatability.

import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import {
  legMetres,
  type RoutingProblem,
  searchTours,
  solveTours,
  tourMetres,
  tourSeconds,
} from '../../src/rounds/solve.js';

interface Instance {
  name: string;
  /** The best known length. */
  best: number;
  vans: number;
  capacity: number | null;
  /** The first place is the start. */
  places: [number, number][];
  demands: number[] | null;
}

const INSTANCES: Instance[] = JSON.parse(
  readFileSync(new URL('../../bench/routing-instances.json', import.meta.url), 'utf8'),
);

/** Returns the problem with the rounded distances of TSPLIB. The last two places are the start. */
function problemOf({ places, demands, vans, capacity }: Instance): RoutingProblem {
  const [start = [0, 0], ...stops] = places;
  return {
    ...planar([...stops, start, start]),
    vans,
    capacity: capacity ?? Number.POSITIVE_INFINITY,
    ...(demands === null ? {} : { demands: demands.slice(1) }),
  };
}

/** Returns a problem with straight distances in a plane, one metre a second and no other limits. */
function planar(places: readonly (readonly [number, number])[]): RoutingProblem {
  const size = places.length;
  const metres = new Int32Array(size * size);
  for (const [from, [x, y]] of places.entries()) {
    for (const [to, [otherX, otherY]] of places.entries())
      metres[from * size + to] = Math.round(Math.hypot(x - otherX, y - otherY));
  }
  return {
    stops: size - 2,
    metres,
    secondsPerMetre: 1,
    stopSeconds: 0,
    vans: 1,
    capacity: Number.POSITIVE_INFINITY,
    maxSeconds: Number.POSITIVE_INFINITY,
  };
}

/** Returns places that look random and are always the same. The last two are the middle. */
function scattered(count: number, width: number): [number, number][] {
  let state = 7;
  const next = () => {
    state = (state * 48_271) % 2_147_483_647;
    return (state / 2_147_483_647) * width;
  };
  const places = Array.from({ length: count }, (): [number, number] => [next(), next()]);
  return [...places, [width / 2, width / 2], [width / 2, width / 2]];
}

function lengthOf(problem: RoutingProblem, tours: readonly (readonly number[])[]): number {
  return tours.reduce((sum, tour) => sum + tourMetres(problem, tour), 0);
}

function longestOf(problem: RoutingProblem, tours: readonly (readonly number[])[]): number {
  return Math.max(...tours.map((tour) => tourSeconds(problem, tour)));
}

test.each(INSTANCES)(
  'finds tours that are almost as short as the best known tours of $name',
  (instance) => {
    const problem = problemOf(instance);
    const { tours, absent } = solveTours(problem);
    expect(absent).toEqual([]);
    const visited = tours.flat().sort((a, b) => a - b);
    expect(visited).toEqual(Array.from({ length: problem.stops }, (_, stop) => stop));
    for (const tour of tours) {
      const load = tour.reduce((sum, stop) => sum + (problem.demands?.[stop] ?? 0), 0);
      expect(load).toBeLessThanOrEqual(problem.capacity);
    }
    const length = lengthOf(problem, tours);
    expect(length).toBeGreaterThanOrEqual(instance.best);
    expect(length / instance.best).toBeLessThanOrEqual(instance.name === 'berlin52' ? 1.03 : 1.04);
  },
);

describe('the tour search', () => {
  test('the tour search returns the same tours for the same bicycles', () => {
    const problem = { ...planar(scattered(60, 5000)), vans: 3, capacity: 25 };
    expect(solveTours(problem)).toEqual(solveTours(problem));
  });

  test('the tour search can stop after a time limit instead of a number of steps', () => {
    const problem = { ...planar(scattered(200, 5000)), vans: 2 };
    let calls = 0;
    const elapsed = () => {
      calls += 1;
      return calls / 2;
    };
    const { tours } = solveTours(problem, { elapsed });
    expect(calls).toBe(2);
    expect(tours.flat()).toHaveLength(200);
  });

  test('the tour search yields increasing progress values', () => {
    const search = searchTours({ ...planar(scattered(300, 5000)), vans: 2 });
    const shares: number[] = [];
    for (let step = search.next(); step.done !== true && shares.length < 20; step = search.next())
      shares.push(step.value);
    expect(shares).toHaveLength(20);
    expect(shares).toEqual(shares.toSorted((a, b) => a - b));
  });

  test('uses different travel times for the two directions of a street', () => {
    // A ring of ten stops: each leg is short in one direction and long in the other.
    const problem = planar(scattered(10, 1000));
    const size = problem.stops + 2;
    const ring = [10, 3, 1, 4, 0, 5, 9, 2, 6, 8, 7, 11];
    problem.metres.fill(5000);
    for (const [at, place] of ring.slice(0, -1).entries())
      problem.metres[place * size + (ring[at + 1] as number)] = 10;
    const { tours } = solveTours(problem);
    expect(tours).toEqual([ring.slice(1, -1)]);
    expect(legMetres(problem, 3, 1)).toBe(10);
  });

  test('tours stay within the time limit and omit as few stops as possible', () => {
    const problem = {
      ...planar(scattered(80, 10_000)),
      vans: 2,
      stopSeconds: 240,
      maxSeconds: 20_000,
    };
    const { tours, absent } = solveTours(problem);
    expect(longestOf(problem, tours)).toBeLessThanOrEqual(problem.maxSeconds);
    expect(absent.length).toBeGreaterThan(0);
    expect([...tours.flat(), ...absent].sort((a, b) => a - b)).toEqual(
      Array.from({ length: 80 }, (_, stop) => stop),
    );
    // No stop that was left out would still fit at the end of a tour.
    for (const stop of absent) {
      for (const tour of tours)
        expect(tourSeconds(problem, [...tour, stop])).toBeGreaterThan(problem.maxSeconds);
    }
  });

  test('the option `isBalanced` shortens the longest tour', () => {
    const problem = { ...planar(scattered(60, 8000)), vans: 4, stopSeconds: 100 };
    const shortest = solveTours(problem);
    const balanced = solveTours({ ...problem, isBalanced: true });
    expect(longestOf(problem, balanced.tours)).toBeLessThan(longestOf(problem, shortest.tours));
    expect(lengthOf(problem, shortest.tours)).toBeLessThanOrEqual(
      lengthOf(problem, balanced.tours),
    );
    expect(balanced.tours.every((tour) => tour.length > 0)).toBe(true);
  });

  test('returns tours for zero, one and two stops', () => {
    expect(solveTours(planar(scattered(0, 100)))).toEqual({ tours: [[]], absent: [] });
    expect(solveTours(planar(scattered(1, 100)))).toEqual({ tours: [[0]], absent: [] });
    expect(solveTours(planar(scattered(2, 100))).tours.flat()).toHaveLength(2);
  });
});
