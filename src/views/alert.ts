// The columns, colours and position of an alert.

import { ALERT, ALERT_FIELDS, type Alert } from '../api/alert.js';
import { wholeUuid } from '../api/links.js';
import type { Color } from '../terminal/colour.js';
import type { Shape } from '../terminal/formats.js';
import type { Cell, CellContext } from '../terminal/table.js';
import { pointOf, readPath, textOf } from '../terminal/values.js';
import { ID_DIGITS, mapColumn, showId, showText, timeColumn } from './bicycle.js';

const STATE_COLORS: ReadonlyMap<unknown, Color> = new Map([
  ['new', 'red'],
  ['escalated', 'magenta'],
  ['resolved', 'green'],
  ['stopped', 'gray'],
  ['silenced', 'gray'],
]);

/** Returns an alert's state in its colour. Unknown states have no colour. */
export function showAlertState(state: unknown): Cell {
  return { ...showText(state), color: STATE_COLORS.get(state) };
}

/**
 * Assumed: a message ends with the name of its bicycle, as in `Battery of the lock is low: Emmy
 * 12`.
 */
const NAME_AT_END = /: ([^:]{1,60})$/;

/**
 * Returns the name of an alert's bicycle. It comes from the alert (section 2.4), from the mirror,
 * or from the end of the message, in this order. If there is no name, returns the first digits of
 * the id in the bicycle's link.
 */
export function showAlertBicycle(
  { bicycle, extra, message }: Alert,
  at: CellContext,
  known?: string,
): Cell {
  const inMessage = NAME_AT_END.exec((textOf(message) ?? '').slice(-70))?.[1]?.trim();
  const names = [
    textOf(readPath(extra, 'bicycle_name')),
    known,
    textOf(readPath(extra, 'zone_name')),
    inMessage,
  ];
  const name = names.find((one) => one !== undefined && one !== '');
  if (name !== undefined) return showText(name);
  return showId(typeof bicycle === 'string' ? (wholeUuid(bicycle) ?? bicycle) : bicycle, at);
}

/** The GeoJSON point in `extra.location`, longitude first (section 2.4: "when applicable"). */
function alertPosition({ extra }: Alert): ReturnType<typeof pointOf> {
  if (readPath(extra, 'location.type') !== 'Point') return undefined;
  return pointOf(
    readPath(extra, 'location.coordinates.0'),
    readPath(extra, 'location.coordinates.1'),
  );
}

/** Returns the columns and fields of alerts. `nameOf` finds the name of a bicycle by its link. */
export function alertsNamed(nameOf: (link: unknown) => string | undefined): Shape<Alert> {
  return {
    noun: ALERT,
    fields: ALERT_FIELDS,
    columns: [
      { ...timeColumn('AGE', 'created', 4), programHeader: 'CREATED', minimum: 10 },
      // This width fits most types. The type `bicycle.outside_operational_period` of section 2.3 is
      // longer.
      { header: 'TYPE', field: 'alert_type', keep: 6, minimum: 22, maximum: 40 },
      {
        header: 'STATE',
        field: 'state',
        keep: 5,
        minimum: 9,
        maximum: 24,
        cell: ({ state }) => showAlertState(state),
      },
      {
        header: 'BICYCLE',
        field: 'bicycle_name',
        keep: 3,
        minimum: 12,
        maximum: 24,
        cell: (alert, at) => showAlertBicycle(alert, at, nameOf(alert.bicycle)),
      },
      { header: 'MESSAGE', field: 'message', keep: 2, minimum: 16, room: 40 },
      {
        header: 'ID',
        field: 'id',
        keep: 1,
        minimum: ID_DIGITS,
        cell: ({ uuid }, at) => showId(uuid, at),
      },
    ],
    furtherColumns: [mapColumn(alertPosition)],
    position: alertPosition,
  };
}

/** The columns of alerts, when the names of their bicycles are not known. */
export const ALERTS = alertsNamed(() => undefined);
