// Reads the bicycles or alerts that an input lists. Reads and checks the whole input before any
// request is sent.

import { otherResource, wholeUuid } from '../api/links.js';
import type { Context } from '../context.js';
import { type FleetError, usageError } from '../errors.js';
import { shorten } from '../list/pick-one.js';
import { type InputSource, nameOfInput, readInputRows } from './open.js';
import {
  describePlace,
  type InputRow,
  type RowFields,
  type RowPlace,
  UnreadableInput,
} from './row.js';
import { findNamedRows, NAMING_FIELDS, type NamedRow, namesOf } from './rows-by-name.js';

/**
 * The maximum number of rows in an input. Every fleet has fewer bicycles than this. The limit also
 * stops an endless input.
 */
const MOST_TARGETS = 1_000_000;

/** A row of an input, with the UUID of its bicycle or alert. */
export interface TargetRow {
  place: RowPlace;
  uuid: string;
  /** The fields of the row; empty when the row is only a UUID. */
  fields: RowFields;
  /**
   * Whether the fields are cells of CSV or a workbook. Such fields are strings, or null when empty.
   */
  isCells: boolean;
  /** Whether Excel or `--excel` wrote the file, so that a cell such as `'-1` can mean `-1`. */
  hasGuards: boolean;
  /** The delimiter of the CSV file; undefined for any other input. */
  delimiter?: string | undefined;
  /** The field by which the bicycle was found. */
  namedBy: string;
}

/**
 * Which columns can identify a bicycle in a row without a UUID:
 *
 * - `all`: all columns that can identify a bicycle. They must identify the same bicycle.
 * - `first`: only the most reliable of these columns. The other columns are values.
 * - `none`: only the UUID identifies the bicycle.
 */
export type Naming = 'all' | 'first' | 'none';

/**
 * Yields the rows of an input with their UUIDs. Looks up all rows without a UUID together at the
 * end. Throws a FleetError of kind `usage` with the row number for an invalid row. Throws the
 * signal's reason when the signal is aborted.
 */
export async function* readTargets(
  context: Context,
  source: InputSource,
  naming: Naming,
): AsyncGenerator<TargetRow, void, undefined> {
  const name = nameOfInput(source.path);
  const named: (TargetRow & NamedRow)[] = [];
  let count = 0;
  const options = { isHeader: headerCheck(naming), hasComments: true };
  try {
    for await (const row of readInputRows(context, source, options)) {
      count += 1;
      if (count > MOST_TARGETS)
        throw new UnreadableInput(`more than ${MOST_TARGETS} rows`, row.place);
      const target = readTarget(row, naming);
      if ('names' in target) named.push(target);
      else yield target;
    }
  } catch (error) {
    throw error instanceof UnreadableInput ? badRow(name, error.place, error.message) : error;
  }
  if (named.length === 0) return;
  const found = await findNamedRows(context, named);
  for (const row of named) yield { ...row, uuid: found.get(row) ?? '' };
}

/**
 * Returns a function that decides whether a line is a header. A line is a header when one of its
 * columns identifies the bicycle. The function throws when the line contains several column names,
 * but no column that identifies the bicycle.
 */
function headerCheck(naming: Naming) {
  const namingColumns: readonly string[] =
    naming === 'none' ? ['uuid'] : ['uuid', 'id', ...NAMING_FIELDS];
  return (names: readonly string[], place: RowPlace): boolean => {
    refuseRepeatedNames(names, place);
    const isHeader = names.some((name) => namingColumns.includes(name));
    const heading = names.find((name) => UUID_INSIDE.test(name));
    if (isHeader && heading !== undefined)
      throw new UnreadableInput(
        `the heading "${shorten(heading)}" contains a UUID; each row needs its own line`,
        place,
      );
    if (isHeader) return true;
    if (names.length === 1 || names.some((name) => wholeUuid(name) !== undefined)) return false;
    throw new UnreadableInput(
      `no column names the ${naming === 'none' ? 'alert' : 'bicycle'}; the columns are ${names.map((name) => `"${shorten(name)}"`).join(', ')}`,
      place,
    );
  };
}

