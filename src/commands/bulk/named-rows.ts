// Rows of an input that name their bicycles by name, serial number or bleid: all are looked up before anything is sent, in a current mirror or in one reading of the list.

import { BICYCLE, type Bicycle, bicycleUuid } from '../../api/bicycle.js';
import type { Context } from '../../context.js';
import { usageError } from '../../errors.js';
import { clean } from '../../terminal/clean.js';
import { holdsAll, withCurrentMirror } from '../current.js';
import { shorten } from '../list/meant.js';
import { chosenOrganization } from '../organization.js';

/** The columns that name a bicycle, the surest first. */
export const NAMING_FIELDS = ['serial_number', 'bleid', 'name'] as const;

/** A row without a UUID. */
export interface NamedRow {
  line: number;
  field: (typeof NAMING_FIELDS)[number];
  text: string;
  fields: { [field: string]: unknown };
}

/** How many of the rows that mean none or several an error names. */
const MOST_LISTED = 20;

/** The row's own name for its bicycle; undefined where it has none. */
export function namedRow(fields: { [field: string]: unknown }, line: number): NamedRow | undefined {
  for (const field of NAMING_FIELDS) {
    const text = fields[field];
    if (typeof text === 'string' && text.trim() !== '') return { line, field, text: text.trim(), fields };
  }
  return undefined;
}

/** The UUIDs of each name of a field. */
type Wanted = Map<string, Set<string>>;

const keyOf = ({ field, text }: Pick<NamedRow, 'field' | 'text'>) => `${field} ${text}`;

/** Looks the rows up in a current mirror; undefined where there is none, or it does not know exactly one for each: the service decides then. */
async function remember(
  context: Context,
  rows: readonly NamedRow[],
  organization: string | undefined,
): Promise<Wanted | undefined> {
  return withCurrentMirror(context, async (mirror) => {
    if (!(await holdsAll(mirror, organization, async () => (await context.token()).get()))) return undefined;
    const wanted: Wanted = new Map();
    const isScoped = organization !== undefined && mirror.organizations.length > 1;
    for (const row of rows) {
      const sql = `SELECT uuid FROM bicycles WHERE ${row.field} = ? AND gone IS NULL${isScoped ? ' AND followed = ?' : ''}`;
      const found = await mirror.database.all(sql, isScoped ? [row.text, organization] : [row.text]);
      if (found.length !== 1) return undefined;
      wanted.set(keyOf(row), new Set([String(found[0]?.['uuid']).toLowerCase()]));
    }
    return wanted;
  });
}

async function readFromList(
  context: Context,
  rows: readonly NamedRow[],
  organization: string | undefined,
): Promise<Wanted> {
  const wanted: Wanted = new Map(rows.map((row) => [keyOf(row), new Set()]));
  const query = organization === undefined ? [] : [['organization', organization] as const];
  const client = await context.client();
  const request = { path: BICYCLE.listPath, query, subject: 'the list of bicycles' };
  for await (const { items } of client.pages<Bicycle>(request))
    for (const { value } of items) {
      const uuid = bicycleUuid(value);
      for (const field of NAMING_FIELDS) {
        const name = value[field];
        // A row that says "null" does not mean the one without a name.
        const isName = typeof name === 'string' || typeof name === 'number';
        if (uuid !== undefined && isName) wanted.get(keyOf({ field, text: String(name) }))?.add(uuid);
      }
    }
  return wanted;
}

/** The UUID of each row. Throws a FleetError of kind `usage` that lists every row that means no bicycle, or several. */
export async function findNamedRows(context: Context, rows: readonly NamedRow[]): Promise<Map<NamedRow, string>> {
  const organization = await chosenOrganization(context);
  const wanted = (await remember(context, rows, organization)) ?? (await readFromList(context, rows, organization));
  const found = new Map<NamedRow, string>();
  const wrong: string[] = [];
  for (const row of rows) {
    const uuids = [...(wanted.get(keyOf(row)) ?? [])];
    if (uuids.length === 1 && uuids[0] !== undefined) found.set(row, uuids[0]);
    else
      wrong.push(
        `line ${row.line}: "${clean(shorten(row.text))}" is ${uuids.length === 0 ? 'no bicycle' : uuids.join(' and ')}`,
      );
  }
  if (wrong.length === 0) return found;
  const more = wrong.length > MOST_LISTED ? `, and ${wrong.length - MOST_LISTED} more` : '';
  throw usageError(
    `${wrong.length} of ${rows.length} rows without a UUID were not found or match several bicycles; none of them was sent`,
    wrong.slice(0, MOST_LISTED).join('; ') + more,
  );
}
