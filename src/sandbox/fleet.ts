// The bicycles and everything that changes them: transitions, creation and edits (interface.md
// sections 2 and 3).
import type { Alert } from '../api/alert.js';
import { BICYCLE_FIELDS, type Bicycle } from '../api/bicycle.js';
import type { ServedBox } from './geometry.js';
import {
  allowsTransition,
  type ServedTransition,
  TRANSITION_TABLE,
  usualTransitionInto,
} from './transitions.js';

export interface Organization {
  uuid: string;
  name: string;
  /** The uuid of the organization's parent, if it has one. */
  parent: string | undefined;
}

/** A geographic zone: a box that belongs to one organization. */
export interface Zone {
  uuid: string;
  name: string;
  /** The uuid of the organization. */
  organization: string;
  box: ServedBox;
}

export interface Model {
  uuid: string;
  name: string;
  /** The absolute link. */
  url: string;
}

/**
 * A bicycle as the sandbox sends it, with the fields of section 2.1. Assumed: `modified` is one of
 * these fields, because lists can be sorted by it.
 */
export type ServedBicycle = Bicycle & {
  uuid: string;
  name: string;
  state: string;
  created: string;
  modified: string;
  /** Observed: increases with each save, but not always by one. */
  concurrency_version?: number;
};

/** An alert as the sandbox sends it, with the fields of section 2.2. */
export type ServedAlert = Alert & {
  uuid: string;
  state: string;
  alert_type: string;
  roles: string[];
  modified: string;
};

interface Row<Body> {
  /** The bicycle's number in creation order. A list without an ordering uses this order. */
  index: number;
  /** The uuid of the organization. */
  organization: string;
  /**
   * The time of the last change, in microseconds since the epoch. It increases with each change of
   * any bicycle, so that the order `-modified` is exact.
   */
  modifiedAt: number;
  body: Body;
  /** The body as JSON. It is created on first use and invalidated by each change. */
  json: string | undefined;
}

export interface BicycleRow extends Row<ServedBicycle> {
  /** The uuid of the user who rents or has reserved the bicycle. */
  rider: string | undefined;
  /** When the state last changed, in microseconds since the epoch. */
  stateSince: number;
  /** The transitions since the sandbox started, oldest first. Undefined before the first one. */
  history?: ServedHistoryEntry[];
  /** The number of requested transitions. */
  actions?: number;
}

/** An entry of `GET /bicycles/{uuid}/transitions/`. */
export interface ServedHistoryEntry {
  timestamp: string;
  /** The state after the transition. */
  state: string;
  transition: string | null;
  /** A link to the user; null for an automatic transition. */
  by: string | null;
}

export interface AlertRow extends Row<ServedAlert> {
  /** The uuid of the bicycle that the alert is about; undefined for an alert about a zone. */
  bicycle: string | undefined;
}

/** A message for the push channel. The same string is sent to all topics of the message. */
export interface Publication {
  sender: string;
  topics: string[];
  /** The topic in the envelope. Default: the subscribed topic. */
  envelopeTopic?: string;
  /** The `message` of the envelope, as JSON. */
  message: string;
}

/** Resources that bicycles belong to. */
export interface Surroundings {
  organizations: Organization[];
  zones: Zone[];
  models: Model[];
  /**
   * The uuids of the users. The first three users are the default users, one for each role. If no
   * user is chosen for a token, the token belongs to the default user of its role.
   */
  users: string[];
}

/** The simulated service around the fleet. */
export interface FleetService {
  /**
   * Whether the sandbox behaves like the observed service. If false, it follows only interface.md.
   */
  isObserved: boolean;
  /** The base URL without a trailing slash. Links are absolute and below this URL. */
  baseUrl: string;
  /** Returns the current time in milliseconds since the epoch. */
  now: () => number;
  publish: (publication: Publication) => void;
  /**
   * Converts text from a client's create or edit request to the form in which the service stores
   * it.
   */
  storedText: (text: string) => string | null;
  /** Receives each new or changed alert, for the webhook. */
  onAlert: (alert: ServedAlert) => void;
}

export interface ServedFleet extends Surroundings, FleetService {
  bicycles: BicycleRow[];
  bicyclesByUuid: Map<string, BicycleRow>;
  alerts: AlertRow[];
  /** Increases at every change, to invalidate cached lists. */
  version: number;
  /** The time of the last change in microseconds since the epoch. */
  lastChange: number;
}

export function surroundingsOf({ organizations, zones, models, users }: ServedFleet): Surroundings {
  return { organizations, zones, models, users };
}

export function hasOrganization({ organizations }: Surroundings, organization: string): boolean {
  return organizations.some(({ uuid }) => uuid === organization);
}

