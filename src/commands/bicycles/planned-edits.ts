// Edits and creates the bicycles of a plan file. Skips a target whose values on the service have
// changed since the plan was made.

import { BICYCLE } from '../../api/bicycle.js';
import { endOfDifference } from '../../bulk/actions.js';
import { carryOut } from '../../bulk/carry-out.js';
import type { ChangeOptions } from '../../bulk/flags.js';
import { endOf } from '../../bulk/outcome.js';
import type { PlanFile, PlanTarget, Task, TaskEnd } from '../../bulk/plan.js';
import type { Context } from '../../context.js';
import { FleetError, usageError } from '../../errors.js';
import { clean } from '../../terminal/clean.js';
import { textOf } from '../../terminal/values.js';
import { ACTIONS } from '../../views/action.js';
import { creationTask, planCreations } from './create.js';
import { carryOutEdits, type Edit, prepareEdit } from './edit-change.js';
import { isSameValue, showDifference } from './field-values.js';
import type { EditOptions } from './flags.js';
import type { EditMethod } from './methods-and-groups.js';

type Identity = { readonly [name: string]: string };

/** The default method of an edit. When the service does not support PUT, PATCH is tried. */
const USUAL_METHOD = 'PUT';

/** Carries out the edits of a plan. Throws the errors of `carryOut`. */
export async function applyEdits(
  context: Context,
  { targets }: Pick<PlanFile, 'targets'>,
  identity: Identity,
  options: ChangeOptions,
): Promise<void> {
  const ends = new Map<string, TaskEnd>();
  const edits = await prepareEdits(context, targets, options.concurrency, ends);
  const method = targets[0]?.request.method;
  const editOptions: EditOptions = {
    ...options,
    ...(method === undefined || method === USUAL_METHOD ? {} : { method: method as EditMethod }),
  };
  const plan = {
    shape: ACTIONS,
    isStdin: false,
    identity,
    readTargets: async () => ends,
  };
  await carryOutEdits(context, edits, editOptions, plan, { isAlwaysAsked: true });
}

/**
 * Reads each target. If a target has changed since the plan was made, records the target's outcome
 * in `ends`. The run then does not edit this target.
 */
async function prepareEdits(
  context: Context,
  targets: readonly PlanTarget[],
  concurrency: number,
  ends: Map<string, TaskEnd>,
): Promise<Edit[]> {
  const client = await context.client();
  const edits: Edit[] = [];
  const left = targets.entries();
  const work = async () => {
    for (const [index, target] of left) {
      const uuid = target.uuid ?? '';
      try {
        const wanted = target.request.body;
        const edit = await prepareEdit(context, client, uuid, () => wanted);
        edits[index] = edit;
        const difference = findChangedField(target, edit);
        if (difference !== undefined) ends.set(edit.task.key, endOfDifference(difference));
      } catch (error) {
        if (!(error instanceof FleetError) || error.kind !== 'not-found') throw error;
        edits[index] = missingEdit(target);
        ends.set(uuid, endOf('gone', { error, isWell: true }));
      }
    }
  };
  await Promise.all(Array.from({ length: concurrency }, work));
  return edits;
}

/**
 * Returns an edit for a bicycle that the service does not show. The edit is never sent. It only
 * gives the bicycle a row in the results.
 */
function missingEdit({ uuid, name, request }: PlanTarget): Edit {
  const task: Task = { key: uuid ?? '', uuid, name };
  const changed = Object.entries(request.body);
  return { task, wanted: request.body, before: {}, changed };
}

/**
 * Returns an error when an edit must not be sent, because a planned field has neither its old nor
 * its new value.
 */
function findChangedField(target: PlanTarget, { before }: Edit): FleetError | undefined {
  const { observed, request } = target;
  const differences = Object.entries(request.body).flatMap(([field, wanted]) => {
    const now = before[field] ?? null;
    const isExpected = isSameValue(field, observed[field], now) || isSameValue(field, wanted, now);
    return isExpected ? [] : [`${clean(field)} ${showDifference(observed[field], now)}`];
  });
  if (differences.length === 0) return undefined;
  return new FleetError(
    'partial',
    `it was changed since the plan: ${differences.join(', ')}; nothing was sent`,
  );
}

/** Creates the bicycles of a plan. Throws the errors of carryOut. */
export async function applyCreations(
  context: Context,
  { targets }: Pick<PlanFile, 'targets'>,
  identity: Identity,
  options: ChangeOptions,
): Promise<void> {
  const plan = planCreations(targets.map(taskOfCreation), 'the plan');
  const readTargets = (open: readonly Task[]) => findExisting(context, open);
  await carryOut(
    context,
    { ...plan, identity, readTargets, change: { ...plan.change, isAlwaysAsked: true } },
    options,
  );
}

function taskOfCreation({ row = 0, request }: PlanTarget) {
  const { name, organization } = request.body;
  if (typeof name !== 'string' || typeof organization !== 'string')
    throw usageError('a creation of the plan has no name or no organization; nothing was sent');
  return creationTask({ row, body: { ...request.body, name, organization } });
}

/**
 * Returns the planned bicycles that must not be created, because an existing bicycle already has
 * the same name or serial number.
 */
export async function findExistingCreations(
  context: Context,
  targets: readonly PlanTarget[],
): Promise<Set<PlanTarget>> {
  const tasks = targets.map(taskOfCreation);
  const ends = await findExisting(context, tasks);
  return new Set(targets.filter((_, index) => ends.has(tasks[index]?.key ?? '')));
}

/** Returns an outcome for each bicycle to create whose name or serial number already exists. */
async function findExisting(
  context: Context,
  open: readonly Task[],
): Promise<Map<string, TaskEnd>> {
  const ends = new Map<string, TaskEnd>();
  if (open.length === 0) return ends;
  const byName = indexTasks(open, ({ creation }) => creation?.body.name);
  const bySerial = indexTasks(open, ({ creation }) => creation?.body.serial_number);
  const client = await context.client();
  const request = { path: BICYCLE.listPath, subject: 'the list of bicycles' };
  for await (const { items } of client.pages(request)) {
    for (const { value } of items) {
      const uuid = clean(textOf(value['uuid']) ?? '');
      const named = byName.get(comparableText(value['name'])) ?? [];
      const numbered = bySerial.get(comparableText(value['serial_number'])) ?? [];
      for (const task of named) ends.set(task.key, endOfExisting(uuid, task, 'name'));
      for (const task of numbered) ends.set(task.key, endOfExisting(uuid, task, 'serial number'));
    }
  }
  return ends;
}

/** Groups tasks by an identifying string, such as the name. Omits tasks without this string. */
function indexTasks(
  tasks: readonly Task[],
  textOfTask: (task: Task) => unknown,
): Map<string, Task[]> {
  const index = new Map<string, Task[]>();
  for (const task of tasks) {
    const text = comparableText(textOfTask(task));
    if (text !== '') index.set(text, [...(index.get(text) ?? []), task]);
  }
  return index;
}

/**
 * Returns a name for comparison. Services ignore case and surrounding white space when they compare
 * names.
 */
function comparableText(value: unknown): string {
  return (textOf(value) ?? '').normalize('NFKC').trim().toLowerCase();
}

function endOfExisting(uuid: string, { name }: Task, what: string): TaskEnd {
  return endOfDifference(
    new FleetError(
      'partial',
      `bicycle ${uuid} already has the ${what} of "${clean(name ?? '')}"; nothing was sent`,
    ),
  );
}
