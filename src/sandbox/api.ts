// The pull side: lists, creation and actions over HTTP (interface.md sections 4.1 to 4.5).
import { getRequestListener, type HttpBindings } from '@hono/node-server';
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response';
import { type Context, Hono } from 'hono';
import { ALERT_FIELDS, ALERT_STATES, ALERT_TYPES } from '../api/alert.js';
import { BICYCLE_FIELDS, TRANSITIONS } from '../api/bicycle.js';
import { checkAccept, JSON_MEDIA_TYPES } from './accept.js';
import { encodeBody } from './compression.js';
import {
  type AlertRow,
  type BicycleRow,
  createBicycle,
  type Fleet,
  runTransition,
  serialise,
  type Transition,
  type Zone,
} from './fleet.js';
import { isInside, numberOf } from './geometry.js';
import { createLists, type Ordering } from './lists.js';
import {
  type Detail,
  Problem,
  problemBody,
  refuse,
  refuseField,
  refuseMethod,
  refuseRole,
  refuseUnknown,
} from './problem.js';
import { readBox, readChoices, readOrdering, readPage, readQuery, readUuid } from './query.js';
import { cutConnection, type Exchange } from './server.js';
import { ROLES, type Tokens, type Viewer } from './token.js';

/** Far more than any documented body needs. Assumed: "maximum request size … not shown". */
const LARGEST_BODY_BYTES = 1024 * 1024;

/** Assumed: what a renter may run; section 5 says "Which role may call which operation: not shown". */
const RENTER_TRANSITIONS: readonly Transition[] = ['rent', 'return', 'reserve', 'cancel_reservation'];

/** Section 3.1 calls these two automatic; they are the service's own. */
const AUTOMATIC_TRANSITIONS: readonly Transition[] = ['expire_rental_session', 'expire_reservation'];

/** Roles and extra are no values that one could sort by. */
const ALERT_ORDERINGS = ALERT_FIELDS.filter((field) => field !== 'roles' && field !== 'extra');

const NUMBER_FIELDS: readonly string[] = ['latitude', 'longitude', 'latest_gps_accuracy', 'state_of_charge'];

/** Hands out tokens as plain text, `?role=renter` for another role; not part of the interface. */
export const TOKEN_PATH = '/sandbox/token/';

export interface ApiFacts {
  /** Made after the port is known, since links need it; no request comes before. */
  fleet: () => Fleet;
  tokens: Tokens;
  pageSize: number;
  /** In front of every path, such as `/api`; '' for none. */
  prefix: string;
  /** A uuid for a new bicycle, from the seed. */
  nextUuid: () => string;
  /** Told of each transition that a request carried out. */
  onAction: (uuid: string) => void;
}

type Environment = { Bindings: HttpBindings & { exchange: Exchange } };
type Handler = (context: Context<Environment>, viewer: Viewer) => Response | Promise<Response>;

