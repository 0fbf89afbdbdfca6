// Formats one message of a watch as a line: time, name, change, charge and place.

import type { Alert } from '../api/alert.js';
import type { Bicycle } from '../api/bicycle.js';
import type { PushEnvelope } from '../api/push.js';
import { showClock, type TimeZone } from '../system/time-zone.js';
import { pad } from '../terminal/cells.js';
import { clean } from '../terminal/clean.js';
import { type Paint, paintIn } from '../terminal/colour.js';
import { type Cell, type CellContext, type Column, layOut } from '../terminal/table.js';
import { MISSING, numberOf, readPath, textOf } from '../terminal/values.js';
import { showAlertBicycle, showAlertState } from './alert.js';
import { lookOf, showCharge, showPosition, showText } from './bicycle.js';
import { distanceMetres, showDistance } from './distance.js';
import { drawRow, type PlacedCell } from './rows.js';

/** Whether a change moved the bicycle into the selection or out of it. */
export type Crossing = 'entered' | 'left';

/** The data that one line of a watch shows. */
export type ShownEntry =
  | {
      type: 'bicycle';
      /**
       * `late`: older than data that was already shown. `caught-up`: found in the list after a gap.
       */
      kind: 'update' | 'late' | 'caught-up';
      uuid: string | undefined;
      before: Bicycle | undefined;
      after: Bicycle;
      /**
       * The fields whose values differ. Omits fields such as `modified` that only the service uses.
       */
      fields: readonly string[];
      crossing?: Crossing | undefined;
      /** The time of the change by the service's clock, if the message or the list contains it. */
      eventMs?: number | undefined;
    }
  /**
   * A bicycle left a state. Assumed: the state in a `bicycle_leaving_state` message is the state
   * that the bicycle left.
   */
  | {
      type: 'leaving';
      uuid: string | undefined;
      state: unknown;
      bicycle: Bicycle | undefined;
      crossing?: Crossing | undefined;
    }
  | {
      type: 'alert';
      alert: Alert;
      /** The state before the change; undefined when it is unknown or the same. */
      before?: string | undefined;
      mark?: 'caught-up' | undefined;
      /** The name of the bicycle, if the mirror contains it. */
      name?: string | undefined;
    }
  /** A bicycle left the list. `bicycle` has its last known data. */
  | { type: 'gone'; uuid: string; bicycle: Bicycle }
  /** A message from any other sender, or a message that is not a valid envelope. */
  | { type: 'other'; envelope: PushEnvelope | undefined; text: string };

/** The properties of the output for which a line is drawn. */
export interface LinePlace {
  /** The width of the terminal. Undefined when lines are not cut. */
  width: number | undefined;
  /**
   * Whether a person reads the line. People get ages and local times. Programs get ISO 8601 times,
   * and the unchanged numbers of the service.
   */
  terminal: boolean;
  /** The time zone in which local times are shown. */
  zone: TimeZone;
  paint: Paint;
  /** The time at which fleet received the message. Only set with `-o wide`. */
  receivedMs?: number | undefined;
}

/** The columns of a line. On a narrow terminal, the place is dropped first and then the charge. */
const COLUMNS: readonly (Column<unknown> & { field: keyof Content })[] = [
  { header: '', field: 'time', keep: 5, minimum: 9 },
  { header: '', field: 'name', keep: 4, minimum: 8, room: 16 },
  { header: '', field: 'what', keep: 3, minimum: 19, room: 48 },
  { header: '', field: 'charge', keep: 2, minimum: 5, align: 'right' },
  { header: '', field: 'place', keep: 1, minimum: 19 },
  { header: '', field: 'received', keep: 0, minimum: 17 },
];

/**
 * Fields with measured values. Lists of changes omit these fields, because they only repeat the
 * place or show that a message arrived.
 */
export const MEASUREMENTS: readonly string[] = [
  'latitude',
  'longitude',
  'latest_gps_timestamp',
  'latest_gps_accuracy',
  'latest_gps_pdop',
  'last_cellular_update',
  'estimated_state_of_charge',
];

/**
 * The maximum number of field names in a line, the maximum length of a field name, and the maximum
 * length of text.
 */
const NAMED_FIELDS = 12;
const FIELD_CHARACTERS = 100;
const TEXT_CHARACTERS = 10_000;

/**
 * Four decimals of a degree are about ten metres. With more decimals the line would not fit into 80
 * columns.
 */
const PLACE_DECIMALS = 4;

/**
 * When a bicycle has moved less than this, it is treated as stationary. Satellite positions are not
 * more precise than this.
 */
