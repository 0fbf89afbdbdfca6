// `fleet bicycles edit`: changes fields of one bicycle by the operation that section 4.4 of the interface announces.

import type { Context } from '../../context.js';
import { FleetError, usageError } from '../../errors.js';
import { withHint } from '../../http/failure.js';
import type { HttpAnswer } from '../../http/types.js';
import { readExact, writtenNumber } from '../../json/exact.js';
import { parseJson } from '../../json/parse.js';
import { clean } from '../../terminal/clean.js';
import { canAsk } from '../../terminal/prompt.js';
import { textOf } from '../../terminal/values.js';
import { ACTION } from '../../views/action.js';
import { bodyOf, type Field, splitField, textField, typedField } from '../api/fields.js';
import { withNamesFound } from '../named/find.js';
import { carryOut } from '../shared/bulk/carry-out.js';
import type { ChangeOptions } from '../shared/bulk/plan.js';
import { describe } from '../shared/list/pick-one.js';
import { printRows } from '../shared/list/result.js';
import {
  type BicycleFields,
  changeFor,
  type Edit,
  editTo,
  findLeft,
  METHOD_NOT_SERVED,
  SUBJECT,
  showValue,
} from './edit-change.js';
import { findBicycle } from './find.js';
import { EDIT_METHODS, type EditMethod } from './flag-values.js';
import { bicycleOf, fetchBicycle, ONE_BICYCLE } from './get.js';
import { type FieldFlags, readFlags, refuseFlags } from './new-bicycles.js';

export interface EditOptions extends FieldFlags, ChangeOptions {
  note?: string;
  /** `NAME=VALUE`, typed as in `fleet api -F`; a value in double quotes is a text. */
  field?: string[];
  method?: EditMethod;
}

/** Changes one bicycle. Throws a FleetError of kind `usage` before anything is sent when the flags change nothing. */
export async function editBicycle(context: Context, text: string, options: EditOptions): Promise<void> {
  refuseFlags(options, ['journal', 'failFast'], 'goes with many', 'pipe rows into: fleet bicycles edit -');
  const client = await context.client();
  const wanted = await readChanges(context, client.baseUrl, options);
  const { uuid, item: found } = await findBicycle(context, text);
  const item = await fetchBicycle(context, client, uuid);
  const label = describe(item.value.uuid, item.value.name);
  const edit = editTo(uuid, item, wanted);
  if (edit.changed.length === 0) return context.notice(`nothing to change: ${label} already has these values`);
  await report(context, label, edit);
  const change = {
    ...changeFor(context, () => edit, options.method),
    // Off a terminal a whole UUID is as sure as --yes.
    isAlwaysAsked: found !== undefined || canAsk(context),
    explain: (error: FleetError) => explainFailure(error, label, options.method),
  };
  const show = (answer: HttpAnswer) => printEdited(context, answer, label, edit);
  await carryOut(context, { change, tasks: [edit.task], isStdin: false, shape: ACTION, show }, options);
}

/** The changes that the flags ask for. */
async function readChanges(context: Context, baseUrl: URL, options: EditOptions): Promise<BicycleFields> {
  const { note } = options;
  const flags = readFlags(baseUrl, await withNamesFound(context, options), CLEARABLE);
  // A map has no names of its own, such as __proto__.
  const changes = new Map<string, unknown>(Object.entries(flags));
  if (note !== undefined) changes.set('note', note);
  const further = (options.field ?? []).map((text) => fieldOf(...splitField(text)));
  for (const [field, value] of Object.entries(readExact(bodyOf(further)) as BicycleFields)) {
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
  try {
    if (/^".*"$/s.test(value)) return textField(name, String(parseJson(value)));
  } catch {}
  return typedField(name, value);
}

/** `name: Emmy 1 -> Emmy 2`, a line each, on stderr. */
async function report({ notice }: Context, label: string, { before, changed }: Edit): Promise<void> {
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

/** What a failure means for the edit: 404 may be the bicycle or the operation. */
function explainFailure(error: FleetError, label: string, method: EditMethod | undefined): FleetError {
  const { status, detail, trace, message } = error;
  if (METHOD_NOT_SERVED.includes(status)) {
    const words = `this service does not edit bicycles by ${method ?? EDIT_METHODS.join(' or ')}; nothing was changed`;
    const hint =
      'section 4.4 of the interface only announces the operation; edit the bicycle in the fleet management system';
    return new FleetError('not-found', words, { status, detail, trace, hint });
  }
  if ((status !== 404 && status !== 410) || !message.includes(SUBJECT)) return error;
  const reason = /: (.*)$/s.exec(message)?.[1] ?? 'no reason given';
  const hint = 'nothing was changed: it was not found, you have no access, or this service edits no bicycles';
  return withHint(error, hint, `the service does not edit ${label}: ${reason}`);
}

/** A line for people, else the bicycle as it was answered. */
async function printEdited(context: Context, answer: HttpAnswer, label: string, edit: Edit): Promise<void> {
  const item = bicycleOf(answer);
  const isForPeople = (await context.settings()).output.value === 'table' && context.flags.jq === undefined;
  if (item !== undefined && !isForPeople) return printRows(context, ONE_BICYCLE, [item]);
  const name = textOf(item?.value.name)?.slice(0, LONGEST_NAME_CHARACTERS) || label;
  if (findLeft(edit, answer).length < edit.changed.length) await context.notice(`✓ ${name}: edited`);
}

const LONGEST_NAME_CHARACTERS = 200;
