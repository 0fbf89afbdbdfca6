// The pull side: which paths there are, and what holds for every request (interface.md section 4).
import { getRequestListener, type HttpBindings } from '@hono/node-server';
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response';
import { Hono } from 'hono';
import { ALERT_ACTIONS } from '../api/alert.js';
import { checkAccept, JSON_MEDIA_TYPES } from './accept.js';
import { actOnAlert, availableAlertActions } from './alerts.js';
import { addBicycleRoutes } from './bicycles.js';
import { addDirectoryRoutes, answerLogin, answerRefresh } from './directory.js';
import {
  type AddRoute,
  type ApiContext,
  type ApiOptions,
  answerList,
  answerPageOfHtml,
  answerProblem,
  answerText,
  type Handlers,
  queryOf,
  readObject,
  targetOf,
  uuidOf,
} from './exchange.js';
import { type AlertRow, type Fleet, serialise } from './fleet.js';
import { createLists } from './lists.js';
import { Problem, refuse, refuseField, refuseMethod, refuseRole, refuseUnknown } from './problem.js';
import { isAlertVisible, selectAlerts } from './selection.js';
import { cutConnection, type Exchange } from './server.js';
import { ROLES, type Viewer } from './token.js';

/** Hands out tokens as plain text, `?role=renter` for another role; not part of the interface. */
export const TOKEN_PATH = '/sandbox/token/';

type Environment = { Bindings: HttpBindings & { exchange: Exchange } };

/** Makes the handler of the API port. */
export function createApi(options: ApiOptions): (exchange: Exchange) => void {
  const app = new Hono<Environment>();
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

  // The order of the checks is the one of Django REST framework: version, token, method, then what the handler checks.
  const route: AddRoute = (path, handlers, access = 'token') => {
    const allowed = methodsOf(handlers);
    paths.push(new RegExp(`^${options.prefix}${path.replace(/:\w+/g, '[^/]+')}$`));
    app.all(`${options.prefix}${path}`, async (context) => {
      checkAccept(context.req.header('Accept'), JSON_MEDIA_TYPES, options.isObserved);
      const { method } = context.req;
      const isRead = method === 'GET' || method === 'HEAD';
      const authorization = context.req.header('Authorization');
      const isAnonymous = options.isObserved && access === 'anonymous-lists' && isRead && authorization === undefined;
      const viewer = isAnonymous ? anonymousViewer(options.fleet()) : await options.tokens.check(authorization);
      const handler = handlers[isRead ? 'GET' : (method as keyof Handlers)];
      if (handler === undefined) throw refuseMethod(method, allowed.join(', '));
      return handler(context, viewer);
    });
  };

  addBicycleRoutes(options, route);
  addAlertRoutes(options, route);
  if (options.isObserved) {
    addDirectoryRoutes(options, route);
    app.post(`${options.prefix}/jwt/login/`, (context) => answerLogin(context, options));
    app.post(`${options.prefix}/jwt/refresh_token/`, (context) => answerRefresh(context, options));
  }

  // Assumed: "How a token is obtained … not shown", so this path is the sandbox's own, for a token command; what it gives
  // away opens nothing but the sandbox.
  app.get(`${options.prefix}${TOKEN_PATH}`, async (context) => {
    const asked = context.req.query('role');
    const role = ROLES.find((candidate) => candidate === asked);
    if (role === undefined && asked !== undefined)
      throw refuseField('role', `Choose one of ${ROLES.join(', ')}.`, 'invalid_choice');
    return context.text(`${await options.tokens.sign(role === undefined ? {} : { role })}\n`);
  });

  app.notFound((context) => answerUnknownPath(context, options, paths));
  app.onError((thrown, context) => {
    const problem = thrown instanceof Problem ? thrown : refuse(500, `The sandbox failed: ${thrown.message}`, 'error');
    return answerProblem(context, problem, options.isObserved);
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

function methodsOf(handlers: Handlers): string[] {
  return Object.keys(handlers).flatMap((method) => (method === 'GET' ? ['GET', 'HEAD'] : [method]));
}

/** Observed: who asks without a token sees what open fleets have available. Here the second organization is open. */
function anonymousViewer(fleet: Fleet): Viewer {
  const organization = fleet.organizations[1]?.uuid;
  return {
    role: 'renter',
    subject: '',
    organization,
    affiliations: {},
    issuedAt: 0,
    expiresAt: Number.POSITIVE_INFINITY,
  };
}

/** Assumed: a path without its trailing slash is answered as Django does, which loses no body only with a read. */
function answerUnknownPath(context: ApiContext, options: ApiOptions, paths: readonly RegExp[]): Response {
  const [path = '', query] = targetOf(context).split(/\?(.*)/s);
  const { method } = context.req;
  if (!paths.some((pattern) => pattern.test(`${path}/`))) {
    if (options.isObserved) return answerPageOfHtml(context, 404, 'Not Found');
    return answerProblem(context, refuseUnknown(), false);
  }
  if (method === 'GET' || method === 'HEAD' || (options.isObserved && method === 'POST')) {
    return context.body(null, 301, { Location: `${path}/${query === undefined ? '' : `?${query}`}` });
  }
  const message = `Not found. The path must end with a slash: ${path}/`;
  return answerProblem(context, refuseUnknown(message), options.isObserved);
}

function addAlertRoutes(options: ApiOptions, route: AddRoute): void {
  const { fleet } = options;
  const lists = createLists<AlertRow>(() => fleet().version);
  route('/alerts/', {
    GET: (context, viewer) => {
      const rows = selectAlerts(fleet(), lists, queryOf(context), viewer);
      return answerList(context, options, rows, serialise);
    },
  });
  if (!options.isObserved) return;

  function find(context: ApiContext, viewer: Viewer): AlertRow {
    const row = fleet().alertsByUuid.get(uuidOf(context));
    if (row !== undefined && isAlertVisible(row, viewer)) return row;
    throw refuseUnknown('No Alert matches the given query.');
  }

  route('/alerts/:uuid/', { GET: (context, viewer) => answerText(context, 200, serialise(find(context, viewer))) });
  route('/alerts/:uuid/actions/', {
    POST: async (context, viewer) => {
      const row = find(context, viewer);
      if (viewer.role === 'renter') throw refuseRole();
      const body = await readObject(context);
      if (body['type'] === undefined) throw refuseField('type', 'This field is required.', 'required');
      const action = ALERT_ACTIONS.find((name) => name === body['type']);
      if (action === undefined) throw refuseUnknown();
      const { state } = row.body;
      if (!actOnAlert(fleet(), row, action, body)) {
        const available = availableAlertActions(state).join(', ');
        const message = `Action '${action}' not allowed from current state '${state}'. Available actions: ${available}`;
        throw new Problem(400, { actions: [{ message, code: 'not_allowed' }] });
      }
      return answerText(context, 200, serialise(row));
    },
  });
}
