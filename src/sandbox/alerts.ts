// The alerts: their content, and how they are raised, changed and acted on (interface.md sections
// 2.2 to 2.4 and 3.2).
import { ALERT_ACTIONS, type Alert } from '../api/alert.js';
import type { AlertRow, BicycleRow, ServedAlert, ServedFleet, Zone } from './fleet.js';
import { linkTo, nextMoment, serialise, timeText } from './fleet.js';

export type ServedAlertAction = (typeof ALERT_ACTIONS)[number];

const ALERT_MESSAGES: { [alertType: string]: string } = {
  'lock.bat.low': 'Battery of the lock is low',
  'bicycle.ride_outside': 'Ridden outside the service area',
  'lock.no_tracking': 'Lock has sent no position for a while',
  'bicycle.return_outside': 'Returned outside the service area',
  'bicycle.lost_reported': 'Reported lost',
  'bicycle.outside_operational_period': 'In use outside the operational period',
  'bicycle.too_long_idle': 'Has not been used for too long',
  'lock.shutdown': 'Lock has shut down',
  'bicycle.left_unlocked': 'Left unlocked',
  'bicycle.bike_stolen': 'Reported stolen',
  'lock.locked_wo_cable': 'Locked without its cable',
  'lock.alarm_triggered': 'Alarm of the lock was triggered',
  'zone.high_threshold': 'More bicycles than wanted',
  'zone.low_threshold': 'Fewer bicycles than wanted',
};

/**
 * The fields of an alert that the caller chooses. The other fields are derived from the bicycle.
 */
type AlertInput = Pick<
  ServedAlert,
  'uuid' | 'alert_type' | 'state' | 'roles' | 'created' | 'modified'
>;

/** The fields about the subject of an alert. */
type Subject = Pick<ServedAlert, 'user' | 'causality' | 'extra' | 'bicycle' | 'message'>;

/**
 * Creates an alert about a bicycle, or about the zone of the bicycle's organization. `modifiedAt`
 * is in microseconds since the epoch.
 */
export function makeAlert(
  fleet: ServedFleet,
  row: BicycleRow,
  input: AlertInput,
  place: { index: number; modifiedAt: number },
): AlertRow {
  const { organization } = row;
  const type = input.alert_type;
  const isOfZone = type.startsWith('zone.');
  const zone = isOfZone
    ? fleet.zones.find((each) => each.organization === organization)
    : undefined;
  const subject = zone === undefined ? bicycleSubject(fleet, row, type) : zoneSubject(fleet, zone);
  const body = {
    ...input,
    ...subject,
    message: `${ALERT_MESSAGES[type] ?? type}: ${subject.message}`,
    organization: linkTo(fleet, 'organizations', organization),
    url: linkTo(fleet, 'alerts', input.uuid),
  };
  return {
    ...place,
    organization,
    bicycle: zone === undefined ? row.body.uuid : undefined,
    body,
    json: undefined,
  };
}

/** Returns the fields about a bicycle as the subject of an alert, in the form of section 2.4. */
function bicycleSubject(fleet: ServedFleet, row: BicycleRow, alertType: string): Subject {
  const { uuid, name, lock, bleid, latitude, longitude, state_of_charge: charge } = row.body;
  const bicycle = linkTo(fleet, 'bicycles', uuid);
  const isOfLock = alertType.startsWith('lock.') && typeof lock === 'string';
  const hasPosition = typeof latitude === 'number' && typeof longitude === 'number';
  return {
    message: name,
    user: row.rider === undefined ? null : linkTo(fleet, 'users', row.rider),
    causality: isOfLock ? lock : bicycle,
    extra: {
      ...(isOfLock ? {} : { bicycle_name: name, bicycle_uuid: uuid }),
      // Section 2.4: "The bicycle-causality sample also carries lock_uuid and lock_bleid."
      ...(typeof lock === 'string' ? { lock_uuid: lock.split('/').at(-2), lock_bleid: bleid } : {}),
      ...(hasPosition ? { location: { type: 'Point', coordinates: [longitude, latitude] } } : {}),
      ...(charge == null ? {} : { state_of_charge: charge }),
    },
    bicycle,
  };
}

/** Observed: an alert about a zone does not have a bicycle. */
function zoneSubject(fleet: ServedFleet, { uuid, name }: Zone): Subject {
  const extra = { zone_uuid: uuid, zone_name: name };
  return {
    message: name,
    user: null,
    causality: linkTo(fleet, 'zones', uuid),
    extra,
    bicycle: null,
  };
}

/** Raises an alert about a bicycle in the state "new". */
export function raiseAlert(
  fleet: ServedFleet,
  row: BicycleRow,
  input: Pick<ServedAlert, 'uuid' | 'alert_type' | 'roles'>,
  changes: Partial<Alert> = {},
): AlertRow {
  const modifiedAt = nextMoment(fleet);
  const created = timeText(fleet, modifiedAt);
  const whole = { ...input, state: 'new', created, modified: created };
  const alert = makeAlert(fleet, row, whole, { index: fleet.alerts.length, modifiedAt });
  Object.assign(alert.body, changes);
  fleet.alerts.push(alert);
  publishAlert(fleet, alert);
  return alert;
}

/** Changes fields of an alert, for example its state. */
export function changeAlert(fleet: ServedFleet, row: AlertRow, changes: Partial<Alert>): void {
  row.modifiedAt = nextMoment(fleet);
  Object.assign(row.body, changes, { modified: timeText(fleet, row.modifiedAt) });
  row.json = undefined;
  publishAlert(fleet, row);
}

function publishAlert(fleet: ServedFleet, row: AlertRow): void {
  // Assumed: alerts have a separate topic, as bicycles do ("Topics for senders other than bicycle …
  // not shown"). Observed: alerts are not pushed.
  if (!fleet.isObserved) {
    fleet.publish({
      sender: 'alert',
      topics: [`/${row.organization}/admin/alerts/*`],
      message: serialise(row),
    });
  }
  fleet.onAlert(row.body);
}

/**
 * Observed: a silenced alert only accepts `stop`. A resolved or stopped alert accepts no action.
 */
const ALERT_ACTION_TABLE: {
  [action in ServedAlertAction]: { from: readonly string[]; to: string };
} = {
  resolve: { from: ['new', 'escalated'], to: 'resolved' },
  silence: { from: ['new', 'escalated'], to: 'silenced' },
  escalate: { from: ['new'], to: 'escalated' },
  stop: { from: ['new', 'escalated', 'silenced'], to: 'stopped' },
};

/** Returns the actions that an alert accepts in a state. */
export function availableAlertActions(state: string): ServedAlertAction[] {
  return ALERT_ACTIONS.filter((action) => ALERT_ACTION_TABLE[action].from.includes(state));
}

/**
 * Runs an action on an alert. Returns false and changes nothing when the alert's state does not
 * allow the action.
 */
export function actOnAlert(
  fleet: ServedFleet,
  row: AlertRow,
  action: ServedAlertAction,
  fields: { [field: string]: unknown },
): boolean {
  if (!availableAlertActions(row.body.state).includes(action)) return false;
  const { severity, description } = fields;
  const changes =
    action === 'escalate' ? { extra: { ...row.body.extra, severity, description } } : {};
  changeAlert(fleet, row, { ...changes, state: ALERT_ACTION_TABLE[action].to });
  return true;
}
