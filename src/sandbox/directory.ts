// The collections that were observed besides bicycles and alerts: organizations, zones, models,
// locks and users.
import type { AddRoute, ServedApiOptions } from './exchange.js';
import { answerList, answerText } from './exchange.js';
import { linkTo, type ServedFleet } from './fleet.js';
import { refuseUnknown } from './problem.js';
import type { Viewer } from './token.js';

type Item = { uuid: string; [field: string]: unknown };

/** Adds the routes of each list, and of each single item in it. */
export function addDirectoryRoutes(options: ServedApiOptions, route: AddRoute): void {
  const collections: { [name: string]: (fleet: ServedFleet, viewer: Viewer) => Item[] } = {
    organizations: listOrganizations,
    zones: listZones,
    bicycle_models: ({ models }) => models.map((model) => ({ ...model })),
    locks: listLocks,
    users: listUsers,
  };
  for (const [name, list] of Object.entries(collections)) {
    route(`/${name}/`, {
      GET: (request, viewer) =>
        answerList(request, options, list(options.fleet, viewer), (item) => JSON.stringify(item)),
    });
    route(`/${name}/:uuid/`, {
      GET: (request, viewer) => {
        const item = list(options.fleet, viewer).find(({ uuid }) => uuid === request.uuid);
        if (item === undefined) throw refuseUnknown();
        return answerText(200, JSON.stringify(item));
      },
    });
  }
  route('/me/', {
    GET: (_request, viewer) => {
      const own = listUsers(options.fleet).find(({ uuid }) => uuid === viewer.subject);
      const affs = viewer.affiliations;
      return answerText(
        200,
        JSON.stringify({ uuid: viewer.subject, ...own, role: viewer.role, affs }),
      );
    },
  });
}

function isOwn(viewer: Viewer, organization: string): boolean {
  return viewer.organization === undefined || viewer.organization === organization;
}

function listOrganizations(fleet: ServedFleet, viewer: Viewer): Item[] {
  return fleet.organizations
    .filter(({ uuid }) => isOwn(viewer, uuid))
    .map(({ uuid, name, parent }) => ({
      uuid,
      name,
      url: linkTo(fleet, 'organizations', uuid),
      parent: parent === undefined ? null : linkTo(fleet, 'organizations', parent),
    }));
}

function listZones(fleet: ServedFleet, viewer: Viewer): Item[] {
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

function listLocks(fleet: ServedFleet, viewer: Viewer): Item[] {
  const own = fleet.bicycles.filter(({ organization }) => isOwn(viewer, organization));
  return own.flatMap(({ body: { lock: url, bleid, uuid } }) => {
    if (typeof url !== 'string') return [];
    return {
      uuid: url.split('/').at(-2) ?? '',
      bleid,
      url,
      bicycle: linkTo(fleet, 'bicycles', uuid),
    };
  });
}

function listUsers(fleet: ServedFleet): Item[] {
  return fleet.users.map((uuid, index) => {
    const username = ['admin', 'operator', 'renter'][index] ?? `renter${index - 1}`;
    return { uuid, url: linkTo(fleet, 'users', uuid), username, email: `${username}@example.com` };
  });
}
