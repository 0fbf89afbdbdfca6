// Which bicycles and alerts a list holds, and in which order (interface.md sections 4.1 and 4.5).
import { ALERT_FIELDS, ALERT_ORDERINGS, ALERT_STATES, ALERT_TYPES } from '../api/alert.js';
import { BICYCLE_FIELDS, BICYCLE_ORDERINGS } from '../api/bicycle.js';
import type { AlertRow, BicycleRow, ServedFleet, Zone } from './fleet.js';
import { distanceToMiddle, isInside, numberFrom, type ServedBox } from './geometry.js';
import type { Ordering, SelectRows } from './lists.js';
import { refuseField } from './problem.js';
import {
  lastOf,
  type OrderingRules,
  readBox,
  readChoices,
  readNumber,
  readOrderings,
  readQueryFlag,
  readQueryWords,
  readUuid,
} from './query.js';
import type { Viewer } from './token.js';

/** What `ordering` takes from bicycles as interface.md says, where any field may do, and as observed. */
const BICYCLE_RULES: { [service: string]: OrderingRules } = {
  interface: { fields: BICYCLE_FIELDS, areManyAllowed: false },
  observed: {
    fields: BICYCLE_ORDERINGS,
    areManyAllowed: true,
    broken: ['bleid', 'device_type', 'query', 'bbox', 'zone', 'has_lock', 'created_after'],
  },
};

/** Roles and extra are no values that one could sort by. */
const ALERT_RULES: { [service: string]: OrderingRules } = {
  interface: {
    fields: ALERT_FIELDS.filter((field) => field !== 'roles' && field !== 'extra'),
    areManyAllowed: false,
  },
  observed: { fields: ALERT_ORDERINGS, areManyAllowed: true },
};

const NUMBER_FIELDS: readonly string[] = ['latitude', 'longitude', 'latest_gps_accuracy', 'state_of_charge'];

/** Observed: what comes first when nobody asks for an order. */
const NEWEST_FIRST = [{ name: 'created', descending: true }];

function orderingsOf(query: URLSearchParams, rules: { [service: string]: OrderingRules }, isObserved: boolean) {
  const service = isObserved ? rules['observed'] : rules['interface'];
  const wanted = readOrderings(query, service ?? { fields: [], areManyAllowed: false });
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
  const orderings = orderingsOf(query, BICYCLE_RULES, fleet.isObserved);
  // Assumed: an organization that the viewer may not see, or that is not there, has no bicycles.
  const isForeign = viewer.organization !== undefined && wanted !== undefined && wanted !== viewer.organization;
  if (isForeign || zone === 'unknown') return [];
  const organization = wanted ?? zone?.organization ?? viewer.organization;
  const boxes = [zone?.box, box].filter((each) => each !== undefined);
  const further = fleet.isObserved ? readFurtherFilters(fleet, query) : () => true;
  return select({
    orderings: orderings.map((ordering) => bicycleOrdering(ordering, box)),
    accepts: (row) =>
      (organization === undefined || row.organization === organization) &&
      boxes.every((each) => isInside(each, row.body.latitude, row.body.longitude)) &&
      isVisible(fleet, row, viewer) &&
      further(row),
    acceptsName: nameOf(query, viewer),
  });
}

/** Whether the viewer may know of a bicycle. Section 3.1: rented is "visible only to the current rider"; observed: only the available ones are seen by all. */
export function isVisible(fleet: ServedFleet, row: BicycleRow, viewer: Viewer): boolean {
  if (viewer.organization !== undefined && row.organization !== viewer.organization) return false;
  if (seesAll(fleet, viewer, row.organization)) return true;
  const isOpen = fleet.isObserved ? row.body.state === 'available' : row.body.state !== 'rented';
  return isOpen || row.rider === viewer.subject;
}

/** Observed: "operators see all of their organization; mechanics and renters the available ones and their own". */
function seesAll(fleet: ServedFleet, viewer: Viewer, organization: string): boolean {
  const roles = viewer.affiliations[organization] ?? Object.values(viewer.affiliations).flat();
  const isMechanic = fleet.isObserved && roles.includes('mechanic') && !SEE_ALL.some((role) => roles.includes(role));
  return viewer.role !== 'renter' && !isMechanic;
}

const SEE_ALL: readonly string[] = ['admin', 'fleet_operator'];

