// `fleet rounds`: reads the selected bicycles, orders them into tours, and writes the tours.

import { setImmediate as nextTurn } from 'node:timers/promises';
import { type Bicycle, bicycleUuid } from '../../api/bicycle.js';
import { refuseExistingPlan } from '../../bulk/plan-file.js';
import { withTerminal } from '../../bulk/question.js';
import type { Context } from '../../context.js';
import { FleetError, usageError } from '../../errors.js';
import { greatCircleMetres } from '../../globe/projection.js';
import { isScreen } from '../../list/output-file.js';
import {
  legMetres,
  legSeconds,
  type RoutingProblem,
  searchTours,
  type Tours,
  tourMetres,
  tourSeconds,
} from '../../rounds/solve.js';
import { instantOf, localTimeAt } from '../../system/time-zone.js';
import { count } from '../../terminal/count.js';
import { openProgress } from '../../terminal/progress.js';
import { askYesNo } from '../../terminal/prompt.js';
import { showDuration } from '../../terminal/time.js';
import { numberOf, pointOf, textOf } from '../../terminal/values.js';
import { ID_DIGITS } from '../../views/bicycle.js';
import { type LatLon, showDistance } from '../../views/distance.js';
import { type Spot, straightMatrix } from './distances.js';
import type { ClockTimeOfDay, RoundsOptions } from './flags.js';
import { chooseRoundForm, writeRounds } from './output.js';
import type { LeftOutBicycle, Rounds, VanTour } from './plan.js';
import { type RoundFilters, readSelection } from './selection.js';

const DEFAULT_STOP_MINUTES = 4;
const DEFAULT_KMH = 18;
/** The time in seconds that one metre takes at a speed of one kilometre per hour. */
const KMH_SECONDS_PER_METRE = 3.6;
/**
 * If even the nearest bicycle is farther from the start than this, the user probably made a typing
 * error in the start.
 */
const FAR_METRES = 500_000;
/** The maximum number of omitted bicycles that the error lists. */
const MOST_LISTED = 20;

const FILTER_FLAGS = ['state', 'name', 'model', 'bbox', 'zone', 'near', 'radius', 'where'] as const;

/**
 * Plans the tours. When bicycles are omitted, throws a FleetError of kind `partial` after the
 * output.
 */
export async function planRounds(
  context: Context,
  operand: string | undefined,
  options: RoundsOptions,
): Promise<void> {
  const { from, to = from, vans = 1, capacity, hours, balance = false } = options;
  const { stop = DEFAULT_STOP_MINUTES, speed = DEFAULT_KMH } = options;
  if (from === undefined)
    throw usageError(
      '--from is required: pass the place where the vans start',
      'for example --from 52.52,13.405',
    );
  checkFlags(operand, options);
  if (options.plan !== undefined) refuseExistingPlan(options.plan);
  const form = await chooseRoundForm(context);
  const selection = await readSelection(context, filtersOf(options), operand === '-');
  const { bicycles } = selection;
  const { placed, unplaced } = sortByPosition(bicycles);
  if (bicycles.length > 0 && placed.length === 0)
    throw usageError(
      `none of ${count(bicycles.length, 'selected bicycle')} has a position`,
      'select other bicycles, or check the selected bicycles with "fleet bicycles get"',
    );
  const depot = spotOf(from);
  const end = spotOf(to ?? from);
  await askIfFar(context, depot, placed, { isStdin: operand === '-', isSure: options.yes });
  const limits = {
    secondsPerMetre: KMH_SECONDS_PER_METRE / speed,
    stopSeconds: Math.round(stop * 60),
    vans,
    capacity: capacity ?? Number.POSITIVE_INFINITY,
    maxSeconds: hours === undefined ? Number.POSITIVE_INFINITY : Math.floor(hours * 3600),
    isBalanced: balance,
  };
  const all = await measureLegs(context, [...placed.map(({ spot }) => spot), depot, end], options);
  const whole: RoutingProblem = { ...limits, ...all, stops: placed.length };
  const { reachable, tooFar } = sortByReach(whole, placed, hours);
  const problem = tooFar.length === 0 ? whole : pickStops(whole, reachable);
  const { tours, absent } = await orderStops(context, problem, options);
  const startMs = options.start && startInstant(context, options.start);
  const stopsOf = (tour: readonly number[]) => tour.map((at) => placed[reachable[at] as number]);
  const rounds: Rounds = {
    depot,
    end,
    startMs,
    zone: context.zone,
    vans: tours
      .filter(({ length }) => length > 0)
      .map((tour, index) => describeTour(problem, tour, stopsOf(tour), index + 1)),
    leftOut: [
      ...unplaced,
      ...tooFar,
      ...absent.map((at) => ({
        ...(placed[reachable[at] as number] as PlacedBicycle),
        reason: fullReason(problem, tours, options),
      })),
    ],
  };
  // The plan is written before the other output, because a reader such as `head` can close that
  // output early.
  if (options.plan !== undefined) {
    const { writeMaintenancePlan } = await import('./maintenance-plan.js');
    await writeMaintenancePlan(context, rounds, options.plan);
  }
  await writeRounds(context, form, rounds);
  if (selection.incomplete !== undefined) throw selection.incomplete;
  // On a terminal, the table contains only the stops of the tours. The error below the table
  // therefore lists all omitted bicycles.
  const isInTable = form === 'table' && !isScreen(context);
  const mostListed = form !== 'table' || isInTable ? MOST_LISTED : Number.POSITIVE_INFINITY;
  if (rounds.leftOut.length > 0) throw leftOutError(rounds.leftOut, mostListed);
}

