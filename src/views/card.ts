// One bicycle as a card: what matters first, short facts in two columns, long ones below them, then its newest alerts.

import type { Alert } from '../api/alert.js';
import type { Bicycle } from '../api/bicycle.js';
import { uuidOfLink } from '../api/links.js';
import { cut, pad, widthOf, wrap } from '../terminal/cells.js';
import { clean } from '../terminal/clean.js';
import { type Paint, paintIn } from '../terminal/colour.js';
import { drawProgressBar } from '../terminal/progress.js';
import type { Cell } from '../terminal/table.js';
import { age, readTime } from '../terminal/time.js';
import { numberOf, textOf } from '../terminal/values.js';
import { showAlertState } from './alert.js';
import { showCharge, showState, showText } from './bicycle.js';
import { fit } from './change.js';

export interface CardOptions {
  /** Columns of the terminal. */
  width: number;
  paint: Paint;
  /** Milliseconds since the epoch, for ages. */
  now: number;
  /** Nothing is cut or shortened, and lines may be longer than the width. */
  isWhole?: boolean;
  /** Its last changes, the newest first, where a mirror knows them. */
  changes?: readonly CardChange[] | undefined;
}

export interface CardChange {
  at: unknown;
  field: string;
  old: unknown;
  new: unknown;
}

interface Field {
  label: string;
  cell: Cell;
}

const GAP = 2;
const BAR_CELLS = 10;
/** Below this two columns of fields would leave most values no room. */
const NARROWEST_PAIR_COLUMNS = 72;
/** From this width on a time is shown beside its age. */
const WIDE_COLUMNS = 100;
const LABEL_COLUMNS = 16;
const LONGEST_LABEL_COLUMNS = 24;
/** Fields that the head of the card shows, or that only belong together. */
const IN_HEAD: readonly string[] = ['name', 'state', 'uuid', 'latitude', 'longitude', 'state_of_charge'];
/** Fields whose names are longer than what they say. */
const LABELS: ReadonlyMap<string, string> = new Map([
  ['latest_gps_timestamp', 'seen'],
  ['latest_gps_accuracy', 'gps accuracy'],
  ['latest_gps_pdop', 'gps pdop'],
  ['bicycle_model_name', 'model name'],
  ['estimated_state_of_charge', 'estimated charge'],
  ['last_cellular_update', 'cellular update'],
  ['concurrency_version', 'version'],
]);

/** Draws the card; every line ends in a newline and is at most `width` columns wide. */
export function drawCard(bicycle: Bicycle, alerts: readonly Alert[] | undefined, options: CardOptions): string {
  const { paint, width } = options;
  const { set, unset } = fieldsOf(bicycle, options);
  const state = showState(bicycle.state);
  const name = paint.bold(cut(showText(bicycle.name).text, Math.max(1, width - widthOf(state.text) - GAP)));
  const lines = [
    `${name}${' '.repeat(GAP)}${paintIn(paint, state.color, state.text)}`,
    paint.dim(cut(showText(bicycle.uuid).text, width)),
    '',
    ...layOut(set, options),
    ...(unset.length === 0 ? [] : wrap(`Not set: ${unset.join(', ')}`, width, '  ').map((line) => paint.dim(line))),
    ...(alerts === undefined ? [] : ['', ...alertLines(alerts, options)]),
    ...(options.changes === undefined || options.changes.length === 0
      ? []
      : ['', ...changeLines(options.changes, options)]),
  ];
  return lines.map((line) => `${line}\n`).join('');
}

function fieldsOf(bicycle: Bicycle, options: CardOptions): { set: Field[]; unset: string[] } {
  const at = { now: options.now, terminal: true };
  const set: Field[] = [];
  const unset: string[] = [];
  if (numberOf(bicycle.state_of_charge) === undefined) unset.push('charge');
  else set.push({ label: 'charge', cell: withBar(showCharge(bicycle.state_of_charge, at), bicycle.state_of_charge) });
  const [latitude, longitude] = [numberOf(bicycle.latitude), numberOf(bicycle.longitude)];
  if (latitude === undefined || longitude === undefined) unset.push('position');
  else set.push({ label: 'position', cell: { text: `geo:${latitude},${longitude}` } });
  for (const [field, value] of Object.entries(bicycle)) {
    if (IN_HEAD.includes(field)) continue;
    const label = LABELS.get(field) ?? clean(field.replaceAll('_', ' ').slice(0, LONGEST_LABEL_COLUMNS * 2));
    const text = textOf(value);
    if (text === undefined || text === '' || text === '[]') unset.push(label);
    else set.push({ label, cell: { text: showField(field, value, options) } });
  }
  return { set, unset };
}