/** The number of history entries that are stored for each bicycle. */
const HISTORY_ENTRIES = 200;

/** Observed: pushed bicycles do not contain hyperlink fields. */
const LINK_FIELDS = [
  'model',
  'lock',
  'image_url',
  'url',
  'organization',
  'devices',
  'reservation',
  'rental_session',
];

/**
 * Runs a transition and pushes the new state. When the state does not allow the transition, changes
 * nothing and returns false. `rider` is the user who rents or reserves the bicycle.
 */
export function runTransition(
  fleet: ServedFleet,
  row: BicycleRow,
  transition: ServedTransition,
  by: 'client' | 'service',
  rider: string | undefined,
): boolean {
  if (!allowsTransition(row.body.state, transition)) return false;
  const { to } = TRANSITION_TABLE[transition];
  const known = historyOf(fleet, row);
  row.rider = to === 'rented' || to === 'reserved' ? rider : undefined;
  const session = (collection: string) => linkTo(fleet, collection, row.body.uuid);
  const sessions = {
    reservation: to === 'reserved' ? session('reservations') : null,
    rental_session: to === 'rented' ? session('rental_sessions') : null,
  };
  changeBicycle(fleet, row, { state: to, ...(fleet.isObserved ? sessions : {}) }, transition);
  const user = by === 'client' && rider !== undefined ? linkTo(fleet, 'users', rider) : null;
  const name = nameInHistory(fleet, transition);
  known.push({ timestamp: row.body.modified, state: to, transition: name, by: user });
  row.history = known.slice(-HISTORY_ENTRIES);
  if (by === 'client') row.actions = (row.actions ?? 0) + 1;
  return true;
}

/** Observed: in the history, the transition `return` is called `return_`. */
function nameInHistory({ isObserved }: FleetService, transition: ServedTransition): string {
  return isObserved && transition === 'return' ? 'return_' : transition;
}

/**
 * Returns the transitions of a bicycle, oldest first. When the bicycle has no transitions, returns
 * one generated transition into the current state.
 */
export function historyOf(fleet: ServedFleet, row: BicycleRow): ServedHistoryEntry[] {
  if (row.history !== undefined) return row.history;
  const { state } = row.body;
  return [
    {
      timestamp: timeText(fleet, row.stateSince),
      state,
      transition: usualTransitionInto(state),
      by: null,
    },
  ];
}

/** Changes fields of a bicycle, without the rules for transitions, and pushes the bicycle. */
export function changeBicycle(
  fleet: ServedFleet,
  row: BicycleRow,
  changes: Partial<Bicycle>,
  transition?: ServedTransition,
): void {
  const from = row.body.state;
  row.modifiedAt = nextMoment(fleet);
  Object.assign(row.body, changes, { modified: timeText(fleet, row.modifiedAt) });
  if (fleet.isObserved) row.body.concurrency_version = row.modifiedAt;
  row.json = undefined;
  if (row.body.state !== from) row.stateSince = row.modifiedAt;
  // Assumed: this message is sent before the update. The update arrives last, so a client that
  // merges messages ends up with the new state.
  if (transition !== undefined && TRANSITION_TABLE[transition].isAnnounced === true) {
    fleet.publish({
      ...addressOf(fleet, row),
      sender: 'bicycle_leaving_state',
      message: JSON.stringify({ state: from }),
    });
  }
  publishBicycle(fleet, row);
}

function publishBicycle(fleet: ServedFleet, row: BicycleRow): void {
  fleet.publish({ ...addressOf(fleet, row), sender: 'bicycle', message: pushedText(row) });
}

/** Returns the bicycle in the format in which it is pushed. */
function pushedText(row: BicycleRow): string {
  return JSON.stringify(
    Object.fromEntries(Object.entries(row.body).filter(([field]) => !LINK_FIELDS.includes(field))),
  );
}

/**
 * Returns the topics of a bicycle's messages (section 6.1). Observed: the envelope names the
 * bicycle's own topic. If the organization has a parent, the message is also sent to a topic of the
 * parent.
 */
function addressOf(
  fleet: ServedFleet,
  row: BicycleRow,
): Pick<Publication, 'topics' | 'envelopeTopic'> {
  const own = `/${row.organization}/admin/bicycles/${row.body.uuid}/`;
  const topics = [`/${row.organization}/admin/bicycles/*`, own];
  const parent = fleet.organizations.find(({ uuid }) => uuid === row.organization)?.parent;
  if (parent !== undefined) topics.push(`/${parent}/*/admin/bicycles/*`);
  return { topics, envelopeTopic: own };
}

