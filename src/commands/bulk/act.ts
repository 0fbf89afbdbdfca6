// Runs one action on one bicycle or alert, or on many, each at most once.

import { BICYCLE } from '../../api/bicycle.js';
import { wholeUuid } from '../../api/links.js';
import type { Resource } from '../../api/resource.js';
import { unknownWord } from '../../cli/nearest.js';
import type { Context } from '../../context.js';
import { FleetError, usageError } from '../../errors.js';
import type { Client } from '../../http/client.js';
import type { Item } from '../../http/types.js';
import { parseJson } from '../../json/parse.js';
import { ACTION, ACTIONS } from '../../views/action.js';
import { openStates } from '../current.js';
import { carryOut } from './carry-out.js';
import { decideAction } from './doubts.js';
import { describeBefore, gatherEvidence } from './evidence.js';
import type { ChangeOptions, ChangeRules, Decide, Doubt, Plan, TaskInput } from './plan.js';
import { readTargets, type Target } from './targets.js';

export interface ActOptions extends ChangeOptions {
  allowUnknown?: boolean;
  field?: string[];
}

/** Fields that are added to the body of a request. */
export type Fields = { readonly [name: string]: string | boolean };

/** What is to be done. */
export interface Action {
  resource: Resource;
  /** The `type` of the request. */
  name: string;
  fields: Fields;
  /** What names the things to act on; undefined when they stand on stdin. */
  texts: readonly string[] | undefined;
  /** Finds the one that a text names. */
  find(text: string): Promise<{ uuid: string; item: Item | undefined }>;
  /** Asks for the name of one, for people; undefined where the service does not say. Throws when it is out of reach. */
  nameOf?(uuid: string): Promise<string | undefined>;
  /** Whether it asks before one too, and twice for many. */
  isGrave: boolean;
  /** The state that it leads to, where that is known before any answer has shown it. */
  target: string | undefined;
  /** A failure of the request in better words. */
  explain(error: FleetError, uuid: string): FleetError;
}

/** Runs the action on each. Throws what carryOut throws. */
export async function runAction(context: Context, action: Action, options: ActOptions): Promise<void> {
  const { resource, name, fields, texts, isGrave } = action;
  const isDryRun = fields['dry_run'] === true;
  const found = texts === undefined ? undefined : await findTargets(context, action, texts);
  const { targets, repeated } = found ?? { targets: undefined, repeated: 0 };
  let leftOut = repeated;
  const read = () => readTargets(context, () => (leftOut += 1));
  // The question says how many there are: then all of them are read first.
  const isStreamed = options.yes === true || options.dryRun === true || isDryRun;
  const input: TaskInput<Target> = {
    tasks: targets ?? (isStreamed ? read() : await collect(read(), context)),
    isSingle: targets?.length === 1 && repeated === 0,
    isStdin: targets === undefined,
    questionFor: (count) => (!isDryRun && (count > 1 || isGrave) ? { isGrave } : undefined),
  };
  const { profile, baseUrl } = await context.settings();
  const binding = {
    command: `${resource.many} act`,
    profile: profile.value,
    base_url: (baseUrl.value?.href ?? '').replace(/\/+$/, ''),
    transition: name,
    fields: JSON.stringify(Object.entries(fields).sort()),
  };
  try {
    await carryOut(context, planFor(context, action, input, binding), options);
  } finally {
    if (leftOut > 0) await context.notice(`left out ${leftOut} ${leftOut === 1 ? 'duplicate' : 'duplicates'}`);
  }
}

/** Those that the texts name, each once; what is no whole UUID is looked up, and reported. */
async function findTargets(
  context: Context,
  { resource, find }: Action,
  texts: readonly string[],
): Promise<{ targets: Target[]; repeated: number }> {
  const targets = new Map<string, Target>();
  for (const text of texts) {
    const { uuid, item } = await find(text);
    const name = item?.value[resource.nameField];
    if (item !== undefined) await context.notice(`"${text}" is ${name === text ? uuid : describe(uuid, name)}`);
    const before = item === undefined ? {} : { before: describeBefore(item.value) };
    if (!targets.has(uuid)) targets.set(uuid, { uuid, ...(typeof name === 'string' ? { name } : {}), ...before });
  }
  return { targets: [...targets.values()], repeated: texts.length - targets.size };
}

/** The longest name that a line with several of them shows. */
const LONGEST_NAME_CHARACTERS = 40;

/** `0b9f2c1e-… (Emmy 0001)`: what to paste, and what people call it. Not yet cleaned of control characters. */
export function describe(uuid: string, name: unknown): string {
  return typeof name === 'string' && name !== '' ? `${uuid} (${name.slice(0, LONGEST_NAME_CHARACTERS)})` : uuid;
}

