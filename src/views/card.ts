// One bicycle as a card: its name, the most important facts, the other fields, the newest alerts
// and the last changes.

import type { Alert } from '../api/alert.js';
import type { Bicycle } from '../api/bicycle.js';
import { wholeUuid } from '../api/links.js';
import { MACHINE_ZONE, showLocalTime } from '../system/time-zone.js';
import { cut, wrap } from '../terminal/cells.js';
import { clean } from '../terminal/clean.js';
import { paintIn } from '../terminal/colour.js';
import type { Shape } from '../terminal/formats.js';
import { drawList } from '../terminal/list.js';
import { age, readTime } from '../terminal/time.js';
import { MISSING, numberOf, textOf } from '../terminal/values.js';
import { ALERTS } from './alert.js';
import { showCharge, showState, showText } from './bicycle.js';
import { HISTORY, type HistoryRow } from './history.js';
import { drawTable, type RowsOptions } from './rows.js';

export interface CardContent {
  /** The number of open alerts; undefined when the alerts were not read. */
  openAlerts?: OpenAlerts | undefined;
  /** The newest alerts; undefined when the alerts could not be read. */
  alerts: readonly Alert[] | undefined;
  /** The last changes, newest first. Empty without a mirror. */
  changes: readonly CardChange[];
}

export interface OpenAlerts {
  count: number;
  /** Whether the count includes all alerts, not just the newest. */
  isWhole: boolean;
}

export type CardChange = Pick<HistoryRow, 'at' | 'field' | 'old' | 'new'>;

/** Longer values are truncated. `--json` shows the full values. */
const LONGEST_VALUE_CHARACTERS = 500;
const LONGEST_FIELD_CHARACTERS = 100;

const CARD_ALERTS: Shape<Alert> = {
  ...ALERTS,
  columns: ALERTS.columns.filter(({ field }) => field !== 'bicycle_name' && field !== 'id'),
};
const CARD_CHANGES: Shape<CardChange> = { ...HISTORY, columns: HISTORY.columns.slice(0, 4) };

/** Draws the card. Every line ends with a newline and is at most `width` columns wide. */
export function drawCard(
  bicycle: Bicycle,
  { alerts, changes, openAlerts }: CardContent,
  options: RowsOptions,
): string {
  const { paint, width, isWhole } = options;
  const { set, unset } = fieldsOfCard(bicycle, options);
  const shownWidth = isWhole === true ? undefined : width;
  const state = showState(bicycle.state);
  if (width !== undefined) state.text = cut(state.text, width - 3);
  const notSet = unset.length === 0 ? [] : wrap(`Not set: ${unset.join(', ')}`, width, '  ');
  const lines = [
    `${paint.bold(cut(showText(bicycle.name).text, Math.max(1, (width ?? 80) - state.text.length - 2)))}  ${paintIn(paint, state.color, state.text)}`,
    '',
    drawList(factsOf(bicycle, openAlerts, options), shownWidth).trimEnd(),
    '',
    drawList(set, shownWidth).trimEnd(),
    ...notSet.map((line) => paint.dim(cut(line, width ?? line.length))),
  ];
  if (alerts?.length === 0) lines.push('', paint.dim('No alerts.'));
  else if (alerts !== undefined)
    lines.push('', paint.bold('Newest alerts'), ...drawTable(CARD_ALERTS, alerts, options));
  if (changes.length > 0)
    lines.push('', paint.bold('Last changes'), ...drawTable(CARD_CHANGES, changes, options));
  return lines.map((line) => `${line}\n`).join('');
}

/**
 * Returns the other fields that have a value, formatted for people. Also returns the names of the
 * other fields that have no value.
 */
function fieldsOfCard(bicycle: Bicycle, options: RowsOptions) {
  const set: [string, string][] = [];
  const unset: string[] = [];
  for (const [name, value] of Object.entries(bicycle)) {
    if (TOP_FIELDS.includes(name)) continue;
    const field = clean(name.slice(0, LONGEST_FIELD_CHARACTERS));
    const text = textOf(value);
    if (text === undefined || text === '' || text === '[]') unset.push(field);
    else set.push([field, showField(name, value, options)]);
  }
  return { set, unset };
}

/** The fields at the top of the card. The name is the heading of the card. */
const TOP_FIELDS: readonly string[] = [
  'name',
  'state',
  'state_of_charge',
  'latest_gps_timestamp',
  'latitude',
  'longitude',
  'lock',
];

/**
 * Returns the facts at the top of the card: state, charge, last report, place, lock and open
 * alerts.
 */
function factsOf(
  bicycle: Bicycle,
  openAlerts: OpenAlerts | undefined,
  options: RowsOptions,
): [string, string][] {
  const [latitude, longitude] = [numberOf(bicycle.latitude), numberOf(bicycle.longitude)];
  const isPlaced = latitude !== undefined && longitude !== undefined;
  const { state, state_of_charge: charge, latest_gps_timestamp: seen, lock } = bicycle;
  const facts: [string, string][] = [
    ['state', showFact('state', state, options)],
    ['charge', showFact('state_of_charge', charge, options)],
    ['seen', showFact('latest_gps_timestamp', seen, options)],
    ['place', isPlaced ? `geo:${latitude},${longitude}` : MISSING],
    ['lock', showFact('lock', lock, options)],
  ];
  if (openAlerts !== undefined) {
    const { count, isWhole } = openAlerts;
    facts.push(['open alerts', `${count}${isWhole ? '' : ' or more'}`]);
  }
  return facts;
}

function showFact(field: string, value: unknown, options: RowsOptions): string {
  const text = textOf(value);
  return text === undefined || text === '' ? MISSING : showField(field, value, options);
}

function showField(
  field: string,
  value: unknown,
  { now, zone = MACHINE_ZONE, isWhole }: RowsOptions,
): string {
  const text = textOf(value) ?? '';
  if (isWhole === true) return clean(text);
  if (field === 'state_of_charge') return showCharge(value, { now, terminal: true }).text;
  const atMs = readTime(value);
  if (atMs !== undefined) return `${age(value, now)} (${showLocalTime(atMs, zone)})`;
  // For a field that contains a link, the card shows only the UUID, because other commands accept a
  // UUID. The UUID of the bicycle itself is never shortened, so that it can be copied.
  const links = Array.isArray(value) ? value : [value];
  const uuids = links.map((link) => (typeof link === 'string' ? wholeUuid(link) : undefined));
  if (field !== 'url' && uuids.length > 0 && uuids.every((uuid) => uuid !== undefined))
    return uuids.join(', ');
  return clean(
    text.length > LONGEST_VALUE_CHARACTERS ? `${text.slice(0, LONGEST_VALUE_CHARACTERS)}…` : text,
  );
}