/** Adds a bicycle at the end of the list. */
export function addBicycle(fleet: ServedFleet, row: BicycleRow): void {
  fleet.bicycles.push(row);
  fleet.bicyclesByUuid.set(row.body.uuid, row);
}

/**
 * Creates a bicycle's row. `moment` is the time of its last change, in microseconds since the
 * epoch.
 */
export function makeRow(
  body: ServedBicycle,
  place: { index: number; organization: string; moment: number; rider?: string | undefined },
): BicycleRow {
  const { index, organization, moment, rider } = place;
  return {
    index,
    organization,
    modifiedAt: moment,
    body,
    json: undefined,
    rider,
    stateSince: moment,
  };
}

/** Returns the index for a bicycle that is about to be added. */
export function nextIndex({ bicycles }: ServedFleet): number {
  return (bicycles.at(-1)?.index ?? -1) + 1;
}

/** Removes a bicycle from all lists without a message (assumed). */
export function removeBicycle(fleet: ServedFleet, row: BicycleRow): void {
  fleet.bicycles.splice(fleet.bicycles.indexOf(row), 1);
  fleet.bicyclesByUuid.delete(row.body.uuid);
  nextMoment(fleet);
}

/** Adds a bicycle that a client created, and pushes it. "A new bicycle starts in_maintenance." */
export function createBicycle(
  fleet: ServedFleet,
  organization: string,
  uuid: string,
  fields: { [field: string]: string | null },
): BicycleRow {
  const moment = nextMoment(fleet);
  const created = timeText(fleet, moment);
  const body: ServedBicycle = {
    ...Object.fromEntries(BICYCLE_FIELDS.map((field) => [field, null])),
    ...{
      uuid,
      created,
      description: '',
      serial_number: '',
      state: 'in_maintenance',
      modified: created,
    },
    ...(fields as { name: string }),
  };
  const row = makeRow(body, { index: nextIndex(fleet), organization, moment });
  addObservedFields(fleet, row);
  addBicycle(fleet, row);
  publishBicycle(fleet, row);
  return row;
}

/**
 * Adds the observed fields that interface.md does not name. Does nothing when the sandbox follows
 * only interface.md.
 */
export function addObservedFields(fleet: ServedFleet, row: BicycleRow): void {
  if (!fleet.isObserved) return;
  const { uuid, model, lock, state_of_charge: charge, latest_gps_accuracy: accuracy } = row.body;
  if (lock !== null && lock !== undefined) row.body.device_type ??= 'lock';
  Object.assign(row.body, {
    organization: linkTo(fleet, 'organizations', row.organization),
    url: linkTo(fleet, 'bicycles', uuid),
    short_id: uuid.slice(0, 8),
    tags: [],
    note: '',
    bicycle_model_name: fleet.models.find(({ url }) => url === model)?.name ?? null,
    devices: typeof lock === 'string' ? [lock] : [],
    reservation: row.body.state === 'reserved' ? linkTo(fleet, 'reservations', uuid) : null,
    rental_session: row.body.state === 'rented' ? linkTo(fleet, 'rental_sessions', uuid) : null,
    estimated_state_of_charge: charge ?? null,
    latest_gps_pdop: typeof accuracy === 'number' ? Math.round(accuracy + 8) / 10 : null,
    last_cellular_update: row.body.latest_gps_timestamp ?? null,
    concurrency_version: row.modifiedAt,
  });
}

/** Returns the body as JSON, cached until the next change. */
export function serialise(row: BicycleRow | AlertRow): string {
  row.json ??= JSON.stringify(row.body);
  return row.json;
}

/**
 * Returns the absolute link to a resource (section 2). Assumed: the names of collections other than
 * bicycles and alerts.
 */
export function linkTo(fleet: { baseUrl: string }, collection: string, uuid: string): string {
  return `${fleet.baseUrl}/${collection}/${uuid}/`;
}

/**
 * Returns the time of a change in microseconds. The result is the current time or slightly later,
 * because no two changes may have the same time.
 */
export function nextMoment(fleet: ServedFleet): number {
  fleet.version += 1;
  fleet.lastChange = Math.max(Math.floor(fleet.now() * 1000), fleet.lastChange + 1);
  return fleet.lastChange;
}

/** Formats a time as ISO 8601 in UTC, with microseconds or, as observed, with whole seconds. */
export function timeText(fleet: { isObserved: boolean }, microseconds: number): string {
  const milliseconds = Math.floor(microseconds / 1000);
  if (fleet.isObserved) return `${new Date(milliseconds).toISOString().slice(0, -5)}Z`;
  const rest = String(microseconds - milliseconds * 1000).padStart(3, '0');
  return `${new Date(milliseconds).toISOString().slice(0, -1)}${rest}Z`;
}
