// `fleet bicycles act`: runs one transition on one bicycle or many, each at most once.

import { actionsPath } from '../../api/bicycle.js';
import type { Context } from '../../context.js';
import { FleetError, usageError } from '../../errors.js';
import type { Client } from '../../http/client.js';
import { ACTION, ACTIONS, type ActionResult } from '../../views/action.js';
import { carryOut } from '../bulk/carry-out.js';
import { decideDoubts } from '../bulk/doubts.js';
import { describeBefore, gatherEvidence } from '../bulk/evidence.js';
import type { ChangeOptions, ChangeRules, Decide, Doubt, Plan, TaskInput } from '../bulk/plan.js';
import { readTargets, type Target } from '../bulk/targets.js';
import { describe, findBicycle } from './find.js';
import { readBicycle } from './get.js';
import { type Fields, readFields, readWords } from './input.js';

export interface ActOptions extends ChangeOptions {
  allowUnknown?: boolean;
  field?: string[];
  dryRunRemote?: boolean;
}

/** Transitions that ask first, and twice for many: the document shows no way back from them. */
const GRAVE_TRANSITIONS = ['retire', 'declare_unrecoverable'];

/**
 * Assumed: where the name of a transition says so, its target state (section 3: "target states … not shown"). Only used for a bicycle
 * whose answer was lost, as long as no answer of the service shows the target.
 */
const NAMED_TARGETS: { readonly [transition: string]: string } = {
  declare_available: 'available',
  rent: 'rented',
  declare_lost: 'lost',
  declare_unrecoverable: 'unrecoverable',
  retire: 'retired',
};

/** Runs a transition on each of the bicycles (interface.md section 4.3). `words` are the UUIDs, or `-`, and the transition. */
export async function actOnBicycles(context: Context, words: readonly string[], options: ActOptions): Promise<void> {
  const { texts, transition } = readWords(words, options.allowUnknown === true);
  const fields = fieldsOf(options);
  const isDryRun = fields['dry_run'] === true;
  const found = texts === undefined ? undefined : await findTargets(context, texts);
  const { targets, repeated } = found ?? { targets: undefined, repeated: 0 };
  let leftOut = repeated;
  const read = () => readTargets(context, () => (leftOut += 1));
  // The question says how many there are: then all of them are read first.
  const isStreamed = options.yes === true || options.dryRun === true || isDryRun;
  const tasks = targets ?? (isStreamed ? read() : await collect(read(), context));
  const input: TaskInput<Target> = {
    tasks,
    isSingle: targets?.length === 1 && repeated === 0,
    isStdin: targets === undefined,
    questionFor(count) {
      const isGrave = GRAVE_TRANSITIONS.includes(transition);
      return !isDryRun && (count > 1 || isGrave) ? { isGrave } : undefined;
    },
  };
  const { profile, baseUrl } = await context.settings();
  const binding = {
    command: 'bicycles act',
    profile: profile.value,
    base_url: (baseUrl.value?.href ?? '').replace(/\/+$/, ''),
    transition,
    fields: JSON.stringify(Object.entries(fields).sort()),
  };
  try {
    await carryOut(context, planFor(transition, fields, input, binding, openLabels(context)), options);
  } finally {
    // A producer that is still writing is not waited for.
    if (targets === undefined) context.io.stdin.destroy();
    if (leftOut > 0)
      await context.notice(`${leftOut} came more than once and ${leftOut === 1 ? 'was' : 'were'} taken once`);
  }
}

/** The bicycles that the words name, each once; what is no whole UUID is looked up, and said. */
async function findTargets(
  context: Context,
  texts: readonly string[],
): Promise<{ targets: Target[]; repeated: number }> {
  const targets = new Map<string, Target>();
  for (const text of texts) {
    const { uuid, item } = await findBicycle(context, text);
    const name = item?.value.name;
    if (item !== undefined) await context.notice(`"${text}" is ${describe(item.value)}`);
    const before = item === undefined ? {} : { before: describeBefore(item.value) };
    if (!targets.has(uuid)) targets.set(uuid, { uuid, ...(typeof name === 'string' ? { name } : {}), ...before });
  }
  return { targets: [...targets.values()], repeated: texts.length - targets.size };
}

