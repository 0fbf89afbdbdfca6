// Rows of an input that name their bicycles by name, serial number or bleid: all are looked up in one reading of the list before anything is sent.

import { BICYCLE, type Bicycle, bicycleUuid } from '../../api/bicycle.js';
import type { Context } from '../../context.js';
import { usageError } from '../../errors.js';
import { clean } from '../../terminal/clean.js';
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

/** The UUID of each row. Throws a FleetError of kind `usage` that lists every row that means no bicycle, or several. */
export async function findNamedRows(context: Context, rows: readonly NamedRow[]): Promise<Map<NamedRow, string>> {
  const wanted = new Map(rows.map(({ field, text }) => [`${field} ${text}`, new Set<string>()]));
  const organization = await chosenOrganization(context);
  const query = organization === undefined ? [] : [['organization', organization] as const];
  const client = await context.client();
  for await (const { items } of client.pages<Bicycle>({
    path: BICYCLE.listPath,
    query,
    subject: 'the list of bicycles',
  }))
    for (const { value } of items) {
      const uuid = bicycleUuid(value);
      for (const field of NAMING_FIELDS) {
        const name = value[field];
        // A row that says "null" does not mean the one without a name.
        const isName = typeof name === 'string' || typeof name === 'number';
        if (uuid !== undefined && isName) wanted.get(`${field} ${name}`)?.add(uuid);
      }
    }
  const found = new Map<NamedRow, string>();
  const wrong: string[] = [];
  for (const row of rows) {
    const uuids = [...(wanted.get(`${row.field} ${row.text}`) ?? [])];
    if (uuids.length === 1 && uuids[0] !== undefined) found.set(row, uuids[0]);
    else
      wrong.push(
        `line ${row.line}: "${clean(shorten(row.text))}" is ${uuids.length === 0 ? 'no bicycle' : uuids.join(' and ')}`,
      );
  }
  if (wrong.length === 0) return found;
  const more = wrong.length > MOST_LISTED ? `, and ${wrong.length - MOST_LISTED} more` : '';
  throw usageError(
    `${wrong.length} of ${rows.length} rows without a UUID name no bicycle or several; none of them was sent`,
    wrong.slice(0, MOST_LISTED).join('; ') + more,
  );
}
