// Arranges stops into van tours: the vehicle routing problem with capacity and a time limit.
//
// The method has three parts.
//
// 1. Construction. The savings method of Clarke and Wright starts with one tour for each stop. It
//    joins the end of one tour to the start of another, largest saving first: the saving of "i,
//    then j" is cost(i, end) + cost(start, j) - cost(i, j). Only the nearest stops are considered
//    as neighbours. When more tours than vans remain, the tours with the most stops are kept, and
//    the other stops wait.
// 2. Local search. Four moves are tried until none of them shortens the tours:
//    - 2-opt reverses a section of one tour.
//    - Or-opt moves up to three consecutive stops to another position in the same tour, possibly
//      reversed.
//    - Relocate moves one stop to another tour.
//    - Exchange swaps two stops of different tours.
//
//    Costs can be asymmetric (one-way streets), so the cost of a reversed section is always
//    recalculated.
// 3. Removal and insertion. A local search ends in a local optimum. To leave it, each step removes
//    strings of neighbouring stops from neighbouring tours, and inserts them and the waiting stops
//    at their cheapest positions. About one position in a hundred is skipped at random. The result
//    is accepted if it is not much worse; the tolerated loss falls during the search (simulated
//    annealing). This method is called "slack induction by string removals". It needs no tuning for
//    each instance, and is among the best known methods of comparable simplicity. At the end, the
//    local search runs once more on the best tours.
//
// The order of goals is: visit as many stops as possible, then the shortest distance. With
// `isBalanced`, the second goal is to minimise the longest tour in seconds, then the distance.
//
// The search is deterministic. The random numbers have a fixed seed, and the number of steps
// depends only on the number of stops. If the caller sets a time limit, this limit replaces the
// number of steps. The result then depends on the machine's speed.
//
// Why not a library: npm has no maintained package for this problem that works without native code
// or a server (2026-11). `node_or_tools` is a native module for old versions of Node, and
// `salesman.js` does not support several vans, capacity or time limits.
//
// Sources:
// - G. Clarke, J. W. Wright: Scheduling of vehicles from a central depot to a number of delivery
//   points. Operations Research 12 (1964), 568-581.
// - G. A. Croes: A method for solving traveling-salesman problems. Operations Research 6 (1958),
//   791-812 (2-opt).
// - I. Or: Traveling salesman-type combinatorial problems. Dissertation, Northwestern University,
//   1976 (Or-opt).
// - M. W. P. Savelsbergh: The vehicle routing problem with time windows. ORSA Journal on Computing
//   4 (1992), 146-154 (relocate and exchange).
// - J. Christiaens, G. Vanden Berghe: Slack induction by string removals for vehicle routing
//   problems. Transportation Science 54 (2020), 417-433.

import { createRandom } from '../system/random.js';

/**
 * The number of stops. In the tables, the stops have the indexes 0 to `stops - 1`. The start has
 * the index `stops`, and the end has the index `stops + 1`.
 */
export interface RoutingProblem {
  readonly stops: number;
  /** The distance from each place to each place in metres, row by row. */
  readonly metres: Int32Array;
  /**
   * The travel times from each place to each place in seconds. Undefined when the speed is
   * constant.
   */
  readonly seconds?: Int32Array | undefined;
  /** The constant speed. It is ignored when `seconds` is set. */
  readonly secondsPerMetre: number;
  /** The time at each stop. */
  readonly stopSeconds: number;
  /** How much of the capacity each stop needs. Default: 1. */
  readonly demands?: readonly number[];
  readonly vans: number;
  readonly capacity: number;
  /** The maximum duration of a tour, from the start to the end. */
  readonly maxSeconds: number;
  /** Whether to minimise the longest tour instead of the total distance. */
  readonly isBalanced?: boolean;
}

export interface Tours {
  /** The stops of each van, in order. There is one entry for each van. */
  readonly tours: readonly (readonly number[])[];
  /** The stops that do not fit into any tour. */
  readonly absent: readonly number[];
}

export interface SearchLimits {
  /**
   * Returns the share of the time limit that has passed, from 0 to 1. Without this function, the
   * search ends after a fixed number of steps.
   */
  readonly elapsed?: () => number;
}

/** Returns the travel time of a leg in whole seconds. */
export function legSeconds(problem: RoutingProblem, from: number, to: number): number {
  const at = from * (problem.stops + 2) + to;
  const { seconds, metres, secondsPerMetre } = problem;
  if (seconds !== undefined) return seconds[at] ?? 0;
  return Math.round((metres[at] ?? 0) * secondsPerMetre);
}

