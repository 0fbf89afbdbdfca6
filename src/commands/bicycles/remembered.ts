// Finds bicycles in a mirror: by UUID, a prefix of one, or a name, serial number or bleid.

import type { Bicycle } from '../../api/bicycle.js';
import { wholeUuid } from '../../api/links.js';
import type { Item } from '../../http/types.js';
import { readExact } from '../../json/exact.js';
import { parseJson } from '../../json/parse.js';
import { isPrefix } from '../../list/uuid-prefix.js';
import type { Database, Value } from '../../mirror/database.js';
import { type Matches, openMatches } from './matching.js';

/** More matches than an error lists. */
const MOST_MATCHES = 100;

/** An index contains exactly these fields. Reading whole rows would be much slower. */
const NAMED =
  'uuid IN (SELECT uuid FROM bicycles WHERE name = ? OR serial_number = ? OR bleid = ?)';
const CONTAINING = ['name', 'serial_number', 'bleid']
  .map((field) => `lower(${field}) LIKE ? ESCAPE '!'`)
  .join(' OR ');
const IN_RANGE = '(uuid >= ? AND uuid < ?)';

/**
 * Returns every bicycle that the text may mean, by UUID in lower case, like the look-up at the
 * service. Searches one or all organizations; `withGone` includes bicycles that left the list.
 */
export async function findRemembered(
  database: Database,
  text: string,
  organization?: string,
  withGone = false,
): Promise<Matches> {
  const prefix = (wholeUuid(text) ?? text).toLowerCase();
  const among = withGone ? '' : ' AND gone IS NULL';
  const [scope, owner] =
    organization === undefined ? ['', []] : [' AND followed = ?', [organization]];
  const select = async (condition: string, values: readonly Value[]): Promise<Item<Bicycle>[]> => {
    const statement = `SELECT raw FROM bicycles WHERE (${condition})${among}${scope} LIMIT ${MOST_MATCHES}`;
    const rows = await database.all(statement, [...values, ...owner]);
    return rows.map(({ raw }) => ({ json: String(raw), value: parseJson(String(raw)) as Bicycle }));
  };
  // Two separate queries: with OR, a database would not use every index.
  const named = await select(NAMED, [text, text, text]);
  // "g" sorts after all hexadecimal digits and the dash.
  const begun = isPrefix(prefix) ? await select(IN_RANGE, [prefix, `${prefix}g`]) : [];
  const exact = [...named, ...begun].map(
    (item) => [String(item.value.uuid).toLowerCase(), item] as const,
  );
  if (exact.length > 0) return { kind: 'exact', found: new Map(exact) };
  const matches = openMatches(text);
  const parts = await select(
    CONTAINING,
    Array.from({ length: 3 }, () => likePattern(text)),
  );
  for (const item of parts) matches.add(item);
  return matches.closest();
}

/** Databases fold the case of other characters differently. */
const ASCII_PARTS = /[\x20-\x7e]+/g;

/**
 * Returns a pattern for LIKE that every name with the text matches, in any case. It has the longest
 * part of the text in ASCII, because SQLite folds the case of ASCII characters only.
 */
function likePattern(text: string): string {
  const parts = text.trim().toLowerCase().match(ASCII_PARTS) ?? [''];
  const longest = parts.reduce((long, part) => (part.length > long.length ? part : long));
  return `%${longest.replace(/[!%_]/g, '!$&')}%`;
}

/** Parses a value of a recorded change with exact numbers; null without a value. */
export function readSide(json: Value | undefined): unknown {
  return typeof json === 'string' ? readExact(json) : null;
}
