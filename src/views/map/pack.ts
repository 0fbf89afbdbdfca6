// A fleet as the page takes it: columns, each bicycle in the groups of `bicycles stats`, so that both show the same numbers.

import type { Alert } from '../../api/alert.js';
import type { Bicycle } from '../../api/bicycle.js';
import { uuidOfLink } from '../../api/links.js';
import { exactValue } from '../../json/exact.js';
import type {
  AlertRow,
  Alerts,
  Columns,
  DetailColumn,
  Details,
  Fields,
  GroupName,
  Groups,
  Row,
} from '../../page/payload.js';
import type { Row as Item } from '../../terminal/formats.js';
import { readTime } from '../../terminal/time.js';
import { numberOf, pointOf, readPath, textOf } from '../../terminal/values.js';
import { countAlerts, valueIn, valuesOf } from '../counts.js';

/** One bicycle with its groups as of `now`, in milliseconds since the epoch. */
export function rowOf(bicycle: Bicycle, now: number): Row {
  const [longitude, latitude] = pointOf(bicycle.longitude, bicycle.latitude) ?? [];
  return {
    uuid: uuidOf(bicycle),
    name: cutText(textOf(bicycle.name)) ?? null,
    state: valueIn('state', bicycle, now),
    charge: valueIn('charge', bicycle, now),
    silence: valueIn('silence', bicycle, now),
    percent: numberOf(bicycle.state_of_charge) ?? null,
    longitude: numberOf(longitude) ?? null,
    latitude: numberOf(latitude) ?? null,
    seenMs: readTime(bicycle.latest_gps_timestamp) ?? null,
  };
}

/** All of them; the words of a group are in the order of `bicycles stats`. */
export function packFleet(bicycles: Iterable<Bicycle>, now: number): { columns: Columns; groups: Groups } {
  const rows = Array.from(bicycles, (bicycle) => rowOf(bicycle, now));
  const column = <Field extends keyof Row>(field: Field) => rows.map((row) => row[field]);
  const [state, charge, silence] = [packGroup('state', rows), packGroup('charge', rows), packGroup('silence', rows)];
  const columns = {
    uuid: column('uuid'),
    name: column('name'),
    state: state.places,
    charge: charge.places,
    silence: silence.places,
    percent: column('percent'),
    longitude: column('longitude'),
    latitude: column('latitude'),
    seenMs: column('seenMs'),
  };
  return { columns, groups: { state: state.words, charge: charge.words, silence: silence.words } };
}

function packGroup(group: GroupName, rows: readonly Row[]): { words: string[]; places: number[] } {
  const words = [...new Set([...valuesOf(group), ...rows.map(({ [group]: word }) => word)])];
  const known = new Map(words.map((word, place) => [word, place]));
  return { words, places: rows.map(({ [group]: word }) => known.get(word) ?? 0) };
}

/** The open alerts, the newest first; undefined where they could not be read. */
export function packAlerts(alerts: readonly Item<Alert>[] | undefined): Alerts {
  if (alerts === undefined) return { rows: [], byType: [], note: 'The alerts could not be read.' };
  const rows = alerts.map(({ value }) => alertRow(value)).sort((a, b) => (b.createdMs ?? 0) - (a.createdMs ?? 0));
  const byType = countAlerts(alerts.map(({ value }) => value)).map(({ value, count }) => ({ type: value, count }));
  return { rows, byType, note: null };
}

function alertRow(alert: Alert): AlertRow {
  const { bicycle } = alert;
  return {
    uuid: cutText(textOf(alert.uuid)) ?? '',
    bicycle: typeof bicycle === 'string' ? (uuidOfLink(bicycle) ?? cutText(bicycle) ?? '').toLowerCase() : null,
    bicycleName: cutText(textOf(readPath(alert.extra, 'bicycle_name'))) ?? null,
    type: cutText(textOf(alert.alert_type)) ?? '',
    state: cutText(textOf(alert.state)) ?? '',
    message: cutText(textOf(alert.message)) ?? '',
    createdMs: readTime(alert.created) ?? null,
  };
}

/** Every field of a bicycle as text, its numbers as they were sent. */
export function fieldsOf(item: Item<Bicycle>): Fields {
  return Object.entries(exactValue(item)).map(([field, value]) => [
    cutText(field) ?? '',
    cutText(textOf(value)) ?? null,
  ]);
}

/** Every field of all bicycles; what most texts of a field have in common is written once. */
export function packDetails(items: readonly Item<Bicycle>[]): Details {
  const columns = new Map<string, (string | null)[]>();
  for (const [place, item] of items.entries()) {
    for (const [field, text] of fieldsOf(item)) {
      // The page has it already.
      if (field === 'uuid') continue;
      const column = columns.get(field) ?? [];
      columns.set(field, column);
      column[place] = text;
    }
  }
  return {
    fields: [...columns].map(([field, texts]) => {
      texts.length = items.length;
      return packColumn(field, texts);
    }),
  };
}

/** Where a text comes again so often on the average, it is worth a list of words. */
const LEAST_REPEATS = 2;

function packColumn(field: string, texts: readonly (string | null | undefined)[]): DetailColumn {
  const written = texts.filter((text) => typeof text === 'string');
  const [prefix, suffix] = commonEnds(written);
  const values = Array.from(texts, (text) =>
    typeof text === 'string' ? text.slice(prefix.length, text.length - suffix.length) : (text ?? null),
  );
  const words = new Map<string | null, number>();
  for (const value of values) if (!words.has(value)) words.set(value, words.size);
  if (words.size * LEAST_REPEATS > values.length) return { field, prefix, suffix, values };
  return { field, prefix, suffix, words: [...words.keys()], values: values.map((value) => words.get(value) ?? 0) };
}

function commonEnds(texts: readonly string[]): [prefix: string, suffix: string] {
  const [first = ''] = texts;
  let [before, after] = [first.length, first.length];
  let shortest = first.length;
  for (const text of texts) {
    shortest = Math.min(shortest, text.length);
    before = Math.min(before, sharedLength(text, first, before, 0));
    after = Math.min(after, sharedLength(text, first, after, 1));
  }
  after = Math.min(after, shortest - before);
  // Half of a character outside the basic plane is none.
  return [first.slice(0, before), after === 0 ? '' : first.slice(-after)];
}

/** How many characters two texts share at their beginning, or at their end. */
function sharedLength(a: string, b: string, most: number, fromEnd: 0 | 1): number {
  let length = 0;
  const at = (text: string) => (fromEnd === 1 ? text.charCodeAt(text.length - 1 - length) : text.charCodeAt(length));
  while (length < most && length < a.length && at(a) === at(b)) length++;
  return length;
}

/** Longer texts are for `--json`. */
const LONGEST_TEXT_CHARACTERS = 500;

function cutText(text: string | undefined): string | undefined {
  return text === undefined || text.length <= LONGEST_TEXT_CHARACTERS
    ? text
    : `${text.slice(0, LONGEST_TEXT_CHARACTERS)}…`;
}

export function uuidOf({ uuid }: Bicycle): string {
  return textOf(uuid)?.toLowerCase() ?? '';
}
