// The state of the fleet and everything that can change it: transitions, creation, edits, alerts (interface.md sections 2 and 3).
import type { Alert } from '../api/alert.js';
import type { BICYCLE_STATES, Bicycle, TRANSITIONS } from '../api/bicycle.js';
import type { Box } from './geometry.js';

/** Assumed: "Any reserved state is not named among the states", yet one can reserve, so there is one. */
export type SandboxState = (typeof BICYCLE_STATES)[number] | 'reserved';

export type Transition = (typeof TRANSITIONS)[number];

export interface Organization {
  uuid: string;
  name: string;
}

/** A geographic zone: a box that belongs to one organization. */
export interface Zone {
  uuid: string;
  name: string;
  /** The uuid of the organization. */
  organization: string;
  /** As the bbox parameter wants it: north-east longitude, north-east latitude, south-west longitude, south-west latitude. */
  bbox: [number, number, number, number];
  box: Box;
}

export interface Model {
  uuid: string;
  name: string;
  /** The absolute link. */
  url: string;
}

/** A bicycle as it is served: the fields of section 2.1. Assumed: `modified` is among them, since one can order by it. */
export type ServedBicycle = Bicycle & { uuid: string; name: string; state: string; created: string; modified: string };

/** An alert as it is served: the fields of section 2.2. */
export type ServedAlert = Alert & {
  uuid: string;
  state: string;
  alert_type: string;
  roles: string[];
  modified: string;
};

interface Row<Body> {
  /** The place in creation order, which is the order of an unordered list. */
  index: number;
  /** The uuid of the organization. */
  organization: string;
  /** Microseconds since the epoch; strictly increasing over all changes, so that `-modified` is exact. */
  modifiedAt: number;
  body: Body;
  /** The serialised body, made when first needed and dropped at each change. */
  json: string | undefined;
}

export interface BicycleRow extends Row<ServedBicycle> {
  /** The uuid of the user who rents or has reserved it. */
  rider: string | undefined;
  /** Microseconds since the epoch of the last change of state. */
  stateSince: number;
}

/** For an alert, `bicycle` is the uuid of its bicycle. */
export interface AlertRow extends Row<ServedAlert> {
  bicycle: string;
}

/** One change the service made, for tests that compare what was shown with what happened. */
export interface ActionLine {
  /** Milliseconds since the epoch. */
  at: number;
  /** The uuid of the bicycle, or of the alert for the last two. */
  uuid: string;
  kind: 'transition' | 'creation' | 'change' | 'alert-raised' | 'alert-changed';
  transition: Transition | undefined;
  from: string | undefined;
  to: string | undefined;
  /** Whether a request did it, or the service itself (its life, or a test). */
  by: 'client' | 'service';
}

/** A message for the push channel: the same text goes to each topic. */
export interface Publication {
  sender: string;
  topics: string[];
  /** The serialised `message` of the envelope. */
  message: string;
}

export interface Fleet {
  /** Without a trailing slash; links are absolute and lie below it. */
  baseUrl: string;
  organizations: Organization[];
  zones: Zone[];
  models: Model[];
  /** The uuids of the users; the first three are the default subjects of the roles. */
  users: string[];
  bicycles: BicycleRow[];
  bicyclesByUuid: Map<string, BicycleRow>;
  bicyclesByOrganization: Map<string, BicycleRow[]>;
  alerts: AlertRow[];
  alertsByUuid: Map<string, AlertRow>;
  /** Counts up at every change, so that orders and selections know when they are stale. */
  version: number;
  /** Microseconds since the epoch of the last change. */
  lastChange: number;
  /** Milliseconds since the epoch. */
  now: () => number;
  publish: (publication: Publication) => void;
  log: (line: ActionLine) => void;
}

const ANY_TO_MAINTENANCE: readonly SandboxState[] = ['available', 'lost', 'in_maintenance', 'unrecoverable'];

/**
 * Where each transition may start and where it ends. Assumed: the whole table; section 3.1 says "Source states, target
 * states and conditions of each transition: not shown".
 */
export const TRANSITION_TABLE: { [name in Transition]: { from: readonly SandboxState[]; to: SandboxState } } = {
  declare_available: { from: ['in_maintenance', 'lost', 'unrecoverable'], to: 'available' },
  reserve: { from: ['available'], to: 'reserved' },
  cancel_reservation: { from: ['reserved'], to: 'available' },
  expire_reservation: { from: ['reserved'], to: 'available' },
  rent: { from: ['available', 'reserved'], to: 'rented' },
  return: { from: ['rented'], to: 'available' },
  expire_rental_session: { from: ['rented'], to: 'available' },
  declare_lost: { from: ['in_maintenance', 'available', 'unrecoverable'], to: 'lost' },
  declare_unrecoverable: { from: ['available', 'lost'], to: 'unrecoverable' },
  take_over: { from: ANY_TO_MAINTENANCE, to: 'in_maintenance' },
  force_put_in_maintenance: { from: ['reserved', 'rented', 'retired'], to: 'in_maintenance' },
  retire: { from: ['in_maintenance'], to: 'retired' },
};

