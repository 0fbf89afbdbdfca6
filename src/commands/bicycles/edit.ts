// `fleet bicycles edit`: changes fields of one bicycle by the operation that section 4.4 of the interface announces.

import { BICYCLE, type Bicycle, NEW_BICYCLE_FIELDS } from '../../api/bicycle.js';
import type { Context } from '../../context.js';
import { FleetError, usageError } from '../../errors.js';
import type { Client } from '../../http/client.js';
import { withHint } from '../../http/failure.js';
import type { HttpAnswer, HttpRequest } from '../../http/types.js';
import { readExact, writeJson, writtenNumber } from '../../json/exact.js';
import { parseJson } from '../../json/parse.js';
import { squeeze } from '../../json/text.js';
import { clean } from '../../terminal/clean.js';
import { askYesNo, canAsk } from '../../terminal/prompt.js';
import { textOf } from '../../terminal/values.js';
import { BICYCLES } from '../../views/bicycle.js';
import { bodyOf, type Field, splitField, textField, typedField } from '../api/fields.js';
import { readChange } from '../bulk/answer.js';
import type { ChangeOptions } from '../bulk/plan.js';
import { describe } from '../list/meant.js';
import { printRows } from '../list/result.js';
import { withNamesFound } from '../named/find.js';
import { askIfProtected } from '../protected.js';
import { sendChange } from '../unanswered.js';
import { EDIT_METHODS, type EditMethod } from './choices.js';
import { findBicycle } from './find.js';
import { readBicycle } from './get.js';
import { type FieldFlags, readFlags } from './new-bicycles.js';

export interface EditOptions extends FieldFlags, Omit<ChangeOptions, 'dryRun' | 'yes'> {
  note?: string;
  /** `NAME=VALUE`, typed as in `fleet api -F`; a value in double quotes is a text. */
  field?: string[];
  method?: EditMethod;
  dryRun?: boolean;
  yes?: boolean;
}

/** Fields of a bicycle as the service sent it; numbers keep their digits. */
export type Fields = { readonly [field: string]: unknown };

/** What messages call the request. */
export const SUBJECT = 'the edit';

/** Statuses of a service that has the address and not the method. */
export const METHOD_NOT_SERVED: readonly (number | undefined)[] = [405, 501];

/** Changes one bicycle. Throws a FleetError of kind `usage` before anything is sent when the flags change nothing. */
export async function editBicycle(context: Context, text: string, options: EditOptions): Promise<void> {
  if (options.journal !== undefined || options.failFast === true)
    throw usageError('--journal and --fail-fast go with many', 'pipe rows into: fleet bicycles edit -');
  const client = await context.client();
  const changes = await readChanges(context, client.baseUrl, options);
  const { uuid, item: found } = await findBicycle(context, text);
  const { json, value } = await readBicycle(context, client, uuid);
  const before = readExact(json) as Fields;
  const changed = Object.entries(changes).filter(([field, wanted]) => writeJson(wanted) !== writeJson(before[field]));
  const label = describe(value.uuid, value.name);
  if (changed.length === 0) {
    await context.notice(`nothing to change: ${label} already has these values`);
    return;
  }
  await report(context, label, before, changed);
  const requestWith = (method: EditMethod) => requestFor(method, uuid, before, Object.fromEntries(changed));
  if (options.dryRun === true) return printDryRun(context, client, requestWith(options.method ?? 'PUT'));
  await confirm(context, label, { ...options, isLookedUp: found !== undefined });
  const answer = await sendChange(context, (patient) => send(patient, requestWith, options.method)).catch((thrown) =>
    Promise.reject(explainFailure(thrown, uuid, label)),
  );
  await printResult(context, answer, { uuid, label, before, changed });
}

/** The changes that the flags ask for. */
async function readChanges(context: Context, baseUrl: URL, options: EditOptions): Promise<Fields> {
  const { note } = options;
  const cleared = CLEARABLE.filter((field) => options[field] === 'null');
  const { model, lock, ...others } = options;
  const links = {
    ...(model === undefined || model === 'null' ? {} : { model }),
    ...(lock === undefined || lock === 'null' ? {} : { lock }),
  };
  const flags = readFlags(baseUrl, await withNamesFound(context, { ...others, ...links }));
  // A map has no names of its own, such as __proto__.
  const changes = new Map<string, unknown>([
    ...Object.entries(flags),
    ...cleared.map((field) => [field, null] as const),
    ...(note === undefined ? [] : [['note', note] as const]),
  ]);
  const further = (options.field ?? []).map((text) => fieldOf(...splitField(text)));
  for (const [field, value] of Object.entries(readExact(bodyOf(further)) as Fields)) {
    if (changes.has(field)) throw usageError(`"${field}" is given twice`);
    changes.set(field, value);
  }
  if (changes.size > 0) return Object.fromEntries(changes);
  throw usageError(
    'nothing to change: no field is given',
    'give --name, --description, --serial-number, --model, --lock, --organization, --note or --field NAME=VALUE',
  );
}

