// `fleet bicycles edit -`: changes fields of many bicycles, as the rows of a table say, each at most once.

import { createHash } from 'node:crypto';
import { BICYCLE, BICYCLE_FIELDS, type Bicycle, NEW_BICYCLE_FIELDS } from '../../api/bicycle.js';
import { isLinkField } from '../../api/links.js';
import { unknownWord } from '../../cli/nearest.js';
import type { Context } from '../../context.js';
import { FleetError, usageError } from '../../errors.js';
import type { Client } from '../../http/client.js';
import type { HttpAnswer } from '../../http/types.js';
import { readExact, writeJson } from '../../json/exact.js';
import { clean } from '../../terminal/clean.js';
import { textOf } from '../../terminal/values.js';
import { ACTIONS } from '../../views/action.js';
import { ID_DIGITS } from '../../views/bicycle.js';
import { typedField } from '../api/fields.js';
import { carryOut } from '../bulk/carry-out.js';
import { describeBefore } from '../bulk/evidence.js';
import type { Change, Decide, Decision, Doubt, Task } from '../bulk/plan.js';
import { badLine, parseRows, type TargetRow } from '../bulk/targets.js';
import { describe } from '../list/meant.js';
import { withNamesFound } from '../named/find.js';
import type { EditMethod } from './choices.js';
import { type EditOptions, type Fields, findLeft, METHOD_NOT_SERVED, requestFor, showValue } from './edit.js';
import { readBicycle } from './get.js';
import { readFlags } from './new-bicycles.js';

/** A bicycle as it was read, and the fields that are to be other than they are. */
interface Edit {
  task: Task;
  wanted: Fields;
  before: Fields;
  changed: readonly (readonly [string, unknown])[];
}

/** Fields that only the service sets: a list that was exported and edited has them too. */
const READ_ONLY: readonly string[] = [
  ...BICYCLE_FIELDS.filter((field) => !(NEW_BICYCLE_FIELDS as readonly string[]).includes(field)),
  'concurrency_version',
];

/** Changes of the table that a terminal shows. */
const CHANGES_SHOWN = 100;

/** Edits the bicycles that stdin names. Throws what carryOut throws, and a FleetError of kind `usage` for rows that cannot be carried out. */
export async function editMany(context: Context, options: EditOptions): Promise<void> {
  for (const field of [
    'name',
    'description',
    'serialNumber',
    'note',
    'model',
    'lock',
    'organization',
    'field',
  ] as const)
    if (options[field] !== undefined)
      throw usageError(`--${field.replace('N', '-n')} is for one bicycle`, 'rows have their fields in columns');
  const rows: TargetRow[] = [];
  for await (const row of parseRows(context, 'surest')) rows.push(row);
  const edits = await readEdits(context, rows, options.concurrency);
  await showChanges(context, edits);
  const byKey = new Map(edits.map((edit) => [edit.task.key, edit]));
  const editOf = ({ key }: Task) => byKey.get(key) as Edit;
  await carryOut(
    context,
    {
      change: changeFor(context, editOf, options.method),
      tasks: edits.map(({ task }) => task),
      isStdin: true,
      shape: ACTIONS,
      identity: {},
    },
    options,
  );
}

function changeFor(context: Context, editOf: (task: Task) => Edit, asked: EditMethod | undefined): Change {
  let method = asked ?? 'PUT';
  return {
    resource: BICYCLE,
    verb: 'edit',
    command: 'edit',
    isCreation: false,
    isGrave: false,
    isDryRun: false,
    isAlwaysAsked: true,
    isNeedless: (task) => editOf(task).changed.length === 0,
    requestOf(task) {
      const { before, changed } = editOf(task);
      return requestFor(method, String(task.uuid), before, Object.fromEntries(changed));
    },
    mayTryOtherwise({ status }, request) {
      if (asked !== undefined || request.method !== 'PUT' || !METHOD_NOT_SERVED.includes(status)) return false;
      method = 'PATCH';
      return true;
    },
    findIgnored: (task, answer) => findIgnored(editOf(task), answer),
    lookUp: (client, doubts) => lookUpEdits(context, client, doubts, editOf),
  };
}