const STANDSTILL_METRES = 5;

const textCell = (value: unknown) => showText(value, TEXT_CHARACTERS);

function stateCell(state: unknown, before = '', color = lookOf(state).color): Cell {
  return { text: before + textCell(state).text, color };
}

/** Whether the line describes a change. False for a line that only says `seen` or `no change`. */
export function namesChange(entry: ShownEntry & { type: 'bicycle' }): boolean {
  return entry.before === undefined || changesOf(entry).length > 0;
}

/** Whether the position changed, by any distance. */
export function isMove({ before, after, fields }: ShownEntry & { type: 'bicycle' }): boolean {
  const isMoved = fields.includes('latitude') || fields.includes('longitude');
  return isMoved && (distanceMetres(before ?? {}, after) ?? 0) > 0;
}

/**
 * Describes the change. If the bicycle entered or left the selection, the text begins with
 * `entered` or `left`.
 */
function describeChange(entry: ShownEntry & { type: 'bicycle' }): Cell {
  const { crossing, before } = entry;
  const change = describeFields(entry);
  if (crossing === undefined) return change;
  const isPlain = before !== undefined && changesOf(entry).length === 0;
  return { ...change, text: isPlain ? crossing : `${crossing}: ${change.text}` };
}

/** Returns a description of the changed fields. It has the colour of the new state. */
function describeFields(entry: ShownEntry & { type: 'bicycle' }): Cell {
  const { before, after, fields } = entry;
  if (before === undefined)
    return after.state === undefined ? { text: 'first seen' } : stateCell(after.state);
  const changes = changesOf(entry);
  if (changes.length === 0) {
    const metres = isMove(entry) ? distanceMetres(before, after) : undefined;
    if (metres !== undefined) return { text: `moved ${showDistance(metres)}`, color: 'gray' };
    return { text: fields.length > 0 ? 'seen' : 'no change', color: 'gray' };
  }
  return {
    text: changes.join(', '),
    color: fields.includes('state') ? lookOf(after.state).color : undefined,
  };
}

/** The new state comes first, because the end of the line may be cut. */
function changesOf({ before = {}, after, fields }: ShownEntry & { type: 'bicycle' }): string[] {
  const changes: string[] = [];
  if (fields.includes('state'))
    changes.push(`${textCell(before.state).text} -> ${textCell(after.state).text}`);
  const metres = distanceMetres(before, after);
  if (metres !== undefined && metres >= STANDSTILL_METRES)
    changes.push(`moved ${showDistance(metres)}`);
  else if (metres === undefined && (fields.includes('latitude') || fields.includes('longitude')))
    changes.push(numberOf(after.latitude) === undefined ? 'position lost' : 'position found');
  if (fields.includes('state_of_charge')) {
    const [from, to] = [numberOf(before.state_of_charge), numberOf(after.state_of_charge)];
    const difference =
      from === undefined || to === undefined ? undefined : Math.round((to - from) * 10) / 10;
    if (difference === undefined) changes.push('charge changed');
    else if (difference !== 0) changes.push(`charge ${difference > 0 ? '+' : ''}${difference} %`);
  }
  const shown = ['state', 'state_of_charge', ...MEASUREMENTS];
  const rest = fields.filter((field) => !shown.includes(field));
  const names = rest.slice(0, NAMED_FIELDS).map((field) => clean(field.slice(0, FIELD_CHARACTERS)));
  if (rest.length > NAMED_FIELDS) names.push(`and ${rest.length - NAMED_FIELDS} more`);
  return [...changes, ...names];
}

interface Content {
  time?: Cell;
  name: Cell;
  what: Cell;
  /**
   * The charge; undefined when there is none. In this case, the description of the change may use
   * the space of the charge.
   */
  charge?: Cell;
  place?: Cell;
  /** The time at which fleet received the message. Only set with `-o wide`. */
  received?: Cell;
}

function nameOf(bicycle: Bicycle | undefined, uuid: string | undefined): Cell {
  const name = textOf(bicycle?.name);
  if (name !== undefined && name !== '') return textCell(name);
  return { ...textCell(uuid), color: 'gray' };
}

/** Returns the mark for a late or caught-up change. */
function markOf(entry: ShownEntry): string | undefined {
  const mark =
    entry.type === 'bicycle' ? entry.kind : entry.type === 'alert' ? entry.mark : undefined;
  return mark === 'caught-up' ? 'caught up' : mark === 'late' ? mark : undefined;
}