/** Links that `null` takes off. */
const CLEARABLE = ['model', 'lock'] as const;

/** A value in double quotes is a text, whatever it looks like. */
function fieldOf(name: string, value: string): Field {
  if (!/^".*"$/s.test(value)) return typedField(name, value);
  const text = parseJsonText(value);
  return text === undefined ? typedField(name, value) : textField(name, text);
}

function parseJsonText(value: string): string | undefined {
  try {
    const text = parseJson(value);
    return typeof text === 'string' ? text : undefined;
  } catch {
    return undefined;
  }
}

/** `name: Emmy 1 -> Emmy 2`, a line each, on stderr. */
async function report(
  { notice }: Context,
  label: string,
  before: Fields,
  changed: readonly (readonly [string, unknown])[],
): Promise<void> {
  await notice(`${label}:`);
  for (const [field, value] of changed) {
    await notice(`  ${clean(field)}: ${showValue(before[field])} -> ${showValue(value)}`);
    const type = typeof before[field] === 'string' ? wordOf(value) : undefined;
    if (type !== undefined)
      await notice(
        `  ${clean(field)} is a text, and this is sent as a ${type}; for a text: --field '${clean(field)}="${showValue(value)}"'`,
      );
  }
}

/** What a value is sent as that is no text. */
function wordOf(value: unknown): string | undefined {
  if (typeof value === 'boolean') return 'boolean';
  return typeof value === 'number' || writtenNumber(value) !== undefined ? 'number' : undefined;
}

/** A value longer than this is cut: it is only to be recognised. */
const LONGEST_VALUE_CHARACTERS = 200;

export function showValue(value: unknown): string {
  const text = textOf(value);
  if (text === '') return '(empty)';
  return text === undefined ? '(none)' : clean(text.slice(0, LONGEST_VALUE_CHARACTERS));
}

/** `PUT` sends the writable fields as just read with the changes put in, `PATCH` the changes alone; both the version that was read. */
export function requestFor(method: EditMethod, uuid: string, before: Fields, changes: Fields): HttpRequest {
  // Assumed: an edit may write what a creation takes (section 4.2).
  const kept = NEW_BICYCLE_FIELDS.filter((field) => Object.hasOwn(before, field)).map((field) => [
    field,
    before[field],
  ]);
  const version = before['concurrency_version'];
  const body = {
    ...(method === 'PUT' ? Object.fromEntries(kept) : {}),
    ...changes,
    // Observed: an edit without it is not checked against edits of others.
    ...(version === undefined || version === null || Object.hasOwn(changes, 'concurrency_version')
      ? {}
      : { concurrency_version: version }),
  };
  return { method, path: BICYCLE.path(uuid), body: writeJson(body), subject: SUBJECT, shownBy: BICYCLE.shownBy(uuid) };
}

/** Sends the edit; by the other method where the service answers that it does not serve the first, which changed nothing then. */
async function send(
  client: Client,
  requestWith: (method: EditMethod) => HttpRequest,
  method: EditMethod | undefined,
): Promise<HttpAnswer> {
  const methods = method === undefined ? EDIT_METHODS : [method];
  let refusal: FleetError | undefined;
  for (const each of methods) {
    try {
      return await client.send(requestWith(each));
    } catch (thrown) {
      if (!(thrown instanceof FleetError) || !METHOD_NOT_SERVED.includes(thrown.status)) throw thrown;
      refusal = thrown;
    }
  }
  const { status, detail, trace } = refusal ?? {};
  throw new FleetError(
    'not-found',
    `this service does not edit bicycles by ${methods.join(' or ')}; nothing was changed`,
    {
      status,
      detail,
      trace,
      hint: 'section 4.4 of the interface only announces the operation; edit the bicycle in the fleet management system',
    },
  );
}

