// Runs one action on one bicycle or alert, or on many, each at most once.

import { BICYCLE } from '../api/bicycle.js';
import { wholeUuid } from '../api/links.js';
import type { Resource } from '../api/resource.js';
import { nearest, unknownWord } from '../cli/nearest.js';
import type { Context } from '../context.js';
import { type FleetError, usageError } from '../errors.js';
import type { Item } from '../http/types.js';
import { type InputFlags, readInputSource, refuseFileNames } from '../input/flags.js';
import type { InputSource } from '../input/open.js';
import { readTargets } from '../input/targets.js';
import { textOrNull } from '../json/parse.js';
import { describe } from '../list/pick-one.js';
import { ACTION, ACTIONS } from '../views/action.js';
import { carryOut } from './carry-out.js';
import { describeBefore, lookUpActions } from './evidence.js';
import type { BulkChange, BulkPlan, ChangeOptions, Task } from './plan.js';

export interface ActOptions extends ChangeOptions, InputFlags {
  allowUnknown?: boolean;
  field?: string[];
}

/** The action; `verb` is the `type` of the request. */
export interface Action
  extends Pick<BulkChange, 'resource' | 'verb' | 'isGrave' | 'warning' | 'explain' | 'lookAt'> {
  /** The state that the action leads to; undefined when only an answer can show it. */
  target: string | undefined;
  /** Added to the body of the request. */
  fields: { readonly [name: string]: string };
  /** The typed bicycles or alerts, or the input that names them. */
  targets: readonly string[] | InputSource;
  /** Finds the bicycle or alert that a text names. */
  find(text: string): Promise<{ uuid: string; item: Item | undefined }>;
}

/** Runs the action on each. Throws what carryOut throws. */
export async function runAction(
  context: Context,
  action: Action,
  options: ActOptions,
): Promise<void> {
  const { resource, targets: named } = action;
  const isTyped = isTypedList(named);
  const targets = isTyped
    ? findTargets(context, action, named)
    : readTargets(context, named, resource === BICYCLE ? 'all' : 'none');
  const tasks = new Map<string, Task>();
  let repeated = 0;
  for await (const { uuid, fields } of targets) {
    if (tasks.has(uuid)) repeated += 1;
    else tasks.set(uuid, taskOf(uuid, fields));
  }
  if (repeated > 0)
    await context.notice(`left out ${repeated} ${repeated === 1 ? 'duplicate' : 'duplicates'}`);
  const isSingle = isTyped && tasks.size === 1 && repeated === 0;
  const plan = planOfAction(action, [...tasks.values()], {
    isSingle,
    isStdin: !isTyped && named.path === '-',
  });
  await carryOut(context, plan, options);
}

/** Returns the plan of an action on these tasks. */
export function planOfAction(
  action: Omit<Action, 'targets' | 'find'>,
  tasks: readonly Task[],
  { isSingle, isStdin }: { isSingle: boolean; isStdin: boolean },
): BulkPlan {
  const { resource, verb, fields } = action;
  const { one, many } = resource;
  const body = JSON.stringify({ type: verb, ...fields });
  return {
    change: {
      ...action,
      command: 'act',
      lookUp: (client, doubts, shown) => lookUpActions(client, doubts, action, shown),
      requestOf: ({ key: uuid }) => ({
        method: 'POST',
        path: `${resource.path(uuid)}actions/`,
        body,
        subject: `"${verb}"`,
        shownBy: resource.shownBy(uuid),
      }),
    },
    tasks,
    isStdin,
    shape: { ...(isSingle ? ACTION : ACTIONS), noun: { one, many } },
    identity: { transition: verb, fields: JSON.stringify(Object.entries(fields).sort()) },
  };
}

function isTypedList(targets: Action['targets']): targets is readonly string[] {
  return Array.isArray(targets);
}

/** Finds the bicycles or alerts that were typed. Those that were looked up are reported. */
async function* findTargets(
  context: Context,
  { resource, find }: Action,
  texts: readonly string[],
) {
  for (const text of texts) {
    const { uuid, item } = await find(text);
    const name = item?.value[resource.nameField];
    if (item !== undefined)
      await context.notice(`"${text}" is ${name === text ? uuid : describe(uuid, name)}`);
    yield { uuid, fields: item?.value ?? {} };
  }
}

