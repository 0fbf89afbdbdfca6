// Rows of an input that name their bicycles by name, serial number or bleid: all are looked up before anything is sent, in a current mirror or in one reading of the list.

import { BICYCLE, type Bicycle, bicycleUuid } from '../../../api/bicycle.js';
import type { Context } from '../../../context.js';
import { usageError } from '../../../errors.js';
import { clean } from '../../../terminal/clean.js';
import { holdsAll, withCurrentMirror } from '../current-mirror.js';
import { shorten } from '../list/pick-one.js';
import { chosenOrganization, scopeOf } from '../organization.js';

/** The columns that name a bicycle, the surest first. */
export const NAMING_FIELDS = ['serial_number', 'bleid', 'name'] as const;

interface Name {
  field: (typeof NAMING_FIELDS)[number];
  text: string;
}

/** A row without a UUID. */
export interface NamedRow {
  line: number;
  /** All of them mean its bicycle; the surest first. */
  names: readonly Name[];
}

/** How many of the rows that mean none or several an error names. */
const MOST_LISTED = 20;

/** The row's own names for its bicycle. */
export function namesOf(fields: { [field: string]: unknown }): Name[] {
  return NAMING_FIELDS.flatMap((field) => {
    const text = fields[field];
    return typeof text === 'string' && text.trim() !== '' ? [{ field, text: text.trim() }] : [];
  });
}

const keyOf = ({ field, text }: Name) => `${field} ${text}`;

/** The UUID of each row, and what is wrong with those that mean no bicycle of these, or several. */
async function findAmong(
  bicycles: AsyncIterable<readonly Partial<Bicycle>[]>,
  rows: readonly NamedRow[],
) {
  const wanted = new Map(
    rows.flatMap(({ names }) => names.map((name) => [keyOf(name), new Set<string>()])),
  );
  for await (const batch of bicycles)
    for (const bicycle of batch)
      for (const field of NAMING_FIELDS) {
        const [uuid, name] = [bicycleUuid(bicycle), bicycle[field]];
        // A row that says "null" does not mean the one without a name.
        const isName = typeof name === 'string' || typeof name === 'number';
        if (uuid !== undefined && isName)
          wanted.get(keyOf({ field, text: String(name) }))?.add(uuid);
      }
  const found = new Map<NamedRow, string>();
  const wrong: string[] = [];
  for (const row of rows) {
    const meant = row.names.map((name) => [...(wanted.get(keyOf(name)) ?? [])]);
    const [uuid, ...others] = (meant[0] ?? []).filter((one) =>
      meant.every((uuids) => uuids.includes(one)),
    );
    if (uuid !== undefined && others.length === 0) found.set(row, uuid);
    else wrong.push(`line ${row.line}: ${describeNames(row.names, meant)}`);
  }
  return { found, wrong };
}

/** Looks the rows up in a current mirror; undefined where there is none, or it does not know exactly one for each: the service decides then. */
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
    // A condition on a field that no row names would have every row read.
    const fields = NAMING_FIELDS.filter((field) => names.some((name) => name.field === field));
    const texts = fields.map((field) =>
      names.filter((name) => name.field === field).map(({ text }) => text),
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

/** The UUID of each row. Throws a FleetError of kind `usage` that lists every row that means no bicycle, or several. */
export async function findNamedRows(
  context: Context,
  rows: readonly NamedRow[],
): Promise<Map<NamedRow, string>> {
  const organization = await chosenOrganization(context);
  const { found, wrong } =
    (await findInMirror(context, rows, organization)) ?? (await findAmong(listed(context), rows));
  if (wrong.length === 0) return found;
  const more = wrong.length > MOST_LISTED ? `, and ${wrong.length - MOST_LISTED} more` : '';
  throw usageError(
    `${wrong.length} of ${rows.length} rows without a UUID were not found or match several bicycles; none of them was sent`,
    wrong.slice(0, MOST_LISTED).join('; ') + more,
  );
}

/** `"S7" is 0b9f2c1e-…, but "Emmy" is no bicycle`. */
function describeNames(names: readonly Name[], meant: readonly (readonly string[])[]): string {
  const parts = names.map(({ text }, index) => {
    const uuids = meant[index] ?? [];
    return `"${clean(shorten(text))}" is ${uuids.length === 0 ? 'no bicycle' : uuids.join(' and ')}`;
  });
  return parts.join(', but ');
}