export function legMetres({ stops, metres }: RoutingProblem, from: number, to: number): number {
  return metres[from * (stops + 2) + to] ?? 0;
}

/** Returns the duration of a tour in seconds; 0 for an empty tour. */
export function tourSeconds(problem: RoutingProblem, tour: readonly number[]): number {
  if (tour.length === 0) return 0;
  let [sum, last] = [0, problem.stops];
  for (const stop of tour) {
    sum += legSeconds(problem, last, stop) + problem.stopSeconds;
    last = stop;
  }
  return sum + legSeconds(problem, last, problem.stops + 1);
}

/** Returns the length of a tour in metres; 0 for an empty tour. */
export function tourMetres(problem: RoutingProblem, tour: readonly number[]): number {
  if (tour.length === 0) return 0;
  let [sum, last] = [0, problem.stops];
  for (const stop of tour) {
    sum += legMetres(problem, last, stop);
    last = stop;
  }
  return sum + legMetres(problem, last, problem.stops + 1);
}

/** When stops are inserted or removed, only this many of the nearest stops are considered. */
const MOST_NEIGHBOURS = 100;
/**
 * The maximum number of evaluations in a search without a time limit. One evaluation tries one
 * position for a stop. The whole number of evaluations takes about two seconds.
 */
const EVALUATION_BUDGET = 250_000_000;
/**
 * The maximum number of steps for each stop. A search with few stops needs few steps, and this
 * limit ends it early.
 */
const STEPS_PER_STOP = 1_000;
/**
 * The local search stops after this many evaluations. It reaches this number only with thousands of
 * stops.
 */
const LOCAL_BUDGET = 60_000_000;
/** Finding a neighbour's position in its tour takes as long as this many evaluations. */
const SEARCHED_EVALUATIONS = 10;
/** After this many stops, the computation of nearby stops returns control to its caller. */
const STOPS_A_SLICE = 100;
/**
 * The fixed cost of trying a stop in one tour, in evaluations. Each position in the tour costs one
 * more evaluation.
 */
const TOUR_EVALUATIONS = 10;
/** The maximum number of waiting stops that one step tries to insert. */
const MOST_TRIED = 30;
/**
 * The maximum number of stops in a string, and the mean number of stops that a step removes. A
 * string consists of consecutive stops of a tour that are removed together.
 */
const LONGEST_STRING = 10;
const MEAN_REMOVED = 10;
/**
 * The probability that a string is split, which means that some of its middle stops stay in the
 * tour. The second value is the probability that no further stop is kept. It applies after each
 * kept stop.
 */
const SPLIT_SHARE = 0.5;
const GAP_SHARE = 0.01;
/** The probability that an insertion position is skipped at random. */
const BLINK_SHARE = 0.01;
/**
 * How much a search step may lengthen the tours, at the start and at the end of the search. The
 * unit is the mean length of a leg.
 */
const START_LEGS = 0.4;
const END_LEGS = 0.004;
/** After this many evaluations (a few milliseconds), the search returns control to its caller. */
const EVALUATIONS_A_SLICE = 500_000;
/**
 * The weight of the total duration in a balanced search. It is used to choose between tours that
 * are equally long.
 */
const TOTAL_WEIGHT = 0.01;
const SEED = 0x2f6e2b1;
/** A gain that is smaller than this is treated as a rounding error. */
const LEAST_GAIN = 1e-7;

/**
 * Searches for tours. The generator yields the progress, from 0 to 1, every few milliseconds, so
 * that the caller can stop the search. It returns the best tours.
 */
export function* searchTours(
  problem: RoutingProblem,
  limits: SearchLimits = {},
): Generator<number, Tours, undefined> {
  const search = new Search(problem);
  yield* search.construct();
  yield* search.improve(limits.elapsed);
  return search.best();
}

/** Runs the whole search without a pause. */
export function solveTours(problem: RoutingProblem, limits: SearchLimits = {}): Tours {
  const search = searchTours(problem, limits);
  for (;;) {
    const { done, value } = search.next();
    if (done === true) return value;
  }
}

/** A set of tours during the search, with its value. */
interface Solution {
  tours: number[][];
  absent: number[];
  value: number;
}

/** Where a stop can be inserted. */
interface Place {
  tour: number;
  at: number;
}

