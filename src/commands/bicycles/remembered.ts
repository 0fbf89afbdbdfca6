// Finds bicycles in a mirror by a full or partial UUID, or by a name, serial number or bleid.

import type { Bicycle } from '../../api/bicycle.js';
import { wholeUuid } from '../../api/links.js';
import type { Item } from '../../http/types.js';
import { readExact } from '../../json/exact.js';
import { parseJson } from '../../json/parse.js';
import { isPrefix } from '../../list/uuid-prefix.js';
import type { Database, Row, Value } from '../../mirror/database.js';
import {
  CERTAIN_PREFIX_DIGITS,
  formsOf,
  MATCH_KINDS,
  type Matches,
  matchKindOf,
  NAMING,
  openMatches,
} from './matching.js';

/** The maximum number of matches that are read. An error lists fewer matches than this. */
const MOST_MATCHES = 100;

const CONTAINING = NAMING.map((field) => `lower(${field}) LIKE ? ESCAPE '!'`).join(' OR ');
const IN_RANGE = '(uuid >= ? AND uuid < ?)';

/**
 * Returns every bicycle that the text may refer to, in the same format as `lookUp`: a map whose
 * keys are lower-case UUIDs. Searches one organization or all of them. With `withGone`, also finds
 * bicycles that left the list.
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
  const forms = formsOf(text);
  const isNamed = NAMING.map((field) => `${field} IN (${placeholders(forms)})`).join(' OR ');
  // There is one query for names and one for UUIDs. A database would not use all indexes for a
  // single query with OR. The index contains all fields of the inner query, so the query does not
  // need to read whole rows.
  const named = await select(
    `uuid IN (SELECT uuid FROM bicycles WHERE ${isNamed})`,
    NAMING.flatMap(() => forms),
  );
  // The end of the UUID range with this prefix: "g" sorts after all hexadecimal digits and after
  // the dash.
  const begun = isPrefix(prefix) ? await select(IN_RANGE, [prefix, `${prefix}g`]) : [];
  const exact = [...named, ...begun].map(
    (item) => [String(item.value.uuid).toLowerCase(), item] as const,
  );
  const isCertain = named.length > 0 || prefix.length >= CERTAIN_PREFIX_DIGITS;
  if (exact.length > 0 && isCertain) return { kind: 'exact', found: new Map(exact) };
  const matches = openMatches(text);
  for (const item of begun) matches.addByPrefix(item);
  // The query has no limit, because its pattern also finds bicycles that do not match the search
  // text. A limit could cut off the second of two matches, and an ambiguous search would then seem
  // to have one match.
  const rows = await database.all(
    `SELECT uuid, name, serial_number, bleid FROM bicycles WHERE (${CONTAINING})${among}${scope}`,
    [...NAMING.map(() => likePattern(text)), ...owner],
  );
  const uuids = closestOf(rows, text).slice(0, MOST_MATCHES);
  if (uuids.length > 0) {
    const items = await select(`uuid IN (${placeholders(uuids)})`, uuids);
    for (const item of items) matches.add(item);
  }
  return matches.closest();
}

function placeholders(values: readonly unknown[]): string {
  return values.map(() => '?').join(', ');
}

/** Returns the UUIDs of the matching rows, closest match first. */
function closestOf(rows: readonly Row[], text: string): string[] {
  const kinds = rows.map((row) => ({
    uuid: String(row['uuid']),
    kind: matchKindOf(row as Bicycle, text),
  }));
  return MATCH_KINDS.flatMap((kind) =>
    kinds.filter((each) => each.kind === kind).map(({ uuid }) => uuid),
  );
}

/**
 * Matches runs of ASCII characters. Only these are compared, because databases convert other
 * characters to lower case in different ways.
 */
const ASCII_PARTS = /[\x20-\x7e]+/g;

/**
 * Returns a LIKE pattern that finds every name that contains the text, in any letter case. The
 * pattern contains only the longest ASCII part of the text, because SQLite ignores case only for
 * ASCII characters.
 */
function likePattern(text: string): string {
  const parts = text.trim().normalize('NFC').toLowerCase().match(ASCII_PARTS) ?? [''];
  const longest = parts.reduce((long, part) => (part.length > long.length ? part : long));
  return `%${longest.replace(/[!%_]/g, '!$&')}%`;
}

/**
 * Parses a value of a recorded change. Numbers keep their digits. Returns null for an empty value.
 */
export function readSide(json: Value | undefined): unknown {
  return typeof json === 'string' ? readExact(json) : null;
}
