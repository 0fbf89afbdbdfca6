// How one message of a watch looks: a line of time, name, what changed, charge and place.

import type { Alert } from '../api/alert.js';
import type { Bicycle } from '../api/bicycle.js';
import type { PushEnvelope } from '../api/push.js';
import { cut, pad, widthOf } from '../terminal/cells.js';
import { clean } from '../terminal/clean.js';
import { NO_PAINT, type Paint, paintIn } from '../terminal/colour.js';
import type { Cell } from '../terminal/table.js';
import { MISSING, numberOf, readPath, textOf } from '../terminal/values.js';
import { showAlertBicycle, showAlertState } from './alert.js';
import { lookOf, showCharge, showPosition } from './bicycle.js';
import { distanceMetres, showDistance } from './distance.js';

/** What one line shows. */
export type ShownEntry =
  | {
      type: 'bicycle';
      /** `late`: older than what was shown before; `caught-up`: found in the list after a gap. */
      kind: 'update' | 'late' | 'caught-up';
      uuid: string | undefined;
      before: Bicycle | undefined;
      after: Bicycle;
      /** The fields that differ, those of bookkeeping left out. */
      fields: readonly string[];
    }
  /** Assumed: the state of a `bicycle_leaving_state` message is the one that is left. */
  | { type: 'leaving'; uuid: string | undefined; state: unknown; bicycle: Bicycle | undefined }
  | {
      type: 'alert';
      alert: Alert;
      /** The state it was in, where that is known and another. */
      before?: string | undefined;
      mark?: 'caught-up' | undefined;
      /** The name of its bicycle, where the mirror knows it. */
      name?: string | undefined;
    }
  /** It left the list; `bicycle` is what was known of it. */
  | { type: 'gone'; uuid: string; bicycle: Bicycle }
  /** Any other sender, and JSON that is no envelope. */
  | { type: 'other'; envelope: PushEnvelope | undefined; text: string };

/** Where the line is shown. */
export interface LinePlace {
  /** Columns of the terminal; undefined where nothing is cut. */
  width: number | undefined;
  /** Ages and local times for people, ISO 8601 and numbers as they were sent for programs. */
  terminal: boolean;
  /** Minutes that local time is ahead of UTC. */
  offsetMinutes: number;
  paint: Paint;
}

/** The least room of each column, at 80 columns; what is left over goes to the name and to what changed. */
const TIME_COLUMNS = 9;
const NAME_COLUMNS = 16;
const WHAT_COLUMNS = 27;
const CHARGE_COLUMNS = 5;
const PLACE_COLUMNS = 19;
const GAPS_COLUMNS = 4;
const LEAST_COLUMNS = TIME_COLUMNS + NAME_COLUMNS + WHAT_COLUMNS + CHARGE_COLUMNS + PLACE_COLUMNS + GAPS_COLUMNS;
/** From here on the name has room for nearly every name, and the rest goes to what changed. */
const NAME_MOST_COLUMNS = 30;
/** Room for two states and some more; a line that is wider falls apart. */
const WHAT_MOST_COLUMNS = 48;

/** Fields that follow from place or charge, which are shown, or only say that a message came. */
export const MEASUREMENTS: readonly string[] = [
  'latitude',
  'longitude',
  'latest_gps_timestamp',
  'latest_gps_accuracy',
  'latest_gps_pdop',
  'last_cellular_update',
  'estimated_state_of_charge',
];

/** How many changed fields are named, and how much of a name and of a text of the service is looked at. */
const NAMED_FIELDS = 12;
const FIELD_CHARACTERS = 100;
const TEXT_CHARACTERS = 10_000;

/** Changes of place below this are the noise of a satellite receiver standing still. */
const STANDSTILL_METRES = 5;

/** Local time of day, `14:03:59`. */
export function showClock(at: number, offsetMinutes: number): string {
  return new Date(at + offsetMinutes * 60_000).toISOString().slice(11, 19);
}

function textPiece(value: unknown): Cell {
  return { text: clean(bounded(textOf(value) ?? MISSING)) };
}

function statePiece(state: unknown): Cell {
  return { ...textPiece(state), color: lookOf(state).color };
}

function alertStatePiece(state: unknown): Cell {
  return { ...textPiece(state), color: showAlertState(state).color };
}

/** Whether the line of a change says what changed. */
export function namesChange(entry: ShownEntry & { type: 'bicycle' }): boolean {
  return entry.before === undefined || changedPieces(entry).length > 0;
}

/** What changed, as pieces: the state first, since it matters most and the line may be cut. */
function describeChange(entry: ShownEntry & { type: 'bicycle' }): Cell[] {
  const { before, after, fields } = entry;
  if (before === undefined) return after.state === undefined ? [{ text: 'first seen' }] : [statePiece(after.state)];
  const parts = changedPieces(entry);
  if (parts.length === 0) return [{ text: fields.length > 0 ? 'seen' : 'no change', color: 'gray' }];
  return parts.flatMap((part, index) => (index === 0 ? part : [{ text: ', ' }, ...part]));
}