class Search {
  readonly #problem: RoutingProblem;
  readonly #stops: number;
  readonly #size: number;
  readonly #costs: Int32Array;
  /**
   * The cost table with rows and columns swapped. An insertion looks up the legs to a stop and the
   * legs from the stop. With both tables, each look-up reads a single row.
   */
  readonly #costsTo: Int32Array;
  readonly #demands: Float64Array;
  /** For each stop, its nearest stops, closest first. */
  readonly #neighbours: Int32Array[] = [];
  readonly #random = createRandom(SEED);
  /**
   * Whether the search needs durations, because they limit the tours or decide which tours are
   * better.
   */
  readonly #hasTimes: boolean;
  /** The cost of an unassigned stop. It is higher than the cost of any detour. */
  readonly #absentCost: number;

  #tours: number[][] = [];
  #absent: number[] = [];
  /** The load, the cost and the duration of each tour. */
  readonly #loads: Float64Array;
  readonly #tourCosts: Float64Array;
  readonly #durations: Float64Array;
  /** Maps each stop to the index of its tour, or to -1 while it is not in any tour. */
  readonly #tourOf: Int32Array;
  #best: Solution = { tours: [], absent: [], value: Number.POSITIVE_INFINITY };
  #evaluations = 0;

  constructor(problem: RoutingProblem) {
    const { stops, metres, vans, isBalanced = false, maxSeconds } = problem;
    this.#problem = problem;
    this.#stops = stops;
    this.#size = stops + 2;
    this.#costs = metres;
    this.#costsTo = isSymmetric(metres, this.#size) ? metres : transpose(metres, this.#size);
    this.#demands = Float64Array.from({ length: stops }, (_, stop) => problem.demands?.[stop] ?? 1);
    this.#hasTimes = isBalanced || Number.isFinite(maxSeconds);
    let largest = 1;
    for (const cost of metres) if (cost > largest) largest = cost;
    this.#absentCost =
      (isBalanced ? largest * this.#secondsPerCost() + problem.stopSeconds : largest) * 4 + 1e6;
    this.#loads = new Float64Array(vans);
    this.#tourCosts = new Float64Array(vans);
    this.#durations = new Float64Array(vans);
    this.#tourOf = new Int32Array(stops).fill(-1);
  }

  /**
   * Returns roughly how many seconds correspond to one unit of cost. This ratio is needed only for
   * the cost of an unassigned stop.
   */
  #secondsPerCost(): number {
    return this.#problem.seconds === undefined ? this.#problem.secondsPerMetre : 10;
  }

  best(): Tours {
    return { tours: this.#best.tours, absent: this.#best.absent };
  }

  #cost(from: number, to: number): number {
    return this.#costs[from * this.#size + to] as number;
  }

  #leg(from: number, to: number): number {
    return legSeconds(this.#problem, from, to);
  }

  // The construction.

  *construct(): Generator<number, void, undefined> {
    const { vans, metres } = this.#problem;
    for (let stop = 0; stop < this.#stops; stop++) {
      this.#neighbours.push(findNeighbours(metres, this.#stops, stop));
      if (stop % STOPS_A_SLICE === 0) yield 0;
    }
    yield 0;
    const joined = this.#joinBySavings();
    joined.sort((a, b) => b.length - a.length || (a[0] ?? 0) - (b[0] ?? 0));
    this.#tours = Array.from({ length: vans }, (_, van) => joined[van] ?? []);
    this.#absent = joined.slice(vans).flat();
    for (let tour = 0; tour < vans; tour++) this.#measure(tour);
    yield 0;
    this.#insertAbsent(false);
    yield* this.#searchLocally(0);
    this.#keepBest(this.#value());
  }

