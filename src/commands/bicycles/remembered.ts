// Finds bicycles in a mirror: by UUID, the beginning of one, or an exact name, serial number or bleid.

import type { Bicycle } from '../../api/bicycle.js';
import { wholeUuid } from '../../api/links.js';
import type { Item } from '../../http/types.js';
import { readExact } from '../../json/exact.js';
import { parseJson } from '../../json/parse.js';
import type { Database, Value } from '../../mirror/database.js';
import { isBeginning, SHORTEST_PREFIX_DIGITS } from '../shared/list/uuid-prefix.js';

export interface FindOptions {
  /** Only of this organization. */
  readonly organization?: string | undefined;
  /** Also those that left the list. */
  readonly withGone?: boolean;
}

/** More matches than an error lists. */
const MOST_MATCHES = 100;

/** Every bicycle that the text may mean, by its UUID in lower case, as `isMeant` of the list's look-up has it. */
export async function findRemembered(
  database: Database,
  text: string,
  { organization, withGone = false }: FindOptions,
): Promise<Map<string, Item<Bicycle>>> {
  const scope = `${withGone ? '' : ' AND gone IS NULL'}${organization === undefined ? '' : ' AND followed = ?'}`;
  const found = new Map<string, Item<Bicycle>>();
  // A condition each: of several joined by OR, a database would not use every index.
  for (const [condition, values] of conditionsOf(text)) {
    const sql = `SELECT uuid, raw FROM bicycles WHERE ${condition}${scope} LIMIT ${MOST_MATCHES}`;
    const rows = await database.all(sql, organization === undefined ? values : [...values, organization]);
    for (const row of rows) {
      const json = String(row['raw']);
      found.set(String(row['uuid']).toLowerCase(), { json, value: parseJson(json) as Bicycle });
    }
  }
  return found;
}

function conditionsOf(text: string): [condition: string, values: Value[]][] {
  const uuid = wholeUuid(text);
  if (uuid !== undefined) return [['uuid = ?', [uuid]]];
  // An index holds these fields alone: whole rows are many times as much to read.
  const named = 'uuid IN (SELECT uuid FROM bicycles WHERE name = ? OR serial_number = ? OR bleid = ?)';
  const conditions: [string, Value[]][] = [[named, [text, text, text]]];
  const prefix = text.toLowerCase();
  if (text.length < SHORTEST_PREFIX_DIGITS || !isBeginning(text)) return conditions;
  // Behind every digit and the dash comes g.
  conditions.push(['(uuid >= ? AND uuid < ?)', [prefix, `${prefix}g`]]);
  return conditions;
}

/** Bicycles whose UUID begins with this, in lower case; those that changed last where it is empty. */
export async function findBeginning(
  database: Database,
  start: string,
  organization: string | undefined,
  most: number,
): Promise<Item<Bicycle>[]> {
  const scope = organization === undefined ? '' : ' AND followed = ?';
  const order = start === '' ? 'modified_utc DESC NULLS LAST' : 'uuid';
  const rows = await database.all(
    `SELECT raw FROM bicycles WHERE gone IS NULL AND uuid >= ? AND uuid < ?${scope} ORDER BY ${order} LIMIT ?`,
    [start, `${start}g`, ...(organization === undefined ? [] : [organization]), most],
  );
  return rows.map(({ raw }) => ({ json: String(raw), value: parseJson(String(raw)) as Bicycle }));
}

/** A side of a recorded change, numbers exactly; null where there was none. */
export function readSide(json: Value | undefined): unknown {
  return typeof json === 'string' ? readExact(json) : null;
}
