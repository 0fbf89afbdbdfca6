// `fleet bicycles edit`: changes fields of bicycles with the operation of section 4.4 of the
// interface.

import { refuseIfReadOnly } from '../../bulk/question.js';
import type { Context } from '../../context.js';
import { type FleetError, usageError } from '../../errors.js';
import { isGone, reasonIn } from '../../http/failure.js';
import type { HttpAnswer } from '../../http/types.js';
import { readInputSource, refuseFileNames } from '../../input/flags.js';
import { describe } from '../../list/pick-one.js';
import { canAsk } from '../../terminal/prompt.js';
import { ACTION, ACTIONS } from '../../views/action.js';
import { splitField } from '../api/fields.js';
import {
  carryOutEdits,
  type Edit,
  METHOD_NOT_SERVED,
  prepareEdit,
  SUBJECT,
} from './edit-change.js';
import { editMany } from './edit-many.js';
import { readFlagValue, refuseControlCharacters } from './field-values.js';
import { refuseFlags, textsOf } from './fields.js';
import { findBicycleToChange } from './find.js';
import type { EditOptions } from './flags.js';
import { printAnswer } from './get.js';
import { EDIT_METHODS, type EditMethod } from './methods-and-groups.js';

/**
 * Changes fields of bicycles. All typed bicycles get the same change, whereas each input row has
 * its own change. When the flags change nothing, sends nothing and throws a FleetError of kind
 * `usage`.
 */
export async function editBicycles(
  context: Context,
  texts: readonly string[],
  options: EditOptions,
): Promise<void> {
  const isDash = texts.includes('-');
  if (texts.length > (isDash ? 1 : 0) && (isDash || options.from !== undefined))
    throw usageError(
      `${isDash ? '"-"' : '--from'} cannot be combined with other bicycles`,
      'put all bicycles into the input',
    );
  const source = readInputSource(options, isDash);
  await refuseIfReadOnly(context, options);
  if (source !== undefined) return editMany(context, source, options);
  if (texts.length === 0)
    throw usageError(
      'no bicycle given',
      'pass a bicycle, pass - to read rows from stdin, or pass --from FILE to read rows from a file',
    );
  refuseFileNames(texts);
  if (options.empty !== undefined)
    throw usageError('--empty needs an input', 'add --from FILE, or - for stdin');
  if (texts.length === 1)
    refuseFlags(
      options,
      ['journal', 'failFast'],
      'works only with many',
      'pipe rows into: fleet bicycles edit -',
    );
  const asked = readChanges(context, options);
  const edits = new Map<string, Edit>();
  let isFound = false;
  for (const text of texts) {
    const { uuid, item } = await findBicycleToChange(context, text, options);
    isFound ||= item !== undefined;
    const edit = await prepareEdit(context, await context.client(), uuid, async (before) => {
      const wanted = new Map<string, unknown>();
      for (const [field, valueFor] of asked) {
        const present = Object.hasOwn(before, field) ? before[field] : undefined;
        wanted.set(field, await valueFor(present));
      }
      return Object.fromEntries(wanted);
    });
    for (const [field, value] of edit.changed) refuseControlCharacters(field, value);
    edits.set(uuid, edit);
  }
  const [first, ...others] = edits.values();
  if (first !== undefined && others.length === 0) return editOne(context, first, isFound, options);
  const plan = { shape: ACTIONS, isStdin: false };
  await carryOutEdits(context, [...edits.values()], options, plan, { isAlwaysAsked: true });
}

/** Changes one bicycle and prints the result. */
async function editOne(
  context: Context,
  edit: Edit,
  isFound: boolean,
  options: EditOptions,
): Promise<void> {
  const label = describe(edit.task.uuid ?? '', edit.task.name);
  if (edit.changed.length === 0)
    return context.notice(`nothing to change: ${label} already has these values`);
  const show = (answer: HttpAnswer) => printAnswer(context, answer, 'edited');
  // When there is no terminal to ask on, a complete UUID needs no confirmation.
  const isAlwaysAsked = isFound || canAsk(context);
  const explain = (error: FleetError) => explainFailure(error, label, options.method);
  const plan = { shape: ACTION, isStdin: false, show };
  await carryOutEdits(context, [edit], options, plan, { isAlwaysAsked, explain });
}

/**
 * Returns the requested changes. For each field, a function computes the new value from the current
 * value.
 */
function readChanges(context: Context, { note, field: further = [], ...flags }: EditOptions) {
  const changes = new Map<string, (before: unknown) => unknown>();
  for (const [field, text] of Object.entries({ ...textsOf(flags), note }))
    if (text !== undefined)
      changes.set(field, (before) => readFlagValue(context, field, text, before));
  for (const [field, text] of further.map(splitField)) {
    if (changes.has(field)) throw usageError(`"${field}" is given twice`);
    // A value in double quotes is always text.
    const quoted = /^"(.*)"$/s.exec(text)?.[1];
    changes.set(field, (before) => quoted ?? readFlagValue(context, field, text, before));
  }
  if (changes.size > 0) return changes;
  throw usageError(
    'nothing to change: no fields given',
    'pass --name, --description, --serial-number, --model, --lock, --organization, --note or --field NAME=VALUE',
  );
}

/** Explains a failed edit. A 404 may mean that the bicycle or the operation does not exist. */
function explainFailure(
  error: FleetError,
  label: string,
  method: EditMethod | undefined,
): FleetError {
  const { status, message } = error;
  if (status === METHOD_NOT_SERVED) {
    const words = `this service does not edit bicycles by ${method ?? EDIT_METHODS.join(' or ')}; nothing was changed`;
    const hint =
      'section 4.4 of the interface only announces the operation; edit the bicycle in the fleet management system';
    return error.with({ kind: 'not-found', message: words, hint });
  }
  if (!isGone(error) || !message.includes(SUBJECT)) return error;
  const reason = reasonIn(error) ?? 'no reason given';
  const hint =
    'nothing was changed: the bicycle was not found, you have no access, or this service cannot edit bicycles';
  return error.with({ message: `the service cannot edit ${label}: ${reason}`, hint });
}