  #joinBySavings(): number[][] {
    const { capacity, maxSeconds } = this.#problem;
    const [start, end] = [this.#stops, this.#stops + 1];
    const pairs: { from: number; to: number; saving: number }[] = [];
    for (let from = 0; from < this.#stops; from++) {
      for (const to of this.#neighbours[from] as Int32Array) {
        const saving = this.#cost(from, end) + this.#cost(start, to) - this.#cost(from, to);
        if (saving > 0) pairs.push({ from, to, saving });
      }
    }
    pairs.sort((a, b) => b.saving - a.saving || a.from - b.from || a.to - b.to);
    const tours = Array.from({ length: this.#stops }, (_, stop) => [stop]);
    const owner = Int32Array.from({ length: this.#stops }, (_, stop) => stop);
    const loads = Float64Array.from(this.#demands);
    const durations = Float64Array.from({ length: this.#stops }, (_, stop) =>
      tourSeconds(this.#problem, [stop]),
    );
    for (const { from, to } of pairs) {
      const [first, second] = [owner[from] as number, owner[to] as number];
      const [head, tail] = [tours[first] as number[], tours[second] as number[]];
      if (first === second || head.at(-1) !== from || tail[0] !== to) continue;
      const load = (loads[first] as number) + (loads[second] as number);
      const duration =
        (durations[first] as number) +
        (durations[second] as number) -
        this.#leg(from, end) -
        this.#leg(start, to) +
        this.#leg(from, to);
      if (load > capacity || duration > maxSeconds) continue;
      for (const stop of tail) owner[stop] = first;
      head.push(...tail);
      tours[second] = [];
      loads[first] = load;
      durations[first] = duration;
    }
    return tours.filter(({ length }) => length > 0);
  }

  // The tours and their values.

  #measure(tour: number): void {
    const stops = this.#tours[tour] as number[];
    let load = 0;
    for (const stop of stops) {
      load += this.#demands[stop] as number;
      this.#tourOf[stop] = tour;
    }
    this.#loads[tour] = load;
    this.#tourCosts[tour] = tourMetres(this.#problem, stops);
    this.#durations[tour] = this.#hasTimes ? tourSeconds(this.#problem, stops) : 0;
  }

  #value(): number {
    let [total, longest, duration] = [0, 0, 0];
    for (let tour = 0; tour < this.#tours.length; tour++) {
      total += this.#tourCosts[tour] as number;
      duration += this.#durations[tour] as number;
      longest = Math.max(longest, this.#durations[tour] as number);
    }
    const missing = this.#absent.length * this.#absentCost;
    if (this.#problem.isBalanced === true) return longest + TOTAL_WEIGHT * duration + missing;
    return total + missing;
  }

  #keepBest(value: number): void {
    if (value >= this.#best.value - LEAST_GAIN) return;
    this.#best = {
      tours: this.#tours.map((tour) => tour.slice()),
      absent: this.#absent.slice(),
      value,
    };
  }

  // The local search.

  /** Applies moves until no move helps or the local search budget is used up. */
  *#searchLocally(share: number): Generator<number, void, undefined> {
    const isBalanced = this.#problem.isBalanced === true;
    const limit = this.#evaluations + LOCAL_BUDGET;
    let sliceEnd = this.#evaluations + EVALUATIONS_A_SLICE;
    for (let isBetter = true; isBetter && this.#evaluations < limit; ) {
      isBetter = false;
      for (let tour = 0; tour < this.#tours.length && this.#evaluations < limit; ) {
        if (this.#reversePart(tour) || this.#movePart(tour)) isBetter = true;
        else tour += 1;
        if (this.#evaluations < sliceEnd) continue;
        sliceEnd = this.#evaluations + EVALUATIONS_A_SLICE;
        yield share;
      }
      // A balanced search skips moves between tours. These moves are rated by distance, but a
      // smaller distance does not mean that the longest tour becomes shorter.
      if (isBalanced) continue;
      for (let stop = 0; stop < this.#stops && this.#evaluations < limit; ) {
        if (this.#relocate(stop) || this.#exchange(stop)) isBetter = true;
        else stop += 1;
        if (this.#evaluations < sliceEnd) continue;
        sliceEnd = this.#evaluations + EVALUATIONS_A_SLICE;
        yield share;
      }
    }
  }

  /** Returns the place at a position of a tour: the start, a stop or the end. */
  #placeAt(stops: readonly number[], at: number): number {
    if (at < 0) return this.#stops;
    return at < stops.length ? (stops[at] as number) : this.#stops + 1;
  }

  /**
   * Replaces the stops of a tour, unless its duration would exceed the limit. Returns whether the
   * stops were replaced.
   */
  #replace(tour: number, stops: number[]): boolean {
    const { maxSeconds } = this.#problem;
    if (this.#hasTimes) {
      const duration = tourSeconds(this.#problem, stops);
      if (duration > maxSeconds) return false;
      if (this.#problem.isBalanced === true && duration > (this.#durations[tour] as number))
        return false;
    }
    this.#tours[tour] = stops;
    this.#measure(tour);
    return true;
  }

  /** 2-opt: applies the first reversal that shortens the tour. */
  #reversePart(tour: number): boolean {
    const stops = this.#tours[tour] as number[];
    for (let first = 0; first < stops.length - 1; first++) {
      const before = this.#placeAt(stops, first - 1);
      const head = stops[first] as number;
      let [forward, backward] = [0, 0];
      this.#evaluations += stops.length - first;
      for (let last = first + 1; last < stops.length; last++) {
        const [previous, tail] = [stops[last - 1] as number, stops[last] as number];
        forward += this.#cost(previous, tail);
        backward += this.#cost(tail, previous);
        const after = this.#placeAt(stops, last + 1);
        const old = this.#cost(before, head) + forward + this.#cost(tail, after);
        const fresh = this.#cost(before, tail) + backward + this.#cost(head, after);
        if (fresh >= old - LEAST_GAIN) continue;
        const reversed = stops.slice(first, last + 1).reverse();
        const next = [...stops.slice(0, first), ...reversed, ...stops.slice(last + 1)];
        if (this.#replace(tour, next)) return true;
      }
    }
    return false;
  }

  /** Or-opt: applies the first move of one to three stops that shortens the tour. */
  #movePart(tour: number): boolean {
    const stops = this.#tours[tour] as number[];
    for (let length = 1; length <= 3; length++) {
      for (let first = 0; first + length <= stops.length; first++) {
        const part = stops.slice(first, first + length);
        const rest = [...stops.slice(0, first), ...stops.slice(first + length)];
        const [head, tail] = [part[0] as number, part[length - 1] as number];
        const before = this.#placeAt(stops, first - 1);
        const after = this.#placeAt(stops, first + length);
        const [ahead, back] = [this.#inner(part), this.#inner(part.toReversed())];
        const gain =
          this.#cost(before, head) + this.#cost(tail, after) - this.#cost(before, after) + ahead;
        this.#evaluations += rest.length * 2;
        for (let at = 0; at <= rest.length; at++) {
          const [left, right] = [this.#placeAt(rest, at - 1), this.#placeAt(rest, at)];
          const gap = this.#cost(left, right);
          const straight = this.#cost(left, head) + this.#cost(tail, right) + ahead - gap;
          const turned = this.#cost(left, tail) + this.#cost(head, right) + back - gap;
          if (Math.min(straight, turned) >= gain - LEAST_GAIN) continue;
          const moved = turned < straight ? part.toReversed() : part;
          if (this.#replace(tour, [...rest.slice(0, at), ...moved, ...rest.slice(at)])) return true;
        }
      }
    }
    return false;
  }

  /** Returns the costs of the legs between the stops in a section of a tour. */
  #inner(part: readonly number[]): number {
    let sum = 0;
    for (let at = 1; at < part.length; at++)
      sum += this.#cost(part[at - 1] as number, part[at] as number);
    return sum;
  }

  /** Returns how much shorter a tour is without the stop at a position. */
  #gainWithout(stops: readonly number[], at: number): number {
    const [before, stop, after] = [
      this.#placeAt(stops, at - 1),
      stops[at] as number,
      this.#placeAt(stops, at + 1),
    ];
    return this.#cost(before, stop) + this.#cost(stop, after) - this.#cost(before, after);
  }

  /** Relocate: moves a stop next to a nearby stop of another tour if that shortens the tours. */
  #relocate(stop: number): boolean {
    const from = this.#tourOf[stop] as number;
    if (from < 0) return false;
    const source = this.#tours[from] as number[];
    const at = source.indexOf(stop);
    const gain = this.#gainWithout(source, at);
    const neighbours = this.#neighbours[stop] as Int32Array;
    this.#evaluations += neighbours.length * SEARCHED_EVALUATIONS;
    for (const near of neighbours) {
      const to = this.#tourOf[near] as number;
      if (to < 0 || to === from) continue;
      const load = (this.#loads[to] as number) + (this.#demands[stop] as number);
      if (load > this.#problem.capacity) continue;
      const target = this.#tours[to] as number[];
      const beside = target.indexOf(near);
      for (const place of [beside, beside + 1]) {
        const [left, right] = [this.#placeAt(target, place - 1), this.#placeAt(target, place)];
        const cost = this.#cost(left, stop) + this.#cost(stop, right) - this.#cost(left, right);
        if (cost >= gain - LEAST_GAIN) continue;
        if (!this.#replace(to, target.toSpliced(place, 0, stop))) continue;
        this.#tours[from] = source.toSpliced(at, 1);
        this.#measure(from);
        return true;
      }
    }
    return false;
  }

  /** Exchange: swaps a stop with a nearby stop of another tour if that shortens the tours. */
  #exchange(stop: number): boolean {
    const { capacity, maxSeconds } = this.#problem;
    const from = this.#tourOf[stop] as number;
    if (from < 0) return false;
    const source = this.#tours[from] as number[];
    const at = source.indexOf(stop);
    const neighbours = this.#neighbours[stop] as Int32Array;
    this.#evaluations += neighbours.length * SEARCHED_EVALUATIONS;
    for (const near of neighbours) {
      const to = this.#tourOf[near] as number;
      if (to < 0 || to === from) continue;
      const more = (this.#demands[near] as number) - (this.#demands[stop] as number);
      if ((this.#loads[from] as number) + more > capacity) continue;
      if ((this.#loads[to] as number) - more > capacity) continue;
      const target = this.#tours[to] as number[];
      const place = target.indexOf(near);
      const change = this.#changeWith(source, at, near) + this.#changeWith(target, place, stop);
      if (change >= -LEAST_GAIN) continue;
      const [one, other] = [source.with(at, near), target.with(place, stop)];
      const isLate =
        this.#hasTimes &&
        Math.max(tourSeconds(this.#problem, one), tourSeconds(this.#problem, other)) > maxSeconds;
      if (isLate) continue;
      this.#tours[from] = one;
      this.#tours[to] = other;
      this.#measure(from);
      this.#measure(to);
      return true;
    }
    return false;
  }

  /**
   * Returns the change in a tour's cost when the stop at a position is replaced by another stop.
   */
  #changeWith(stops: readonly number[], at: number, stop: number): number {
    const [before, old, after] = [
      this.#placeAt(stops, at - 1),
      stops[at] as number,
      this.#placeAt(stops, at + 1),
    ];
    return (
      this.#cost(before, stop) +
      this.#cost(stop, after) -
      this.#cost(before, old) -
      this.#cost(old, after)
    );
  }

  // Removal and insertion.

  /** Returns a random number from 0 up to, but not including, 1. */
  #fraction(): number {
    return this.#random();
  }

  #below(limit: number): number {
    return Math.floor(this.#fraction() * limit);
  }

  /** Improves the tours until the budget is used up. */
  *improve(elapsed: (() => number) | undefined): Generator<number, void, undefined> {
    if (this.#stops < 2) return;
    const steps = this.#stops * STEPS_PER_STOP;
    const start = this.#evaluations;
    const legs = this.#stops + this.#tours.length;
    const meanLeg = this.#meanLeg(legs);
    let value = this.#value();
    let sliceEnd = this.#evaluations + EVALUATIONS_A_SLICE;
    let share = 0;
    for (let step = 0; share < 1; step++) {
      const before = this.#removeStrings();
      this.#insertAbsent(true);
      const next = this.#value();
      const tolerated = meanLeg * START_LEGS * (END_LEGS / START_LEGS) ** share;
      if (next < value - tolerated * Math.log(this.#fraction() + 1e-12)) {
        value = next;
        this.#keepBest(value);
      } else this.#restore(before);
      if (elapsed === undefined)
        share = Math.max((step + 1) / steps, (this.#evaluations - start) / EVALUATION_BUDGET);
      if (this.#evaluations < sliceEnd) continue;
      if (elapsed !== undefined) share = elapsed();
      sliceEnd = this.#evaluations + EVALUATIONS_A_SLICE;
      yield share;
    }
    this.#resume(this.#best);
    yield* this.#searchLocally(1);
    this.#keepBest(this.#value());
  }

  /**
   * Returns the mean length of a leg in metres. For a balanced search, returns its mean duration in
   * seconds.
   */
  #meanLeg(legs: number): number {
    const values = this.#problem.isBalanced === true ? this.#durations : this.#tourCosts;
    return Math.max(1, values.reduce((sum, each) => sum + each, 0) / legs);
  }

  #resume({ tours, absent }: Solution): void {
    this.#tourOf.fill(-1);
    this.#tours = tours.map((tour) => tour.slice());
    this.#absent = absent.slice();
    for (let tour = 0; tour < this.#tours.length; tour++) this.#measure(tour);
  }

  /** Maps each tour that the current step has changed to its stops before this step. */
  #changed = new Map<number, number[]>();

  /** Returns a copy of a tour. The current step may change the copy. */
  #editable(tour: number): number[] {
    const stops = this.#tours[tour] as number[];
    if (this.#changed.has(tour)) return stops;
    this.#changed.set(tour, stops);
    const copy = stops.slice();
    this.#tours[tour] = copy;
    return copy;
  }

  #restore({ absent }: { absent: number[] }): void {
    for (const stop of this.#absent) this.#tourOf[stop] = -1;
    for (const [tour, stops] of this.#changed) this.#tours[tour] = stops;
    for (const tour of this.#changed.keys()) this.#measure(tour);
    this.#absent = absent;
    for (const stop of absent) this.#tourOf[stop] = -1;
  }

  /**
   * Removes strings (consecutive stops of a tour) near a random stop. Returns the stops that were
   * already unassigned, so that the step can be undone.
   */
  #removeStrings(): { absent: number[] } {
    const before = { absent: this.#absent };
    this.#absent = this.#absent.slice();
    this.#changed = new Map();
    const used = this.#tours.filter(({ length }) => length > 0).length;
    const planned = this.#stops - this.#absent.length;
    const meanLength = planned / Math.max(1, used);
    const longest = Math.min(LONGEST_STRING, Math.max(1, meanLength));
    const most = (4 * MEAN_REMOVED) / (1 + longest) - 1;
    const strings = Math.floor(this.#fraction() * most + 1);
    const seed = this.#below(this.#stops);
    const ruined = new Set<number>();
    this.#removeAround(seed, longest, ruined);
    for (const near of this.#neighbours[seed] as Int32Array) {
      if (ruined.size >= strings) break;
      this.#removeAround(near, longest, ruined);
    }
    return before;
  }

  #removeAround(stop: number, longest: number, ruined: Set<number>): void {
    const tour = this.#tourOf[stop] as number;
    if (tour < 0 || ruined.has(tour)) return;
    ruined.add(tour);
    const stops = this.#editable(tour);
    const length = Math.floor(this.#fraction() * Math.min(stops.length, longest) + 1);
    const at = stops.indexOf(stop);
    // A split string leaves some of its middle stops in the tour. `gap` is the number of these
    // stops.
    let gap = 0;
    if (length > 1 && this.#fraction() < SPLIT_SHARE) {
      gap = 1;
      while (length + gap < stops.length && this.#fraction() > GAP_SHARE && gap < length) gap += 1;
      gap = Math.min(gap, stops.length - length);
    }
    const window = Math.min(stops.length, length + gap);
    const least = Math.max(0, at - window + 1);
    const first = least + this.#below(Math.min(at, stops.length - window) - least + 1);
    const gapAt = gap === 0 ? window : 1 + this.#below(Math.max(1, window - gap - 1));
    const kept = stops.splice(first, window);
    const stay = kept.splice(gapAt, gap);
    stops.splice(first, 0, ...stay);
    for (const removed of kept) {
      this.#tourOf[removed] = -1;
      this.#absent.push(removed);
    }
    this.#measure(tour);
  }

  /**
   * Inserts each waiting stop at the cheapest place. With `isRandom`, the stops are shuffled or
   * sorted by a randomly chosen criterion. When many stops are waiting, only some of them are then
   * tried.
   */
  #insertAbsent(isRandom: boolean): void {
    let waiting = this.#absent;
    let rest: number[] = [];
    if (isRandom && waiting.length > MOST_TRIED) {
      this.#shuffle(waiting);
      rest = waiting.slice(MOST_TRIED);
      waiting = waiting.slice(0, MOST_TRIED);
    }
    const start = this.#stops;
    const kind = isRandom ? this.#below(11) : 10;
    if (kind < 4) this.#shuffle(waiting);
    else if (kind < 8 && this.#problem.demands !== undefined)
      waiting.sort((a, b) => (this.#demands[b] as number) - (this.#demands[a] as number));
    else if (kind < 8) this.#shuffle(waiting);
    else if (kind < 10) waiting.sort((a, b) => this.#cost(start, b) - this.#cost(start, a));
    else waiting.sort((a, b) => this.#cost(start, a) - this.#cost(start, b));
    this.#absent = rest;
    for (const stop of waiting) {
      const place = this.#cheapestPlace(stop, isRandom);
      if (place === undefined) this.#absent.push(stop);
      else this.#insert(stop, place);
    }
  }

  #shuffle(stops: number[]): void {
    for (let at = stops.length - 1; at > 0; at--) {
      const other = this.#below(at + 1);
      const kept = stops[at] as number;
      stops[at] = stops[other] as number;
      stops[other] = kept;
    }
  }

  #insert(stop: number, { tour, at }: Place): void {
    const stops = this.#editable(tour);
    const [left, right] = [this.#placeAt(stops, at - 1), this.#placeAt(stops, at)];
    const isEmpty = stops.length === 0;
    const gap = isEmpty ? 0 : this.#cost(left, right);
    stops.splice(at, 0, stop);
    this.#tourOf[stop] = tour;
    this.#loads[tour] = (this.#loads[tour] as number) + (this.#demands[stop] as number);
    this.#tourCosts[tour] =
      (this.#tourCosts[tour] as number) + this.#cost(left, stop) + this.#cost(stop, right) - gap;
    if (this.#hasTimes)
      this.#durations[tour] =
        (this.#durations[tour] as number) + this.#addedSeconds(left, stop, right, isEmpty);
  }

  #addedSeconds(left: number, stop: number, right: number, isEmpty: boolean): number {
    const added = this.#leg(left, stop) + this.#leg(stop, right) + this.#problem.stopSeconds;
    return isEmpty ? added : added - this.#leg(left, right);
  }

  /**
   * Returns the cheapest position for a stop, or undefined when the stop does not fit into any
   * tour.
   */
  #cheapestPlace(stop: number, isRandom: boolean): Place | undefined {
    const { capacity, maxSeconds, isBalanced } = this.#problem;
    const [start, end] = [this.#stops, this.#stops + 1];
    const [costs, costsTo, size] = [this.#costs, this.#costsTo, this.#size];
    const row = stop * size;
    const demand = this.#demands[stop] as number;
    let [best, bestTour, bestAt] = [Number.POSITIVE_INFINITY, -1, 0];
    let hasTriedEmpty = false;
    for (let tour = 0; tour < this.#tours.length; tour++) {
      if ((this.#loads[tour] as number) + demand > capacity) continue;
      const stops = this.#tours[tour] as number[];
      const isEmpty = stops.length === 0;
      // Only the first empty van is tried, because all empty vans are equal.
      if (isEmpty && hasTriedEmpty) continue;
      hasTriedEmpty ||= isEmpty;
      this.#evaluations += stops.length + TOUR_EVALUATIONS;
      let [least, leastAt] = [isBalanced === true ? Number.POSITIVE_INFINITY : best, -1];
      let left = start;
      for (let at = 0; at <= stops.length; at++) {
        const right = at < stops.length ? (stops[at] as number) : end;
        const before = left;
        left = right;
        if (isRandom && this.#random() < BLINK_SHARE) continue;
        const gap = isEmpty ? 0 : (costs[before * size + right] as number);
        const cost = (costsTo[row + before] as number) + (costs[row + right] as number) - gap;
        if (cost >= least) continue;
        least = cost;
        leastAt = at;
      }
      if (leastAt < 0) continue;
      let price = least;
      if (this.#hasTimes) {
        const [before, after] = [this.#placeAt(stops, leastAt - 1), this.#placeAt(stops, leastAt)];
        const duration = this.#durations[tour] as number;
        const added = this.#addedSeconds(before, stop, after, isEmpty);
        if (duration + added > maxSeconds) continue;
        // The price is the increase of the squared duration. Adding a stop to a long tour is
        // therefore expensive.
        if (isBalanced === true) price = (duration + added) ** 2 - duration ** 2;
      }
      if (price >= best) continue;
      best = price;
      bestTour = tour;
      bestAt = leastAt;
    }
    return bestTour < 0 ? undefined : { tour: bestTour, at: bestAt };
  }
}

function isSymmetric(costs: Int32Array, size: number): boolean {
  for (let from = 0; from < size; from++) {
    for (let to = from + 1; to < size; to++)
      if (costs[from * size + to] !== costs[to * size + from]) return false;
  }
  return true;
}

function transpose(costs: Int32Array, size: number): Int32Array {
  const turned = new Int32Array(costs.length);
  for (let from = 0; from < size; from++) {
    for (let to = 0; to < size; to++) turned[to * size + from] = costs[from * size + to] as number;
  }
  return turned;
}

/** Returns the stops nearest to a stop, closest first. */
function findNeighbours(costs: Int32Array, stops: number, stop: number): Int32Array {
  const size = stops + 2;
  const keys = new Float64Array(stops);
  // Each key combines a cost and a stop in one number, so that a fast numeric sort can be used.
  for (let other = 0; other < stops; other++)
    keys[other] = (costs[stop * size + other] as number) * stops + other;
  keys.sort();
  const nearest: number[] = [];
  for (const key of keys) {
    const other = key % stops;
    if (other !== stop) nearest.push(other);
    if (nearest.length >= MOST_NEIGHBOURS) break;
  }
  return Int32Array.from(nearest);
}