/** Whether a transition may start in a state; a state the document does not know allows none. */
export function allowsTransition(state: string, transition: Transition): boolean {
  return TRANSITION_TABLE[transition].from.some((source) => source === state);
}

/**
 * Runs a transition, pushes the new state and returns true; returns false and changes nothing when the state does not
 * allow it. `rider` is the user who rents or reserves.
 */
export function runTransition(
  fleet: Fleet,
  row: BicycleRow,
  transition: Transition,
  by: ActionLine['by'],
  rider: string | undefined,
): boolean {
  if (!allowsTransition(row.body.state, transition)) return false;
  const from = row.body.state;
  const { to } = TRANSITION_TABLE[transition];
  row.rider = to === 'rented' || to === 'reserved' ? rider : undefined;
  touchBicycle(fleet, row, { state: to });
  fleet.log({ at: fleet.now(), uuid: row.body.uuid, kind: 'transition', transition, from, to, by });
  return true;
}

/** Changes fields of a bicycle, whatever the transitions say, and pushes it. */
export function changeBicycle(fleet: Fleet, row: BicycleRow, changes: Partial<Bicycle>): void {
  const from = row.body.state;
  touchBicycle(fleet, row, changes);
  const { uuid, state } = row.body;
  fleet.log({ at: fleet.now(), uuid, kind: 'change', transition: undefined, from, to: state, by: 'service' });
}

function touchBicycle(fleet: Fleet, row: BicycleRow, changes: Partial<Bicycle>): void {
  const from = row.body.state;
  row.modifiedAt = nextMoment(fleet);
  Object.assign(row.body, changes, { modified: isoOfMicroseconds(row.modifiedAt) });
  row.json = undefined;
  if (row.body.state !== from) row.stateSince = row.modifiedAt;
  const topics = topicsOf(row);
  // Assumed: the state-only message carries the state that is left, on both topics, and comes before the update, so
  // that a client that merges messages ends up with the new state.
  if (from === 'available' && row.body.state !== from) {
    fleet.publish({ sender: 'bicycle_leaving_state', topics, message: JSON.stringify({ state: from }) });
  }
  fleet.publish({ sender: 'bicycle', topics, message: serialise(row) });
}

/** Adds a bicycle at the end of the list. */
export function addBicycle(fleet: Fleet, row: BicycleRow): void {
  fleet.bicycles.push(row);
  fleet.bicyclesByUuid.set(row.body.uuid, row);
  fleet.bicyclesByOrganization.get(row.organization)?.push(row);
}

/** What a client may say of a new bicycle, links already resolved (section 4.2). */
export interface NewBicycleFields {
  name: string;
  model?: string;
  lock?: string;
  serial_number?: string;
  description?: string;
}

/** Adds a bicycle that a client created, and pushes it. "A new bicycle starts in_maintenance." */
export function createBicycle(fleet: Fleet, organization: string, uuid: string, fields: NewBicycleFields): BicycleRow {
  const moment = nextMoment(fleet);
  const created = isoOfMicroseconds(moment);
  const body: ServedBicycle = {
    uuid,
    created,
    latitude: null,
    longitude: null,
    latest_gps_accuracy: null,
    latest_gps_timestamp: null,
    state_of_charge: null,
    description: '',
    model: null,
    bleid: null,
    device_type: null,
    lock: null,
    image_url: null,
    serial_number: '',
    state: 'in_maintenance',
    modified: created,
    ...fields,
  };
  const row: BicycleRow = {
    index: fleet.bicycles.length,
    organization,
    modifiedAt: moment,
    body,
    json: undefined,
    rider: undefined,
    stateSince: moment,
  };
  addBicycle(fleet, row);
  fleet.publish({ sender: 'bicycle', topics: topicsOf(row), message: serialise(row) });
  fleet.log({
    at: fleet.now(),
    uuid,
    kind: 'creation',
    transition: undefined,
    from: undefined,
    to: body.state,
    by: 'client',
  });
  return row;
}

/** Adds an alert at the end of the list. */
export function addAlert(fleet: Fleet, row: AlertRow): void {
  fleet.alerts.push(row);
  fleet.alertsByUuid.set(row.body.uuid, row);
}

