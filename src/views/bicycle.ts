// The columns, colours and position of a bicycle.

import { BICYCLE, BICYCLE_FIELDS, type Bicycle, OPERATOR_FIELDS } from '../api/bicycle.js';
import { isUuid } from '../api/links.js';
import { mapLink } from '../globe/map-link.js';
import { CHARGE_EMPTY_PERCENT, CHARGE_LOW_PERCENT } from '../page/groups.js';
import { clean } from '../terminal/clean.js';
import type { Color } from '../terminal/colour.js';
import type { Shape } from '../terminal/formats.js';
import type { Cell, CellContext, Column } from '../terminal/table.js';
import { age, toIso } from '../terminal/time.js';
import { MISSING, numberOf, pointOf, textOf } from '../terminal/values.js';

/** The appearance of a state in tables, maps and pictures. */
export interface StateLook {
  readonly color: Color | undefined;
  /** The symbol of the state, for output without colours. */
  readonly sign: string;
  /** The character that marks the state when only ASCII characters can be printed. */
  readonly letter: string;
  /** The colour of the state in pictures. It is readable on white and on black. */
  readonly hex: string;
}

const STATES: ReadonlyMap<unknown, StateLook> = new Map([
  ['available', { color: 'green', sign: '●', letter: 'A', hex: '#1f9d55' }],
  ['rented', { color: 'blueBright', sign: '▲', letter: 'R', hex: '#3b82f6' }],
  ['reserved', { color: 'cyan', sign: '◆', letter: 'V', hex: '#0fa3b1' }],
  ['in_maintenance', { color: 'yellow', sign: '■', letter: 'M', hex: '#d99a00' }],
  ['lost', { color: 'red', sign: '×', letter: 'L', hex: '#dc2f3c' }],
  ['unrecoverable', { color: 'magenta', sign: '★', letter: 'U', hex: '#b44ac0' }],
  ['retired', { color: 'gray', sign: '○', letter: 'X', hex: '#7b8794' }],
] satisfies (readonly [string, StateLook])[]);

const OTHER_STATE: StateLook = { color: undefined, sign: '+', letter: '?', hex: '#4b5563' };

/** Returns the appearance of a state. All unknown states have the same appearance. */
export function lookOf(state: unknown): StateLook {
  return STATES.get(state) ?? OTHER_STATE;
}

/** Returns a state in its colour. */
export function showState(state: unknown): Cell {
  return { ...showText(state), color: lookOf(state).color };
}

/**
 * Formats a value as cell text, without control characters. Null and missing values become `-`.
 * Text that is longer than `mostCharacters` is truncated first.
 */
export function showText(value: unknown, mostCharacters = Number.POSITIVE_INFINITY): Cell {
  return { text: clean((textOf(value) ?? MISSING).slice(0, mostCharacters)) };
}

/**
 * Returns the state of charge: for people as `57 %`, and for programs as the number that the
 * service sent. Assumed: it is in percent.
 */
export function showCharge(charge: unknown, at: CellContext): Cell {
  const percent = numberOf(charge);
  if (percent === undefined) return showText(charge);
  const color =
    percent < CHARGE_EMPTY_PERCENT ? 'red' : percent < CHARGE_LOW_PERCENT ? 'yellow' : undefined;
  const sent = showText(charge).text;
  return { text: at.terminal ? `${at.isWhole ? sent : Math.round(percent)} %` : sent, color };
}

/**
 * Returns latitude and longitude in degrees. For people, rounds them to five decimals by default,
 * which corresponds to about a metre. Programs get the numbers exactly as the service sent them.
 */
export function showPosition(
  latitude: unknown,
  longitude: unknown,
  at: CellContext,
  decimals = 5,
): Cell {
  const [north, east] = [numberOf(latitude), numberOf(longitude)];
  if (north === undefined || east === undefined) return { text: MISSING };
  const isRounded = at.terminal && !at.isWhole;
  const texts = isRounded
    ? [north.toFixed(decimals), east.toFixed(decimals)]
    : [showText(latitude).text, showText(longitude).text];
  return { text: texts.join(', ') };
}

/**
 * How many digits of a UUID a terminal shows. Every command accepts a UUID that is shortened to
 * this length.
 */
export const ID_DIGITS = 8;

/**
 * Returns the whole UUID for programs. For people, returns only its first digits, unless they asked
 * for complete values. Returns any string that is not a UUID unchanged.
 */
export function showId(uuid: unknown, at: CellContext): Cell {
  return showText(
    at.terminal && !at.isWhole && typeof uuid === 'string' && isUuid(uuid)
      ? uuid.slice(0, ID_DIGITS)
      : uuid,
  );
}

/**
 * Formats a time: for people as its age, and for programs as the ISO 8601 string from the service.
 */
export function showTime(time: unknown, at: CellContext): Cell {
  return { text: at.terminal ? age(time, at.now) : toIso(time) };
}

/** Returns a table column that shows a time from the service. */
export function timeColumn<T>(header: string, field: keyof T & string, keep: number): Column<T> {
  return { header, field, keep, cell: (value, at) => showTime(value[field], at) };
}

/** Returns the column with a link to a map that shows the position. */
export function mapColumn<T>(position: NonNullable<Shape<T>['position']>): Column<T> {
  return {
    header: 'MAP',
    field: 'map',
    keep: 0,
    isLink: true,
    cell(value) {
      const point = position(value);
      return { text: point === undefined ? MISSING : mapLink(point) };
    },
  };
}

const bicyclePosition = ({ latitude, longitude }: Bicycle) => pointOf(longitude, latitude);

/**
 * Describes how bicycles are printed in every format. The columns are wide enough for the longest
 * states (`unrecoverable`, `in_maintenance`) and the longest age (`59 min ago`). The ID is included
 * because other commands accept it. A line fits into 80 columns.
 */
export const BICYCLES: Shape<Bicycle> = {
  noun: BICYCLE,
  fields: [...BICYCLE_FIELDS, ...OPERATOR_FIELDS],
  columns: [
    { header: 'NAME', field: 'name', keep: 6, minimum: 16, room: 24, maximum: 48 },
    {
      header: 'STATE',
      field: 'state',
      keep: 5,
      minimum: 14,
      maximum: 24,
      cell: ({ state }) => showState(state),
    },
    {
      header: 'CHARGE',
      field: 'state_of_charge',
      keep: 4,
      minimum: 6,
      maximum: 12,
      align: 'right',
      cell: ({ state_of_charge }, at) => showCharge(state_of_charge, at),
    },
    { ...timeColumn('SEEN', 'latest_gps_timestamp', 3), minimum: 10 },
    {
      header: 'ID',
      field: 'id',
      keep: 2,
      minimum: ID_DIGITS,
      cell: ({ uuid }, at) => showId(uuid, at),
    },
    {
      header: 'POSITION',
      field: 'position',
      keep: 1,
      minimum: 20,
      room: 21,
      cell: ({ latitude, longitude }, at) => showPosition(latitude, longitude, at),
    },
  ],
  furtherColumns: [mapColumn(bicyclePosition)],
  position: bicyclePosition,
  positionFields: ['latitude', 'longitude'],
};
