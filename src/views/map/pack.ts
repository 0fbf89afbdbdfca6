// A fleet as the page takes it: of each bicycle what is drawn, and apart from it every field as it was sent.

import { gzipSync } from 'node:zlib';
import type { Alert } from '../../api/alert.js';
import { type Bicycle, bicycleUuid } from '../../api/bicycle.js';
import { wholeUuid } from '../../api/links.js';
import { exactValue } from '../../json/exact.js';
import type { Alerts, Details, FieldTexts, PageAlert, PageRow } from '../../page/payload.js';
import type { ListedItem as Item } from '../../terminal/formats.js';
import { readTime } from '../../terminal/time.js';
import { numberOf, readPath, textOf } from '../../terminal/values.js';
import { countAlerts, valueIn } from '../counts.js';
import { positionOf } from './scene.js';

export function rowOf(bicycle: Bicycle): PageRow {
  return {
    uuid: bicycleUuid(bicycle) ?? '',
    name: cutText(textOf(bicycle.name)) ?? null,
    state: valueIn('state', bicycle, 0),
    percent: numberOf(bicycle.state_of_charge) ?? null,
    position: positionOf(bicycle),
    seenMs: readTime(bicycle.latest_gps_timestamp) ?? null,
    codes: [bicycle.serial_number, bicycle.bleid]
      .flatMap((code) => cutText(textOf(code)) ?? [])
      .join(' '),
  };
}

/** The open alerts, the newest first; undefined where they could not be read. */
export function packAlerts(alerts: readonly Item<Alert>[] | undefined): Alerts {
  if (alerts === undefined) return { rows: [], byType: [], note: 'The alerts could not be read.' };
  const rows = alerts
    .map(({ value }) => alertRow(value))
    .sort((a, b) => (b.createdMs ?? 0) - (a.createdMs ?? 0));
  const byType = countAlerts(alerts.map(({ value }) => value)).map(({ value, count }) => ({
    type: value,
    count,
  }));
  return { rows, byType, note: null };
}

function alertRow(alert: Alert): PageAlert {
  const { bicycle } = alert;
  return {
    uuid: cutText(textOf(alert.uuid)) ?? '',
    bicycle:
      typeof bicycle === 'string'
        ? (wholeUuid(bicycle) ?? cutText(bicycle) ?? '').toLowerCase()
        : null,
    bicycleName: cutText(textOf(readPath(alert.extra, 'bicycle_name'))) ?? null,
    type: cutText(textOf(alert.alert_type)) ?? '',
    state: cutText(textOf(alert.state)) ?? '',
    message: cutText(textOf(alert.message)) ?? '',
    createdMs: readTime(alert.created) ?? null,
  };
}

/** Every field of a bicycle as text, its numbers as they were sent. */
export function packedFieldsOf(item: Item<Bicycle>): FieldTexts {
  return Object.entries(exactValue(item)).map(([field, value]) => [
    cutText(field) ?? '',
    cutText(textOf(value)) ?? null,
  ]);
}

/** Every field of all bicycles. A fleet says the same again and again: packed, it is a tenth as long. */
export function packDetails(items: readonly Item<Bicycle>[]): Details {
  const columns = new Map<string, (string | null)[]>();
  for (const [place, item] of items.entries()) {
    for (const [field, text] of packedFieldsOf(item)) {
      // The page has it already.
      if (field === 'uuid') continue;
      const column = columns.get(field) ?? new Array<string | null>(items.length).fill(null);
      columns.set(field, column);
      column[place] = text;
    }
  }
  return Array.from(columns, ([field, texts]) => [
    field,
    gzipSync(JSON.stringify(texts)).toString('base64'),
  ]);
}

/** Longer texts are for `--json`. */
const LONGEST_TEXT_CHARACTERS = 500;

function cutText(text: string | undefined): string | undefined {
  return text === undefined || text.length <= LONGEST_TEXT_CHARACTERS
    ? text
    : `${text.slice(0, LONGEST_TEXT_CHARACTERS)}…`;
}