/** What a failure means for the edit: 404 may be the bicycle or the operation; a success that cannot be read leaves it open. */
function explainFailure(thrown: unknown, uuid: string, label: string): unknown {
  if (!(thrown instanceof FleetError)) return thrown;
  const { status = 0, trace, message } = thrown;
  if (status >= 200 && status < 300) return unclear({ status, trace }, uuid, label, message);
  if ((status !== 404 && status !== 410) || !message.includes(SUBJECT)) return thrown;
  const reason = /: (.*)$/s.exec(message)?.[1] ?? 'no reason given';
  const hint = 'nothing was changed: it was not found, you have no access, or this service edits no bicycles';
  return withHint(thrown, hint, `the service does not edit ${label}: ${reason}`);
}

function unclear(
  { status, trace }: Pick<FleetError, 'status' | 'trace'>,
  uuid: string,
  label: string,
  why: string,
): FleetError {
  return new FleetError('partial', `whether ${label} was edited is unknown: ${why}`, {
    status,
    trace,
    hint: `look at it before you try again: fleet bicycles get ${uuid}`,
  });
}

/** Asks on a terminal; off it a bicycle that was looked up needs `--yes`. Throws a FleetError of kind `usage` for a no. */
async function confirm(
  context: Context,
  label: string,
  { yes, isLookedUp }: EditOptions & { isLookedUp: boolean },
): Promise<void> {
  await askIfProtected(context, `Edit ${label}`, yes);
  if (yes === true || (!canAsk(context) && !isLookedUp)) return;
  const isSure = await askYesNo(context, { message: `Edit ${label}?`, instead: 'add --yes, or give the whole UUID' });
  if (!isSure) throw usageError('nothing was sent: it was not confirmed');
}

async function printDryRun(context: Context, client: Client, request: HttpRequest): Promise<void> {
  const { method, url, body } = client.preview(request);
  await context.io.stdout.write(`${method} ${url} ${body ?? ''}\n`);
  await context.notice('dry run: nothing was sent');
}

/** An edit that was sent. */
interface Edited {
  uuid: string;
  label: string;
  before: Fields;
  changed: readonly (readonly [string, unknown])[];
}

/**
 * Promise 9: nothing, or this bicycle, says that it is done; anything else leaves it open. Throws a FleetError of kind `partial` for
 * fields that are in the answer as they were. Observed: a service ignores some in some states.
 */
async function printResult(context: Context, answer: HttpAnswer, edited: Edited): Promise<void> {
  const { uuid, label, before, changed } = edited;
  if (answer.text.trim() === '') return context.notice(`✓ ${label}: edited`);
  const isOwn = (body: Fields) => textOf(body['uuid'])?.toLowerCase() === uuid;
  const reading = readChange(answer, { resource: BICYCLE, isOwn });
  if (reading.kind === 'unclear')
    throw unclear(answer, uuid, label, `the answer is not this bicycle but ${reading.what}`);
  const after = readExact(answer.text) as Fields;
  const left = findLeft(changed, before, after);
  const isEdited = left.length < changed.length;
  if ((await context.settings()).output.value !== 'table' || context.flags.jq !== undefined) {
    const item = { json: squeeze(answer.text.trim()), value: reading.body ?? {} };
    await printRows<Bicycle>(context, { ...BICYCLES, single: true }, [item]);
  } else if (isEdited) {
    const name = textOf(reading.body?.['name'])?.slice(0, LONGEST_VALUE_CHARACTERS);
    await context.notice(`✓ ${name || label}: edited`);
  }
  if (left.length === 0) return;
  const { status, trace } = answer;
  throw new FleetError('partial', `the service left as it was: ${left.join(', ')}`, {
    status,
    trace,
    hint: `${isEdited ? 'the other fields were changed' : 'nothing was changed'}; some fields can be edited in some states only`,
  });
}

/** The fields that an answer shows as they were, or not at all: what it does not have, the service does not have. */
export function findLeft(changed: readonly (readonly [string, unknown])[], before: Fields, after: Fields): string[] {
  return changed
    .filter(([field]) => !Object.hasOwn(after, field) || writeJson(after[field]) === writeJson(before[field]))
    .map(
      ([field]) => `${clean(field)} (${Object.hasOwn(after, field) ? showValue(after[field]) : 'not in its answer'})`,
    );
}