/** The task of changing a bicycle or alert, of which the fields are known that the input or a list has. */
function taskOf(uuid: string, fields: { readonly [field: string]: unknown }): Task {
  // What people know it by: a bicycle has a name, an alert a message.
  const name = textOrNull(fields['name'] ?? fields['message'])?.trim() || null;
  const before = describeBefore(fields);
  const isKnown = before.state !== null || before.version !== null;
  return { key: uuid, uuid, name, ...(isKnown ? { before } : {}) };
}

const STDIN = '-';

/** The last words that a command line can have. */
export interface Verbs {
  /** `transition`, `action`. */
  kind: string;
  known: readonly string[];
  /** Those that ask for a word to be typed. */
  grave?: readonly string[];
  /** Whether unknown words are sent too. */
  mayBeUnknown: boolean;
}

/**
 * Reads `<bicycle...> <transition>`: the transition, and the bicycles or the input that names them.
 * Throws a FleetError of kind `usage` for anything else, before anything is asked or sent.
 */
export function readWords(
  words: readonly string[],
  { one, many }: Resource,
  { kind, known, mayBeUnknown, grave }: Verbs,
  flags: InputFlags,
): { targets: Action['targets']; name: string } {
  const name = words.at(-1) ?? '';
  const texts = words.slice(0, -1);
  const isUnknown = !mayBeUnknown && !known.includes(name);
  const isOnlyBicycle =
    isUnknown &&
    texts.length === 0 &&
    nearest(name, known) === undefined &&
    flags.from === undefined;
  const first = texts.find((text) => known.includes(text));
  const isOrderWrong = !known.includes(name) && nearest(name, known) === undefined;
  if (first !== undefined && isOrderWrong && !mayBeUnknown)
    throw wrongOrder(words, first, kind, many);
  if (name === STDIN || wholeUuid(name) !== undefined || isOnlyBicycle)
    throw usageError(
      `the ${kind} is missing: it comes last, after the ${many}`,
      `${kind}s: ${known.join(', ')}`,
    );
  if (isUnknown) throw unknownWord(kind, name, known, grave);
  const isDash = texts.includes(STDIN);
  if (isDash && texts.length > 1)
    throw usageError(
      '- cannot be combined with other arguments',
      `name the ${many}, or pipe all of them in`,
    );
  if (flags.from !== undefined && !isDash && texts.length > 0)
    throw usageError(
      '--from cannot be combined with other arguments',
      `name the ${many}, or put all of them into the file`,
    );
  const source = readInputSource(flags, isDash);
  if (source !== undefined) return { targets: source, name };
  if (texts.length === 0)
    throw usageError(
      `no ${one} given for "${name}"`,
      `put it before the ${kind}: fleet ${many} act UUID ${name}, or - to read UUIDs from stdin`,
    );
  refuseFileNames(texts);
  return { targets: texts, name };
}

/** The error for a transition or action that does not come last. */
function wrongOrder(
  words: readonly string[],
  verb: string,
  kind: string,
  many: string,
): FleetError {
  const targets = words.filter((word) => word !== verb).map(quoteWord);
  return usageError(
    `the ${kind} "${verb}" must come last, after the ${many}`,
    `did you mean: fleet ${many} act ${[...targets, verb].join(' ')}`,
  );
}

/** Returns a word as a shell reads it. */
function quoteWord(word: string): string {
  return /^[\w.:/@-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}

/** Reads `--field NAME=VALUE`s into fields of the body, all of them texts. Throws a FleetError of kind `usage`. */
export function readFields(texts: readonly string[] = []): Action['fields'] {
  const fields = new Map<string, string>();
  for (const text of texts) {
    const at = text.indexOf('=');
    const name = text.slice(0, at).trim();
    if (at === -1 || name === '') throw usageError(`--field must be NAME=VALUE, not "${text}"`);
    if (name === 'type')
      throw usageError('--field type is the action itself', 'write it as the last word');
    if (fields.has(name)) throw usageError(`--field ${name} is given twice`);
    // Its answer says "not carried out" with the words of "done", and who does not know it carries the action out.
    if (name === 'dry_run')
      throw usageError(
        '--field cannot set dry_run',
        '--dry-run prints the requests and sends nothing',
      );
    fields.set(name, text.slice(at + 1));
  }
  return Object.fromEntries(fields);
}
