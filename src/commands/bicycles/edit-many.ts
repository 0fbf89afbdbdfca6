// `fleet bicycles edit -`: changes fields of many bicycles, as the rows of a table say, each at most once.

import { BICYCLE_FIELDS, NEW_BICYCLE_FIELDS } from '../../api/bicycle.js';
import { isLinkField } from '../../api/links.js';
import { unknownWord } from '../../cli/nearest.js';
import type { Context } from '../../context.js';
import { usageError } from '../../errors.js';
import { readExact } from '../../json/exact.js';
import { clean } from '../../terminal/clean.js';
import { ACTIONS } from '../../views/action.js';
import { ID_DIGITS } from '../../views/bicycle.js';
import { typedField } from '../api/fields.js';
import { withNamesFound } from '../named/find.js';
import { carryOut } from '../shared/bulk/carry-out.js';
import type { Task } from '../shared/bulk/plan.js';
import { badLine, parseRows, type TargetRow } from '../shared/bulk/targets.js';
import { describe } from '../shared/list/pick-one.js';
import type { EditOptions } from './edit.js';
import { type BicycleFields, changeFor, type Edit, editTo, showValue } from './edit-change.js';
import { fetchBicycle } from './get.js';
import { isField, readFlags, refuseFlags } from './new-bicycles.js';

/** Fields that only the service sets: a list that was exported and edited has them too. */
const READ_ONLY: readonly string[] = [...BICYCLE_FIELDS.filter((field) => !isField(field)), 'concurrency_version'];

/** Changes of the table that a terminal shows. */
const CHANGES_SHOWN = 100;

/** Edits the bicycles that stdin names. Throws what carryOut throws, and a FleetError of kind `usage` for rows that cannot be carried out. */
export async function editMany(context: Context, options: EditOptions): Promise<void> {
  const fields = ['name', 'description', 'serialNumber', 'note', 'model', 'lock', 'organization', 'field'] as const;
  refuseFlags(options, fields, 'is for one bicycle', 'rows have their fields in columns');
  const rows: TargetRow[] = [];
  for await (const row of parseRows(context, 'surest')) rows.push(row);
  refuseWithoutFields(rows);
  const edits = await readEdits(context, rows, options.concurrency);
  await showChanges(context, edits);
  const byKey = new Map(edits.map((edit) => [edit.task.key, edit]));
  const editOf = ({ key }: Task) => byKey.get(key) as Edit;
  const change = changeFor(context, editOf, options.method);
  const tasks = edits.map(({ task }) => task);
  await carryOut(context, { change, tasks, isStdin: true, shape: ACTIONS }, options);
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
  const client = await context.client();
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
      const item = await fetchBicycle(context, client, row.uuid);
      const before = readExact(item.json) as BicycleFields;
      edits[index] = editTo(row.uuid, item, await wantedFields(context, row, before, leftOut));
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
    const isWritable = isField(field) || field === 'note';
    if (field === namedBy || field === 'uuid' || (isRecord && cell === null)) continue;
    if (READ_ONLY.includes(field)) leftOut.add(field);
    else if (!isWritable && !Object.hasOwn(before, field))
      throw unknownWord('column', field, [...NEW_BICYCLE_FIELDS, 'note']);
    else if (isRecord && cell === 'null') wanted.set(field, null);
    else if (typeof cell !== 'string' || cell === '' || cell === before[field]) wanted.set(field, cell);
    else if (isLinkField(field)) {
      const { baseUrl } = await context.client();
      wanted.set(field, readFlags(baseUrl, await withNamesFound(context, { [field]: cell }))[field]);
    }
    // A cell of CSV is of the type that the field has now.
    else if (isRecord && !isWritable && typeof before[field] !== 'string')
      wanted.set(field, typedField(field, cell).value);
    else wanted.set(field, cell);
  }
  return Object.fromEntries(wanted);
}

/** `BICYCLE FIELD OLD NEW`, a row a change, on stderr. */
async function showChanges(context: Context, edits: readonly Edit[]): Promise<void> {
  const idDigits = context.io.stderr.isTerminal ? ID_DIGITS : undefined;
  const changes = edits.flatMap(({ task, before, changed }) =>
    changed.map(([field, value]) => [
      clean(describe(task.uuid?.slice(0, idDigits), task.name)),
      clean(field),
      `${showValue(before[field])} -> ${showValue(value)}`,
    ]),
  );
  const same = edits.filter(({ changed }) => changed.length === 0).length;
  const { drawRows } = await import('../../terminal/report.js');
  const table = drawRows([['BICYCLE', 'FIELD', 'OLD -> NEW'], ...changes.slice(0, CHANGES_SHOWN)]);
  if (changes.length > 0) for (const line of table.trimEnd().split('\n')) await context.notice(line.trimEnd());
  if (changes.length > CHANGES_SHOWN)
    await context.notice(`and ${changes.length - CHANGES_SHOWN} more changes; --dry-run prints every request`);
  if (same > 0 && changes.length > 0) await context.notice(`${same} of ${edits.length} already have these values`);
}