/** "The zone must belong to the same organization as the bicycles." Observed: an unknown zone gives an empty list. */
function readZone(
  fleet: ServedFleet,
  query: URLSearchParams,
  organization: string | undefined,
): Zone | 'unknown' | undefined {
  const uuid = readUuid(query, 'zone');
  if (uuid === undefined) return undefined;
  const zone = fleet.zones.find((candidate) => candidate.uuid === uuid);
  if (zone === undefined) {
    if (fleet.isObserved) return 'unknown';
    throw refuseField('zone', 'There is no such zone.', 'invalid_choice');
  }
  if (organization !== undefined && zone.organization !== organization) {
    const message = 'The zone must belong to the same organization as the bicycles.';
    throw refuseField('zone', message, 'invalid_choice');
  }
  return zone;
}

/** Observed: the filters that interface.md does not name. */
function readFurtherFilters(fleet: ServedFleet, query: URLSearchParams): (row: BicycleRow) => boolean {
  const conditions: ((row: BicycleRow) => boolean)[] = [];
  const add = (given: boolean, condition: (row: BicycleRow) => boolean) => given && conditions.push(condition);
  const states = readQueryWords(query, 'state');
  const excluded = readQueryWords(query, 'state__exclude');
  const text = withoutAccents(lastOf(query, 'query') ?? '');
  const part = (lastOf(query, 'name') ?? '').toLowerCase();
  const least = readNumber(query, 'min_state_of_charge');
  const most = readNumber(query, 'max_state_of_charge');
  const hasLock = readQueryFlag(query, 'has_lock');
  const device = lastOf(query, 'device_type') ?? '';
  const model = readUuid(query, 'model');
  const organizations = readQueryWords(query, 'organizations');
  const withAlerts = readQueryFlag(query, 'with_alerts');
  const alertTypes = readQueryWords(query, 'alert_type');
  add(states.length > 0, ({ body }) => states.includes(body.state));
  add(excluded.length > 0, ({ body }) => !excluded.includes(body.state));
  add(text !== '', ({ body }) =>
    [body.name, body.serial_number, body.bleid].some((value) => withoutAccents(value ?? '').includes(text)),
  );
  add(part !== '', ({ body }) => body.name.toLowerCase().includes(part));
  const charge = ({ body }: BicycleRow) => numberFrom(body.state_of_charge) ?? Number.NaN;
  add(least !== undefined, (row) => charge(row) >= (least ?? 0));
  add(most !== undefined, (row) => charge(row) <= (most ?? 0));
  add(hasLock !== undefined, ({ body }) => (typeof body.lock === 'string') === hasLock);
  add(device !== '', ({ body }) => body.device_type === device);
  add(model !== undefined, ({ body }) => body.model?.includes(model ?? '') === true);
  add(organizations.length > 0, (row) => organizations.includes(row.organization));
  if (withAlerts !== undefined || alertTypes.length > 0) {
    const open = fleet.alerts.filter(({ body }) => body.state === 'new' || body.state === 'escalated');
    const fitting = open.filter(({ body }) => alertTypes.length === 0 || alertTypes.includes(body.alert_type));
    const alerted = new Set(fitting.map(({ bicycle }) => bicycle));
    conditions.push((row) => alerted.has(row.body.uuid) === (withAlerts ?? true));
  }
  return (row) => conditions.every((condition) => condition(row));
}

/** The same name always means the same filters: all that is asked but for the page. */
function nameOf(query: URLSearchParams, viewer: Viewer): string {
  const asked = [...query].filter(([name]) => name !== 'page' && name !== 'page_size' && name !== 'fields');
  return JSON.stringify([viewer.role, viewer.organization, viewer.subject, viewer.affiliations, asked]);
}

function bicycleOrdering(
  { name, descending }: { name: string; descending: boolean },
  box: ServedBox | undefined,
): Ordering<BicycleRow> {
  if (name !== 'distance') return { name, descending, sortValue: bicycleValue(name) };
  const sortValue = ({ body }: BicycleRow) =>
    box === undefined ? null : distanceToMiddle(box, body.latitude, body.longitude);
  return { name: `distance ${JSON.stringify(box)}`, descending, sortValue };
}

function bicycleValue(field: string): Ordering<BicycleRow>['sortValue'] {
  if (field === 'modified') return (row) => row.modifiedAt;
  if (NUMBER_FIELDS.includes(field)) return ({ body }) => numberFrom(body[field]);
  return ({ body }) => textOf(body[field]);
}

/** Observed: `query` ignores case and accents; `name` only case. */
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
  const orderings = orderingsOf(query, ALERT_RULES, fleet.isObserved);
  return select({
    orderings: orderings.map(({ name, descending }) => ({ name, descending, sortValue: alertValue(name) })),
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
