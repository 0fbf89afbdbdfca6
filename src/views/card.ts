// One bicycle as a card: what matters first, every other field in two columns, then its newest alerts.

import type { Alert } from '../api/alert.js';
import type { Bicycle } from '../api/bicycle.js';
import { cut, pad, widthOf } from '../terminal/cells.js';
import { clean } from '../terminal/clean.js';
import type { Paint } from '../terminal/colour.js';
import type { Cell } from '../terminal/table.js';
import { age, readTime } from '../terminal/time.js';
import { numberOf, textOf } from '../terminal/values.js';
import { alertStateColor } from './alert.js';
import { showCharge, showPosition, showText, stateColor } from './bicycle.js';

export interface CardOptions {
  /** Columns of the terminal. */
  width: number;
  paint: Paint;
  /** Milliseconds since the epoch, for ages. */
  now: number;
}

interface Field {
  label: string;
  cell: Cell;
}

const GAP = 2;
const BAR_CELLS = 10;
/** Below this two columns of fields would cut most values. */
const NARROWEST_PAIR_COLUMNS = 72;
/** Room for a longer label in the same column. */
const SLACK_COLUMNS = 6;
/** Fields that the head of the card shows, or that only belong together. */
const IN_HEAD: readonly string[] = ['name', 'state', 'uuid', 'latitude', 'longitude', 'state_of_charge'];

/** Draws the card; every line ends in a newline and is at most `width` columns wide. */
export function drawCard(bicycle: Bicycle, alerts: readonly Alert[] | undefined, options: CardOptions): string {
  const { paint, width } = options;
  const { set, unset } = fieldsOf(bicycle, options);
  const state = showText(bicycle.state);
  const { color } = stateColor(bicycle.state);
  const name = paint.bold(cut(showText(bicycle.name).text, Math.max(1, width - widthOf(state.text) - GAP)));
  const lines = [
    `${name}${' '.repeat(GAP)}${color === undefined ? state.text : paint[color](state.text)}`,
    paint.dim(cut(showText(bicycle.uuid).text, width)),
    '',
    ...layOut(set, options),
    ...(unset.length === 0 ? [] : [paint.dim(cut(`Not set: ${unset.join(', ')}`, width))]),
    ...(alerts === undefined ? [] : ['', ...alertLines(alerts, options)]),
  ];
  return lines.map((line) => `${line}\n`).join('');
}

function fieldsOf(bicycle: Bicycle, options: CardOptions): { set: Field[]; unset: string[] } {
  const at = { now: options.now, terminal: true };
  const set: Field[] = [];
  const unset: string[] = [];
  if (numberOf(bicycle.state_of_charge) === undefined) unset.push('state of charge');
  else set.push({ label: 'charge', cell: withBar(showCharge(bicycle.state_of_charge, at), bicycle.state_of_charge) });
  const [latitude, longitude] = [numberOf(bicycle.latitude), numberOf(bicycle.longitude)];
  if (latitude === undefined || longitude === undefined) unset.push('position');
  else {
    set.push({ label: 'position', cell: showPosition(latitude, longitude, at) });
    set.push({ label: 'map', cell: { text: `geo:${latitude},${longitude}` } });
  }
  for (const [field, value] of Object.entries(bicycle)) {
    if (IN_HEAD.includes(field)) continue;
    const label = clean(field.replaceAll('_', ' ').slice(0, 40));
    const text = textOf(value);
    if (text === undefined || text === '' || text === '[]') unset.push(label);
    else set.push({ label, cell: { text: showField(value, text, options.now) } });
  }
  return { set, unset };
}

/** Longer values are for `--json`. */
const LONGEST_VALUE_CHARACTERS = 500;

function showField(value: unknown, text: string, now: number): string {
  if (typeof value === 'string' && readTime(value) !== undefined) return `${age(value, now)} (${clean(value)})`;
  return clean(text.slice(0, LONGEST_VALUE_CHARACTERS));
}

function withBar(cell: Cell, charge: unknown): Cell {
  const full = Math.round((Math.min(100, Math.max(0, numberOf(charge) ?? 0)) / 100) * BAR_CELLS);
  return { ...cell, text: `${'█'.repeat(full)}${'░'.repeat(BAR_CELLS - full)} ${cell.text}` };
}

/** The fields two in a row where both fit in half of the width, else one. */
function layOut(fields: readonly Field[], { width, paint }: CardOptions): string[] {
  const half = Math.floor((width - GAP) / 2);
  const isShort = ({ label, cell }: Field) =>
    width >= NARROWEST_PAIR_COLUMNS && widthOf(label) + GAP + widthOf(cell.text) <= half - SLACK_COLUMNS;
  const short = fields.filter(isShort);
  const rows = Math.ceil(short.length / 2);
  const left = drawColumn(short.slice(0, rows), half, paint);
  const right = drawColumn(short.slice(rows), half, paint);
  const pairs = left.map((line, row) => `${line}${' '.repeat(GAP)}${right[row] ?? ''}`);
  const long = fields.filter((field) => !isShort(field));
  return [...pairs, ...drawColumn(long, width, paint)].map((line) => line.trimEnd());
}

/** Labels filled to one length, then the values cut and filled to the width. */
function drawColumn(fields: readonly Field[], width: number, paint: Paint): string[] {
  const most = Math.max(1, Math.floor(width / 2) - GAP);
  const labelWidth = Math.min(most, Math.max(0, ...fields.map(({ label }) => widthOf(label))));
  return fields.map(({ label, cell }) => {
    const room = Math.max(1, width - labelWidth - GAP);
    const text = pad(cut(cell.text, room), room);
    const shown = cell.color === undefined ? text : paint[cell.color](text);
    return `${paint.dim(pad(cut(label, labelWidth), labelWidth))}${' '.repeat(GAP)}${shown}`;
  });
}

function alertLines(alerts: readonly Alert[], { width, paint, now }: CardOptions): string[] {
  if (alerts.length === 0) return [paint.dim('No alerts.')];
  const rows = alerts.map(({ created, alert_type, state, message }) => ({
    cells: [age(created, now), showText(alert_type).text, showText(state).text, showText(message).text],
    color: alertStateColor(state).color,
  }));
  const widths = [0, 1, 2].map((column) => Math.max(...rows.map(({ cells }) => widthOf(cells[column] ?? ''))));
  return [
    paint.bold('Newest alerts'),
    ...rows.map(({ cells, color }) => {
      const line = cells.map((cell, column) => pad(cell, widths[column] ?? 0)).join(' '.repeat(GAP));
      const shown = cut(line, width - GAP).trimEnd();
      return `${' '.repeat(GAP)}${color === undefined ? shown : paint[color](shown)}`;
    }),
  ];
}
