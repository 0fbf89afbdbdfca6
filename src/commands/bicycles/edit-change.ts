// What editing a bicycle is: the request, what a success left as it was, and what became of an edit without an answer.

import { createHash } from 'node:crypto';
import { BICYCLE, type Bicycle, NEW_BICYCLE_FIELDS } from '../../api/bicycle.js';
import type { Context } from '../../context.js';
import { FleetError } from '../../errors.js';
import type { Client } from '../../http/client.js';
import type { HttpAnswer, HttpRequest, Item } from '../../http/types.js';
import { readExact, writeJson } from '../../json/exact.js';
import { clean } from '../../terminal/clean.js';
import { textOf } from '../../terminal/values.js';
import { describeBefore } from '../shared/bulk/evidence.js';
import type { BulkChange, Decide, Doubt, Task, TaskDecision } from '../shared/bulk/plan.js';
import type { EditMethod } from './flag-values.js';
import { fetchBicycle } from './get.js';

/** Fields of a bicycle as the service sent it; numbers keep their digits. */
export type BicycleFields = { readonly [field: string]: unknown };

/** A bicycle as it was read, and the fields that are to be other than they are. */
export interface Edit {
  task: Task;
  wanted: BicycleFields;
  before: BicycleFields;
  changed: readonly (readonly [string, unknown])[];
}

/** What messages call the request. */
export const SUBJECT = 'the edit';

/** Statuses of a service that has the address and not the method. */
export const METHOD_NOT_SERVED: readonly (number | undefined)[] = [405, 501];

/** The edit that gives a bicycle, as it was read, these fields. */
export function editTo(uuid: string, { json, value }: Item<Bicycle>, wanted: BicycleFields): Edit {
  const before = readExact(json) as BicycleFields;
  const changed = Object.entries(wanted).filter(([field, one]) => writeJson(one) !== writeJson(before[field]));
  const key = keyOfBody(uuid, writeJson(wanted));
  const task = { key, uuid, name: textOf(value.name) ?? null, before: describeBefore(value) };
  return { task, wanted, before, changed };
}

/** What tells in a journal the same bicycle, or row of a file, from one that is to be another. */
export function keyOfBody(place: string | number, body: string): string {
  return `${place}:${createHash('sha256').update(body).digest('hex').slice(0, 16)}`;
}

/** What an edit of each does; `asked` is the only method where one is given. */
export function changeFor(context: Context, editOf: (task: Task) => Edit, asked: EditMethod | undefined): BulkChange {
  let method = asked ?? 'PUT';
  return {
    resource: BICYCLE,
    verb: 'edit',
    command: 'edit',
    isAlwaysAsked: true,
    isNeedless: (task) => editOf(task).changed.length === 0,
    requestOf: (task) => requestFor(method, editOf(task)),
    mayTryOtherwise({ status }, request) {
      if (asked !== undefined || request.method !== 'PUT' || !METHOD_NOT_SERVED.includes(status)) return false;
      method = 'PATCH';
      return true;
    },
    findIgnored: (task, answer) => findIgnored(editOf(task), answer),
    lookUp: (client, doubts) => lookUpEdits(context, client, doubts, editOf),
  };
}

/** `PUT` sends the writable fields as just read with the changes put in, `PATCH` the changes alone; both the version that was read. */
function requestFor(method: EditMethod, { task, before, changed }: Edit): HttpRequest {
  // Assumed: an edit may write what a creation takes (section 4.2).
  const kept = NEW_BICYCLE_FIELDS.filter((field) => Object.hasOwn(before, field)).map((field) => [
    field,
    before[field],
  ]);
  const changes = Object.fromEntries(changed);
  const version = before['concurrency_version'];
  const body = {
    ...(method === 'PUT' ? Object.fromEntries(kept) : {}),
    ...changes,
    // Observed: an edit without it is not checked against edits of others.
    ...(version === undefined || version === null || Object.hasOwn(changes, 'concurrency_version')
      ? {}
      : { concurrency_version: version }),
  };
  const uuid = String(task.uuid);
  return { method, path: BICYCLE.path(uuid), body: writeJson(body), subject: SUBJECT, shownBy: BICYCLE.shownBy(uuid) };
}

/** Observed: a service ignores some fields in some states. */
function findIgnored(edit: Edit, answer: HttpAnswer): FleetError | undefined {
  const left = findLeft(edit, answer);
  if (left.length === 0) return undefined;
  const rest = left.length < edit.changed.length ? 'the other fields were changed' : 'nothing was changed';
  return new FleetError('partial', `the service left as it was: ${left.join(', ')}`, {
    status: answer.status,
    trace: answer.trace,
    hint: `${rest}; some fields can be edited in some states only`,
  });
}

/** The fields that an answer shows as they were, or not at all: what it does not have, the service does not have. */
export function findLeft({ before, changed }: Edit, { text }: HttpAnswer): string[] {
  if (text.trim() === '') return [];
  const after = readExact(text) as BicycleFields;
  return changed
    .filter(([field]) => !Object.hasOwn(after, field) || writeJson(after[field]) === writeJson(before[field]))
    .map(
      ([field]) => `${clean(field)} (${Object.hasOwn(after, field) ? showValue(after[field]) : 'not in its answer'})`,
    );
}

/** A value longer than this is cut: it is only to be recognised. */
const LONGEST_VALUE_CHARACTERS = 200;

export function showValue(value: unknown): string {
  const text = textOf(value);
  if (text === '') return '(empty)';
  return text === undefined ? '(none)' : clean(text.slice(0, LONGEST_VALUE_CHARACTERS));
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
  const decided = new Map<Task, TaskDecision>();
  for (const { task, entry } of doubts) {
    const uuid = String(task.uuid);
    const left = editTo(uuid, await fetchBicycle(context, client, uuid), editOf(task).wanted);
    const { state, version } = describeBefore(left.before);
    const before = entry.sending.before?.version ?? null;
    if (before !== null && before === version) decided.set(task, { kind: 'untouched' });
    else if (left.changed.length === 0)
      decided.set(task, { kind: 'done', state, how: 'state', why: 'it has these values now' });
    else decided.set(task, { kind: 'unknown', state, why: 'it was saved since, and does not have these values' });
  }
  return () => decided;
}