/** Makes the handler of the API port. */
export function createApi(facts: ApiFacts): (exchange: Exchange) => void {
  const app = new Hono<Environment>();
  const version = () => facts.fleet().version;
  const bicycleLists = createLists<BicycleRow>(version);
  const alertLists = createLists<AlertRow>(version);
  const paths: RegExp[] = [];

  app.use('*', async (context, next) => {
    await next();
    const { exchange } = context.env;
    if (exchange.cut) {
      cutConnection(exchange);
      context.res = RESPONSE_ALREADY_SENT;
    } else {
      exchange.answered(context.res.status);
    }
  });

  /** The order of the checks is the one of Django REST framework: version, token, method, then what the handler checks. */
  function route(path: string, handlers: { GET?: Handler; POST?: Handler }): void {
    const allowed = [...(handlers.GET ? ['GET', 'HEAD'] : []), ...(handlers.POST ? ['POST'] : [])].join(', ');
    paths.push(new RegExp(`^${facts.prefix}${path.replace(/:\w+/g, '[^/]+')}$`));
    app.all(`${facts.prefix}${path}`, async (context) => {
      checkAccept(context.req.header('Accept'), JSON_MEDIA_TYPES);
      const viewer = await facts.tokens.check(context.req.header('Authorization'));
      const { method } = context.req;
      const handler =
        method === 'POST' ? handlers.POST : method === 'GET' || method === 'HEAD' ? handlers.GET : undefined;
      if (handler === undefined) throw refuseMethod(method, allowed);
      return handler(context, viewer);
    });
  }

  route('/bicycles/', {
    GET: (context, viewer) => {
      const query = readQuery(targetOf(context));
      return answerPage(context, facts, query, selectBicycles(facts.fleet(), bicycleLists, query, viewer));
    },
    POST: async (context, viewer) => {
      if (viewer.role === 'renter') throw refuseRole();
      const { organization, fields } = readNewBicycle(facts, await readObject(context), viewer);
      const row = createBicycle(facts.fleet(), organization, facts.nextUuid(), fields);
      // Assumed: "Response of creation: not shown"; 201 with the bicycle.
      return answerText(context, 201, serialise(row));
    },
  });

  route('/bicycles/:uuid/actions/', {
    POST: async (context, viewer) => {
      const fleet = facts.fleet();
      const row = fleet.bicyclesByUuid.get((context.req.param('uuid') ?? '').toLowerCase());
      if (row === undefined || !isBicycleVisible(row, viewer)) throw refuseUnknown();
      const transition = readTransition(await readObject(context));
      checkPermission(row, transition, viewer);
      const from = row.body.state;
      if (!runTransition(fleet, row, transition, 'client', viewer.subject)) {
        throw refuse(400, `Action '${transition}' not allowed from current state '${from}'`, 'not_allowed');
      }
      facts.onAction(row.body.uuid);
      // Assumed: "Response … not shown"; 200 with the updated bicycle.
      return answerText(context, 200, serialise(row));
    },
  });

  route('/alerts/', {
    GET: (context, viewer) => {
      const query = readQuery(targetOf(context));
      return answerPage(context, facts, query, selectAlerts(facts.fleet(), alertLists, query, viewer));
    },
  });

  // Assumed: "How a token is obtained … not shown", so this path is the sandbox's own, for a token command; what it gives
  // away opens nothing but the sandbox.
  app.get(`${facts.prefix}${TOKEN_PATH}`, async (context) => {
    const role = ROLES.find((candidate) => candidate === (context.req.query('role') ?? 'fleet_operator'));
    if (role === undefined) throw refuseField('role', `Choose one of ${ROLES.join(', ')}.`, 'invalid_choice');
    return context.text(`${await facts.tokens.sign({ role })}\n`);
  });

  app.notFound((context) => {
    const [path = '', query] = targetOf(context).split(/\?(.*)/s);
    if (paths.some((pattern) => pattern.test(`${path}/`))) {
      // Assumed: a path without its trailing slash is answered as Django does, which loses no body only with a read.
      if (context.req.method === 'GET' || context.req.method === 'HEAD') {
        return context.body(null, 301, { Location: `${path}/${query === undefined ? '' : `?${query}`}` });
      }
      const message = `Not found. The path must end with a slash: ${path}/`;
      return answerProblem(context, refuseUnknown(message));
    }
    return answerProblem(context, refuseUnknown());
  });

  app.onError((thrown, context) => {
    if (thrown instanceof Problem) return answerProblem(context, thrown);
    return answerProblem(context, refuse(500, `The sandbox failed: ${thrown.message}`, 'error'));
  });

  // Without the override, `fetch` of the program that embeds the sandbox would get other Request and Response objects.
  const exchanges = new WeakMap<object, Exchange>();
  const listener = getRequestListener(
    (request, env) => app.fetch(request, { ...env, exchange: exchanges.get(env.incoming) }),
    { overrideGlobalObjects: false },
  );
  return (exchange) => {
    exchanges.set(exchange.incoming, exchange);
    void listener(exchange.incoming, exchange.outgoing);
  };
}