/** The body of an alert about a bicycle, in the shape of section 2.4. */
export function describeAlert(
  fleet: Fleet,
  row: BicycleRow,
  facts: { uuid: string; alertType: string; state: string; roles: string[]; created: string; modified: string },
): ServedAlert {
  const bicycle = row.body;
  const bicycleUrl = linkTo(fleet, 'bicycles', bicycle.uuid);
  const ofLock = facts.alertType.startsWith('lock.') && typeof bicycle.lock === 'string';
  const lockUuid = bicycle.lock?.split('/').at(-2);
  const extra: { [property: string]: unknown } = ofLock
    ? { lock_uuid: lockUuid, lock_bleid: bicycle.bleid }
    : { bicycle_name: bicycle.name, bicycle_uuid: bicycle.uuid };
  // "The bicycle-causality sample also carries lock_uuid and lock_bleid."
  if (!ofLock && lockUuid !== undefined) Object.assign(extra, { lock_uuid: lockUuid, lock_bleid: bicycle.bleid });
  if (typeof bicycle.latitude === 'number' && typeof bicycle.longitude === 'number') {
    extra['location'] = { type: 'Point', coordinates: [bicycle.longitude, bicycle.latitude] };
  }
  if (bicycle.state_of_charge !== null && bicycle.state_of_charge !== undefined) {
    extra['state_of_charge'] = bicycle.state_of_charge;
  }
  return {
    uuid: facts.uuid,
    created: facts.created,
    modified: facts.modified,
    roles: facts.roles,
    user: row.rider === undefined ? null : linkTo(fleet, 'users', row.rider),
    causality: ofLock ? (bicycle.lock ?? bicycleUrl) : bicycleUrl,
    alert_type: facts.alertType,
    message: `${ALERT_MESSAGES[facts.alertType] ?? facts.alertType}: ${bicycle.name}`,
    extra,
    bicycle: bicycleUrl,
    organization: linkTo(fleet, 'organizations', row.organization),
    url: linkTo(fleet, 'alerts', facts.uuid),
    state: facts.state,
  };
}

const ALERT_MESSAGES: { [alertType: string]: string } = {
  'lock.bat.low': 'Battery of the lock is low',
  'bicycle.ride_outside': 'Ridden outside the service area',
  'lock.no_tracking': 'Lock has sent no position for a while',
  'bicycle.return_outside': 'Returned outside the service area',
  'bicycle.lost_reported': 'Reported lost',
  'bicycle.outside_operational_period': 'In use outside the operational period',
  'bicycle.too_long_idle': 'Has not been used for too long',
  'lock.shutdown': 'Lock has shut down',
};

/** Raises an alert about a bicycle now, in the state "new", and pushes it. */
export function raiseAlert(
  fleet: Fleet,
  row: BicycleRow,
  facts: { uuid: string; alertType: string; roles: string[]; changes?: Partial<Alert> },
): AlertRow {
  const moment = nextMoment(fleet);
  const created = isoOfMicroseconds(moment);
  const body = describeAlert(fleet, row, { ...facts, state: 'new', created, modified: created });
  Object.assign(body, facts.changes);
  const alert: AlertRow = {
    index: fleet.alerts.length,
    organization: row.organization,
    bicycle: row.body.uuid,
    modifiedAt: moment,
    body,
    json: undefined,
  };
  addAlert(fleet, alert);
  publishAlert(fleet, alert, 'alert-raised', undefined);
  return alert;
}

/** Changes fields of an alert, its state for instance, and pushes it. */
export function changeAlert(fleet: Fleet, row: AlertRow, changes: Partial<Alert>): void {
  const from = row.body.state;
  row.modifiedAt = nextMoment(fleet);
  Object.assign(row.body, changes, { modified: isoOfMicroseconds(row.modifiedAt) });
  row.json = undefined;
  publishAlert(fleet, row, 'alert-changed', from);
}

function publishAlert(fleet: Fleet, row: AlertRow, kind: ActionLine['kind'], from: string | undefined): void {
  const { uuid, state } = row.body;
  // Assumed: "Topics for senders other than bicycle … not shown", so alerts have one of their own, by analogy.
  fleet.publish({ sender: 'alert', topics: [`/${row.organization}/admin/alerts/*`], message: serialise(row) });
  fleet.log({ at: fleet.now(), uuid, kind, transition: undefined, from, to: state, by: 'service' });
}

/** Section 6.1: the topic of all bicycles of the organization, and the one of this bicycle. */
export function topicsOf(row: BicycleRow): string[] {
  return [`/${row.organization}/admin/bicycles/*`, `/${row.organization}/admin/bicycles/${row.body.uuid}/`];
}

/** The body as JSON; kept until the next change. */
export function serialise(row: BicycleRow | AlertRow): string {
  row.json ??= JSON.stringify(row.body);
  return row.json;
}

/** The absolute link to a resource (section 2). Assumed: the collection names but bicycles and alerts. */
export function linkTo(fleet: { baseUrl: string }, collection: string, uuid: string): string {
  return `${fleet.baseUrl}/${collection}/${uuid}/`;
}

/** The moment of a change in microseconds: now, or a bit later, so that no two changes share one. */
function nextMoment(fleet: Fleet): number {
  fleet.version += 1;
  fleet.lastChange = Math.max(Math.floor(fleet.now() * 1000), fleet.lastChange + 1);
  return fleet.lastChange;
}

/** ISO 8601 in UTC with microseconds. */
export function isoOfMicroseconds(microseconds: number): string {
  const milliseconds = Math.floor(microseconds / 1000);
  const rest = String(microseconds - milliseconds * 1000).padStart(3, '0');
  return `${new Date(milliseconds).toISOString().slice(0, -1)}${rest}Z`;
}