function contentOf(entry: ShownEntry, shown: CellContext): Content {
  switch (entry.type) {
    case 'bicycle':
      return ofBicycle(entry.after, entry.uuid, describeChange(entry), shown);
    case 'leaving':
      return ofBicycle(
        entry.bicycle,
        entry.uuid,
        stateCell(entry.state, entry.crossing === undefined ? 'leaves ' : 'left: leaves '),
        shown,
      );
    case 'gone':
      return ofBicycle(
        entry.bicycle,
        entry.uuid,
        stateCell(entry.bicycle.state, 'gone, was ', 'red'),
        shown,
      );
    case 'alert':
      return ofAlert(entry, shown);
    case 'other':
      return {
        name: { ...textCell(entry.envelope?.sender), color: 'cyan' },
        what: textCell(entry.text),
      };
  }
}

function ofBicycle(
  bicycle: Bicycle | undefined,
  uuid: string | undefined,
  what: Cell,
  shown: CellContext,
): Content {
  const place = showPosition(bicycle?.latitude, bicycle?.longitude, shown, PLACE_DECIMALS);
  return {
    name: nameOf(bicycle, uuid),
    what,
    charge: showCharge(bicycle?.state_of_charge, shown),
    place,
  };
}

function ofAlert(
  { alert, before, name: known }: ShownEntry & { type: 'alert' },
  shown: CellContext,
): Content {
  const { extra, state, alert_type, message } = alert;
  const degrees = (index: number) => readPath(extra, `location.coordinates.${index}`);
  const charge = showCharge(readPath(extra, 'state_of_charge'), shown);
  const place = showPosition(degrees(1), degrees(0), shown, PLACE_DECIMALS);
  const name = showAlertBicycle(alert, shown, known);
  const was = before === undefined ? '' : `${textCell(before).text} -> `;
  // The state comes before the type, because a narrow terminal cuts the end of the line.
  const text = `alert ${was}${textCell(state).text} ${textCell(alert_type).text}`;
  const { color } = showAlertState(state);
  if (charge.text !== MISSING || place.text !== MISSING)
    return { name, what: { text, color }, charge, place };
  // When an alert has neither a charge nor a position, its message uses the space of these columns.
  const said = textOf(message) ?? '';
  return { name, what: { text: said === '' ? text : `${text}  ${textCell(said).text}`, color } };
}

/** Returns the name of the bicycle and the description of its change, as in a line of the watch. */
export function changeText(entry: ShownEntry): { name: string; text: string } {
  const { name, what } = contentOf(entry, { now: 0, terminal: true });
  return { name: name.text, text: what.text };
}

/** Returns a line without its newline: time, name, change, charge, place. */
export function changeLine(entry: ShownEntry, at: number, line: LinePlace): string {
  const { paint, width, terminal, zone, receivedMs } = line;
  const content = contentOf(entry, { now: at, terminal });
  const { name, what, charge, place } = content;
  const mark = markOf(entry);
  const showTime = (ms: number) => (terminal ? showClock(ms, zone) : new Date(ms).toISOString());
  const clock = showTime(at);
  const received: Cell | undefined =
    receivedMs === undefined
      ? undefined
      : { text: `received ${showTime(receivedMs)}`, color: 'gray' };
  if (width === undefined) {
    const text = `${mark === undefined ? '' : `${mark}: `}${what.text}`;
    const cells = [
      { text: clock },
      { ...name, text: pad(name.text, 16) },
      { ...what, text },
      charge,
      place,
      received,
    ];
    return cells
      .flatMap((cell) => (cell === undefined ? [] : paintIn(paint, cell.color, cell.text)))
      .join('  ');
  }
  // For a late or caught-up change, the mark replaces the time, because the time of the change is
  // not known.
  const time: Cell =
    mark === undefined ? { text: clock, color: 'gray' } : { text: mark, color: 'cyan' };
  const columns = COLUMNS.filter(({ field }) => field !== 'received' || received !== undefined);
  const laid = layOut(columns, [], { width, terminal, gap: 1 });
  const headColumns = laid.slice(0, 2).reduce((sum, head) => sum + head.width + 1, 0);
  const cells = laid.flatMap(({ column: { field, align }, width: room }): PlacedCell[] => {
    const cell = { ...content, time, received }[field];
    // When a line has neither a charge nor a place, the description may use the space of these
    // columns.
    const isAlone = field === 'what' && charge === undefined;
    return cell === undefined
      ? []
      : [{ ...cell, align, width: isAlone ? width - headColumns : room }];
  });
  return drawRow(cells, paint).trimEnd();
}