function changedPieces({ before = {}, after, fields }: ShownEntry & { type: 'bicycle' }): Cell[][] {
  const parts: Cell[][] = [];
  const shown = new Set(MEASUREMENTS);
  if (fields.includes('state')) {
    parts.push([statePiece(before.state), { text: ' -> ' }, statePiece(after.state)]);
    shown.add('state');
  }
  const metres = distanceMetres(before, after);
  if (metres !== undefined && metres >= STANDSTILL_METRES) parts.push([{ text: `moved ${showDistance(metres)}` }]);
  else if (metres === undefined && (fields.includes('latitude') || fields.includes('longitude'))) {
    parts.push([{ text: numberOf(after.latitude) === undefined ? 'position lost' : 'position found' }]);
  }
  if (fields.includes('state_of_charge')) {
    const [from, to] = [numberOf(before.state_of_charge), numberOf(after.state_of_charge)];
    const difference = from === undefined || to === undefined ? undefined : Math.round((to - from) * 10) / 10;
    if (difference !== 0) parts.push([{ text: `charge ${difference === undefined ? 'changed' : signed(difference)}` }]);
    shown.add('state_of_charge');
  }
  const rest = fields.filter((field) => !shown.has(field));
  if (rest.length > 0) {
    const more = rest.length > NAMED_FIELDS ? ` and ${rest.length - NAMED_FIELDS} more` : '';
    const names = rest.slice(0, NAMED_FIELDS).map((field) => field.slice(0, FIELD_CHARACTERS));
    parts.push([{ text: clean(names.join(', ')) + more }]);
  }
  return parts;
}

/** Text is cut before it is cleaned and measured. */
function bounded(text: string): string {
  return text.length <= TEXT_CHARACTERS ? text : `${text.slice(0, TEXT_CHARACTERS)}…`;
}

function signed(difference: number): string {
  return difference > 0 ? `+${difference} %` : `${difference} %`;
}

interface Cells {
  time: Cell;
  name: Cell;
  what: Cell[];
  charge: Cell;
  place: Cell;
  /** What changed takes the room of charge and place. */
  isWhole?: boolean;
}

function nameOf(bicycle: Bicycle | undefined, uuid: string | undefined): Cell {
  const name = textOf(bicycle?.name);
  if (name !== undefined && name !== '') return { text: clean(bounded(name)) };
  return { text: uuid === undefined ? MISSING : clean(uuid), color: 'gray' };
}

/** What is older than what was shown, or was found in a list. */
function markOf(entry: ShownEntry): string | undefined {
  const mark = entry.type === 'bicycle' ? entry.kind : entry.type === 'alert' ? entry.mark : undefined;
  return mark === 'caught-up' ? 'caught up' : mark === 'late' ? mark : undefined;
}

function cellsOf(entry: ShownEntry, at: number, place: LinePlace): Cells {
  const mark = markOf(entry);
  const cells = contentOf(entry, at, place);
  if (!place.terminal) {
    const what = mark === undefined ? cells.what : [{ text: `${mark}: ` }, ...cells.what];
    return { ...cells, what, time: { text: new Date(at).toISOString(), color: 'gray' } };
  }
  // The mark takes the place of the time, which is not known.
  if (mark !== undefined) return { ...cells, time: { text: mark, color: 'cyan' } };
  return { ...cells, time: { text: showClock(at, place.offsetMinutes), color: 'gray' } };
}

function contentOf(entry: ShownEntry, at: number, place: LinePlace): Omit<Cells, 'time'> {
  const shown = { now: at, terminal: place.terminal };
  const ofBicycle = (bicycle: Bicycle | undefined, uuid: string | undefined) => ({
    name: nameOf(bicycle, uuid),
    charge: showCharge(bicycle?.state_of_charge, shown),
    place: placeOf(bicycle?.latitude, bicycle?.longitude, place),
  });
  switch (entry.type) {
    case 'bicycle':
      return { ...ofBicycle(entry.after, entry.uuid), what: describeChange(entry) };
    case 'leaving':
      return { ...ofBicycle(entry.bicycle, entry.uuid), what: [{ text: 'leaves ' }, statePiece(entry.state)] };
    case 'gone':
      return {
        ...ofBicycle(entry.bicycle, entry.uuid),
        what: [{ text: 'gone', color: 'red' }, { text: ', was ' }, statePiece(entry.bicycle.state)],
      };
    case 'alert': {
      const { alert, before, name } = entry;
      const was = before === undefined ? [] : [alertStatePiece(before), { text: ' -> ' }];
      const degrees = (index: number) => readPath(alert.extra, `location.coordinates.${index}`);
      const charge = showCharge(readPath(alert.extra, 'state_of_charge'), shown);
      const where = placeOf(degrees(1), degrees(0), place);
      const message = textOf(alert.message) ?? '';
      const isWhole = charge.text === MISSING && where.text === MISSING;
      return {
        name: showAlertBicycle(alert, shown, name),
        isWhole,
        // The state first: on a narrow terminal the end of the type is cut.
        what: [
          { text: 'alert ', color: 'red' },
          ...was,
          alertStatePiece(alert.state),
          { text: ' ' },
          textPiece(alert.alert_type),
          // Where neither charge nor place is known, the message says more than two dashes.
          ...(isWhole && message !== '' ? [{ text: '  ' }, textPiece(message)] : []),
        ],
        charge,
        place: where,
      };
    }
    case 'other':
      return {
        name: { ...textPiece(entry.envelope?.sender), color: 'cyan' },
        what: [{ text: clean(bounded(entry.text)) }],
        charge: { text: MISSING },
        place: { text: MISSING },
        isWhole: true,
      };
  }
}

