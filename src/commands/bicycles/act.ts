// `fleet bicycles act`: runs one transition on one bicycle or many, each at most once.

import { actionsPath, type Bicycle } from '../../api/bicycle.js';
import type { Context } from '../../context.js';
import type { Client } from '../../http/client.js';
import { readStdinLines } from '../../terminal/stdin.js';
import { ACTION, ACTIONS, type ActionResult } from '../../views/action.js';
import { carryOut } from './bulk/carry-out.js';
import { isCertainlyNotLater, newestFirst } from './bulk/look-up.js';
import type { ChangeOptions, Doubt, Finding } from './bulk/plan.js';
import { readFields, readTargets, readWords, type Target } from './input.js';

export interface ActOptions extends ChangeOptions {
  allowUnknown?: boolean;
  field?: string[];
}

/** Transitions that ask first, and twice for many: the document shows no way back from them. */
const GRAVE_TRANSITIONS = ['retire', 'declare_unrecoverable'];

/**
 * Assumed: where the name of a transition says so, its target state (section 3: "target states … not shown"). Only used for a bicycle
 * whose answer was lost, as long as no answer of the service has told the target.
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
  const { targets, repeated, transition } = readWords(words, options.allowUnknown === true);
  const fields = readFields(options.field);
  const { profile, baseUrl } = await context.settings();
  const body = JSON.stringify({ type: transition, ...fields });

  let leftOut = repeated;
  const read = () => readTargets(readStdinLines(context.io.stdin), () => (leftOut += 1));
  // Whoever has not said yes must be told how many there are: then all of them are read first.
  const tasks = targets ?? (options.yes === true || options.dryRun === true ? read() : await collect(read(), context));
  try {
    await carryOut<Target, ActionResult>(
      context,
      {
        verb: transition,
        tasks,
        isSingle: targets?.length === 1 && repeated === 0,
        shape: targets?.length === 1 && repeated === 0 ? ACTION : ACTIONS,
        keyOf: ({ uuid }) => uuid,
        labelOf: ({ uuid, name }) => name ?? uuid,
        requestOf: ({ uuid }) => ({ method: 'POST', path: actionsPath(uuid), body, subject: `"${transition}"` }),
        resultOf: ({ uuid }, facts) => ({ uuid, transition, ...facts }),
        placeOf: () => undefined,
        binding: {
          command: 'bicycles act',
          profile: profile.value,
          base_url: baseUrl.value?.href ?? '',
          transition,
          fields: JSON.stringify(Object.entries(fields).sort()),
        },
        makesBicycles: false,
        lookUp: findActedOn,
        isReached: (state, reached) => (reached.size > 0 ? reached.has(state) : NAMED_TARGETS[transition] === state),
        questionFor: (count) => {
          const isGrave = GRAVE_TRANSITIONS.includes(transition);
          return count > 1 || isGrave ? { isGrave } : undefined;
        },
        isStdinTaken: targets === undefined,
      },
      options,
    );
  } finally {
    // A producer that is still writing is not waited for.
    if (targets === undefined) context.io.stdin.destroy();
    if (leftOut > 0)
      await context.notice(`${leftOut} came more than once and ${leftOut === 1 ? 'was' : 'were'} taken once`);
  }
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

/**
 * Looks for bicycles of which nobody knows whether they were acted on. One whose `modified` is no newer than the newest when the run
 * that sent it began has not been acted on; of any other only the state can tell. Assumed: every transition changes `modified`. One that
 * is not in the list, as a rented one may be (section 3.1: "visible only to the current rider"), is left in doubt.
 */
async function findActedOn(client: Client, doubts: readonly Doubt<Target>[]): Promise<Map<Target, Finding>> {
  const wanted = new Map(doubts.map((doubt) => [doubt.task.uuid, doubt]));
  const findings = new Map<Target, Finding>(doubts.map(({ task }) => [task, { kind: 'changed', state: null }]));
  for await (const { uuid, state, modified } of newestFirst(client, 'modified')) {
    const doubt = wanted.get(uuid?.toLowerCase() ?? '');
    if (doubt === undefined) continue;
    wanted.delete(doubt.task.uuid);
    const isUntouched = isCertainlyNotLater(modified, doubt.entry.run.newest);
    findings.set(doubt.task, isUntouched ? { kind: 'untouched' } : { kind: 'changed', state: readState(state) });
    if (wanted.size === 0) break;
  }
  return findings;
}

function readState(state: Bicycle['state']): string | null {
  return typeof state === 'string' ? state : null;
}
