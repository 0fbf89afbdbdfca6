// The routes of bicycles: lists, creation, edits, transitions and history (interface.md sections
// 4.1 to 4.4).
import { TRANSITIONS } from '../api/transitions.js';
import { readEdit, readNewBicycle } from './bodies.js';
import type { AddRoute, ApiRequest, Handler, ServedApiOptions } from './exchange.js';
import { answerList, answerText, NOTHING, readObject } from './exchange.js';
import type { BicycleRow, ServedFleet } from './fleet.js';
import {
  changeBicycle,
  createBicycle,
  historyOf,
  removeBicycle,
  runTransition,
  serialise,
} from './fleet.js';
import { distanceToMiddle } from './geometry.js';
import { createLists } from './lists.js';
import {
  refuseAction,
  refuseField,
  refuseRole,
  refuseThrottled,
  refuseUnknown,
  refuseVersion,
  type ServedAnswer,
} from './problem.js';
import { readBox, readPageSize } from './query.js';
import { isVisible, selectBicycles } from './selection.js';
import type { Viewer } from './token.js';
import {
  allowsTransition,
  availableTransitions,
  type ServedTransition,
  TRANSITION_TABLE,
} from './transitions.js';

/**
 * Adds the routes. Routes that interface.md does not name are added only for the observed service.
 */
export function addBicycleRoutes(options: ServedApiOptions, route: AddRoute): void {
  const { fleet } = options;
  const lists = createLists(fleet, fleet.bicycles);

  route('/bicycles/', {
    GET: lagging(options, (request, viewer) => {
      const { query } = request;
      const rows = selectBicycles(fleet, lists, query, viewer);
      const isFirstOfSeveral =
        !query.has('page') && rows.length > readPageSize(query, options.pageSize, fleet.isObserved);
      // The fault `shrink` removes a bicycle after this response, so that the list is shorter when
      // the next page is requested.
      if (isFirstOfSeveral && options.faults.has('shrink'))
        setImmediate(removeBicycle, fleet, rows[0] as BicycleRow);
      const box = fleet.isObserved ? readBox(query, true) : undefined;
      const distanceOf = ({ body }: BicycleRow) =>
        box && distanceToMiddle(box, body.latitude, body.longitude);
      const write = (row: BicycleRow) =>
        `${serialise(row).slice(0, -1)},"distance":${distanceOf(row)}}`;
      return answerList(request, options, rows, box === undefined ? serialise : write);
    }),
    POST: async (request, viewer) => {
      if (viewer.role === 'renter') throw refuseRole();
      const { organization, fields } = readNewBicycle(fleet, await readObject(request), viewer);
      const row = createBicycle(fleet, organization, options.nextUuid(), fields);
      // Assumed: the response is 201 with the bicycle. The interface says "Response of creation:
      // not shown".
      return answerText(201, serialise(row));
    },
  });

  route('/bicycles/:uuid/actions/', { POST: actionHandler(options) });
  if (!fleet.isObserved) return;

  route('/bicycles/:uuid/', {
    GET: (request, viewer) => answerText(200, serialise(findBicycle(fleet, request, viewer))),
    PATCH: editHandler(options, false),
    PUT: editHandler(options, true),
    DELETE: (request, viewer) => {
      const row = findBicycle(fleet, request, viewer);
      if (viewer.role === 'renter') throw refuseRole();
      removeBicycle(fleet, row);
      return NOTHING;
    },
  });

  route('/bicycles/:uuid/transitions/', {
    GET: (request, viewer) => {
      const history = historyOf(fleet, findBicycle(fleet, request, viewer));
      return answerList(request, options, history.toReversed(), (entry) => JSON.stringify(entry));
    },
  });
}

function findBicycle(fleet: ServedFleet, request: ApiRequest, viewer: Viewer): BicycleRow {
  const row = fleet.bicyclesByUuid.get(request.uuid);
  if (row !== undefined && isVisible(fleet, row, viewer)) return row;
  throw refuseUnknown('No Bicycle matches the given query.');
}

function editHandler({ fleet }: ServedApiOptions, isWhole: boolean): Handler {
  return async (request, viewer) => {
    const body = await readObject(request);
    const row = findBicycle(fleet, request, viewer);
    if (viewer.role === 'renter') throw refuseRole();
    const { concurrency_version: version } = body;
    if (
      version !== undefined &&
      version !== null &&
      Number(version) !== row.body.concurrency_version
    )
      throw refuseVersion();
    const { organization, fields } = readEdit(fleet, row, body, { isWhole, viewer });
    row.organization = organization ?? row.organization;
    const model = fleet.models.find(({ url }) => url === (fields['model'] ?? row.body.model));
    const lock = fields['lock'] === undefined ? row.body.lock : fields['lock'];
    changeBicycle(fleet, row, {
      ...fields,
      organization: `${fleet.baseUrl}/organizations/${row.organization}/`,
      bicycle_model_name: fields['model'] === null ? null : (model?.name ?? null),
      devices: typeof lock === 'string' ? [lock] : [],
    });
    return answerText(200, serialise(row));
  };
}

/**
 * With the `lag` or `cache` fault, a user who repeats a request gets the same response for some
 * time. With `cache`, the response also contains the age of the copy and the date of the original
 * response.
 */
function lagging({ fleet, faults }: ServedApiOptions, handle: Handler): Handler {
  const kept = new Map<string, { atMs: number; answer: Awaited<ReturnType<Handler>> }>();
  return async (request, viewer) => {
    const cacheMs = faults.durationMs('cache');
    const lagMs = cacheMs ?? faults.durationMs('lag');
    if (lagMs === undefined) return handle(request, viewer);
    const key = `${request.query} ${viewer.subject}`;
    const old = kept.get(key);
    if (old !== undefined && fleet.now() - old.atMs < lagMs)
      return cacheMs === undefined ? old.answer : copyOf(old.answer, old.atMs, fleet.now());
    const answer = await handle(request, viewer);
    kept.set(key, { atMs: fleet.now(), answer });
    return answer;
  };
}