/** The raw request target: hono's own URL is already decoded in part. */
function targetOf(context: Context<Environment>): string {
  return context.env.incoming.url ?? '/';
}

function answerText(context: Context<Environment>, status: 200 | 201, text: string): Response {
  const { body, headers } = encodeBody(text, context.req.header('Accept-Encoding'));
  return context.body(body, status, { 'Content-Type': 'application/json', ...headers });
}

function answerProblem(context: Context<Environment>, problem: Problem): Response {
  const { body, headers } = encodeBody(problemBody(problem.detail), context.req.header('Accept-Encoding'));
  return new Response(body, {
    status: problem.status,
    headers: { 'Content-Type': 'application/json', ...headers, ...problem.headers },
  });
}

/** Section 2.6: count, next, previous, results. Assumed: "empty when none" is null, and every list has the envelope. */
function answerPage(
  context: Context<Environment>,
  facts: ApiFacts,
  query: URLSearchParams,
  rows: readonly (BicycleRow | AlertRow)[],
): Response {
  const page = readPage(query);
  const lastPage = Math.max(1, Math.ceil(rows.length / facts.pageSize));
  if (page > lastPage) throw refuseUnknown('Invalid page.');
  const path = (targetOf(context).split('?', 1)[0] ?? '').slice(facts.prefix.length);
  const linkToPage = (number: number) => {
    // The other parameters stay as they are; the link to the first page does without `page`, as Django's does.
    const parameters = new URLSearchParams(query);
    if (number === 1) parameters.delete('page');
    else parameters.set('page', String(number));
    const text = parameters.toString();
    return JSON.stringify(`${facts.fleet().baseUrl}${path}${text === '' ? '' : `?${text}`}`);
  };
  const next = page < lastPage ? linkToPage(page + 1) : 'null';
  const previous = page > 1 ? linkToPage(page - 1) : 'null';
  const start = (page - 1) * facts.pageSize;
  const results = rows
    .slice(start, start + facts.pageSize)
    .map(serialise)
    .join(',');
  return answerText(
    context,
    200,
    `{"count":${rows.length},"next":${next},"previous":${previous},"results":[${results}]}`,
  );
}

function selectBicycles(
  fleet: Fleet,
  lists: ReturnType<typeof createLists<BicycleRow>>,
  query: URLSearchParams,
  viewer: Viewer,
): readonly BicycleRow[] {
  const wanted = readUuid(query, 'organization');
  const zone = readZone(fleet, query, wanted ?? viewer.organization);
  const box = readBox(query);
  const ordering = readOrdering(query, BICYCLE_FIELDS);
  // Assumed: an organization that the viewer may not see, or that is not there, has no bicycles.
  const hidden = viewer.organization !== undefined && wanted !== undefined && wanted !== viewer.organization;
  const organization = wanted ?? zone?.organization ?? viewer.organization;
  const rows = organization === undefined ? fleet.bicycles : (fleet.bicyclesByOrganization.get(organization) ?? []);
  const isRenter = viewer.role === 'renter';
  return lists.select({
    rows: hidden ? [] : rows,
    rowsName: hidden ? 'none' : (organization ?? 'all'),
    ordering: ordering && { ...ordering, sortValue: bicycleValue(ordering.name) },
    accepts:
      zone === undefined && box === undefined && !isRenter
        ? undefined
        : ({ body, rider }) =>
            (zone === undefined || isInside(zone.box, body.latitude, body.longitude)) &&
            (box === undefined || isInside(box, body.latitude, body.longitude)) &&
            // Section 3.1: rented is "visible only to the current rider".
            (!isRenter || body.state !== 'rented' || rider === viewer.subject),
    acceptsName: JSON.stringify([zone?.uuid, box, isRenter ? viewer.subject : null]),
  });
}

