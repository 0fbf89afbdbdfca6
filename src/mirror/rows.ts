// Converts bicycles and alerts to rows. Numbers and times have two columns: the original value, and
// a value for calculations.

import { ALERT_FIELDS } from '../api/alert.js';
import { BICYCLE, BICYCLE_FIELDS } from '../api/bicycle.js';
import { wholeUuid } from '../api/links.js';
import { type PushEnvelope, uuidOfMessage } from '../api/push.js';
import type { Item } from '../http/types.js';
import { exactValue, readExact, writeJson, writtenNumber } from '../json/exact.js';
import { readTime } from '../terminal/time.js';
import type { Value } from './database.js';
import type { Dialect } from './dialect.js';

type Object = { readonly [field: string]: unknown };

/**
 * The fields that contain numbers. Each has a column for the number, and a column `…_text` for the
 * original value.
 */
const DECIMALS: ReadonlySet<string> = new Set(BICYCLE.numbers);
/**
 * The fields that contain times. Each has a column for the original value, and a column `…_utc` for
 * the time in UTC.
 */
const TIMES: ReadonlySet<string> = new Set(BICYCLE.times);
const INDEXED: ReadonlySet<string> = new Set(['name', 'serial_number', 'bleid', 'state']);
const MOST_INDEXED_CHARACTERS = 200;
/** The fields of alerts that are stored as JSON text. */
const JSON_FIELDS: ReadonlySet<string> = new Set(['roles', 'extra']);

/** Returns the SQL that orders rows by a field. Both databases order strings by their bytes. */
export function orderOf(field: string, { bytes }: Dialect): string {
  if (TIMES.has(field)) return `${field}_utc`;
  return DECIMALS.has(field) ? field : `${field} ${bytes}`;
}

interface Column {
  readonly name: string;
  readonly field: string;
  readonly read: (value: unknown) => Value;
}

function columnsOf(field: string): Column[] {
  const column = (name: string, read: Column['read']) => ({ name, field, read });
  if (DECIMALS.has(field)) return [column(field, decimalValue), column(`${field}_text`, textValue)];
  if (TIMES.has(field)) return [column(field, textValue), column(`${field}_utc`, timeValue)];
  if (JSON_FIELDS.has(field)) return [column(field, jsonValue)];
  return [column(field, INDEXED.has(field) ? indexedValue : textValue)];
}

const OF_BICYCLES = BICYCLE_FIELDS.flatMap(columnsOf);
const OF_ALERTS = ALERT_FIELDS.flatMap(columnsOf);

/** The columns of a bicycle, in the order of `bicycleRow`. */
export const BICYCLE_COLUMNS: readonly string[] = [
  ...OF_BICYCLES.map(({ name }) => name),
  ...['concurrency_version', 'organization', 'followed', 'gone', 'first_seen', 'last_seen', 'raw'],
];

/** The columns of an alert, in the order of `alertRow`. */
export const ALERT_COLUMNS: readonly string[] = [
  // `user` is quoted because it is a reserved word in PostgreSQL.
  ...OF_ALERTS.map(({ name }) => (name === 'user' ? '"user"' : name)),
  ...['bicycle_uuid', 'organization_uuid', 'first_seen', 'last_seen', 'raw'],
];

/**
 * The values of a row that are not fields of the object, such as when it was first seen. Times are
 * in UTC, in the format of `utcOf`.
 */
export interface RowFacts {
  uuid: string;
  /** The organization whose list or topic contained the bicycle. */
  followed: string | null;
  gone: string | null;
  firstSeen: string;
  lastSeen: string;
  raw: string;
}

export function bicycleRow(
  bicycle: Object,
  { uuid, followed, gone, firstSeen, lastSeen, raw }: RowFacts,
): Value[] {
  const row = OF_BICYCLES.map(({ field, read }) => read(field === 'uuid' ? uuid : bicycle[field]));
  const organization = linkedUuid(bicycle['organization']) ?? followed;
  row.push(
    versionValue(bicycle['concurrency_version']),
    organization,
    followed,
    gone,
    firstSeen,
    lastSeen,
    raw,
  );
  return row;
}

export function alertRow(
  alert: Object,
  { uuid, firstSeen, lastSeen, raw }: Omit<RowFacts, 'followed' | 'gone'>,
) {
  const row = OF_ALERTS.map(({ field, read }) => read(field === 'uuid' ? uuid : alert[field]));
  row.push(
    linkedUuid(alert['bicycle']),
    linkedUuid(alert['organization']),
    firstSeen,
    lastSeen,
    raw,
  );
  return row;
}

function linkedUuid(link: unknown): string | null {
  return (typeof link === 'string' ? wholeUuid(link) : undefined) ?? null;
}

/**
 * Truncates a long value. A PostgreSQL index row must have enough room for three such values and a
 * UUID. The `raw` column keeps the whole value.
 */
