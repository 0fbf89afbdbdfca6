// The edit of a bicycle: builds its request, detects fields that the service ignored, and
// determines the outcome when the response was lost.

import { createHash } from 'node:crypto';
import { BICYCLE, NEW_BICYCLE_FIELDS, OPERATOR_FIELDS } from '../../api/bicycle.js';
import { carryOut } from '../../bulk/carry-out.js';
import { describeBefore } from '../../bulk/evidence.js';
import { quoteText } from '../../bulk/outcome.js';
import type {
  BulkChange,
  BulkPlan,
  DecidedDoubt,
  Doubt,
  StoredCheck,
  Task,
} from '../../bulk/plan.js';
import type { Context } from '../../context.js';
import { FleetError } from '../../errors.js';
import type { Client } from '../../http/client.js';
import type { HttpAnswer, HttpRequest } from '../../http/types.js';
import { readExact, writeJson } from '../../json/exact.js';
import { describe } from '../../list/pick-one.js';
import { HIDDEN } from '../../system/secrets.js';
import { clean } from '../../terminal/clean.js';
import { textOf } from '../../terminal/values.js';
import { ID_DIGITS } from '../../views/bicycle.js';
import { compareValue, isSameValue, showDifference } from './field-values.js';
import { isField } from './fields.js';
import type { EditOptions } from './flags.js';
import { fetchBicycle } from './get.js';
import type { EditMethod } from './methods-and-groups.js';

/** The fields of a bicycle as the service sent them. Numbers keep all their digits. */
export type BicycleFields = { readonly [field: string]: unknown };

/** A bicycle before the edit, and the fields to change. */
export interface Edit {
  task: Task;
  wanted: BicycleFields;
  before: BicycleFields;
  changed: readonly (readonly [string, unknown])[];
  /** The `concurrency_version` of the row in the file, or undefined when the row has none. */
  version?: unknown;
}

/** The name of an edit request in messages. */
export const SUBJECT = 'the edit';

/** The HTTP status of a service that has the URL but does not support the method. */
export const METHOD_NOT_SERVED = 405;

/**
 * Reads a bicycle and prepares an edit that sets the wanted fields. `asked` is the row of the input
 * file, unchanged. The journal key is a hash of this row. When there is no row, it is a hash of the
 * wanted fields.
 */
export async function prepareEdit(
  context: Context,
  client: Client,
  uuid: string,
  wantedOf: (before: BicycleFields) => BicycleFields | Promise<BicycleFields>,
  asked?: BicycleFields,
): Promise<Edit> {
  const { json, value } = await fetchBicycle(context, client, uuid);
  const before = readExact(json) as BicycleFields;
  const wanted = await wantedOf(before);
  const changed = Object.entries(wanted).filter(
    ([field, value]) => !isSameValue(field, value, before[field]),
  );
  const key = keyOfBody(uuid, writeJson(asked ?? wanted));
  const sides = changed.map(([field, after]) => ({
    before: `${field}: ${showValue(before[field])}`,
    after: `${field}: ${showValue(after)}`,
  }));
  const values = {
    before: sides.map((side) => side.before).join('; '),
    after: sides.map((side) => side.after).join('; '),
  };
  const name = textOf(value.name) ?? null;
  const fields = Object.fromEntries(
    changed.map(([field, after]) => [field, jsonOfChange(before[field], after)]),
  );
  const task = { key, uuid, name, before: describeBefore(value), values, fields };
  return { task, wanted, before, changed };
}

/** Returns the old and the new value as JSON strings, for the journal. */
function jsonOfChange(before: unknown, after: unknown): { before?: string; after: string } {
  const both = { after: writeJson(after) };
  return before === undefined ? both : { ...both, before: writeJson(before) };
}

/**
 * Returns the key of a change in a journal. It consists of `place` (the row number or the bicycle)
 * and a hash of the request's body.
 */
export function keyOfBody(place: string | number, body: string): string {
  return `${place}:${createHash('sha256').update(body).digest('hex').slice(0, 16)}`;
}

