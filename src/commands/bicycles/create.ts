// `fleet bicycles create`: one bicycle from flags, or many from a file, each at most once.

import { BICYCLE } from '../../api/bicycle.js';
import type { Context } from '../../context.js';
import { asFleetError, usageError } from '../../errors.js';
import type { HttpAnswer } from '../../http/types.js';
import { requireBaseUrl } from '../../settings/resolve.js';
import { clean } from '../../terminal/clean.js';
import { readLines } from '../../terminal/stdin.js';
import { ACTION, CREATIONS } from '../../views/action.js';
import { withNamesFound } from '../named/find.js';
import { carryOut } from '../shared/bulk/carry-out.js';
import { lookUpCreations } from '../shared/bulk/created.js';
import type { BulkPlan, ChangeOptions, Creation, Task } from '../shared/bulk/plan.js';
import { printRows } from '../shared/list/result.js';
import { chosenOrganization, requireOrganization } from '../shared/organization.js';
import { keyOfBody } from './edit-change.js';
import { bicycleOf, ONE_BICYCLE } from './get.js';
import { type FieldFlags, type NewBicyclesInput, readFlags, readNewBicycles, refuseFlags } from './new-bicycles.js';

export interface CreateOptions extends ChangeOptions, FieldFlags {
  /** A file, or `-` for stdin. */
  from?: string;
}

/** Creates a bicycle, or those of a file (interface.md section 4.2). */
export async function createBicycles(context: Context, options: CreateOptions): Promise<void> {
  const baseUrl = requireBaseUrl(await context.settings());
  if (options.from !== undefined) return createFrom(context, options.from, baseUrl, options);
  refuseFlags(options, ['journal', 'failFast'], 'goes with --from: one bicycle is created with one request');
  const name = readName(options.name);
  const links = await withNamesFound(context, options);
  const organization = links.organization ?? (await requireOrganization(context, undefined));
  const body = { name, organization, ...readFlags(baseUrl, { ...links, name, organization }) };
  const plan = planFor([taskOf({ row: 1, body })], 'flags');
  await carryOut(context, { ...plan, shape: ACTION, show: (answer) => printCreated(context, answer) }, options);
}

function readName(name: string | undefined): string {
  if (name === undefined)
    throw usageError('--name is missing', 'give the name of one bicycle, or create many with --from FILE');
  if (name.trim() === '') throw usageError('--name is empty', 'every bicycle needs a visible name');
  return name;
}

/** What shows whether a bicycle was created. */
const NEWEST = '"fleet bicycles list --ordering -created" shows the newest first';

/** Assumed: the answer, which the interface does not show, is the bicycle. */
async function printCreated(context: Context, answer: HttpAnswer): Promise<void> {
  const item = bicycleOf(answer);
  if (item === undefined) await context.notice('the bicycle was created; the service sent no description of it');
  await printRows(context, ONE_BICYCLE, item === undefined ? [] : [item]);
}

async function createFrom(context: Context, from: string, baseUrl: URL, options: CreateOptions): Promise<void> {
  refuseFlags(options, ['name', 'lock', 'serialNumber'], "is one bicycle's own, and --from creates many");
  const source = from === '-' ? 'stdin' : from;
  const links = await withNamesFound(context, options);
  const organization = links.organization ?? (await chosenOrganization(context));
  const defaults = readFlags(baseUrl, { ...links, ...(organization === undefined ? {} : { organization }) });
  const lines = readLines(context, from);
  const findOrganization = async () =>
    readFlags(baseUrl, { organization: await requireOrganization(context, undefined) });
  const creations = await readOrComplain(context, { lines, source, baseUrl, defaults, findOrganization });
  const tasks = creations.map(taskOf);
  await carryOut(context, { ...planFor(tasks, source), checkKeys: (keys) => checkRows(tasks, keys, source) }, options);
}

function taskOf(creation: Creation): Task {
  const { row, body } = creation;
  return { key: keyOfBody(row, JSON.stringify(body)), uuid: null, name: body.name, creation };
}

/** How many of the things that are wrong are shown. */
const PROBLEMS_SHOWN = 10;

/** Reads the rows; people see every problem on a line of its own, programs find them in the detail of the error. */
async function readOrComplain(context: Context, input: NewBicyclesInput): Promise<Creation[]> {
  try {
    return await readNewBicycles(input);
  } catch (error) {
    const { detail } = asFleetError(error);
    const format = (await context.settings()).output.value;
    if (!Array.isArray(detail) || detail.length < 2 || format === 'json' || format === 'jsonl') throw error;
    for (const line of detail.slice(0, PROBLEMS_SHOWN)) await context.io.stderr.write(`${clean(String(line))}\n`);
    const more = detail.length - PROBLEMS_SHOWN;
    if (more > 0) await context.io.stderr.write(`and ${more} more\n`);
    throw error;
  }
}

function planFor(tasks: BulkPlan['tasks'], source: string): BulkPlan {
  return {
    change: {
      resource: BICYCLE,
      verb: 'create',
      command: 'create',
      lookUp: lookUpCreations,
      requestOf({ name, creation }) {
        const body = JSON.stringify(creation?.body);
        return { method: 'POST', path: BICYCLE.listPath, body, subject: `the new bicycle "${name}"`, shownBy: NEWEST };
      },
    },
    tasks,
    isStdin: source === 'stdin',
    shape: CREATIONS,
  };
}

/** Refuses a file of which rows were changed since the journal was begun: they would be created anew, or never. */
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