/** Observed: a service ignores some fields in some states. */
function findIgnored({ before, changed }: Edit, { text, status, trace }: HttpAnswer): FleetError | undefined {
  if (text.trim() === '') return undefined;
  const left = findLeft(changed, before, readExact(text) as Fields);
  return left.length === 0
    ? undefined
    : new FleetError('partial', `the service left as it was: ${left.join(', ')}`, { status, trace });
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
      const { json, value } = await readBicycle(context, client, row.uuid);
      edits[index] = await editFor(context, client, { row, value, before: readExact(json) as Fields, leftOut });
    }
  };
  await Promise.all(Array.from({ length: concurrency }, work));
  if (leftOut.size > 0)
    await context.notice(`left out, since only the service sets them: ${clean([...leftOut].join(', '))}`);
  return edits;
}

interface ReadRow {
  row: TargetRow;
  value: Bicycle;
  before: Fields;
  /** Takes the columns that an edit does not write. */
  leftOut: Set<string>;
}

async function editFor(context: Context, client: Client, { row, value, before, leftOut }: ReadRow): Promise<Edit> {
  const wanted = new Map<string, unknown>();
  for (const [field, cell] of Object.entries(row.fields)) {
    if (field === row.namedBy || field === 'uuid' || (row.isRecord && cell === null)) continue;
    if (READ_ONLY.includes(field)) leftOut.add(field);
    else if (
      field === 'note' ||
      Object.hasOwn(before, field) ||
      (NEW_BICYCLE_FIELDS as readonly string[]).includes(field)
    )
      wanted.set(
        field,
        await wantedValue(context, client, { field, cell, isRecord: row.isRecord, was: before[field] }),
      );
    else throw unknownWord('column', field, [...NEW_BICYCLE_FIELDS, 'note']);
  }
  const fields = Object.fromEntries(wanted);
  const changed = [...wanted].filter(([field, one]) => writeJson(one) !== writeJson(before[field]));
  const hash = createHash('sha256').update(writeJson(fields)).digest('hex').slice(0, 16);
  const name = textOf(value.name) ?? null;
  const task = { key: `${row.uuid}:${hash}`, uuid: row.uuid, name, before: describeBefore(value) };
  return { task, wanted: fields, before, changed };
}

interface GivenCell {
  field: string;
  cell: unknown;
  isRecord: boolean;
  was: unknown;
}

/** What a cell asks for: a link for a name, and a cell of CSV is of the type that the field has now. */
async function wantedValue(context: Context, client: Client, { field, cell, isRecord, was }: GivenCell) {
  if (isRecord && cell === 'null') return null;
  if (typeof cell !== 'string' || cell === was) return cell;
  if (isLinkField(field) && cell !== '')
    return readFlags(client.baseUrl, await withNamesFound(context, { [field]: cell }))[field];
  const isText = !isRecord || typeof was === 'string' || (NEW_BICYCLE_FIELDS as readonly string[]).includes(field);
  return isText || field === 'note' ? cell : typedField(field, cell).value;
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

/**
 * Reads the bicycles again, and decides edits of which no answer is known. Untouched: the version is the one that was read before. Done: it was
 * saved since and has all values that were asked for. Everything else is unknown.
 */
async function lookUpEdits(
  context: Context,
  client: Client,
  doubts: readonly Doubt[],
  editOf: (task: Task) => Edit,
): Promise<Decide> {
  const decided = new Map<Task, Decision>();
  for (const { task, entry } of doubts) {
    const now = readExact((await readBicycle(context, client, String(task.uuid))).json) as Fields;
    const { state, version } = describeBefore(now);
    const isSame = Object.entries(editOf(task).wanted).every(
      ([field, one]) => writeJson(one) === writeJson(now[field]),
    );
    const before = entry.sending.before?.version ?? null;
    if (before !== null && before === version) decided.set(task, { kind: 'untouched' });
    else if (isSame)
      decided.set(task, { kind: 'done', uuid: null, state, how: 'state', why: 'it has these values now' });
    else decided.set(task, { kind: 'unknown', state, why: 'it was saved since, and does not have these values' });
  }
  return () => decided;
}