/** Shows the changes and carries out the edits. Throws the errors of `carryOut`. */
export async function carryOutEdits(
  context: Context,
  edits: readonly Edit[],
  options: EditOptions,
  plan: Omit<BulkPlan, 'change' | 'tasks'>,
  how: Pick<BulkChange, 'isAlwaysAsked' | 'explain'>,
): Promise<void> {
  await showChanges(context, edits);
  const byKey = new Map(edits.map((edit) => [edit.task.key, edit]));
  const editOf = ({ key }: Task) => byKey.get(key) as Edit;
  const asked = options.method;
  let method = asked ?? 'PUT';
  const change: BulkChange = {
    resource: BICYCLE,
    verb: 'edit',
    command: 'edit',
    ...how,
    planned: (task) => plannedEdit(editOf(task)),
    isUnchanged: (task) => editOf(task).changed.length === 0,
    requestOf: (task) => requestFor(method, editOf(task)),
    mayTryOtherwise({ status }, request) {
      if (asked !== undefined || request.method !== 'PUT' || status !== METHOD_NOT_SERVED)
        return false;
      method = 'PATCH';
      return true;
    },
    checkStored: (task, answer) => checkStored(editOf(task), answer),
    async checkBefore(client, task) {
      const edit = editOf(task);
      if (method === 'PUT') {
        const hidden = findHiddenText(edit);
        if (hidden !== undefined) return hidden;
      }
      const isChecked = (edit.before[VERSION_FIELD] ?? null) !== null;
      if (method !== 'PUT' || isChecked) return undefined;
      return findOtherChanges(context, client, edit);
    },
    lookUp: (client, doubts) => lookUpEdits(context, client, doubts, editOf),
  };
  await carryOut(context, { ...plan, change, tasks: edits.map(({ task }) => task) }, options);
}

/** Returns the old and the new values of the changed fields, for a plan file. */
function plannedEdit({ before, changed }: Edit) {
  return {
    observed: Object.fromEntries(changed.map(([field]) => [field, before[field] ?? null])),
    body: Object.fromEntries(changed),
  };
}

/** The maximum number of changes that are shown before the question. */
const CHANGES_SHOWN = 100;

/** Prints `BICYCLE FIELD OLD NEW` on stderr, one row for each change. */
async function showChanges({ io, notice }: Context, edits: readonly Edit[]): Promise<void> {
  const idDigits = io.stderr.isTerminal ? ID_DIGITS : undefined;
  const changes = edits.flatMap(({ task, before, changed }) =>
    changed.map(([field, value]) => [
      clean(describe(task.uuid?.slice(0, idDigits), task.name)),
      clean(field),
      showDifference(before[field], value),
    ]),
  );
  if (changes.length === 0) return;
  const { drawRows } = await import('../../terminal/report.js');
  const table = drawRows([['BICYCLE', 'FIELD', 'OLD -> NEW'], ...changes.slice(0, CHANGES_SHOWN)]);
  for (const line of table.trimEnd().split('\n')) await notice(line);
  if (changes.length > CHANGES_SHOWN)
    await notice(
      `and ${changes.length - CHANGES_SHOWN} more changes; --dry-run prints every request`,
    );
  const same = edits.filter(({ changed }) => changed.length === 0).length;
  if (same > 0)
    await notice(`${same} of ${edits.length} already have these values and do not change`);
}

/**
 * Returns the request of an edit. `PATCH` sends only the changed fields. `PUT` sends all writable
 * fields; the unchanged ones keep their current values. Both methods send a version: the version in
 * the row, or the current version when the row has none.
 */
function requestFor(method: EditMethod, { task, before, changed, version }: Edit): HttpRequest {
  // Assumed: an edit can write the same fields as a create request (section 4.2).
  const kept = method === 'PUT' ? Object.entries(before).filter(([field]) => isField(field)) : [];
  // Observed: without a version, the service does not detect concurrent edits.
  const sentVersion = version ?? before[VERSION_FIELD] ?? null;
  const body = {
    ...Object.fromEntries(kept),
    ...(sentVersion === null ? {} : { [VERSION_FIELD]: sentVersion }),
    ...Object.fromEntries(changed),
  };
  const uuid = String(task.uuid);
  return {
    method,
    path: BICYCLE.path(uuid),
    body: writeJson(body),
    subject: SUBJECT,
    shownBy: BICYCLE.shownBy(uuid),
  };
}

/**
 * Returns an error when a PUT would overwrite a secret in an unchanged field with `[hidden]`. fleet
 * replaces its secrets with `[hidden]` in all text that it reads. It therefore does not know the
 * original value and cannot send it.
 */
function findHiddenText({ task, before, changed }: Edit): FleetError | undefined {
  const kept = new Map(Object.entries(before).filter(([field]) => isField(field)));
  for (const [field] of changed) kept.delete(field);
  const [field] = [...kept].find(([, value]) => JSON.stringify(value)?.includes(HIDDEN)) ?? [];
  if (field === undefined) return undefined;
  return new FleetError(
    'partial',
    `the ${clean(field)} of ${describe(task.uuid ?? '', task.name)} contains a secret of this profile, which a PUT would overwrite with "${HIDDEN}"; nothing was sent`,
    { hint: 'to edit only the other fields, add --method PATCH' },
  );
}

/** The field with which the service detects concurrent edits. */
export const VERSION_FIELD = 'concurrency_version';

/** The fields that an edit can write. */
const WRITABLE_FIELDS: readonly string[] = [...NEW_BICYCLE_FIELDS, ...OPERATOR_FIELDS];

