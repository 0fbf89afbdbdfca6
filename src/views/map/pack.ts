// Packs a fleet for the page. For each bicycle, the page gets the data for the map. Separately, the
// page gets all fields of the bicycle as the service sent them.

import { constants, deflateRawSync } from 'node:zlib';
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

/** Returns all fields of a bicycle as strings. Numbers keep the service's notation. */
export function packedFieldsOf(item: Item<Bicycle>): FieldTexts {
  return Object.entries(exactValue(item)).map(([field, value]) => [
    cutText(field) ?? '',
    cutText(textOf(value)) ?? null,
  ]);
}

/** A fleet in the format that the page reads. */
export interface PackedFleet {
  /**
   * The rows of the page as JSON objects, separated by commas. The rows are divided into several
   * strings.
   */
  rows: readonly string[];
  details: Details;
}

/**
 * The number of bicycles that are compressed together. Until there are that many, the fields of the
 * bicycles stay in memory.
 */
const PACKED_TOGETHER = 1000;

/**
 * Packs bicycles as they arrive, so that the unpacked bicycles do not stay in memory. The packed
 * data is ten times smaller.
 */
export function openPacker() {
  const rows: string[] = [];
  const columns = new Map<string, PackedColumn>();
  let waiting: Item<Bicycle>[] = [];
  let packed = 0;

  function pack(): void {
    const items = waiting;
    waiting = [];
    if (items.length === 0) return;
    rows.push(items.map(({ value }) => JSON.stringify(rowOf(value))).join(','));
    const texts = new Map<string, (string | null)[]>();
    for (const [index, item] of items.entries()) {
      for (const [field, text] of packedFieldsOf(item)) {
        // The uuid is not packed, because the page gets it with the data for the map.
        if (field === 'uuid') continue;
        const ofField = texts.get(field) ?? new Array<string | null>(items.length).fill(null);
        texts.set(field, ofField);
        ofField[index] = text;
      }
    }
    for (const field of texts.keys())
      if (!columns.has(field)) columns.set(field, openColumn(packed));
    for (const [field, column] of columns)
      column.add(texts.get(field) ?? new Array<null>(items.length).fill(null));
    packed += items.length;
  }

  return {
    add(items: readonly Item<Bicycle>[]): void {
      for (const item of items) {
        waiting.push(item);
        if (waiting.length === PACKED_TOGETHER) pack();
      }
    },
    /** Packs the bicycles that were not packed yet, and returns the whole fleet. */
    end(): PackedFleet {
      pack();
      const details = Array.from(columns, ([field, column]) => [field, column.end()] as const);
      return { rows, details };
    },
  };
}

/**
 * The values of one field as strings, one for each bicycle. Compression makes them about ten times
 * smaller.
 */
interface PackedColumn {
  add(texts: readonly (string | null)[]): void;
  /** Returns the JSON array of the values, compressed and base64-encoded. */
  end(): string;
}

/**
 * Creates a column for a field. The column starts with `nulls` empty values, for the earlier
 * bicycles, which do not have this field.
 */
function openColumn(nulls: number): PackedColumn {
  const chunks: Buffer[] = [];
  let isEmpty = true;
  function add(texts: readonly (string | null)[]): void {
    if (texts.length === 0) return;
    const json = JSON.stringify(texts).slice(1, -1);
    // Compressed parts can be joined if each part ends with a sync flush (RFC 1951, section 3.2.3).
    chunks.push(
      deflateRawSync((isEmpty ? '[' : ',') + json, { finishFlush: constants.Z_SYNC_FLUSH }),
    );
    isEmpty = false;
  }
  add(new Array<null>(nulls).fill(null));
  return {
    add,
    end: () => Buffer.concat([...chunks, deflateRawSync(isEmpty ? '[]' : ']')]).toString('base64'),
  };
}

/** Packs a whole fleet at once. */
export function packFleet(items: readonly Item<Bicycle>[]): PackedFleet {
  const packer = openPacker();
  packer.add(items);
  return packer.end();
}

/** Longer strings are truncated. `--json` shows the full strings. */
const LONGEST_TEXT_CHARACTERS = 500;

function cutText(text: string | undefined): string | undefined {
  return text === undefined || text.length <= LONGEST_TEXT_CHARACTERS
    ? text
    : `${text.slice(0, LONGEST_TEXT_CHARACTERS)}…`;
}