function planFor(
  context: Context,
  action: Action,
  input: TaskInput<Target>,
  binding: Plan<Target>['journal']['binding'],
): Plan<Target> {
  const { resource, name, nameOf } = action;
  const { one, many } = resource;
  const states = openStates(context);
  return {
    resource,
    verb: name,
    input,
    change: changeRules(context, action),
    result: {
      shape: { ...(input.isSingle ? ACTION : ACTIONS), noun: { one, many } },
      of: (task, result, answered) => ({
        uuid: task.uuid,
        name: task.name ?? answered.name,
        transition: name,
        ...result,
      }),
      placeOf: () => undefined,
      ...(nameOf === undefined ? {} : { nameOf }),
    },
    journal: { binding },
    doubts: {
      async beforeOf({ uuid, before }) {
        if (before !== undefined || resource !== BICYCLE) return before ?? null;
        const found = await states.of(uuid);
        return found === null ? null : describeBefore(parseJson(found.raw) as { [field: string]: unknown });
      },
      close: states.close,
      lookUp: (client, doubts) => lookUpActions(client, doubts, action),
    },
  };
}

function changeRules(context: Context, { resource, name, fields, nameOf, explain }: Action): ChangeRules<Target> {
  const body = JSON.stringify({ type: name, ...fields });
  const isDryRun = fields['dry_run'] === true;
  return {
    keyOf: ({ uuid }) => uuid,
    changeOf: ({ uuid }) => ({
      request: { method: 'POST', path: resource.actionsPath(uuid), body, subject: `"${name}"` },
      isOwn: (answer) => String(answer['uuid']).toLowerCase() === uuid,
      isDryRun,
      resource,
      explain: (error) => explain(error, uuid),
    }),
    async labelOf({ uuid, name: known }) {
      if (known !== undefined || !context.io.stderr.isTerminal) return known ?? uuid;
      try {
        return (await nameOf?.(uuid)) ?? uuid;
      } catch (error) {
        // The question is asked all the same.
        if (error instanceof FleetError && !context.signal.aborted) return uuid;
        throw error;
      }
    },
    makesBicycles: false,
    isDryRun,
  };
}

/** Reads stdin to its end, which a signal brings at once. */
async function collect<T>(items: AsyncIterable<T>, { io, signal }: Context): Promise<T[]> {
  const onSignal = () => void io.stdin.destroy(signal.reason);
  signal.addEventListener('abort', onSignal);
  try {
    const collected: T[] = [];
    for await (const item of items) collected.push(item);
    return collected;
  } finally {
    signal.removeEventListener('abort', onSignal);
  }
}

/** Asks the service about the few in doubt, and gives what decides them. */
async function lookUpActions(
  client: Client,
  doubts: readonly Doubt<Target>[],
  { resource, name, target }: Action,
): Promise<Decide<Target>> {
  const uuids = doubts.map(({ task }) => task.uuid);
  const evidence = await gatherEvidence(client, resource, uuids);
  return ({ reached }) => {
    const targets = reached.size > 0 || target === undefined ? reached : new Set([target]);
    const decide = ({ task, entry }: Doubt<Target>) =>
      decideAction(entry.sending, evidence.get(task.uuid), { name, targets });
    return new Map(doubts.map((doubt) => [doubt.task, decide(doubt)]));
  };
}

const STDIN = '-';

/** What the last word of a command line may be. */
export interface Verbs {
  /** `transition`, `action`. */
  kind: string;
  known: readonly string[];
  /** Whether others are sent, too. */
  mayBeUnknown: boolean;
}

/**
 * Reads `<bicycle...> <transition>`: the verb, and the texts in front of it, undefined for `-`. Throws a FleetError of kind `usage` for
 * anything else, before anything is asked or sent.
 */
export function readWords(
  words: readonly string[],
  { one, many }: Resource,
  { kind, known, mayBeUnknown }: Verbs,
): { texts: Action['texts']; name: string } {
  const name = words.at(-1) ?? '';
  const texts = words.slice(0, -1);
  if (name === STDIN || wholeUuid(name) !== undefined)
    throw usageError(`the ${kind} is missing: it goes last, after the ${many}`, `${kind}s: ${known.join(', ')}`);
  if (!mayBeUnknown && !known.includes(name)) throw unknownWord(kind, name, known);
  if (texts.length === 0) {
    throw usageError(
      `no ${one} given for "${name}"`,
      `put it before the ${kind}: fleet ${many} act UUID ${name}, or - to read UUIDs from stdin`,
    );
  }
  if (!texts.includes(STDIN)) return { texts, name };
  if (texts.length === 1) return { texts: undefined, name };
  throw usageError('- cannot be combined with other arguments', `name the ${many}, or pipe all of them in`);
}

/** Reads `--field NAME=VALUE`s into fields of the body, texts all of them but `dry_run`. Throws a FleetError of kind `usage`. */
export function readFields(texts: readonly string[] = []): Fields {
  const fields = new Map<string, string | boolean>();
  for (const text of texts) {
    const at = text.indexOf('=');
    const name = text.slice(0, at).trim();
    if (at === -1 || name === '') throw usageError(`--field takes NAME=VALUE, not "${text}"`);
    if (name === 'type') throw usageError('--field type is the action itself', 'write it as the last word');
    if (fields.has(name)) throw usageError(`--field ${name} is given twice`);
    const value = text.slice(at + 1);
    fields.set(name, name === 'dry_run' ? readDryRun(value) : value);
  }
  return Object.fromEntries(fields);
}

function readDryRun(value: string): boolean {
  if (value === 'true' || value === 'false') return value === 'true';
  throw usageError(`--field dry_run takes true or false, not "${value}"`);
}
