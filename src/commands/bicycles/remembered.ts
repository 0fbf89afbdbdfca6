// Finds bicycles in a mirror: by UUID, the beginning of one, or an exact name, serial number or bleid.

import type { Bicycle } from '../../api/bicycle.js';
import { wholeUuid } from '../../api/links.js';
import type { Item } from '../../http/types.js';
import { readExact } from '../../json/exact.js';
import { parseJson } from '../../json/parse.js';
import type { Database, Value } from '../../mirror/database.js';
import { isPrefix } from '../shared/list/uuid-prefix.js';

/** More matches than an error lists. */
const MOST_MATCHES = 100;

/** An index holds these fields alone: whole rows are many times as much to read. */
const NAMED =
  'uuid IN (SELECT uuid FROM bicycles WHERE name = ? OR serial_number = ? OR bleid = ?)';
const IN_RANGE = '(uuid >= ? AND uuid < ?)';

/**
 * Every bicycle that the text may mean, by its UUID in lower case, as the look-up in the list has it: of an organization, or of all of them, also
 * those that left the list.
 */
export async function findRemembered(
  database: Database,
  text: string,
  organization?: string,
  withGone = false,
): Promise<Map<string, Item<Bicycle>>> {
  const prefix = (wholeUuid(text) ?? text).toLowerCase();
  const among = withGone ? '' : ' AND gone IS NULL';
  const [scope, owner] =
    organization === undefined ? ['', []] : [' AND followed = ?', [organization]];
  const select = async (condition: string, values: readonly Value[]): Promise<Item<Bicycle>[]> => {
    const statement = `SELECT raw FROM bicycles WHERE ${condition}${among}${scope} LIMIT ${MOST_MATCHES}`;
    const rows = await database.all(statement, [...values, ...owner]);
    return rows.map(({ raw }) => ({ json: String(raw), value: parseJson(String(raw)) as Bicycle }));
  };
  // A condition each: of two joined by OR, a database would not use every index.
  const named = await select(NAMED, [text, text, text]);
  // Behind every digit and the dash comes g.
  const begun = isPrefix(prefix) ? await select(IN_RANGE, [prefix, `${prefix}g`]) : [];
  return new Map([...named, ...begun].map((item) => [String(item.value.uuid).toLowerCase(), item]));
}

/** A side of a recorded change, numbers exactly; null where there was none. */
export function readSide(json: Value | undefined): unknown {
  return typeof json === 'string' ? readExact(json) : null;
}