/**
 * Returns a stored response with the `Age` and `Date` headers that a cache sends (RFC 9111, section
 * 5.1). Times are in milliseconds.
 */
function copyOf(answer: ServedAnswer, storedMs: number, nowMs: number): ServedAnswer {
  const age = String(Math.floor((nowMs - storedMs) / 1000));
  const date = new Date(storedMs).toUTCString();
  return { ...answer, headers: { ...answer.headers, Age: age, Date: date } };
}

/**
 * Section 4.3. The checks are in the observed order: bicycle, transition, permission, state,
 * conditions.
 */
function actionHandler({ fleet, faults }: ServedApiOptions): Handler {
  const lastActions = new Map<string, number>();

  /**
   * Observed: the service returns 429 when the same user acts on the same bicycle again too soon.
   */
  function checkPace(row: BicycleRow, viewer: Viewer): void {
    const pauseMs = faults.durationMs('throttle');
    if (pauseMs === undefined) return;
    const key = `${row.body.uuid} ${viewer.subject}`;
    const waitMs = (lastActions.get(key) ?? Number.NEGATIVE_INFINITY) + pauseMs - fleet.now();
    if (waitMs > 0) throw refuseThrottled(Math.ceil(waitMs / 1000));
    lastActions.set(key, fleet.now());
  }

  return async (request, viewer) => {
    const row = findBicycle(fleet, request, viewer);
    const body = await readObject(request);
    const transition = readTransition(body, fleet.isObserved);
    checkPermission(fleet, row, transition, viewer);
    checkPace(row, viewer);
    checkState(row, transition);
    if (fleet.isObserved) checkConditions(fleet, row, transition, riderOf(body, viewer));
    // Observed: for a request with `dry_run`, success means "would be allowed", and nothing is
    // changed. interface.md does not mention this field. A service that only follows interface.md
    // therefore carries out the request.
    if (fleet.isObserved && body['dry_run'] === true) return NOTHING;
    runTransition(fleet, row, transition, 'client', riderOf(body, viewer));
    // Assumed: the response is 200 with the updated bicycle. The interface says "Response … not
    // shown".
    return answerText(200, serialise(row));
  };
}

/**
 * Observed: an operator may rent or reserve for another user. The body then contains a link to this
 * user.
 */
function riderOf(body: { [field: string]: unknown }, viewer: Viewer): string {
  const { user } = body;
  if (viewer.role === 'renter' || typeof user !== 'string') return viewer.subject;
  return /([0-9a-f-]{36})\/?$/i.exec(user)?.[1]?.toLowerCase() ?? viewer.subject;
}

/**
 * Section 4.3: "a JSON object with field type, whose value is the name of a transition". Other
 * fields are ignored.
 */
function readTransition(body: { [field: string]: unknown }, isObserved: boolean): ServedTransition {
  const { type } = body;
  if (type === undefined) throw refuseField('type', 'This field is required.', 'required');
  const transition = TRANSITIONS.find((name) => name === type);
  if (transition !== undefined && (isObserved || !TRANSITION_TABLE[transition].isObserved))
    return transition;
  throw refuseUnknown();
}

/** Throws a 403 Problem when the viewer may not run the transition on this bicycle. */
function checkPermission(
  fleet: ServedFleet,
  row: BicycleRow,
  transition: ServedTransition,
  viewer: Viewer,
): void {
  const { by, isOwn } = TRANSITION_TABLE[transition];
  if (by === 'service') {
    throw refuseRole(`The action '${transition}' is automatic: the service runs it by itself.`);
  }
  const isForeign = row.rider !== undefined && row.rider !== viewer.subject;
  if (fleet.isObserved && isForeign && isOwn) throw refuseRole();
  if (viewer.role !== 'renter') return;
  if (by !== 'renter') throw refuseRole();
  // Assumed: a renter cannot use a bicycle that another renter has reserved.
  if (row.body.state === 'reserved' && isForeign)
    throw refuseRole('The bicycle is reserved by another user.');
}

/** Throws a 400 Problem when the bicycle's state does not allow the transition. */
function checkState(row: BicycleRow, transition: ServedTransition): void {
  const { state } = row.body;
  if (allowsTransition(state, transition)) return;
  const message = `Action '${transition}' not allowed from current state '${state}'`;
  throw refuseAction(`${message}. Available actions: ${availableTransitions(state).join(', ')}`);
}

/** Observed: further conditions of transitions. Throws a 400 Problem. */
function checkConditions(
  fleet: ServedFleet,
  row: BicycleRow,
  transition: ServedTransition,
  rider: string,
): void {
  if (transition === 'retire' && typeof row.body.lock === 'string') {
    throw refuseAction('The lock has to be unpaired before the bicycle can be retired.');
  }
  if (transition === 'declare_available' && row.body.device_type === null) {
    throw refuseAction('The bicycle has no device.');
  }
  const isTaking = transition === 'rent' || transition === 'reserve';
  // Assumed: the limit of one bicycle applies only to renters, because an operator may rent many
  // bicycles at the same time to test them.
  const isRenter = fleet.users.indexOf(rider) >= 2;
  if (
    isTaking &&
    isRenter &&
    fleet.bicycles.some((other) => other !== row && other.rider === rider)
  ) {
    throw refuseAction('The user has a reservation or a rental session already.');
  }
}
