// Plans actions on bicycles or alerts. The targets are typed as arguments, read from an input, or
// taken from a plan file. Each target of a plan file is read again before the confirmation question
// and right before its request. A target that changed gets no request.

import { BICYCLE } from '../api/bicycle.js';
import { readTransitions, type Transitioned } from '../api/history.js';
import { type Present, readOnePresent, readPresent } from '../api/present.js';
import type { Resource } from '../api/resource.js';
import { GRAVE_TRANSITIONS, targetStateOf } from '../api/transition-rules.js';
import type { Context } from '../context.js';
import { FleetError } from '../errors.js';
import type { Client } from '../http/client.js';
import type { Item } from '../http/types.js';
import type { InputSource } from '../input/open.js';
import { readTargets } from '../input/targets.js';
import { writeJson } from '../json/exact.js';
import { textOrNull } from '../json/parse.js';
import { describe } from '../list/pick-one.js';
import { SECOND_MS } from '../system/time-units.js';
import { clean } from '../terminal/clean.js';
import { readTime } from '../terminal/time.js';
import { ACTION, ACTIONS } from '../views/action.js';
import { carryOut } from './carry-out.js';
import { describeBefore, isSameTransition, lookUpActions } from './evidence.js';
import type { ActOptions } from './flags.js';
import { endOf } from './outcome.js';
import type {
  BulkChange,
  BulkPlan,
  DecidedDoubt,
  Doubt,
  PlanTarget,
  ShownByAnswers,
  Task,
  TaskEnd,
} from './plan.js';

/** An action on bicycles or alerts. `verb` becomes the field `type` of the request body. */
export interface Action
  extends Pick<BulkChange, 'resource' | 'verb' | 'isGrave' | 'warning' | 'explain' | 'lookAt'> {
  /**
   * The state after the action, or undefined when this state is only known from the service's
   * answer.
   */
  target: string | undefined;
  /** Extra fields of the request body. */
  fields: { readonly [name: string]: string };
  /**
   * The bicycles or alerts: either the typed arguments, or an input (such as a file) with one
   * bicycle or alert in each row.
   */
  targets: readonly string[] | InputSource;
  /** Finds a bicycle or alert by the text that the user typed. */
  find(text: string): Promise<{ uuid: string; item: Item | undefined }>;
}

/** Runs the action on each bicycle or alert. Throws the errors of `carryOut`. */
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

/** Returns the plan that carries out an action for the given tasks. */
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

/**
 * Finds the bicycles or alerts that the user typed. Prints the UUID of each bicycle or alert that
 * was found by name.
 */
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

/**
 * Returns the task that changes a bicycle or alert. `fields` contains the current values of the
 * bicycle or alert. They come from the input or from the service's list.
 */
function taskOf(uuid: string, fields: { readonly [field: string]: unknown }): Task {
  // Results show a bicycle by its name, and an alert by its message.
  const name = textOrNull(fields['name'] ?? fields['message'])?.trim() || null;
  const before = describeBefore(fields);
  const isKnown = before.state !== null || before.version !== null;
  return { key: uuid, uuid, name, ...(isKnown ? { before } : {}) };
}

/** Decides which later entries in the service's history prevent a planned request. */
export type HistoryRule =
  /**
   * The history must not contain the planned transition. If it does, an earlier run has already
   * carried out the plan.
   */
  | 'not-carried-out'
  /**
   * The history must not contain an entry after the transition of an earlier run. If it does, the
   * bicycle has changed since that run.
   */
  | 'nothing-later';

export interface PlannedActionsOptions {
  context: Context;
  resource: Resource;
  targets: readonly PlanTarget[];
  concurrency: number;
  rule: HistoryRule;
  /**
   * Returns when a target was observed, by the service's clock (RFC 3339), or undefined when
   * unknown.
   */
  observedAt(target: PlanTarget): string | undefined;
  /**
   * Returns the transition that led to the observed state of the target. The rule `nothing-later`
   * checks that the service's history contains no later transition.
   */
  ownTransition?(target: PlanTarget): string;
  /** Values that identify the journal of the run. */
  identity: { readonly [name: string]: string };
}

/**
 * The maximum number of pages to read from a bicycle's history. Between writing and running a plan,
 * a bicycle has fewer transitions than these pages contain.
 */
const HISTORY_PAGES = 2;

/** Returns the actions of a plan as tasks of a bulk run. */
export function planActions(options: PlannedActionsOptions): BulkPlan {
  const { context, resource, targets, concurrency, identity } = options;
  const byUuid = new Map(targets.map((target) => [target.uuid ?? '', target]));
  const targetOf = (task: Task) => byUuid.get(task.key) as PlanTarget;
  const verbs = new Set(targets.map(verbOfTarget));
  const [only = ''] = verbs;
  /**
   * Targets that are in the service's list but that cannot be read at their own URL. For these
   * targets, the check right before the request uses the values from the list.
   */
  const onlyListed = new Map<string, Present>();
  const check = (present: Present | undefined, task: Task) =>
    findDifference(targetOf(task), present);
  return {
    change: {
      resource,
      verb: verbs.size === 1 ? only : 'the planned transitions',
      command: 'act',
      isAlwaysAsked: true,
      isGrave: [...verbs].some((verb) => GRAVE_TRANSITIONS.includes(verb)),
      lookUp: (client, doubts, shown) => lookUpByVerb(client, resource, doubts, shown),
      requestOf: (task) => {
        const { request } = targetOf(task);
        return {
          method: 'POST',
          path: `${resource.path(task.key)}actions/`,
          body: writeJson(request.body),
          subject: `"${task.verb}"`,
          shownBy: resource.shownBy(task.key),
        };
      },
      async checkBefore(client, task) {
        const present =
          (await readOnePresent(client, resource, task.key)) ?? onlyListed.get(task.key);
        const difference = check(present, task);
        if (difference !== undefined) return difference;
        return findInHistory(client, options, targetOf(task), present);
      },
    },
    tasks: targets.map((target) => taskOfTarget(target)),
    isStdin: false,
    shape: { ...ACTIONS, noun: { one: resource.one, many: resource.many } },
    identity,
    async readTargets(open) {
      const client = await context.client();
      const uuids = open.map(({ key }) => key);
      const present = await readPresent(client, resource, uuids, concurrency);
      const [sample] = present.keys();
      const isListOnly =
        sample !== undefined && (await readOnePresent(client, resource, sample)) === undefined;
      if (isListOnly) for (const [uuid, values] of present) onlyListed.set(uuid, values);
      const ends = new Map<string, TaskEnd>();
      for (const task of open) {
        const difference = check(present.get(task.key), task);
        if (difference !== undefined) ends.set(task.key, endOfDifference(difference));
      }
      return ends;
    },
  };
}