function checkFlags(operand: string | undefined, options: RoundsOptions): void {
  if (operand !== undefined && operand !== '-')
    throw usageError(
      `fleet rounds accepts filters or -, not "${operand}"`,
      'to read bicycles from stdin, run: fleet rounds - --from LAT,LON < uuids.txt',
    );
  const filter = FILTER_FLAGS.find((name) => options[name] !== undefined);
  if (operand === '-' && filter !== undefined)
    throw usageError(`- and --${filter} cannot be combined`, 'filter the list that you pipe in');
  if (options.plan !== undefined && options.offline === true)
    throw usageError(
      '--plan reads the bicycles from the service, so it cannot be used with --offline',
      'remove --offline',
    );
  if (options.solver !== undefined && (options.balance === true || options.seconds !== undefined))
    throw usageError(
      `--solver and --${options.balance === true ? 'balance' : 'seconds'} cannot be combined`,
      'remove one of them',
    );
}

function filtersOf(options: RoundsOptions): RoundFilters {
  const { organization, state, name, model, bbox, zone, near, radius, where } = options;
  const filters = { organization, state, name, model, bbox, zone, near, radius, where };
  return Object.fromEntries(
    Object.entries(filters).filter(([, value]) => value !== undefined),
  ) as RoundFilters;
}

function spotOf({ latitude, longitude }: LatLon): Spot {
  return [longitude, latitude];
}

interface PlacedBicycle {
  bicycle: Bicycle;
  spot: Spot;
}

/** Splits the bicycles into those with and those without a position. */
function sortByPosition(bicycles: readonly Bicycle[]) {
  const placed: PlacedBicycle[] = [];
  const unplaced: LeftOutBicycle[] = [];
  for (const bicycle of bicycles) {
    const point = pointOf(bicycle.longitude, bicycle.latitude);
    const [east, north] = (point ?? []).map((degrees) => numberOf(degrees));
    // A tracker that does not know its position reports 0, 0.
    if (east === undefined || north === undefined || (east === 0 && north === 0))
      unplaced.push({ bicycle, spot: undefined, reason: 'it has no position' });
    else placed.push({ bicycle, spot: [east, north] });
  }
  return { placed, unplaced };
}

/** Asks for confirmation when the start is far away from all bicycles. */
async function askIfFar(
  context: Context,
  depot: Spot,
  placed: readonly PlacedBicycle[],
  { isStdin, isSure }: { isStdin: boolean; isSure: boolean | undefined },
): Promise<void> {
  if (placed.length === 0) return;
  let nearest = Number.POSITIVE_INFINITY;
  for (const { spot } of placed) nearest = Math.min(nearest, greatCircleMetres(depot, spot));
  if (nearest <= FAR_METRES || isSure === true) return;
  const [east, north] = depot;
  const message = `The start ${north},${east} is ${showDistance(nearest)} from the nearest bicycle. Plan the tours?`;
  const isRight = await withTerminal(context, isStdin, (asking) =>
    askYesNo(asking, {
      message,
      instead: 'check --from (latitude first), or add --yes',
    }),
  );
  if (!isRight) throw usageError('nothing was planned: the start was not confirmed');
}

/** Returns the distances and travel times between all places. */
async function measureLegs(
  context: Context,
  spots: readonly Spot[],
  { router, speed = DEFAULT_KMH }: RoundsOptions,
): Promise<Pick<RoutingProblem, 'metres' | 'seconds'>> {
  const metres = await straightMatrix(spots, context.signal);
  if (router === undefined) return { metres };
  const { readRouterMatrix } = await import('./router.js');
  const secondsPerMetre = KMH_SECONDS_PER_METRE / speed;
  return (
    (await readRouterMatrix(context, { router, spots, metres, secondsPerMetre })) ?? { metres }
  );
}

/**
 * Splits the stops into stops that a van can reach within the time limit, and stops that are too
 * far away. A stop is too far away when a tour to only this stop exceeds the limit.
 */
function sortByReach(
  problem: RoutingProblem,
  placed: readonly PlacedBicycle[],
  hours: number | undefined,
) {
  const reachable: number[] = [];
  const tooFar: LeftOutBicycle[] = [];
  let least = Number.POSITIVE_INFINITY;
  for (const [at, item] of placed.entries()) {
    const seconds = tourSeconds(problem, [at]);
    least = Math.min(least, seconds);
    if (seconds <= problem.maxSeconds) reachable.push(at);
    else {
      const reason = `a tour to it alone takes ${showDuration(seconds * 1000)}, longer than --hours ${hours}`;
      tooFar.push({ ...item, reason });
    }
  }
  if (placed.length > 0 && reachable.length === 0)
    throw usageError(
      `--hours ${hours} is too short for a single stop: a tour to the nearest bicycle takes ${showDuration(least * 1000)}`,
      'raise --hours, or choose a start closer to the bicycles with --from',
    );
  return { reachable, tooFar };
}