/** "The zone must belong to the same organization as the bicycles." */
function readZone(fleet: Fleet, query: URLSearchParams, organization: string | undefined): Zone | undefined {
  const uuid = readUuid(query, 'zone');
  if (uuid === undefined) return undefined;
  const zone = fleet.zones.find((candidate) => candidate.uuid === uuid);
  if (zone === undefined) throw refuseField('zone', 'There is no such zone.', 'invalid_choice');
  if (organization !== undefined && zone.organization !== organization) {
    const message = 'The zone must belong to the same organization as the bicycles.';
    throw refuseField('zone', message, 'invalid_choice');
  }
  return zone;
}

function bicycleValue(field: string): Ordering<BicycleRow>['sortValue'] {
  if (field === 'modified') return (row) => row.modifiedAt;
  if (NUMBER_FIELDS.includes(field)) return ({ body }) => numberOf(body[field]);
  return ({ body }) => textOf(body[field]);
}

function textOf(value: unknown): string | null {
  return typeof value === 'string' ? value : null;
}

function isBicycleVisible(row: BicycleRow, viewer: Viewer): boolean {
  if (viewer.organization !== undefined && row.organization !== viewer.organization) return false;
  return viewer.role !== 'renter' || row.body.state !== 'rented' || row.rider === viewer.subject;
}

function selectAlerts(
  fleet: Fleet,
  lists: ReturnType<typeof createLists<AlertRow>>,
  query: URLSearchParams,
  viewer: Viewer,
): readonly AlertRow[] {
  const organization = readUuid(query, 'organization');
  const bicycle = readUuid(query, 'bicycle');
  const states = readChoices(query, 'state', ALERT_STATES);
  const types = readChoices(query, 'alert_type', ALERT_TYPES);
  const ordering = readOrdering(query, ALERT_ORDERINGS);
  const sortValue: Ordering<AlertRow>['sortValue'] =
    ordering?.name === 'modified' ? (row) => row.modifiedAt : ({ body }) => textOf(body[ordering?.name ?? '']);
  return lists.select({
    rows: fleet.alerts,
    rowsName: 'all',
    ordering: ordering && { ...ordering, sortValue },
    accepts: (row) =>
      // Section 5: "alerts are visible to the roles listed in their roles field".
      row.body.roles.includes(viewer.role) &&
      (viewer.organization === undefined || row.organization === viewer.organization) &&
      (organization === undefined || row.organization === organization) &&
      (bicycle === undefined || row.bicycle === bicycle) &&
      (states.length === 0 || states.includes(row.body.state)) &&
      (types.length === 0 || types.includes(row.body.alert_type)),
    acceptsName: JSON.stringify([viewer.role, viewer.organization, organization, bicycle, states, types]),
  });
}

/** The body of a POST as an object. Throws a 415, 413 or 400 Problem. */
async function readObject(context: Context<Environment>): Promise<{ [field: string]: unknown }> {
  const mediaType = (context.req.header('Content-Type') ?? '').split(';', 1)[0]?.trim().toLowerCase() ?? '';
  if (mediaType !== 'application/json') {
    throw refuse(415, `Unsupported media type "${mediaType}" in request.`, 'unsupported_media_type');
  }
  const tooLarge = refuse(413, `The body is larger than ${LARGEST_BODY_BYTES} bytes.`, 'too_large');
  if (Number(context.req.header('Content-Length') ?? 0) > LARGEST_BODY_BYTES) throw tooLarge;
  const text = await context.req.text();
  if (Buffer.byteLength(text) > LARGEST_BODY_BYTES) throw tooLarge;
  context.env.exchange.record.body = text;
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (thrown) {
    throw refuse(400, `JSON parse error - ${thrown instanceof Error ? thrown.message : String(thrown)}`, 'parse_error');
  }
  if (!isObject(value)) throw refuse(400, 'Invalid data. Expected a JSON object.', 'invalid');
  return value;
}

