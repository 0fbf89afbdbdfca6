// Packs a fleet for the page: the drawn data of each bicycle, and separately all fields as sent.

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

/** Returns the open alerts, newest first; undefined when they could not be read. */
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

/** Returns all fields of a bicycle as texts; numbers keep their spelling. */
export function packedFieldsOf(item: Item<Bicycle>): FieldTexts {
  return Object.entries(exactValue(item)).map(([field, value]) => [
    cutText(field) ?? '',
    cutText(textOf(value)) ?? null,
  ]);
}

/** Returns all fields of all bicycles, compressed to about a tenth. */
export function packDetails(items: readonly Item<Bicycle>[]): Details {
  const columns = new Map<string, (string | null)[]>();
  for (const [place, item] of items.entries()) {
    for (const [field, text] of packedFieldsOf(item)) {
      // The page already has this field.
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

/** Longer texts are cut; `--json` shows them. */
const LONGEST_TEXT_CHARACTERS = 500;

function cutText(text: string | undefined): string | undefined {
  return text === undefined || text.length <= LONGEST_TEXT_CHARACTERS
    ? text
    : `${text.slice(0, LONGEST_TEXT_CHARACTERS)}…`;
}
