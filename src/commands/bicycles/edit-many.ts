// `fleet bicycles edit -`: changes fields of many bicycles, as the rows of a table say, each at most once.

import { BICYCLE_FIELDS, NEW_BICYCLE_FIELDS } from '../../api/bicycle.js';
import { isLinkField } from '../../api/links.js';
import { unknownWord } from '../../cli/nearest.js';
import type { Context } from '../../context.js';
import { usageError } from '../../errors.js';
import { clean } from '../../terminal/clean.js';
import { ACTIONS } from '../../views/action.js';
import { badLine, parseRows, type TargetRow } from '../shared/input/targets.js';
import type { BicycleFields, Edit, EditOptions } from './edit-change.js';
import { carryOutEdits, EDITED_TEXTS, prepareEdit, readValue } from './edit-change.js';
import { isField, refuseFlags } from './fields.js';

/** Fields that only the service sets: a list that was exported and edited has them too. */
const READ_ONLY: readonly string[] = [
  ...BICYCLE_FIELDS.filter((field) => !isField(field)),
  'concurrency_version',
];

/** Edits the bicycles that stdin names. Throws what carryOut throws, and a FleetError of kind `usage` for rows that cannot be carried out. */
export async function editMany(context: Context, options: EditOptions): Promise<void> {
  const fields = [
    'name',
    'description',
    'serialNumber',
    'note',
    'model',
    'lock',
    'organization',
    'field',
  ] as const;
  refuseFlags(options, fields, 'is for one bicycle', 'rows have their fields in columns');
  const rows = new Map<string, TargetRow>();
  for await (const row of parseRows(context, 'surest')) {
    const first = rows.get(row.uuid);
    if (first !== undefined) throw badLine(row.line, `the same bicycle as in line ${first.line}`);
    rows.set(row.uuid, row);
  }
  const edits = await readEdits(context, [...rows.values()], options.concurrency);
  await carryOutEdits(
    context,
    edits,
    options,
    { shape: ACTIONS, isStdin: true },
    { isAlwaysAsked: true },
  );
}

/**
 * Reads the bicycles as they are now, and finds out what the rows change. Throws a FleetError of kind `usage` for what they cannot, and where no
 * column is one that an edit writes.
 */
async function readEdits(
  context: Context,
  rows: readonly TargetRow[],
  concurrency: number,
): Promise<Edit[]> {
  const columns = new Set(
    rows.flatMap(({ fields, namedBy }) => Object.keys(fields).filter((field) => field !== namedBy)),
  );
  columns.delete('uuid');
  const leftOut = [...columns].filter((column) => READ_ONLY.includes(column));
  if (rows.length > 0 && leftOut.length === columns.size)
    throw usageError(
      'stdin has no column that edit can change',
      `give each row fields such as ${NEW_BICYCLE_FIELDS.slice(0, 3).join(', ')}; a state changes by a transition: "fleet bicycles act - TRANSITION"`,
    );
  const client = await context.client();
  const edits: Edit[] = [];
  const left = rows.entries();
  const work = async () => {
    for (const [index, row] of left)
      edits[index] = await prepareEdit(context, client, row.uuid, (before) =>
        wantedFields(context, row, before),
      );
  };
  await Promise.all(Array.from({ length: concurrency }, work));
  if (leftOut.length > 0)
    await context.notice(
      `left out, since only the service sets them: ${clean(leftOut.join(', '))}`,
    );
  return edits;
}

/** What the row asks for, without what only the service sets. */
async function wantedFields(
  context: Context,
  { fields, namedBy, isRecord }: TargetRow,
  before: BicycleFields,
) {
  const wanted = new Map<string, unknown>();
  for (const [field, cell] of Object.entries(fields)) {
    if (field === namedBy || READ_ONLY.includes(field) || (isRecord && cell === null)) continue;
    if (!EDITED_TEXTS.includes(field) && !Object.hasOwn(before, field))
      throw unknownWord('column', field, EDITED_TEXTS);
    // Only cells of CSV have no type of their own.
    const isTyped = typeof cell !== 'string' || (!isRecord && !isLinkField(field));
    wanted.set(field, isTyped ? cell : await readValue(context, field, cell, before[field]));
  }
  return Object.fromEntries(wanted);
}
