// Looks up the bicycles of rows that name them by name, serial number or bleid. Looks up all rows
// before anything is sent, in a current mirror or in the list of the service, which is read once.

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

/** A row without a UUID. */
export interface NamedRow {
  place: RowPlace;
  /**
   * The names in a row. All of them must belong to the same bicycle. The most reliable one is
   * first.
   */
  names: readonly Name[];
}

/** How many of the rows without a bicycle an error lists. */
const MOST_LISTED = 20;

/** Returns the names that a row has for its bicycle, most reliable first. */
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
 * The ways in which a text of an input can match a name. A later way is used only when no earlier
 * one matches.
 */
const MATCHES = ['exact', 'guarded', 'trimmed'] as const;

/**
 * The key of a text that is looked up. White space at its ends counts, unless the text is trimmed.
 */
function keyOf(match: (typeof MATCHES)[number], field: string, text: string): string {
  return `${match} ${field} ${match === 'trimmed' ? text.trim() : text}`;
}

/**
 * Returns the keys of a bicycle's name: the name itself, its text in an exported file, and the text
 * that `--excel` writes for it.
 */
function keysOfName(field: string, name: unknown): Set<string> {
  const isName = typeof name === 'string' || typeof name === 'number';
  // The text "null" in a row does not stand for a bicycle without a name.
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
 * Returns the UUID of each row, and a message for each row that matches no bicycle or more than
 * one.
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
 * Looks the rows up in a current mirror. Returns undefined when there is no such mirror, and when
 * it does not have exactly one bicycle for each row. The service is asked then.
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
    // A condition on a field that no row uses would read every row of the table.
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
 * Returns the UUID of each row. Throws a FleetError of kind `usage` that lists every row that matches
 * no bicycle, or several.
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

/** `"S7" is 0b9f2c1e-…, but "Emmy" is not a bicycle`. */
function describeNames(names: readonly Name[], matches: readonly (readonly string[])[]): string {
  const parts = names.map(({ text }, index) => {
    const uuids = matches[index] ?? [];
    const found = uuids.length === 0 ? 'not a bicycle' : uuids.join(' and ');
    const hint = uuids.length === 0 && isScientificNumber(text) ? ` (${TEXT_FORMAT_HINT})` : '';
    return `"${clean(shorten(text))}" is ${found}${hint}`;
  });
  return parts.join(', but ');
}

/** Whether Excel wrote this text in place of a long number: `3.57E+14`, `3,57E+14`. */
export function isScientificNumber(text: string): boolean {
  return /^\s*\d(?:[.,]\d+)?E\+\d+\s*$/i.test(text);
}

/** What to do about such a number. */
export const TEXT_FORMAT_HINT =
  'Excel shortened a long number; format the column as text and enter the number again';