function indexedValue(value: unknown): Value {
  const text = textValue(value);
  const isLong = typeof text === 'string' && text.length > MOST_INDEXED_CHARACTERS;
  return isLong ? `${text.slice(0, MOST_INDEXED_CHARACTERS)}…` : text;
}

function timeValue(value: unknown): Value {
  return typeof value === 'string' ? (utcOf(value) ?? null) : null;
}

function jsonValue(value: unknown): Value {
  return value === undefined ? null : writeJson(value);
}

function textValue(value: unknown): Value {
  if (typeof value === 'string') return value;
  if (value === null || value === undefined) return null;
  return typeof value === 'object' ? writeJson(value) : String(value);
}

/** Matches numbers that both databases can store. */
const DECIMAL = /^-?\d{1,60}(?:\.\d{1,60})?(?:[eE][+-]?\d{1,2})?$/;

/**
 * Returns a value's number, even when the value is a string. Returns a string when a double would
 * round the number, and null when the value is not a number.
 */
function decimalValue(value: unknown): Value {
  if (typeof value === 'number') return value;
  const written = typeof value === 'string' ? value.trim() : writtenNumber(value);
  if (written === undefined || !DECIMAL.test(written)) return null;
  return String(Number(written)) === written ? Number(written) : written;
}

const LARGEST_VERSION = 2n ** 63n - 1n;

/** Returns a version as an integer. Returns null when the databases cannot store it. */
export function versionValue(value: unknown): Value {
  if (typeof value === 'number') return Number.isSafeInteger(value) ? value : null;
  const written = typeof value === 'string' ? value : writtenNumber(value);
  if (written === undefined || !/^\d{1,19}$/.test(written)) return null;
  const number = BigInt(written);
  return number > LARGEST_VERSION ? null : number;
}

const SECONDS_CHARACTERS = 19;
const FRACTION = /[.,](\d{1,9})/;
export const FIRST_YEAR_MS = Date.parse('0001-01-01T00:00:00Z');
export const LAST_YEAR_MS = Date.UTC(9999, 11, 31);

/**
 * Converts a service time to UTC with microseconds. The result has a fixed width and can be sorted
 * as a string. Returns undefined when `text` is not a valid time.
 */
export function utcOf(text: string): string | undefined {
  if (text.length > 64) return undefined;
  const ms = readTime(text);
  if (ms === undefined || ms < FIRST_YEAR_MS || ms > LAST_YEAR_MS) return undefined;
  const fraction = (FRACTION.exec(text)?.[1] ?? '').padEnd(6, '0').slice(0, 6);
  return `${new Date(ms).toISOString().slice(0, SECONDS_CHARACTERS)}.${fraction}Z`;
}

/** Converts milliseconds since the epoch to the same format as `utcOf`. */
export function utcOfMs(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, -1)}000Z`;
}

/**
 * The maximum length of an identifier. A UUID has 36 characters, and a PostgreSQL index row has at
 * most 2,700 bytes.
 */
const LONGEST_ID_CHARACTERS = 200;

const UNSTORABLE = /\\u(?:0000|d[89a-f])/i;
/**
 * Matches every escape sequence, but captures only NUL and lone surrogates. Matching every sequence
 * ensures that the second half of an escaped backslash is not treated as the start of another
 * sequence. A surrogate pair is matched as a whole.
 */
const ESCAPES = /\\u(?:d[89ab][\da-f]{2}\\ud[c-f][\da-f]{2}|(0000|d[89a-f][\da-f]{2}))|\\[\s\S]/gi;

/**
 * Replaces NUL and lone surrogates in JSON text. If they stayed in the text, a query that reads
 * `raw ->> 'name'` from all rows would fail.
 */
export function storableJson(json: string): string {
  if (!UNSTORABLE.test(json)) return json;
  return json.replace(ESCAPES, (written, unstorable?: string) =>
    unstorable === undefined ? written : '\\ufffd',
  );
}

/**
 * Converts a page's items to the format that the mirror stores. Skips items with an invalid uuid.
 */
export function storableItems<T extends { uuid?: unknown }>(items: readonly Item<T>[]): Item<T>[] {
  return items.flatMap((item) => {
    const json = storableJson(item.json);
    const value = json === item.json ? exactValue(item) : (readExact(json) as T);
    return isId(value?.uuid) ? [{ json, value }] : [];
  });
}

/**
 * Returns the uuid of the bicycle that a message is about, or undefined when the message has no
 * valid uuid.
 */
export function storableUuid(envelope: PushEnvelope): string | undefined {
  const uuid = uuidOfMessage(envelope);
  return isId(uuid) ? uuid : undefined;
}

/** Whether the value fits into a `uuid` column. */
function isId(uuid: unknown): boolean {
  return typeof uuid !== 'string' || uuid.length <= LONGEST_ID_CHARACTERS;
}

/** Returns an item that parses its JSON when its value is read for the first time. */
export function lateItem<T>(json: string, read: (json: string) => unknown): Item<T> {
  let value: T | undefined;
  return {
    json,
    get value(): T {
      value ??= read(json) as T;
      return value;
    },
  };
}
