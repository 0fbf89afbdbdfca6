// Sends the stops to a VROOM server, which orders them into tours. Checks the server's response.

import type { Context } from '../../context.js';
import { isObject } from '../../json/parse.js';
import {
  legMetres,
  legSeconds,
  type RoutingProblem,
  type Tours,
  tourSeconds,
} from '../../rounds/solve.js';
import { addAddressSecrets } from '../../system/secrets.js';
import { askServer, codeFailure, quoteReason, ServerFailure } from './server-request.js';

/** The time limit for the response. */
const SOLVER_LIMIT_MS = 60_000;
const PROFILE = 'car';

/**
 * Requests tours from the server. When the server cannot be used or its response is invalid, prints
 * a warning and returns undefined.
 */
export async function askSolver(
  context: Context,
  solver: URL,
  problem: RoutingProblem,
): Promise<Tours | undefined> {
  const body = JSON.stringify(requestOf(problem));
  addAddressSecrets(solver, context.io.secrets);
  try {
    const answer = await askServer(context, {
      url: solver,
      body,
      limitMs: SOLVER_LIMIT_MS,
      signal: context.signal,
    });
    return readTours(context, answer, problem);
  } catch (error) {
    context.signal.throwIfAborted();
    if (!(error instanceof ServerFailure)) throw error;
    await context.notice(
      `! the solver at ${solver.origin} cannot be used: ${error.message}; fleet orders the stops itself`,
    );
    return undefined;
  }
}

/**
 * Returns the request for VROOM. VROOM minimises the sum of distances, like fleet's own search.
 * With durations from a router, the distances are sent as costs. Otherwise the speed is constant,
 * and the durations are proportional to the distances.
 */
function requestOf(problem: RoutingProblem): object {
  const { stops, vans, capacity, maxSeconds, stopSeconds, seconds } = problem;
  const matrix = (leg: typeof legSeconds) =>
    Array.from({ length: stops + 2 }, (_from, from) =>
      Array.from({ length: stops + 2 }, (_to, to) => leg(problem, from, to)),
    );
  const isLimited = Number.isFinite(capacity);
  return {
    vehicles: Array.from({ length: vans }, (_, van) => ({
      id: van + 1,
      profile: PROFILE,
      start_index: stops,
      end_index: stops + 1,
      ...(isLimited ? { capacity: [capacity] } : {}),
      ...(Number.isFinite(maxSeconds) ? { time_window: [0, maxSeconds] } : {}),
    })),
    jobs: Array.from({ length: stops }, (_, stop) => ({
      id: stop + 1,
      location_index: stop,
      service: stopSeconds,
      ...(isLimited ? { pickup: [1] } : {}),
    })),
    matrices: {
      [PROFILE]: {
        durations: matrix(legSeconds),
        ...(seconds === undefined ? {} : { costs: matrix(legMetres) }),
      },
    },
  };
}

/**
 * Checks the response and returns its tours. Each stop must be visited once or be unassigned, and
 * each tour must be within the limits.
 */
function readTours(
  context: Context,
  answer: { [field: string]: unknown },
  problem: RoutingProblem,
): Tours {
  const { code, error, routes, unassigned = [] } = answer;
  if (code !== 0)
    throw typeof error === 'string'
      ? new ServerFailure(quoteReason(context, error))
      : codeFailure(context, code);
  if (!Array.isArray(routes) || !Array.isArray(unassigned))
    throw new ServerFailure('its answer has no list of routes');
  const tours = Array.from({ length: problem.vans }, (): number[] => []);
  const seen = new Set<number>();
  const take = (id: unknown): number => {
    const stop = typeof id === 'number' ? id - 1 : -1;
    if (!Number.isInteger(stop) || stop < 0 || stop >= problem.stops)
      throw new ServerFailure('its answer has a stop that fleet did not send');
    if (seen.has(stop)) throw new ServerFailure('its answer has a stop twice');
    seen.add(stop);
    return stop;
  };
  for (const route of routes) {
    const { vehicle, steps } = isObject(route) ? (route as { [field: string]: unknown }) : {};
    const tour = typeof vehicle === 'number' ? tours[vehicle - 1] : undefined;
    if (tour === undefined || tour.length > 0 || !Array.isArray(steps))
      throw new ServerFailure('its answer has a route of an unknown or repeated vehicle');
    for (const step of steps)
      if (isObject(step) && (step as { type?: unknown }).type === 'job')
        tour.push(take((step as { id?: unknown }).id));
  }
  const absent = unassigned.map((each) =>
    take(isObject(each) ? (each as { id?: unknown }).id : undefined),
  );
  if (seen.size !== problem.stops) throw new ServerFailure('its answer lacks a stop');
  for (const tour of tours) {
    if (tour.length > problem.capacity) throw new ServerFailure('a tour exceeds --capacity');
    if (tourSeconds(problem, tour) > problem.maxSeconds)
      throw new ServerFailure('a tour exceeds --hours');
  }
  return { tours, absent };
}
