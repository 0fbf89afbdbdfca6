// `fleet bicycles create`: creates one bicycle from flags, or many from a file. Creates each
// bicycle at most once.

import { BICYCLE } from '../../api/bicycle.js';
import { carryOut } from '../../bulk/carry-out.js';
import { lookUpCreations } from '../../bulk/evidence.js';
import type { BulkPlan, Creation, Task } from '../../bulk/plan.js';
import { refuseIfReadOnly } from '../../bulk/question.js';
import type { Context } from '../../context.js';
import { usageError } from '../../errors.js';
import { readInputSource } from '../../input/flags.js';
import { type InputSource, nameOfInput } from '../../input/open.js';
import { writeJson } from '../../json/exact.js';
import { chosenOrganization, requireOrganization } from '../../list/organization.js';
import { ACTION, CREATIONS } from '../../views/action.js';
import { readNewBicycles } from './create-rows.js';
import { keyOfBody } from './edit-change.js';
import { refuseControlCharacters } from './field-values.js';
import { readBicycleFields, refuseFlags, textsOf } from './fields.js';
import type { CreateOptions } from './flags.js';
import { printAnswer } from './get.js';

/** Creates one bicycle, or all bicycles in a file (interface.md section 4.2). */
export async function createBicycles(context: Context, options: CreateOptions): Promise<void> {
  await refuseIfReadOnly(context, options);
  const source = readInputSource(options);
  if (source !== undefined) return createFrom(context, source, options);
  refuseFlags(
    options,
    ['journal', 'failFast'],
    'works only with --from: one bicycle is created with one request',
  );
  const name = readName(options.name);
  const owner = options.organization ?? (await requireOrganization(context, undefined));
  const { organization = '', ...fields } = await readBicycleFields(context, {
    ...textsOf(options),
    organization: owner,
  });
  const plan = planCreations(
    [creationTask({ row: 1, body: { ...fields, name, organization } })],
    'flags',
  );
  const show: BulkPlan['show'] = (answer) => printAnswer(context, answer, 'created');
  await carryOut(context, { ...plan, shape: ACTION, show }, options);
}

function readName(name: string | undefined): string {
  if (name === undefined)
    throw usageError(
      '--name is missing',
      'pass --name to create one bicycle, or --from FILE to create many',
    );
  if (name.trim() === '') throw usageError('--name is empty', 'every bicycle needs a visible name');
  refuseControlCharacters('name', name);
  return name;
}

/** A hint for errors: how to check whether a bicycle was created. */
const NEWEST = '"fleet bicycles list --ordering -created" shows the newest first';

async function createFrom(
  context: Context,
  input: InputSource,
  options: CreateOptions,
): Promise<void> {
  refuseFlags(
    options,
    ['name', 'lock', 'serialNumber'],
    'cannot be used with --from, because each row describes its bicycle',
  );
  const source = nameOfInput(input.path);
  const organization = options.organization ?? (await chosenOrganization(context));
  const defaults = await readBicycleFields(context, { ...textsOf(options), organization });
  const tasks = (await readNewBicycles(context, input, defaults)).map(creationTask);
  await carryOut(
    context,
    { ...planCreations(tasks, source), checkKeys: (keys) => checkRows(tasks, keys, source) },
    options,
  );
}

/** Returns the task that creates a bicycle. */
export function creationTask(creation: Creation): Task {
  const { row, body } = creation;
  return { key: keyOfBody(row, writeJson(body)), uuid: null, name: body.name, creation };
}

/** Returns the plan that creates the bicycles. `source` is the name of the input. */
export function planCreations(tasks: BulkPlan['tasks'], source: string): BulkPlan {
  return {
    change: {
      resource: BICYCLE,
      verb: 'create',
      command: 'create',
      lookUp: lookUpCreations,
      requestOf({ name, creation }) {
        const body = writeJson(creation?.body);
        return {
          method: 'POST',
          path: BICYCLE.listPath,
          body,
          subject: `the new bicycle "${name}"`,
          shownBy: NEWEST,
        };
      },
    },
    tasks,
    isStdin: source === 'stdin',
    shape: CREATIONS,
  };
}

/**
 * Refuses a file whose rows have changed since the journal was started. If a row changed, the run
 * could create its bicycle twice, or not at all.
 */
function checkRows(tasks: readonly Task[], keys: Iterable<string>, source: string): void {
  for (const key of keys) {
    const [row] = key.split(':', 1);
    const now = tasks[Number(row) - 1]?.key;
    if (now === key) continue;
    throw usageError(
      `row ${row} of ${source} ${now === undefined ? 'is missing' : 'has changed'} since the journal was started`,
      'restore the file, or use a new file and a new journal for the remaining rows',
    );
  }
}
