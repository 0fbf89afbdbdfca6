// Alerts as the service defines them: fields, states, types and the endpoint (interface.md sections
// 2.2 to 2.4, 3.2 and 4.5).

import { pathSegment } from './links.js';
import type { Resource } from './resource.js';

/** The fields that section 2.2 lists, in the same order. */
export const ALERT_FIELDS = [
  'uuid',
  'created',
  'modified',
  'roles',
  'user',
  'causality',
  'alert_type',
  'message',
  'extra',
  'bicycle',
  'organization',
  'url',
  'state',
] as const;

/** An alert as the service sends it (section 2.2); every field may be missing or null. */
export type Alert = {
  [field in Exclude<(typeof ALERT_FIELDS)[number], 'roles' | 'extra'>]?: string | null;
} & {
  roles?: string[] | null;
  /** Section 2.4: "A client must check that a property exists before reading it." */
  extra?: { [property: string]: unknown } | null;
  [unknownField: string]: unknown;
};

/** States of section 3.2. */
export const ALERT_STATES = ['new', 'resolved', 'escalated', 'stopped', 'silenced'] as const;

/** Whether an alert in this state still needs attention. */
export function isOpenState(state: unknown): boolean {
  return state === 'new' || state === 'escalated';
}

/** The types that section 2.3 lists, followed by types that were only observed (Assumed). */
export const ALERT_TYPES = [
  'lock.bat.low',
  'bicycle.ride_outside',
  'lock.no_tracking',
  'bicycle.return_outside',
  'bicycle.lost_reported',
  'bicycle.outside_operational_period',
  'bicycle.too_long_idle',
  'lock.shutdown',
  'bicycle.left_unlocked',
  'bicycle.bike_stolen',
  'lock.locked_wo_cable',
  'lock.alarm_triggered',
  'zone.high_threshold',
  'zone.low_threshold',
] as const;

/**
 * The values of `type` in an action request for an alert. Assumed: these values were observed, but
 * are not documented.
 */
export const ALERT_ACTIONS = ['resolve', 'silence', 'escalate', 'stop'] as const;

export type AlertAction = (typeof ALERT_ACTIONS)[number];

/**
 * Observed: the fields that the `ordering` parameter accepts. The interface description does not
 * list them.
 */
export const ALERT_ORDERINGS = [
  'created',
  'modified',
  'state',
  'alert_type',
  'uuid',
  'organization',
] as const;

/**
 * Describes alerts as a resource: its fields, and the path of its list (section 4.5). Assumed,
 * because it was observed: the URLs of single alerts and of their actions. Also assumed: `url`
 * (section 2.2) contains the link to an alert.
 */
export const ALERT: Resource = {
  one: 'alert',
  many: 'alerts',
  fields: ALERT_FIELDS,
  orderings: ALERT_ORDERINGS,
  numbers: [],
  times: ['created', 'modified'],
  words: { state: ALERT_STATES, alert_type: ALERT_TYPES },
  headers: { age: 'created', type: 'alert_type', id: 'uuid', state: 'state', message: 'message' },
  nameField: 'message',
  listPath: '/alerts/',
  path: (uuid) => `/alerts/${pathSegment(uuid)}/`,
  shownBy: (uuid) => `"fleet api /alerts/${uuid}/" shows it`,
};
