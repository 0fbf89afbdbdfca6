// The API port: its paths, and the checks for every request (interface.md section 4).
import { ALERT_ACTIONS } from '../api/alert.js';
import { checkAccept, JSON_MEDIA_TYPES } from './accept.js';
import { actOnAlert, availableAlertActions } from './alerts.js';
import { addBicycleRoutes } from './bicycles.js';
import { addDirectoryRoutes } from './directory.js';
import type { AddRoute, ApiRequest, Handlers, ServedApiOptions } from './exchange.js';
import { answerList, answerText, readObject } from './exchange.js';
import { type AlertRow, serialise } from './fleet.js';
import { createLists } from './lists.js';
import { addLoginRoutes } from './login.js';
import type { ServedAnswer } from './problem.js';
import {
  answerOf,
  htmlPage,
  refuseAction,
  refuseField,
  refuseMethod,
  refuseRole,
  refuseUnknown,
} from './problem.js';
import { isAlertVisible, selectAlerts } from './selection.js';
import { type Exchange, sendAnswer } from './server.js';
import type { Viewer } from './token.js';

interface Route {
  pattern: RegExp;
  handlers: Handlers;
  isOpen: boolean;
}

/** Creates the handler of the API port. */
export function createApi(options: ServedApiOptions): (exchange: Exchange) => void {
  const { prefix, tokens, fleet } = options;
  const { isObserved } = fleet;
  const routes: Route[] = [];
  const route: AddRoute = (path, handlers, isOpen = false) => {
    routes.push({
      pattern: new RegExp(`^${prefix}${path.replace(':uuid', '([^/]+)')}$`),
      handlers,
      isOpen,
    });
  };
  addBicycleRoutes(options, route);
  addAlertRoutes(options, route);
  addLoginRoutes(options, route);
  if (isObserved) addDirectoryRoutes(options, route);
  // The checks run in the same order as in Django REST framework: version, token, method, and then
  // the checks of the handler.
  async function answer(exchange: Exchange): Promise<ServedAnswer> {
    const { method, url, headers } = exchange.record;
    const [path = '', query = ''] = url.split(/\?(.*)/s);
    const found = routes.find(({ pattern }) => pattern.test(path));
    if (found === undefined) return answerUnknownPath(routes, exchange);
    const { pattern, handlers, isOpen } = found;
    if (!isOpen) checkAccept(headers['accept'] as string | undefined, JSON_MEDIA_TYPES, isObserved);
    const isRead = method === 'GET' || method === 'HEAD';
    const authorization = headers['authorization'] as string | undefined;
    const viewer = isOpen ? NOBODY : await tokens.check(authorization);
    const handler = handlers[isRead ? 'GET' : (method as keyof Handlers)];
    if (handler === undefined) throw refuseMethod(method, methodsOf(handlers).join(', '));
    const uuid = (pattern.exec(path)?.[1] ?? '').toLowerCase();
    return handler(
      { exchange, path: path.slice(prefix.length), query: new URLSearchParams(query), uuid },
      viewer,
    );
  }

  return (exchange) => {
    const sending = answer(exchange).catch(answerOf);
    void sending.then((each) =>
      sendAnswer(exchange, options.faults.has('latin1') ? inLatin1(each) : each),
    );
  };
}

/** Encodes the response in iso-8859-1. Characters outside this charset become JSON escapes. */
function inLatin1({ body, headers, ...answer }: ServedAnswer): ServedAnswer {
  const type = headers?.['Content-Type'] ?? 'application/json';
  const text = (body ?? '')
    .toString()
    .replace(
      /[^\0-\xff]/g,
      (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
    );
  if (text === '') return { ...answer, ...(headers === undefined ? {} : { headers }) };
  return {
    ...answer,
    body: Buffer.from(text, 'latin1'),
    headers: { ...headers, 'Content-Type': `${type.split(';', 1)[0]}; charset=iso-8859-1` },
  };
}

function methodsOf(handlers: Handlers): string[] {
  return Object.keys(handlers).flatMap((method) => (method === 'GET' ? ['GET', 'HEAD'] : [method]));
}

/** The user of a request that needs no token, such as a login request. */
const NOBODY: Viewer = {
  ...{ role: 'renter', subject: '', organization: undefined, affiliations: {} },
  ...{ issuedAt: 0, expiresAt: Number.POSITIVE_INFINITY },
};

/**
 * Assumed: for a path without its trailing slash, the sandbox responds as Django does, with a
 * redirect for reads.
 */
function answerUnknownPath(routes: readonly Route[], { record }: Exchange): ServedAnswer {
  const [path = '', query] = record.url.split(/\?(.*)/s);
  if (!routes.some(({ pattern }) => pattern.test(`${path}/`))) {
    return htmlPage(404, 'Not Found');
  }
  if (record.method === 'GET' || record.method === 'HEAD' || record.method === 'POST') {
    return {
      status: 301,
      headers: { Location: `${path}/${query === undefined ? '' : `?${query}`}` },
    };
  }
  throw refuseUnknown(`Not found. The path must end with a slash: ${path}/`);
}

function addAlertRoutes(options: ServedApiOptions, route: AddRoute): void {
  const { fleet } = options;
  const lists = createLists(fleet, fleet.alerts);
  route('/alerts/', {
    GET: (request, viewer) => {
      const rows = selectAlerts(fleet, lists, request.query, viewer);
      return answerList(request, options, rows, serialise);
    },
  });
  if (!fleet.isObserved) return;

  function find(request: ApiRequest, viewer: Viewer): AlertRow {
    const row = fleet.alerts.find(({ body }) => body.uuid === request.uuid);
    if (row !== undefined && isAlertVisible(row, viewer)) return row;
    throw refuseUnknown('No Alert matches the given query.');
  }

  route('/alerts/:uuid/', {
    GET: (request, viewer) => answerText(200, serialise(find(request, viewer))),
  });
  route('/alerts/:uuid/actions/', {
    POST: async (request, viewer) => {
      const row = find(request, viewer);
      if (viewer.role === 'renter') throw refuseRole();
      const body = await readObject(request);
      if (body['type'] === undefined)
        throw refuseField('type', 'This field is required.', 'required');
      const action = ALERT_ACTIONS.find((name) => name === body['type']);
      if (action === undefined) throw refuseUnknown();
      const { state } = row.body;
      if (!actOnAlert(fleet, row, action, body)) {
        const available = availableAlertActions(state).join(', ');
        const message = `Action '${action}' not allowed from current state '${state}'. Available actions: ${available}`;
        throw refuseAction(message);
      }
      return answerText(200, serialise(row));
    },
  });
}