/** Returns the same routing problem with only some of its stops. */
function pickStops(problem: RoutingProblem, stops: readonly number[]): RoutingProblem {
  const places = [...stops, problem.stops, problem.stops + 1];
  const size = problem.stops + 2;
  const pick = (matrix: Int32Array) => {
    const picked = new Int32Array(places.length * places.length);
    for (const [row, from] of places.entries()) {
      for (const [column, to] of places.entries())
        picked[row * places.length + column] = matrix[from * size + to] ?? 0;
    }
    return picked;
  };
  const { metres, seconds } = problem;
  return {
    ...problem,
    stops: stops.length,
    metres: pick(metres),
    seconds: seconds && pick(seconds),
  };
}

/** Orders the stops into tours. Uses the server of `--solver`, or fleet's own search. */
async function orderStops(
  context: Context,
  problem: RoutingProblem,
  { solver, seconds }: RoundsOptions,
): Promise<Tours> {
  if (problem.stops === 0) return { tours: [], absent: [] };
  if (solver !== undefined) {
    const { askSolver } = await import('./vroom.js');
    const tours = await askSolver(context, solver, problem);
    if (tours !== undefined) return tours;
  }
  return searchWithin(context, problem, seconds);
}

/** The search runs in short steps, so that Ctrl-C can interrupt it. */
async function searchWithin(
  context: Context,
  problem: RoutingProblem,
  seconds: number | undefined,
): Promise<Tours> {
  const { clock, signal } = context;
  const startedAt = clock.monotonicMs();
  const elapsed =
    seconds === undefined ? undefined : () => (clock.monotonicMs() - startedAt) / (seconds * 1000);
  const search = searchTours(problem, elapsed === undefined ? {} : { elapsed });
  let share = 0;
  const draw = () => `planning ${count(problem.stops, 'stop')} … ${Math.floor(share * 100)} %`;
  const progress = openProgress(context, { draw });
  try {
    for (;;) {
      const { done, value } = search.next();
      if (done === true) return value;
      share = Math.min(1, value);
      await nextTurn();
      signal.throwIfAborted();
    }
  } finally {
    progress.end();
  }
}

function startInstant({ clock, zone }: Context, { hour, minute }: ClockTimeOfDay): number {
  const today = localTimeAt(clock.wallMs(), zone);
  return instantOf({ ...today, hour, minute, second: 0, millisecond: 0 }, zone);
}

function describeTour(
  problem: RoutingProblem,
  tour: readonly number[],
  items: readonly (PlacedBicycle | undefined)[],
  van: number,
): VanTour {
  let [last, seconds] = [problem.stops, 0];
  const stops = tour.flatMap((at, index) => {
    const item = items[index];
    const legM = legMetres(problem, last, at);
    const arrivalS = seconds + legSeconds(problem, last, at);
    seconds = arrivalS + problem.stopSeconds;
    last = at;
    return item === undefined ? [] : [{ ...item, legM, arrivalS }];
  });
  return {
    van,
    distanceM: tourMetres(problem, tour),
    durationS: tourSeconds(problem, tour),
    stops,
  };
}

/**
 * Returns the reason why some stops are not in any tour, although each of them alone is close
 * enough for a van.
 */
function fullReason(
  problem: RoutingProblem,
  tours: Tours['tours'],
  { capacity, hours }: RoundsOptions,
): string {
  const isFull = tours.every(({ length }) => length >= problem.capacity);
  if (isFull) return `every van is full (--capacity ${capacity})`;
  // Without a time limit, a stop is omitted only when every van is full. An external solver may
  // omit a stop for another reason.
  if (hours === undefined) return 'the solver left it out, although a van has room';
  const hasFull = tours.some(({ length }) => length >= problem.capacity);
  return hasFull
    ? `every van is full or has no time left (--capacity ${capacity}, --hours ${hours})`
    : `no van has time left for it (--hours ${hours})`;
}

function leftOutError(leftOut: readonly LeftOutBicycle[], mostListed: number): FleetError {
  const lines = leftOut
    .slice(0, mostListed)
    .map(({ bicycle, reason }) => `${labelOf(bicycle)}: ${reason}`);
  const others = leftOut.length - lines.length;
  if (others > 0) lines.push(`and ${others} more`);
  return new FleetError('partial', `${count(leftOut.length, 'bicycle')} left out of the tours`, {
    more: lines,
    hint: leftOut.every(({ spot }) => spot === undefined)
      ? 'use "fleet bicycles get" to check the bicycles that have no position'
      : 'raise --vans, --capacity or --hours, or plan a second round',
  });
}

function labelOf(bicycle: Bicycle): string {
  const id = (bicycleUuid(bicycle) ?? '').slice(0, ID_DIGITS);
  const name = textOf(bicycle.name) ?? '';
  return name === '' ? id : `${name} (${id})`;
}