/** Longer values are for `--json`. */
const LONGEST_VALUE_CHARACTERS = 500;

function showField(field: string, value: unknown, { now, width, isWhole = false }: CardOptions): string {
  const text = textOf(value) ?? '';
  if (isWhole) return clean(text);
  if (typeof value === 'string' && readTime(value) !== undefined)
    return width < WIDE_COLUMNS ? age(value, now) : `${age(value, now)} (${clean(value)})`;
  // What a link leads to is named by its UUID, which other commands take; the bicycle's own is there to be copied.
  const links = Array.isArray(value) ? value : [value];
  const uuids = links.map((link) => (typeof link === 'string' ? uuidOfLink(link) : undefined));
  if (field !== 'url' && uuids.length > 0 && uuids.every((uuid) => uuid !== undefined)) return uuids.join(', ');
  return clean(text.slice(0, LONGEST_VALUE_CHARACTERS));
}

function withBar(cell: Cell, charge: unknown): Cell {
  return { ...cell, text: `${drawProgressBar((numberOf(charge) ?? 0) / 100, BAR_CELLS)} ${cell.text}` };
}

/** Short fields two in a row, the others below them on lines of their own; labels stand in one column. */
function layOut(fields: readonly Field[], options: CardOptions): string[] {
  const { width, paint, isWhole = false } = options;
  const longest = width < NARROWEST_PAIR_COLUMNS ? LONGEST_LABEL_COLUMNS : LABEL_COLUMNS;
  const labelWidth = Math.min(
    longest,
    Math.floor(width / 2),
    Math.max(0, ...fields.map(({ label }) => widthOf(label))),
  );
  const half = Math.floor((width - GAP) / 2);
  const isShort = ({ label, cell }: Field) =>
    width >= NARROWEST_PAIR_COLUMNS &&
    widthOf(label) <= labelWidth &&
    labelWidth + GAP + widthOf(cell.text) + GAP <= half;
  const draw = ({ label, cell }: Field, room: number): string[] => {
    const head = cut(label, Math.max(labelWidth, LONGEST_LABEL_COLUMNS));
    const start = Math.max(labelWidth, widthOf(head)) + GAP;
    const [first = '', ...rest] = wrap(cell.text, isWhole ? undefined : Math.max(1, room - start)).map((line) =>
      paintIn(paint, cell.color, line),
    );
    return [
      `${paint.dim(head)}${' '.repeat(start - widthOf(head))}${first}`,
      ...rest.map((line) => ' '.repeat(start) + line),
    ];
  };
  const short = fields.filter(isShort);
  const rows = Math.ceil(short.length / 2);
  const pairs = short.slice(0, rows).flatMap((left, row) => {
    const right = short[rows + row];
    const room = half - labelWidth - GAP;
    const [line = ''] = draw(left, half);
    const filled = line + ' '.repeat(Math.max(0, room - widthOf(left.cell.text)));
    return right === undefined ? [line] : [`${filled}${' '.repeat(GAP)}${draw(right, half)[0] ?? ''}`];
  });
  return [...pairs, ...fields.filter((field) => !isShort(field)).flatMap((field) => draw(field, width))];
}

function alertLines(alerts: readonly Alert[], options: CardOptions): string[] {
  if (alerts.length === 0) return [options.paint.dim('No alerts.')];
  const rows = alerts.map(({ created, alert_type, state, message }) => [
    { text: age(created, options.now) },
    showText(alert_type),
    showAlertState(state),
    showText(message),
  ]);
  return table('Newest alerts', rows, options);
}

/** `3 min ago  state  available -> rented`. */
function changeLines(changes: readonly CardChange[], options: CardOptions): string[] {
  const rows = changes.map(({ at, field, old, new: value }) => [
    { text: age(at, options.now) },
    { text: clean(LABELS.get(field) ?? field.replaceAll('_', ' ')) },
    { text: `${showText(old).text} -> ${showText(value).text}` },
  ]);
  return table('Last changes', rows, options);
}

/** A heading, and below it cells in columns, each line cut at the width. */
function table(
  title: string,
  rows: readonly (readonly Cell[])[],
  { width, paint, isWhole = false }: CardOptions,
): string[] {
  const widths = rows[0]?.map((_, column) => Math.max(...rows.map((row) => widthOf(row[column]?.text ?? '')))) ?? [];
  const gap = ' '.repeat(GAP);
  const lines = rows.map((row) => {
    const cells = row.map(({ text, color }, column) => ({ text: `${gap}${pad(text, widths[column] ?? 0)}`, color }));
    return fit(cells, isWhole ? undefined : width, paint).trimEnd();
  });
  return [paint.bold(title), ...lines];
}