/** Four decimals, some ten metres: more does not fit 80 columns, and the list shows five. */
function placeOf(latitude: unknown, longitude: unknown, place: LinePlace): Cell {
  if (!place.terminal) return showPosition(latitude, longitude, { now: 0, terminal: false });
  const [north, east] = [numberOf(latitude), numberOf(longitude)];
  return { text: north === undefined || east === undefined ? MISSING : `${north.toFixed(4)}, ${east.toFixed(4)}` };
}

/** The pieces in exactly `width` columns, painted; undefined: as wide as they are. */
export function fit(pieces: readonly Cell[], width: number | undefined, paint: Paint): string {
  let left = width ?? Number.POSITIVE_INFINITY;
  let text = '';
  for (const [index, piece] of pieces.entries()) {
    // A piece that fills the room to the last column, with more behind it, has to show that something is missing.
    const isLast = pieces.slice(index + 1).every((later) => later.text === '');
    const fitted = cut(!isLast && widthOf(piece.text) >= left ? `${piece.text} ` : piece.text, left);
    left -= widthOf(fitted);
    text += paintIn(paint, piece.color, fitted);
    if (left <= 0) break;
  }
  return width === undefined ? text : text + ' '.repeat(Math.max(0, left));
}

/** Where two states do not fit, the old one is cut, since the new one is what counts. */
function sparing(what: readonly Cell[], width: number): readonly Cell[] {
  const [from, arrow, to, ...rest] = what;
  if (from === undefined || arrow?.text !== ' -> ' || to === undefined) return what;
  const room = Math.max(1, width - widthOf(arrow.text) - widthOf(to.text) - (rest.length > 0 ? 1 : 0));
  return [{ ...from, text: cut(from.text, room) }, arrow, to, ...rest];
}

/** What a line says besides time, charge and place: whose it is, and what changed. */
export function changeText(entry: ShownEntry): { name: string; text: string } {
  const { name, what } = cellsOf(entry, 0, { width: undefined, terminal: true, offsetMinutes: 0, paint: NO_PAINT });
  return { name: name.text, text: what.map(({ text }) => text).join('') };
}

/** One line without its newline: time, name, what changed, charge, place. */
export function changeLine(entry: ShownEntry, at: number, place: LinePlace): string {
  const { time, name, what, charge, place: where, isWhole = false } = cellsOf(entry, at, place);
  const { paint, width } = place;
  if (width === undefined) {
    const rest = isWhole ? [] : [charge.text, where.text];
    return [time.text, pad(name.text, NAME_COLUMNS), fit(what, undefined, paint), ...rest].join('  ');
  }
  // A narrow terminal goes without the place, then without the charge: what changed is what counts.
  const hasPlace = !isWhole && width >= LEAST_COLUMNS;
  const hasCharge = width >= LEAST_COLUMNS - PLACE_COLUMNS - 1;
  const nameColumns = hasCharge
    ? Math.min(NAME_MOST_COLUMNS, NAME_COLUMNS + Math.floor(Math.max(0, width - LEAST_COLUMNS) / 2))
    : Math.max(1, Math.min(NAME_COLUMNS, Math.floor((width - TIME_COLUMNS) / 2) - 1));
  const tail =
    isWhole || !hasCharge
      ? []
      : [fit([{ ...charge, text: pad(charge.text, CHARGE_COLUMNS, 'right') }], undefined, paint)];
  if (hasPlace) tail.push(fit([where], PLACE_COLUMNS, paint));
  const tailColumns = tail.length === 0 ? 0 : CHARGE_COLUMNS + 1 + (hasPlace ? PLACE_COLUMNS + 1 : 0);
  const left = Math.max(1, width - TIME_COLUMNS - nameColumns - 2 - tailColumns);
  const room = tail.length === 0 ? left : Math.min(WHAT_MOST_COLUMNS, left);
  const columns = [
    fit([time], TIME_COLUMNS, paint),
    fit([name], nameColumns, paint),
    fit(sparing(what, room), room, paint),
  ];
  return [...columns, ...tail].join(' ').trimEnd();
}
