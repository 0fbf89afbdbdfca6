// Finds the bicycles of rows that contain a name, serial number or bleid instead of a UUID. Finds
// all these bicycles before any change is sent. Searches an up-to-date mirror or the service's
// list. The list is read only once.

import { BICYCLE, type Bicycle, bicycleUuid } from '../api/bicycle.js';
import type { Context } from '../context.js';
import { usageError } from '../errors.js';
import { spellingOf, writtenNumber } from '../json/exact.js';
import { holdsAll, withCurrentMirror } from '../list/current-mirror.js';
import { chosenOrganization, scopeOf } from '../list/organization.js';
import { shorten } from '../list/pick-one.js';
import { clean } from '../terminal/clean.js';
import { count } from '../terminal/count.js';
import { cellText, guardFormula } from '../terminal/formats/cell-text.js';
import { textOf } from '../terminal/values.js';
import { describePlace, type RowPlace } from './row.js';

/** The columns that identify a bicycle, most reliable first. */
export const NAMING_FIELDS = ['serial_number', 'bleid', 'name'] as const;

interface Name {
  field: (typeof NAMING_FIELDS)[number];
  text: string;
}

/** A row that identifies its bicycle without a UUID. */
export interface NamedRow {
  place: RowPlace;
  /** The names in the row, most reliable first. All of them must belong to the same bicycle. */
  names: readonly Name[];
}

/** The maximum number of rows that an error lists. */
const MOST_LISTED = 20;

/** Returns the names by which a row identifies its bicycle, most reliable first. */
export function namesOf(fields: { [field: string]: unknown }): Name[] {
  return NAMING_FIELDS.flatMap((field) => {
    const value = fields[field];
    const isNumber = typeof value === 'number' || writtenNumber(value) !== undefined;
    const isText = typeof value === 'string' || isNumber;
    const text = isText ? (spellingOf(value) ?? textOf(value) ?? '') : '';
    return text.trim() === '' ? [] : [{ field, text }];
  });
}

/**
 * The methods for comparing a string with a name, in order. The next method is tried only when no
 * bicycle matches.
 */
const MATCHES = ['exact', 'guarded', 'trimmed'] as const;

/**
 * Returns the key to look up a string for one kind of match. `trimmed` ignores leading and trailing
 * white space.
 */
function keyOf(match: (typeof MATCHES)[number], field: string, text: string): string {
  return `${match} ${field} ${match === 'trimmed' ? text.trim() : text}`;
}

/**
 * Returns the lookup keys of a bicycle's name: for the name itself, for its text in exported files,
 * and for the text that `--excel` writes.
 */
function keysOfName(field: string, name: unknown): Set<string> {
  const isName = typeof name === 'string' || typeof name === 'number';
  // A bicycle without a name must not match a row with the text "null".
  if (!isName && writtenNumber(name) === undefined) return new Set();
  const exported = cellText(name);
  const texts = [textOf(name) ?? '', exported];
  const guarded = guardFormula(exported);
  return new Set([
    ...texts.map((text) => keyOf('exact', field, text)),
    keyOf('guarded', field, guarded),
    ...[...texts, guarded].map((text) => keyOf('trimmed', field, text)),
  ]);
}

/**
 * Finds the bicycle for each row. Returns a UUID for each row that matches one bicycle. Returns a
 * message for each row that matches no bicycle or several bicycles.
 */
async function findAmong(
  bicycles: AsyncIterable<readonly Partial<Bicycle>[]>,
  rows: readonly NamedRow[],
) {
  const wanted = new Map<string, Set<string>>();
  for (const { names } of rows) {
    for (const { field, text } of names) {
      for (const match of MATCHES) wanted.set(keyOf(match, field, text), new Set());
    }
  }
  for await (const batch of bicycles) {
    for (const bicycle of batch) {
      const uuid = bicycleUuid(bicycle);
      if (uuid === undefined) continue;
      for (const field of NAMING_FIELDS) {
        for (const key of keysOfName(field, bicycle[field])) wanted.get(key)?.add(uuid);
      }
    }
  }
  const uuidsOf = ({ field, text }: Name): string[] => {
    const found = MATCHES.map(
      (match) => wanted.get(keyOf(match, field, text)) ?? new Set<string>(),
    );
    return [...(found.find(({ size }) => size > 0) ?? [])];
  };
  const found = new Map<NamedRow, string>();
  const wrong: string[] = [];
  for (const row of rows) {
    const matches = row.names.map(uuidsOf);
    const [uuid, ...others] = (matches[0] ?? []).filter((one) =>
      matches.every((uuids) => uuids.includes(one)),
    );
    if (uuid !== undefined && others.length === 0) found.set(row, uuid);
    else wrong.push(`${describePlace(row.place)}: ${describeNames(row.names, matches)}`);
  }
  return { found, wrong };
}

