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
  const found = new Map<string, Item<Bicycle>>();
  // A condition each: of several joined by OR, a database would not use every index.
  for (const [condition, values] of conditionsOf(text)) {
    const where = `${condition}${withGone ? '' : ' AND gone IS NULL'}`;
    const items = await select(database, where, values, organization, `LIMIT ${MOST_MATCHES}`);
    for (const item of items) found.set(String(item.value.uuid).toLowerCase(), item);
  }
  return found;
}

async function select(
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

function conditionsOf(text: string): [condition: string, values: Value[]][] {
  const uuid = wholeUuid(text);
  if (uuid !== undefined) return [['uuid = ?', [uuid]]];
  // An index holds these fields alone: whole rows are many times as much to read.
  const named = 'uuid IN (SELECT uuid FROM bicycles WHERE name = ? OR serial_number = ? OR bleid = ?)';
  const conditions: [string, Value[]][] = [[named, [text, text, text]]];
  return beginsWith(text, text) ? [...conditions, [IN_RANGE, rangeOf(text.toLowerCase())]] : conditions;
}

const IN_RANGE = '(uuid >= ? AND uuid < ?)';

/** Behind every digit and the dash comes g. */
function rangeOf(prefix: string): Value[] {
  return [prefix, `${prefix}g`];
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
  return select(database, where, rangeOf(typed), organization, `ORDER BY ${order} LIMIT ${most}`);
}

/** A side of a recorded change, numbers exactly; null where there was none. */
export function readSide(json: Value | undefined): unknown {
  return typeof json === 'string' ? readExact(json) : null;
}
