// Selects and orders bicycles and alerts for lists (interface.md sections 4.1 and 4.5).
import { ALERT_FIELDS, ALERT_ORDERINGS, ALERT_STATES, ALERT_TYPES } from '../api/alert.js';
import { BICYCLE_FIELDS, BICYCLE_ORDERINGS } from '../api/bicycle.js';
import type { AlertRow, BicycleRow, ServedFleet, Zone } from './fleet.js';
import { isInside, numberFrom } from './geometry.js';
import type { Ordering, SelectRows } from './lists.js';
import { refuseField } from './problem.js';
import { lastOf, readBox, readChoices, readOrderings, readQueryWords, readUuid } from './query.js';
import type { Viewer } from './token.js';

/**
 * The alert fields that `ordering` accepts: all fields in interface.md except roles and extra,
 * which cannot be sorted.
 */
const SORTED_ALERT_FIELDS = ALERT_FIELDS.filter((field) => field !== 'roles' && field !== 'extra');

const NUMBER_FIELDS: readonly string[] = [
  'latitude',
  'longitude',
  'latest_gps_accuracy',
  'state_of_charge',
];

/** Observed: the default order. */
const NEWEST_FIRST = [{ name: 'created', descending: true }];

/**
 * Returns the sort fields. interface.md describes a single field. Observed: several fields are also
 * accepted.
 */
function orderingsOf(
  { isObserved }: ServedFleet,
  query: URLSearchParams,
  named: readonly string[],
  works: readonly string[],
) {
  const wanted = readOrderings(query, isObserved ? works : named, isObserved);
  return wanted.length === 0 && isObserved ? NEWEST_FIRST : wanted;
}

export function selectBicycles(
  fleet: ServedFleet,
  select: SelectRows<BicycleRow>,
  query: URLSearchParams,
  viewer: Viewer,
): readonly BicycleRow[] {
  const wanted = readUuid(query, 'organization');
  const zone = readZone(fleet, query, wanted ?? viewer.organization);
  const box = readBox(query, fleet.isObserved);
  const orderings = orderingsOf(fleet, query, BICYCLE_FIELDS, BICYCLE_ORDERINGS);
  // Assumed: the list is empty for an organization that does not exist, or that the viewer may not
  // see.
  const isForeign =
    viewer.organization !== undefined && wanted !== undefined && wanted !== viewer.organization;
  if (isForeign || zone === 'unknown') return [];
  const organization = wanted ?? zone?.organization ?? viewer.organization;
  const boxes = [zone?.box, box].filter((each) => each !== undefined);
  const further = fleet.isObserved ? readFurtherFilters(query) : () => true;
  return select({
    orderings: orderings.map(({ name, descending }) => ({
      name,
      descending,
      sortValue: bicycleValue(name),
    })),
    accepts: (row) =>
      (organization === undefined || row.organization === organization) &&
      boxes.every((each) => isInside(each, row.body.latitude, row.body.longitude)) &&
      isVisible(fleet, row, viewer) &&
      further(row),
    acceptsName: nameOf(query, viewer),
  });
}

/**
 * Whether the viewer may see a bicycle. Section 3.1: a rented bicycle is "visible only to the
 * current rider". Observed: of the other bicycles, only available ones are visible to everyone.
 */
export function isVisible(fleet: ServedFleet, row: BicycleRow, viewer: Viewer): boolean {
  if (viewer.organization !== undefined && row.organization !== viewer.organization) return false;
  if (seesAll(fleet, viewer, row.organization)) return true;
  const isOpen = fleet.isObserved ? row.body.state === 'available' : row.body.state !== 'rented';
  return isOpen || row.rider === viewer.subject;
}

/**
 * Observed: "operators see all of their organization; mechanics and renters the available ones and
 * their own".
 */
function seesAll(fleet: ServedFleet, viewer: Viewer, organization: string): boolean {
  const roles = viewer.affiliations[organization] ?? Object.values(viewer.affiliations).flat();
  const isMechanic =
    fleet.isObserved && roles.includes('mechanic') && !SEE_ALL.some((role) => roles.includes(role));
  return viewer.role !== 'renter' && !isMechanic;
}

