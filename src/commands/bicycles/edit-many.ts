// `fleet bicycles edit -`: changes fields of many bicycles, as the rows of a table say, each at most once.

import { BICYCLE_FIELDS, NEW_BICYCLE_FIELDS } from '../../api/bicycle.js';
import { isLinkField } from '../../api/links.js';
import { unknownWord } from '../../cli/nearest.js';
import type { Context } from '../../context.js';
import { usageError } from '../../errors.js';
import { clean } from '../../terminal/clean.js';
import { ACTIONS } from '../../views/action.js';
import { badLine, parseRows, type TargetRow } from '../shared/bulk/targets.js';
import {
  type BicycleFields,
  carryOutEdits,
  EDITED_TEXTS,
  type Edit,
  type EditOptions,
  prepareEdit,
  readValue,
} from './edit-change.js';
import { isField, refuseFlags } from './fields.js';

/** Fields that only the service sets: a list that was exported and edited has them too. */
const READ_ONLY: readonly string[] = [...BICYCLE_FIELDS.filter((field) => !isField(field)), 'concurrency_version'];

/** Edits the bicycles that stdin names. Throws what carryOut throws, and a FleetError of kind `usage` for rows that cannot be carried out. */
export async function editMany(context: Context, options: EditOptions): Promise<void> {
  const fields = ['name', 'description', 'serialNumber', 'note', 'model', 'lock', 'organization', 'field'] as const;
  refuseFlags(options, fields, 'is for one bicycle', 'rows have their fields in columns');
  const rows: TargetRow[] = [];
  for await (const row of parseRows(context, 'surest')) rows.push(row);
  refuseWithoutFields(rows);
  const edits = await readEdits(context, rows, options.concurrency);
  await carryOutEdits(context, edits, options, { shape: ACTIONS, isStdin: true }, { isAlwaysAsked: true });
}

/** Refuses rows without a column that an edit writes: they would change nothing, whatever they say. */
function refuseWithoutFields(rows: readonly TargetRow[]): void {
  const columns = new Set(
    rows.flatMap(({ fields, namedBy }) => Object.keys(fields).filter((field) => field !== namedBy && field !== 'uuid')),
  );
  if (rows.length === 0 || [...columns].some((column) => !READ_ONLY.includes(column))) return;
  throw usageError(
    columns.size === 0
      ? 'stdin has no column that edit can change'
      : `stdin has no column that edit can change: only the service sets ${clean([...columns].join(', '))}`,
    columns.has('state')
      ? 'a state changes by a transition: "fleet bicycles act - TRANSITION"'
      : `give each row fields to change, such as ${NEW_BICYCLE_FIELDS.slice(0, 3).join(', ')}`,
  );
}

/** Reads the bicycles as they are now, and finds out what the rows change. Throws a FleetError of kind `usage` for what they cannot. */
async function readEdits(context: Context, rows: readonly TargetRow[], concurrency: number): Promise<Edit[]> {
  const lines = new Map<string, number>();
  for (const { uuid, line } of rows) {
    const first = lines.get(uuid);
    if (first !== undefined) throw badLine(line, `the same bicycle as in line ${first}`);
    lines.set(uuid, line);
  }
  const leftOut = new Set<string>();
  const edits: Edit[] = [];
  const left = [...rows.entries()];
  const work = async () => {
    for (let next = left.shift(); next !== undefined; next = left.shift()) {
      const [index, row] = next;
      edits[index] = await prepareEdit(context, row.uuid, (before) => wantedFields(context, row, before, leftOut));
    }
  };
  await Promise.all(Array.from({ length: concurrency }, work));
  if (leftOut.size > 0)
    await context.notice(`left out, since only the service sets them: ${clean([...leftOut].join(', '))}`);
  return edits;
}

/** What the row asks for; columns that an edit does not write are added to those that are left out. */
async function wantedFields(
  context: Context,
  { fields, namedBy, isRecord }: TargetRow,
  before: BicycleFields,
  leftOut: Set<string>,
) {
  const wanted = new Map<string, unknown>();
  for (const [field, cell] of Object.entries(fields)) {
    if (field === namedBy || field === 'uuid' || (isRecord && cell === null)) continue;
    if (READ_ONLY.includes(field)) leftOut.add(field);
    else if (!EDITED_TEXTS.includes(field) && !Object.hasOwn(before, field))
      throw unknownWord('column', field, EDITED_TEXTS);
    // Only cells of CSV have no type of their own.
    else if (typeof cell !== 'string' || (!isRecord && !isLinkField(field))) wanted.set(field, cell);
    else wanted.set(field, await readValue(context, field, cell, before[field]));
  }
  return Object.fromEntries(wanted);
}
