// What a running service was observed to offer beside bicycles and alerts: organizations, zones, models, locks, users, clusters, and log-in.
import {
  type AddRoute,
  type ApiContext,
  type ApiOptions,
  answerList,
  answerText,
  queryOf,
  readObject,
  uuidOf,
} from './exchange.js';
import { type BicycleRow, type Fleet, linkTo } from './fleet.js';
import { isInside, numberOf } from './geometry.js';
import { refuse, refuseField, refuseUnknown } from './problem.js';
import { readBox } from './query.js';
import { isVisible } from './selection.js';
import type { Role, Viewer } from './token.js';

/** Observed: how long a token lives that was got by logging in. */
const LOGIN_SECONDS = 30 * 60;

/** About a kilometre: bicycles in one cell of this grid are one cluster. */
const CLUSTER_DEGREES = 0.01;

/** Who logs in by which name; any password but an empty one, and "wrong", is right. */
const LOGINS: { [name: string]: Role } = { admin: 'admin', operator: 'fleet_operator', renter: 'renter' };

type Item = { uuid: string; [field: string]: unknown };

/** Adds a list and its single items. */
export function addDirectoryRoutes(options: ApiOptions, route: AddRoute): void {
  const collections: { [name: string]: (fleet: Fleet, viewer: Viewer) => Item[] } = {
    organizations: listOrganizations,
    zones: listZones,
    bicycle_models: listModels,
    locks: listLocks,
    users: listUsers,
  };
  for (const [name, list] of Object.entries(collections)) {
    route(`/${name}/`, {
      GET: (context, viewer) =>
        answerList(context, options, list(options.fleet(), viewer), (item) => JSON.stringify(item)),
    });
    route(`/${name}/:uuid/`, {
      GET: (context, viewer) => {
        const item = list(options.fleet(), viewer).find(({ uuid }) => uuid === uuidOf(context));
        if (item === undefined) throw refuseUnknown();
        return answerText(context, 200, JSON.stringify(item));
      },
    });
  }
  route('/me/', {
    GET: (context, viewer) => {
      const fleet = options.fleet();
      const own = listUsers(fleet).find(({ uuid }) => uuid === viewer.subject);
      const affs = viewer.affiliations;
      return answerText(context, 200, JSON.stringify({ uuid: viewer.subject, ...own, role: viewer.role, affs }));
    },
  });
  route('/clusters/', { GET: (context, viewer) => answerClusters(context, options.fleet(), viewer) });
}

function isOwn(viewer: Viewer, organization: string): boolean {
  return viewer.organization === undefined || viewer.organization === organization;
}

function listOrganizations(fleet: Fleet, viewer: Viewer): Item[] {
  return fleet.organizations
    .filter(({ uuid }) => isOwn(viewer, uuid))
    .map(({ uuid, name, parent }) => ({
      uuid,
      name,
      url: linkTo(fleet, 'organizations', uuid),
      parent: parent === undefined ? null : linkTo(fleet, 'organizations', parent),
    }));
}

function listZones(fleet: Fleet, viewer: Viewer): Item[] {
  const own = fleet.zones.filter(({ organization }) => isOwn(viewer, organization));
  return own.map(({ uuid, name, organization, box }) => {
    const corners = [
      [box.west, box.south],
      [box.east, box.south],
      [box.east, box.north],
      [box.west, box.north],
      [box.west, box.south],
    ];
    return {
      uuid,
      name,
      type: 'service_area',
      polygon: { type: 'Polygon', coordinates: [corners] },
      low_threshold: 5,
      high_threshold: 200,
      organization: linkTo(fleet, 'organizations', organization),
      url: linkTo(fleet, 'zones', uuid),
    };
  });
}

function listModels(fleet: Fleet): Item[] {
  return fleet.models.map(({ uuid, name, url }) => ({ uuid, name, url }));
}

function listLocks(fleet: Fleet, viewer: Viewer): Item[] {
  return fleet.bicycles.flatMap(({ body, organization }) =>
    typeof body.lock === 'string' && isOwn(viewer, organization)
      ? [
          {
            uuid: body.lock.split('/').at(-2) ?? '',
            bleid: body.bleid,
            url: body.lock,
            bicycle: linkTo(fleet, 'bicycles', body.uuid),
          },
        ]
      : [],
  );
}

function listUsers(fleet: Fleet): Item[] {
  return fleet.users.map((uuid, index) => {
    const username = ['admin', 'operator', 'renter'][index] ?? `renter${index - 1}`;
    return { uuid, url: linkTo(fleet, 'users', uuid), username, email: `${username}@example.com` };
  });
}

/** A bare array: how many bicycles are in each cell of a grid, and where its first one is. */
function answerClusters(context: ApiContext, fleet: Fleet, viewer: Viewer): Response {
  const box = readBox(queryOf(context), true);
  if (box === undefined) throw refuseField('bbox', 'This field is required.', 'required');
  const cells = new Map<string, { count: number; latitude: number; longitude: number }>();
  const seen = (row: BicycleRow) =>
    isVisible(fleet, row, viewer) && isInside(box, row.body.latitude, row.body.longitude);
  for (const row of fleet.bicycles.filter(seen)) {
    const latitude = numberOf(row.body.latitude) ?? 0;
    const longitude = numberOf(row.body.longitude) ?? 0;
    const cell = `${Math.floor(latitude / CLUSTER_DEGREES)} ${Math.floor(longitude / CLUSTER_DEGREES)}`;
    const known = cells.get(cell) ?? { count: 0, latitude, longitude };
    known.count += 1;
    cells.set(cell, known);
  }
  return answerText(context, 200, JSON.stringify([...cells.values()]));
}

/** Observed: `POST /jwt/login/` with e-mail address and password answers a token; a good token is renewed at `/jwt/refresh_token/`. */
export async function answerLogin(context: ApiContext, options: ApiOptions): Promise<Response> {
  const { email, password } = await readObject(context);
  const role = LOGINS[String(email).split('@', 1)[0] ?? ''];
  if (role === undefined || typeof password !== 'string' || password === '' || password === 'wrong') {
    throw refuse(400, 'Unable to log in with provided credentials.', 'invalid');
  }
  const token = await options.tokens.sign({ role, expiresInSeconds: LOGIN_SECONDS });
  return answerText(context, 200, JSON.stringify({ token }));
}

export async function answerRefresh(context: ApiContext, options: ApiOptions): Promise<Response> {
  const { token } = await readObject(context);
  const { role, subject, organization, affiliations } = await options.tokens.check(`JWT ${String(token)}`);
  const [roles = []] = Object.values(affiliations);
  const claims = { role, subject, affiliations: roles, ...(organization === undefined ? {} : { organization }) };
  const renewed = await options.tokens.sign({ ...claims, expiresInSeconds: LOGIN_SECONDS });
  return answerText(context, 200, JSON.stringify({ token: renewed }));
}