interface Labels {
  /** What a question calls a bicycle: its name where somebody reads it, else its UUID. */
  labelOf(target: Target): Promise<string>;
  nameOf(uuid: string): Promise<string | undefined>;
}

function openLabels(context: Context): Labels {
  const nameOf = openNames(context);
  return {
    nameOf,
    async labelOf({ uuid, name }) {
      if (name !== undefined || !context.io.stderr.isTerminal) return name ?? uuid;
      try {
        return (await nameOf(uuid)) ?? uuid;
      } catch (error) {
        // The question is asked all the same.
        if (error instanceof FleetError && !context.signal.aborted) return uuid;
        throw error;
      }
    },
  };
}

/** Gives the name of a bicycle, asked for once; undefined where the service does not say. Throws when it is out of reach. */
function openNames(context: Context): (uuid: string) => Promise<string | undefined> {
  const names = new Map<string, Promise<string | undefined>>();
  const read = async (uuid: string): Promise<string | undefined> => {
    try {
      const { value } = await readBicycle(context, await context.client({ retries: 0 }), uuid);
      return typeof value.name === 'string' && value.name !== '' ? value.name : undefined;
    } catch (error) {
      if (error instanceof FleetError && error.kind === 'not-found') return undefined;
      throw error;
    }
  };
  return (uuid) => {
    const name = names.get(uuid) ?? read(uuid);
    names.set(uuid, name);
    return name;
  };
}

/** The fields of the body. Refuses a dry run that does not go with another flag. */
function fieldsOf(options: ActOptions): Fields {
  const fields = readFields(options.field);
  if (options.dryRunRemote !== true && fields['dry_run'] !== true) return fields;
  if (options.journal !== undefined) {
    throw usageError('--journal records what was done, and a dry run does nothing', 'leave one of them out');
  }
  return { ...fields, dry_run: true };
}

function planFor(
  transition: string,
  fields: Fields,
  input: TaskInput<Target>,
  binding: Plan<Target, ActionResult>['journal']['binding'],
  labels: Labels,
): Plan<Target, ActionResult> {
  return {
    verb: transition,
    input,
    change: { ...changeRules(transition, fields), labelOf: labels.labelOf },
    result: {
      shape: input.isSingle ? ACTION : ACTIONS,
      of: ({ uuid, name }, result, answered) => ({ uuid, name: name ?? answered.name, transition, ...result }),
      placeOf: () => undefined,
      nameOf: labels.nameOf,
    },
    journal: { binding },
    doubts: {
      beforeOf: ({ before }) => before ?? null,
      lookUp: (client, doubts) => lookUpActions(client, doubts, transition),
    },
  };
}

function changeRules(transition: string, fields: Fields): Omit<ChangeRules<Target>, 'labelOf'> {
  const body = JSON.stringify({ type: transition, ...fields });
  const isDryRun = fields['dry_run'] === true;
  return {
    keyOf: ({ uuid }) => uuid,
    changeOf: ({ uuid }) => ({
      request: { method: 'POST', path: actionsPath(uuid), body, subject: `"${transition}"` },
      isOwn: (answer) => String(answer['uuid']).toLowerCase() === uuid,
      isDryRun,
    }),
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

/** Asks the service about the few bicycles in doubt, and gives what decides them. */
async function lookUpActions(
  client: Client,
  doubts: readonly Doubt<Target>[],
  transition: string,
): Promise<Decide<Target>> {
  const evidence = await gatherEvidence(
    client,
    doubts.map(({ task }) => task.uuid),
  );
  const actions = doubts.map(({ task, entry }) => ({ key: task.uuid, sending: entry.sending }));
  return ({ reached }) => {
    const named = NAMED_TARGETS[transition];
    const targets = reached.size > 0 || named === undefined ? reached : new Set([named]);
    const decisions = decideDoubts(actions, evidence, { name: transition, targets });
    return new Map(
      doubts.flatMap(({ task }) => {
        const decision = decisions.get(task.uuid);
        return decision === undefined ? [] : [[task, decision] as const];
      }),
    );
  };
}