/** Returns the transition or action in a target's request. */
export function verbOfTarget({ request }: PlanTarget): string {
  return textOrNull(request.body['type']) ?? '';
}

function taskOfTarget(target: PlanTarget): Task {
  const { uuid, name, observed } = target;
  const version = observed['concurrency_version'];
  const before = {
    state: textOrNull(observed['state']),
    version: version === undefined ? null : String(version),
  };
  return { key: uuid ?? '', uuid, name, before, verb: verbOfTarget(target) };
}

/** Returns the outcome of a target when this error prevents its request. */
export function endOfDifference(error: FleetError): TaskEnd {
  return endOf(error.status === GONE ? 'gone' : 'changed', { error, isWell: true });
}

const GONE = 404;

/**
 * Compares a target with the service's data. Returns the reason for not sending its request, or
 * undefined when the target is unchanged.
 */
function findDifference(target: PlanTarget, present: Present | undefined): FleetError | undefined {
  if (present === undefined)
    return new FleetError('not-found', 'no longer exists, or you have no access', { status: GONE });
  const state = textOrNull(target.observed['state']);
  if (present.state === state) return undefined;
  const now = clean(present.state ?? 'without a state');
  return new FleetError(
    'partial',
    `it was expected to be ${state ?? 'without a state'}, and is ${now} now`,
  );
}

/**
 * Searches the service's history for an earlier run of the plan, or for a later change. Returns the
 * reason for not sending the request, or undefined.
 */
async function findInHistory(
  client: Client,
  { resource, rule, observedAt, ownTransition }: PlannedActionsOptions,
  target: PlanTarget,
  present: Present | undefined,
): Promise<FleetError | undefined> {
  if (resource !== BICYCLE) return undefined;
  const version = target.observed['concurrency_version'] ?? null;
  // Every transition increases the version. When the version is still the same, there was no
  // transition in the meantime.
  if (version !== null && String(version) === String(present?.version)) return undefined;
  const sinceMs = readTime(observedAt(target));
  const steps = await readTransitions(client, target.uuid ?? '', HISTORY_PAGES);
  if (steps === undefined || sinceMs === undefined) return undefined;
  // The service may send times in whole seconds, so an entry in the same second as the plan is
  // treated as later.
  const later = steps.filter(
    ({ timestamp }) => (readTime(timestamp) ?? 0) >= Math.floor(sinceMs / SECOND_MS) * SECOND_MS,
  );
  const found =
    rule === 'nothing-later'
      ? findFollowing(later, ownTransition?.(target) ?? '')
      : later.find(({ transition }) => isSameTransition(transition, verbOfTarget(target)));
  if (found === undefined) return undefined;
  const { transition, timestamp } = found;
  const since = rule === 'nothing-later' ? 'after the run' : 'after the plan';
  return new FleetError(
    'partial',
    `the service's history shows ${clean(transition ?? 'a change')} at ${clean(timestamp ?? '')}, ${since}`,
  );
}

/**
 * Returns the first entry after `own`, the transition that an earlier run made. Returns undefined
 * when `own` is the last entry. When `later` does not contain `own`, returns the oldest entry of
 * `later`.
 */
function findFollowing(later: readonly Transitioned[], own: string): Transitioned | undefined {
  const oldestFirst = [...later]
    .reverse()
    .sort((one, other) => (readTime(one.timestamp) ?? 0) - (readTime(other.timestamp) ?? 0));
  const ownIndex = oldestFirst.findIndex(({ transition }) => isSameTransition(transition, own));
  return oldestFirst[ownIndex + 1];
}

/** Determines the outcome of unresolved requests, one transition at a time. */
async function lookUpByVerb(
  client: Client,
  resource: Resource,
  doubts: readonly Doubt[],
  shown: ShownByAnswers,
): Promise<DecidedDoubt[]> {
  const verbs = new Set(doubts.map(({ task }) => task.verb ?? ''));
  const decided: DecidedDoubt[] = [];
  for (const verb of verbs) {
    const ofVerb = doubts.filter(({ task }) => task.verb === verb);
    const action = { resource, verb, target: targetStateOf(verb) };
    // If the run made several different transitions, the answers do not show which transition led
    // to which state. The states in the answers are then ignored.
    const reached = verbs.size === 1 ? shown.reached : new Set<string>();
    decided.push(...(await lookUpActions(client, ofVerb, action, { reached })));
  }
  return decided;
}