/**
 * Finds the bicycles in an up-to-date mirror. Returns undefined when there is no such mirror or
 * when a row does not match exactly one bicycle. The caller then asks the service.
 */
async function findInMirror(
  context: Context,
  rows: readonly NamedRow[],
  organization: string | undefined,
) {
  return withCurrentMirror(context, async (mirror) => {
    if (!(await holdsAll(mirror, organization, async () => (await context.token()).get())))
      return undefined;
    const { dialect } = mirror.database;
    const names = rows.flatMap((row) => row.names);
    // The query compares only the fields that the rows use. With conditions on other fields, the
    // database would read the whole table.
    const fields = NAMING_FIELDS.filter((field) => names.some((name) => name.field === field));
    const texts = fields.map((field) =>
      names.filter((name) => name.field === field).flatMap(({ text }) => [text, text.trim()]),
    );
    const isNamed = fields.map((field) => `${field} IN (${dialect.texts})`).join(' OR ');
    const [scope, owner] =
      organization === undefined ? ['', []] : [' AND followed = ?', [organization]];
    const sql = `SELECT uuid, ${NAMING_FIELDS.join(', ')} FROM bicycles WHERE gone IS NULL AND (${isNamed})${scope}`;
    const values = [...texts.map((each) => JSON.stringify(each)), ...owner];
    const { found, wrong } = await findAmong(mirror.database.each(sql, values), rows);
    return wrong.length === 0 ? { found, wrong } : undefined;
  });
}

async function* listed(context: Context): AsyncGenerator<readonly Bicycle[], void, undefined> {
  const list = {
    path: BICYCLE.listPath,
    query: await scopeOf(context),
    subject: 'the list of bicycles',
  };
  for await (const { items } of (await context.client()).pages<Bicycle>(list))
    yield items.map(({ value }) => value);
}

/**
 * Returns the UUID of each row. Throws a FleetError of kind `usage` that lists the rows which match
 * no bicycle or several bicycles.
 */
export async function findNamedRows(
  context: Context,
  rows: readonly NamedRow[],
): Promise<Map<NamedRow, string>> {
  const organization = await chosenOrganization(context);
  const { found, wrong } =
    (await findInMirror(context, rows, organization)) ?? (await findAmong(listed(context), rows));
  if (wrong.length === 0) return found;
  const more = wrong.length > MOST_LISTED ? `, and ${wrong.length - MOST_LISTED} more` : '';
  const verb = wrong.length === 1 ? 'does' : 'do';
  throw usageError(
    `${wrong.length} of ${count(rows.length, 'row')} without a UUID ${verb} not match exactly one bicycle; nothing was sent`,
    wrong.slice(0, MOST_LISTED).join('; ') + more,
  );
}

/**
 * Describes which bicycles the names of a row match: `"S7" is 0b9f2c1e-…, but "Emmy" is not a
 * bicycle`.
 */
function describeNames(names: readonly Name[], matches: readonly (readonly string[])[]): string {
  const parts = names.map(({ text }, index) => {
    const uuids = matches[index] ?? [];
    const found = uuids.length === 0 ? 'not a bicycle' : uuids.join(' and ');
    const hint = uuids.length === 0 && isScientificNumber(text) ? ` (${TEXT_FORMAT_HINT})` : '';
    return `"${clean(shorten(text))}" is ${found}${hint}`;
  });
  return parts.join(', but ');
}

/** Whether the text is Excel's short form of a long number: `3.57E+14`, `3,57E+14`. */
export function isScientificNumber(text: string): boolean {
  return /^\s*\d(?:[.,]\d+)?E\+\d+\s*$/i.test(text);
}

/** The hint for a number that Excel shortened. */
export const TEXT_FORMAT_HINT =
  'Excel shortened a long number; format the column as text and enter the number again';