/**
 * Reads a bicycle again right before its PUT. If the service has no versions, the PUT would
 * overwrite changes that other users made since the preview. Returns an error that lists the
 * changes since the preview.
 */
async function findOtherChanges(
  context: Context,
  client: Client,
  { task, before, changed }: Edit,
): Promise<FleetError | undefined> {
  const { json } = await fetchBicycle(context, client, String(task.uuid));
  const now = readExact(json) as BicycleFields;
  const wanted = new Map(changed);
  const isOverwritten = (field: string) =>
    !isSameValue(field, before[field], now[field]) &&
    !(wanted.has(field) && isSameValue(field, wanted.get(field), now[field]));
  const fields = new Set([...WRITABLE_FIELDS, ...wanted.keys()]);
  const differences = [...fields]
    .filter((field) => field !== 'state' && isOverwritten(field))
    .map((field) => `${clean(field)} ${showDifference(before[field], now[field])}`);
  if (differences.length === 0) return undefined;
  const label = describe(task.uuid ?? '', task.name);
  return new FleetError(
    'partial',
    `${label} was changed by another user since it was read: ${differences.join(', ')}; nothing was sent`,
    { hint: 'check the bicycle, and run the command again' },
  );
}

/**
 * Compares the response fields with the fields that were sent. A field that is missing from the
 * response is treated as unchanged. Observed: the service ignores some fields in some states.
 */
function checkStored({ before, changed }: Edit, { text, status, trace }: HttpAnswer): StoredCheck {
  if (text.trim() === '') return {};
  const after = readExact(text) as BicycleFields;
  const ignored: string[] = [];
  const altered: string[] = [];
  const normalised: string[] = [];
  for (const [field, sent] of changed) {
    const stored = after[field];
    const form = compareValue(field, sent, stored);
    const name = clean(field);
    if (!Object.hasOwn(after, field)) ignored.push(`${name} (not in its answer)`);
    else if (form === 'normalised')
      normalised.push(`${name} ${showSent(sent)} as ${showSent(stored)}`);
    else if (form === 'same') continue;
    else if (isSameValue(field, stored, before[field]))
      ignored.push(`${name} (${showValue(stored)})`);
    else if (form === 'cut') altered.push(`${name} (cut to ${showSent(stored)})`);
    else altered.push(`${name} (stored as ${showSent(stored)})`);
  }
  const notice = `the service stored ${normalised.join(', ')}`;
  const notes = normalised.length === 0 ? {} : { notice };
  const left = [...ignored, ...altered];
  if (left.length === 0) return notes;
  const isPartial = left.length < changed.length;
  const nothing = altered.length === 0 ? 'nothing was changed; ' : '';
  const rest = isPartial ? 'the other fields were changed; ' : nothing;
  const hint = `${rest}some fields can be edited only in certain states, and some text fields have a maximum length`;
  const message =
    altered.length === 0
      ? `the service ignored the new values of: ${left.join(', ')}`
      : `the service did not store the values that were sent: ${left.join(', ')}`;
  return { ...notes, error: new FleetError('partial', message, { status, trace, hint }) };
}

function showSent(value: unknown): string {
  return typeof value === 'string' ? quoteText(value) : showValue(value);
}

function showValue(value: unknown): string {
  const text = textOf(value);
  if (text === '') return '(empty)';
  return text === undefined ? '(none)' : clean(text.slice(0, LONGEST_VALUE_CHARACTERS));
}

/** Longer values are shortened in error messages. */
const LONGEST_VALUE_CHARACTERS = 200;

/**
 * Reads the bicycles again to determine the outcome of edits whose response was lost.
 *
 * When the version is unchanged, the edit was not carried out. When the version is newer and the
 * bicycle has all requested values, the edit was carried out. Otherwise the outcome is unknown.
 */
async function lookUpEdits(
  context: Context,
  client: Client,
  doubts: readonly Doubt[],
  editOf: (task: Task) => Edit,
): Promise<DecidedDoubt[]> {
  const decided: DecidedDoubt[] = [];
  for (const doubt of doubts) {
    const left = await prepareEdit(
      context,
      client,
      String(doubt.task.uuid),
      () => editOf(doubt.task).wanted,
    );
    const { state, version } = describeBefore(left.before);
    const before = doubt.entry.sending.before?.version ?? null;
    if (before !== null && before === version) decided.push({ ...doubt, kind: 'untouched' });
    else if (left.changed.length === 0)
      decided.push({ ...doubt, kind: 'done', state, how: 'state', why: 'it has these values now' });
    else
      decided.push({
        ...doubt,
        kind: 'unknown',
        state,
        why: 'it was saved since, and does not have these values',
      });
  }
  return decided;
}
