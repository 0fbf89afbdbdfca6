// Bicycles as the service defines them: fields, states, transitions and endpoints (interface.md
// sections 2.1, 3.1 and 4.1 to 4.3).

import { pathSegment } from './links.js';
import type { Resource } from './resource.js';

/**
 * The fields of section 2.1 in the same order, followed by `modified`. The section on ordering
 * mentions `modified`.
 */
export const BICYCLE_FIELDS = [
  'uuid',
  'created',
  'latitude',
  'longitude',
  'latest_gps_accuracy',
  'latest_gps_timestamp',
  'state_of_charge',
  'name',
  'description',
  'model',
  'bleid',
  'device_type',
  'lock',
  'image_url',
  'serial_number',
  'state',
  'modified',
] as const;

/** Fields that hold a number. */
const BICYCLE_NUMBERS = [
  'latitude',
  'longitude',
  'latest_gps_accuracy',
  'state_of_charge',
] as const;

type NumberField = (typeof BICYCLE_NUMBERS)[number];
type TextField = Exclude<(typeof BICYCLE_FIELDS)[number], NumberField | 'uuid'>;

/**
 * A bicycle as the service sends it (interface.md section 2.1). The types of the fields are "not
 * shown", so every field may be missing, null, or a number written as a string.
 */
export type Bicycle = { [field in TextField]?: string | null } & {
  [field in NumberField]?: number | string | null;
} & {
  /**
   * Usually a string, but some services send a number. Code must read the value with `bicycleUuid`.
   * Without `bicycleUuid`, a uuid that is a number would end a watch with an error.
   */
  uuid?: unknown;
  /**
   * Assumed: the version grows with each save, but not always by one. If an edit has an outdated
   * version, the service responds with 409.
   */
  concurrency_version?: number | string | null;
  [unknownField: string]: unknown;
};

/**
 * Returns the UUID of a bicycle in lower case, or undefined when the service did not send a usable
 * UUID.
 */
export function bicycleUuid({ uuid }: Pick<Bicycle, 'uuid'>): string | undefined {
  return typeof uuid === 'string' && uuid !== '' ? uuid.toLowerCase() : undefined;
}

/**
 * The lifecycle states of section 3.1. Assumed: `reserved` is also a state. It was observed, but
 * the section does not list it.
 */
export const BICYCLE_STATES = [
  'available',
  'reserved',
  'in_maintenance',
  'rented',
  'lost',
  'unrecoverable',
  'retired',
] as const;

/**
 * Observed: the fields that the parameter `ordering` accepts. The interface does not list them.
 * Ordering by `distance` needs a bbox. Several fields are separated by commas.
 */
export const BICYCLE_ORDERINGS = [
  'created',
  'modified',
  'name',
  'state',
  'uuid',
  'serial_number',
  'model',
  'state_of_charge',
  'latest_gps_timestamp',
  'distance',
  'organization',
  'short_id',
  'needs_attention',
  'recoverable',
  'last_cellular_update',
] as const;

/**
 * Describes bicycles as a resource: its fields, and the paths of lists (section 4.1), creation
 * (4.2) and actions (4.3). Assumed: alerts link to the URL of a bicycle (2.2), some services list
 * the transitions of a bicycle, and numbers and times may be strings.
 */
export const BICYCLE: Resource = {
  one: 'bicycle',
  many: 'bicycles',
  fields: BICYCLE_FIELDS,
  orderings: BICYCLE_ORDERINGS,
  numbers: BICYCLE_NUMBERS,
  times: ['created', 'modified', 'latest_gps_timestamp'],
  words: { state: BICYCLE_STATES },
  headers: {
    charge: 'state_of_charge',
    seen: 'latest_gps_timestamp',
    id: 'uuid',
    name: 'name',
    state: 'state',
  },
  nameField: 'name',
  listPath: '/bicycles/',
  path: (uuid) => `/bicycles/${pathSegment(uuid)}/`,
  shownBy: (uuid) => `"fleet bicycles get ${uuid}" and "fleet bicycles history ${uuid}" show it`,
};

/** The fields in section 4.2, in the order of that section. */
export const NEW_BICYCLE_FIELDS = [
  'name',
  'organization',
  'model',
  'lock',
  'serial_number',
  'description',
] as const;

/** Further fields that an edit can change. Observed; the interface does not document them. */
export const OPERATOR_FIELDS = ['note', 'tags'] as const;

/**
 * Fields that only the service sets. These are the fields of section 2.1 that a create request
 * cannot contain, and further fields that were observed. An exported list contains all of these
 * fields.
 */
export const READ_ONLY_BICYCLE_FIELDS: readonly string[] = [
  ...BICYCLE_FIELDS.filter((field) => !(NEW_BICYCLE_FIELDS as readonly string[]).includes(field)),
  'concurrency_version',
  'url',
  'short_id',
  'bicycle_model_name',
  'devices',
  'reservation',
  'rental_session',
  'estimated_state_of_charge',
  'latest_gps_pdop',
  'last_cellular_update',
  'distance',
  'needs_attention',
  'recoverable',
  // A column that fleet adds to its own lists: a link to a map.
  'map',
];

/** The body of a create request (section 4.2). Resources are absolute URLs. */
export type NewBicycle = { name: string; organization: string } & {
  [field in Exclude<(typeof NEW_BICYCLE_FIELDS)[number], 'name' | 'organization'>]?: string;
};