function isObject(value: unknown): value is { [field: string]: unknown } {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Section 4.3: "a JSON object with field type, whose value is the name of a transition". Other fields are ignored. */
function readTransition(body: { [field: string]: unknown }): Transition {
  const { type } = body;
  if (type === undefined) throw refuseField('type', 'This field is required.', 'required');
  const transition = TRANSITIONS.find((name) => name === type);
  if (transition === undefined) throw refuseField('type', `"${String(type)}" is not a valid choice.`, 'invalid_choice');
  return transition;
}

/** Throws a 403 Problem when the viewer may not run the transition on this bicycle. */
function checkPermission(row: BicycleRow, transition: Transition, viewer: Viewer): void {
  if (AUTOMATIC_TRANSITIONS.includes(transition)) {
    throw refuseRole(`The action '${transition}' is automatic: the service runs it by itself.`);
  }
  if (viewer.role !== 'renter') return;
  if (!RENTER_TRANSITIONS.includes(transition)) throw refuseRole();
  // Assumed: what one renter has reserved is not for another one.
  if (row.body.state === 'reserved' && row.rider !== viewer.subject) {
    throw refuseRole('The bicycle is reserved by another user.');
  }
}

/** Section 4.2. Throws a 400 Problem that names every field that is wrong; unknown fields are ignored (assumed). */
function readNewBicycle(
  facts: ApiFacts,
  body: { [field: string]: unknown },
  viewer: Viewer,
): { organization: string; fields: { name: string; [field: string]: string } } {
  const fleet = facts.fleet();
  const detail: Detail = {};
  const complain = (field: string, message: string, code: string): undefined => {
    detail[field] = [{ message, code }];
    return undefined;
  };
  const isGiven = (field: string) => body[field] !== undefined && body[field] !== null;

  function readText(field: string): string | undefined {
    const value = body[field];
    return typeof value === 'string' ? value : complain(field, 'Not a valid string.', 'invalid');
  }

  /** "Related resources are referenced by absolute URL (a link to the resource), not by bare identifier" (section 2). */
  function readLink(field: string, collection: string): string | undefined {
    const value = body[field];
    if (typeof value !== 'string') {
      return complain(field, `Incorrect type. Expected URL string, received ${typeof value}.`, 'incorrect_type');
    }
    const path = URL.canParse(value) && /^https?:/.test(value) ? new URL(value).pathname : '';
    // Assumed: as with Django, only the path of the link counts, since a proxy may stand in front.
    const [, uuid] = new RegExp(`^${facts.prefix}/${collection}/([0-9a-fA-F-]{36})/$`).exec(path) ?? [];
    if (uuid === undefined) return complain(field, 'Invalid hyperlink - No URL match.', 'no_match');
    return uuid.toLowerCase();
  }

  const unknown = (field: string) => complain(field, 'Invalid hyperlink - Object does not exist.', 'does_not_exist');
  const fields: { [field: string]: string } = {};
  for (const field of ['name', 'organization']) {
    if (!isGiven(field)) complain(field, 'This field is required.', 'required');
  }
  for (const field of ['name', 'serial_number', 'description']) {
    if (isGiven(field)) fields[field] = readText(field) ?? '';
  }
  if (fields['name']?.trim() === '' && detail['name'] === undefined) {
    complain('name', 'This field may not be blank.', 'blank');
  }
  const organization = isGiven('organization') ? readLink('organization', 'organizations') : undefined;
  if (organization !== undefined && !fleet.bicyclesByOrganization.has(organization)) unknown('organization');
  if (isGiven('model')) {
    const uuid = readLink('model', 'bicycle_models');
    const model = fleet.models.find((candidate) => candidate.uuid === uuid);
    if (model !== undefined) fields['model'] = model.url;
    else if (uuid !== undefined) unknown('model');
  }
  if (isGiven('lock')) {
    const uuid = readLink('lock', 'locks');
    if (uuid !== undefined) fields['lock'] = `${fleet.baseUrl}/locks/${uuid}/`;
  }
  const { name } = fields;
  if (Object.keys(detail).length > 0 || organization === undefined || name === undefined) {
    throw new Problem(400, detail);
  }
  if (viewer.organization !== undefined && viewer.organization !== organization) throw refuseRole();
  return { organization, fields: { ...fields, name } };
}
