// Finds bicycles in a mirror: by UUID, the beginning of one, or an exact name, serial number or bleid.

import type { Bicycle } from '../../api/bicycle.js';
import { wholeUuid } from '../../api/links.js';
import type { Item } from '../../http/types.js';
import { readExact } from '../../json/exact.js';
import { parseJson } from '../../json/parse.js';
import type { Database, Value } from '../../mirror/database.js';
import { beginsWith } from '../shared/list/uuid-prefix.js';

/** More matches than an error lists. */
const MOST_MATCHES = 100;

/** An index holds these fields alone: whole rows are many times as much to read. */
const NAMED = 'uuid IN (SELECT uuid FROM bicycles WHERE name = ? OR serial_number = ? OR bleid = ?)';
const IN_RANGE = '(uuid >= ? AND uuid < ?)';

/** Behind every digit and the dash comes g. */
function rangeOf(prefix: string): [string, string] {
  return [prefix.toLowerCase(), `${prefix.toLowerCase()}g`];
}

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
  const typed = wholeUuid(text) ?? text;
  const among = withGone ? '' : ' AND gone IS NULL';
  const select = (condition: string, values: readonly Value[]) =>
    selectBicycles(database, condition + among, values, organization, `LIMIT ${MOST_MATCHES}`);
  // A condition each: of two joined by OR, a database would not use every index.
  const named = await select(NAMED, [text, text, text]);
  const begun = beginsWith(typed, typed) ? await select(IN_RANGE, rangeOf(typed)) : [];
  return new Map([...named, ...begun].map((item) => [String(item.value.uuid).toLowerCase(), item]));
}

async function selectBicycles(
  database: Database,
  where: string,
  values: readonly Value[],
  organization: string | undefined,
  rest: string,
): Promise<Item<Bicycle>[]> {
  const [scope, owner] = organization === undefined ? ['', []] : [' AND followed = ?', [organization]];
  const rows = await database.all(`SELECT raw FROM bicycles WHERE ${where}${scope} ${rest}`, [...values, ...owner]);
  return rows.map(({ raw }) => ({ json: String(raw), value: parseJson(String(raw)) as Bicycle }));
}

/** Bicycles whose UUID begins as typed, in lower case; those that changed last when nothing was typed. */
export function findBeginning(
  database: Database,
  typed: string,
  organization: string | undefined,
  most: number,
): Promise<Item<Bicycle>[]> {
  const order = typed === '' ? 'modified_utc DESC NULLS LAST' : 'uuid';
  const where = `gone IS NULL AND ${IN_RANGE}`;
  return selectBicycles(database, where, rangeOf(typed), organization, `ORDER BY ${order} LIMIT ${most}`);
}

/** A side of a recorded change, numbers exactly; null where there was none. */
export function readSide(json: Value | undefined): unknown {
  return typeof json === 'string' ? readExact(json) : null;
}