const SEE_ALL: readonly string[] = ['admin', 'fleet_operator'];

/**
 * "The zone must belong to the same organization as the bicycles." Observed: an unknown zone
 * returns an empty list.
 */
function readZone(
  fleet: ServedFleet,
  query: URLSearchParams,
  organization: string | undefined,
): Zone | 'unknown' | undefined {
  const uuid = readUuid(query, 'zone');
  if (uuid === undefined) return undefined;
  const zone = fleet.zones.find((candidate) => candidate.uuid === uuid);
  if (zone === undefined) return 'unknown';
  if (organization !== undefined && zone.organization !== organization) {
    const message = 'The zone must belong to the same organization as the bicycles.';
    throw refuseField('zone', message, 'invalid_choice');
  }
  return zone;
}

/** Returns the filters that were observed but are not in interface.md. */
function readFurtherFilters(query: URLSearchParams): (row: BicycleRow) => boolean {
  const states = readQueryWords(query, 'state');
  const text = withoutAccents(lastOf(query, 'query') ?? '');
  const part = (lastOf(query, 'name') ?? '').toLowerCase();
  return ({ body }) =>
    (states.length === 0 || states.includes(body.state)) &&
    body.name.toLowerCase().includes(part) &&
    [body.name, body.serial_number, body.bleid].some((value) =>
      withoutAccents(value ?? '').includes(text),
    );
}

/**
 * Returns a cache key for a selection. It consists of the viewer and the query parameters that
 * select bicycles.
 */
function nameOf(query: URLSearchParams, viewer: Viewer): string {
  const asked = [...query].filter(
    ([name]) => name !== 'page' && name !== 'page_size' && name !== 'fields',
  );
  return JSON.stringify([
    viewer.role,
    viewer.organization,
    viewer.subject,
    viewer.affiliations,
    asked,
  ]);
}

function bicycleValue(field: string): Ordering<BicycleRow>['sortValue'] {
  if (field === 'modified') return (row) => row.modifiedAt;
  if (NUMBER_FIELDS.includes(field)) return ({ body }) => numberFrom(body[field]);
  return ({ body }) => textOf(body[field]);
}

/** Observed: `query` ignores case and accents; `name` only ignores case. */
function withoutAccents(text: string): string {
  return text.normalize('NFD').replace(/\p{M}/gu, '').toLowerCase();
}

function textOf(value: unknown): string | null {
  return typeof value === 'string' ? value : null;
}

export function selectAlerts(
  fleet: ServedFleet,
  select: SelectRows<AlertRow>,
  query: URLSearchParams,
  viewer: Viewer,
): readonly AlertRow[] {
  const organization = readUuid(query, 'organization');
  const bicycle = readUuid(query, 'bicycle');
  const states = readChoices(query, 'state', ALERT_STATES);
  const types = readChoices(query, 'alert_type', ALERT_TYPES);
  const orderings = orderingsOf(fleet, query, SORTED_ALERT_FIELDS, ALERT_ORDERINGS);
  return select({
    orderings: orderings.map(({ name, descending }) => ({
      name,
      descending,
      sortValue: alertValue(name),
    })),
    accepts: (row) =>
      isAlertVisible(row, viewer) &&
      (organization === undefined || row.organization === organization) &&
      (bicycle === undefined || row.bicycle === bicycle) &&
      (states.length === 0 || states.includes(row.body.state)) &&
      (types.length === 0 || types.includes(row.body.alert_type)),
    acceptsName: nameOf(query, viewer),
  });
}

/** Section 5: "alerts are visible to the roles listed in their roles field". */
export function isAlertVisible(row: AlertRow, viewer: Viewer): boolean {
  return (
    row.body.roles.includes(viewer.role) &&
    (viewer.organization === undefined || row.organization === viewer.organization)
  );
}

function alertValue(field: string): Ordering<AlertRow>['sortValue'] {
  return field === 'modified' ? (row) => row.modifiedAt : ({ body }) => textOf(body[field]);
}