/**
 * Matches a heading that contains a UUID. A file with such a heading has probably lost its line
 * endings.
 */
const UUID_INSIDE = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/i;

/** Throws UnreadableInput when two columns have the same name. */
export function refuseRepeatedNames(names: readonly string[], place: RowPlace): void {
  const repeated = names.find((name, index) => name !== '' && names.indexOf(name) < index);
  if (repeated !== undefined)
    throw new UnreadableInput(`two columns are named "${repeated}"`, place);
}

function readTarget(row: InputRow, naming: Naming): TargetRow | (TargetRow & NamedRow) {
  const { place } = row;
  const isCells = row.kind === 'cells';
  const fields: RowFields = row.kind === 'text' ? {} : row.fields;
  const written = row.kind === 'text' ? row.text : (fields['uuid'] ?? fields['id']);
  const hasUuid = typeof written === 'string' && written.trim() !== '';
  const names = naming === 'none' || hasUuid ? [] : namesOf(fields);
  const [first] = names;
  const hasGuards = row.kind === 'cells' && row.hasGuards;
  const delimiter = row.kind === 'cells' ? row.delimiter : undefined;
  const rest = { place, fields, isCells, hasGuards, delimiter };
  const collection = naming === 'none' ? 'alerts' : 'bicycles';
  refuseOtherRow(fields, place, collection);
  if (first === undefined)
    return { ...rest, uuid: readUuid(written, place, collection), namedBy: 'uuid' };
  return {
    ...rest,
    uuid: '',
    namedBy: first.field,
    names: naming === 'all' ? names : [first],
  };
}

/**
 * Throws UnreadableInput when the row's link or type shows that it describes another kind of
 * object.
 */
function refuseOtherRow(fields: RowFields, place: RowPlace, collection: string): void {
  const { url } = fields;
  const byLink = typeof url === 'string' ? otherResource(url, collection) : undefined;
  const isAlert = collection === 'bicycles' && Object.hasOwn(fields, 'alert_type');
  const other = byLink ?? (isAlert ? 'an alert' : undefined);
  if (other === undefined) return;
  const wanted = collection === 'alerts' ? 'an alert' : 'a bicycle';
  throw new UnreadableInput(`the row describes ${other}, not ${wanted}`, place);
}

/** Returns the UUID in a row. A comment may follow the UUID. */
function readUuid(written: unknown, place: RowPlace, collection: string): string {
  const [text = ''] = typeof written === 'string' ? written.split(/\s#/, 1) : [];
  const uuid = wholeUuid(text.trim());
  const other = uuid === undefined ? undefined : otherResource(text.trim(), collection);
  if (other !== undefined)
    throw new UnreadableInput(`"${shorten(text.trim())}" is the address of ${other}`, place);
  if (uuid !== undefined) return uuid;
  throw new UnreadableInput(
    text.trim() === '' ? '"uuid" is missing or not a UUID' : `"${shorten(text)}" is not a UUID`,
    place,
  );
}

/** Returns the error for a row that cannot be read. `source` names the input. */
export function badRow(source: string, place: RowPlace, reason: string): FleetError {
  return usageError(
    `${describePlace(place)} of ${source}: ${reason}; nothing was sent`,
    hintFor(reason),
  );
}

function hintFor(reason: string): string {
  if (reason.startsWith('no column names'))
    return "give a column uuid, serial_number, bleid or name, or rename one: --map 'Rahmennummer=serial_number'";
  if (reason.startsWith('two columns')) return 'remove one of the two columns, or rename it';
  return 'the input has UUIDs, JSON lines, a JSON array, CSV or .xlsx with a column "uuid" (or "name"); lists write them with -o uuid, jsonl, json or csv';
}
