// `fleet bicycles create`: one bicycle from flags, or many from a file, each at most once.

import { readFile } from 'node:fs/promises';
import { BICYCLES_PATH, type Bicycle, type NewBicycle } from '../../api/bicycle.js';
import { uuidOfLink } from '../../api/links.js';
import type { Context } from '../../context.js';
import { asFleetError, FleetError, usageError } from '../../errors.js';
import type { Client } from '../../http/client.js';
import { readJson } from '../../http/json.js';
import type { HttpAnswer, HttpRequest } from '../../http/types.js';
import { squeeze } from '../../json/text.js';
import { requireBaseUrl } from '../../settings/resolve.js';
import { clean } from '../../terminal/clean.js';
import { readStdin } from '../../terminal/stdin.js';
import { CREATIONS, type CreationResult } from '../../views/action.js';
import { BICYCLES } from '../../views/bicycle.js';
import { openResult } from '../list/result.js';
import { askIfProtected } from '../protected.js';
import { carryOut } from './bulk/carry-out.js';
import { isCertainlyNotLater, newestFirst } from './bulk/look-up.js';
import type { ChangeOptions, Doubt, Finding, Plan } from './bulk/plan.js';
import {
  furtherProblems,
  keyOfRow,
  NEW_BICYCLE_FIELDS,
  type NewRow,
  readLink,
  readNewBicycles,
} from './new-bicycles.js';

export interface CreateOptions extends ChangeOptions {
  name?: string;
  organization?: string;
  model?: string;
  lock?: string;
  serialNumber?: string;
  description?: string;
  /** A file, or `-` for stdin. */
  from?: string;
}

/** Creates a bicycle, or those of a file (interface.md section 4.2). */
export async function createBicycles(context: Context, options: CreateOptions): Promise<void> {
  const settings = await context.settings();
  const baseUrl = requireBaseUrl(settings);
  const organization = options.organization ?? settings.organization.value;
  const { from } = options;
  if (from !== undefined) return createFrom(context, from, baseUrl, organization, options);
  refuse(options, ['journal', 'failFast'], 'goes with --from: one bicycle is created with one request');
  const body = readFlags(baseUrl, organization, options);
  if (options.dryRun === true)
    return carryOut(context, planFor([{ row: 1, body }], 'flags', baseUrl, settings.profile.value), options);
  await askIfProtected(context, clean(`create the bicycle "${body.name}"`), options.yes);
  await createOne(context, body);
}

/** Refuses flags that make no sense here. */
function refuse(options: CreateOptions, names: readonly (keyof CreateOptions)[], why: string): void {
  for (const name of names) {
    if (options[name] === undefined || options[name] === false) continue;
    throw usageError(`--${name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)} ${why}`);
  }
}

function readFlags(baseUrl: URL, organization: string | undefined, options: CreateOptions): NewBicycle {
  const { name, model, lock, serialNumber, description } = options;
  if (name === undefined) throw usageError('--name is missing', 'name one bicycle, or create many with --from FILE');
  if (name.trim() === '') throw usageError('--name is empty', 'every bicycle needs a visible name');
  if (organization === undefined) {
    throw usageError(
      '--organization is missing',
      'give its UUID or URL, or set it once with "fleet config set organization UUID"',
    );
  }
  const link = (field: 'organization' | 'model' | 'lock', text: string): string => {
    const found = readLink(baseUrl, field, text);
    if (found === undefined) throw usageError(`--${field} takes a URL or a UUID, not "${text}"`);
    return found;
  };
  return {
    name,
    organization: link('organization', organization),
    ...(model === undefined ? {} : { model: link('model', model) }),
    ...(lock === undefined ? {} : { lock: link('lock', lock) }),
    ...(serialNumber === undefined ? {} : { serial_number: serialNumber }),
    ...(description === undefined ? {} : { description }),
  };
}

function requestFor(body: NewBicycle): HttpRequest {
  const subject = `the new bicycle "${body.name}"`;
  return { method: 'POST', path: BICYCLES_PATH, body: JSON.stringify(body), subject };
}

/** Assumed: the answer, which the interface does not show, is the bicycle. */
async function createOne(context: Context, body: NewBicycle): Promise<void> {
  const answer = await (await context.client()).send(requestFor(body));
  const result = await openResult<Bicycle>(context, { ...BICYCLES, single: true });
  if (answer.text.trim() === '') await context.notice('the bicycle was created; the service sent no description of it');
  else await result.write([{ json: squeeze(answer.text.trim()), value: readCreated(answer, body) }]);
  await result.end();
}

/** The bicycle in the answer. One that cannot be read says neither that it was created nor that it was not. */
function readCreated(answer: HttpAnswer, { name }: NewBicycle): Bicycle {
  try {
    return readJson(answer) as Bicycle;
  } catch (error) {
    const { kind, message, status, trace } = asFleetError(error);
    throw new FleetError(kind, `${message}; whether "${name}" was created is unknown`, {
      ...(status === undefined ? {} : { status }),
      trace,
      cause: error,
      hint: 'look for it before it is created again: fleet bicycles list --ordering -created',
    });
  }
}

async function createFrom(
  context: Context,
  from: string,
  baseUrl: URL,
  organization: string | undefined,
  options: CreateOptions,
): Promise<void> {
  refuse(options, ['name', 'lock', 'serialNumber'], "is one bicycle's own, and --from creates many");
  const { model, description } = options;
  const link = (field: 'organization' | 'model', text: string | undefined) => {
    if (text === undefined) return {};
    const found = readLink(baseUrl, field, text);
    if (found === undefined) throw usageError(`--${field} takes a URL or a UUID, not "${text}"`);
    return { [field]: found };
  };
  const defaults = {
    ...link('organization', organization),
    ...link('model', model),
    ...(description === undefined ? {} : { description }),
  };
  const source = from === '-' ? 'stdin' : from;
  const { rows, warnings } = await readRows(context, await readInput(context, from), source, baseUrl, defaults);
  for (const warning of warnings) await context.notice(`${source}: ${warning}`);
  await carryOut(context, planFor(rows, source, baseUrl, (await context.settings()).profile.value), options);
}

async function readInput(context: Context, from: string): Promise<Uint8Array> {
  if (from === '-') return readStdin(context);
  return readFile(from).catch((error: Error) => {
    throw usageError(`${from} cannot be read: ${error.message}`, 'give --from a file, or - for stdin');
  });
}

/** Reads the rows; people see every problem on a line of its own, programs find them in the detail of the error. */
async function readRows(
  context: Context,
  ...facts: Parameters<typeof readNewBicycles>
): Promise<ReturnType<typeof readNewBicycles>> {
  try {
    return readNewBicycles(...facts);
  } catch (error) {
    const format = (await context.settings()).output.value;
    if (error instanceof FleetError && format !== 'json' && format !== 'jsonl') {
      for (const line of furtherProblems(error)) await context.io.stderr.write(`${clean(line)}\n`);
    }
    throw error;
  }
}

function planFor(rows: readonly NewRow[], source: string, baseUrl: URL, profile: string): Plan<NewRow, CreationResult> {
  return {
    verb: 'create',
    tasks: rows,
    isSingle: false,
    shape: CREATIONS,
    keyOf: keyOfRow,
    labelOf: ({ body }) => body.name,
    requestOf: ({ body }) => requestFor(body),
    resultOf: ({ row, body }, facts, uuid) => ({ row, name: body.name, uuid, ...facts }),
    placeOf: ({ row }) => row,
    binding: { command: 'bicycles create', profile, base_url: baseUrl.href },
    checkJournal: (keys) => checkRows(rows, keys, source),
    makesBicycles: true,
    lookUp: findCreated,
    isReached: () => false,
    questionFor: (count) => (count > 1 ? { isGrave: false } : undefined),
    isStdinTaken: source === 'stdin',
  };
}

/** Refuses a file of which rows were changed since the journal was begun: they would be created anew, or never. */
function checkRows(rows: readonly NewRow[], keys: Iterable<string>, source: string): void {
  const now = new Map(rows.map((row) => [String(row.row), keyOfRow(row)]));
  for (const key of keys) {
    const [row = ''] = key.split(':');
    const found = now.get(row);
    if (found === key) continue;
    throw usageError(
      `row ${row} of ${source} ${found === undefined ? 'is gone' : 'is another one'} since the journal was begun`,
      'put the file back as it was, or give what is left a file and a journal of its own',
    );
  }
}

/**
 * Looks for bicycles of which nobody knows whether they were created: among those made since the run began that asked for them, the
 * newest first, one that has everything that was asked for. Assumed: what was created is in the list.
 */
async function findCreated(
  client: Client,
  doubts: readonly Doubt<NewRow>[],
  made: ReadonlySet<string>,
): Promise<Map<NewRow, Finding>> {
  const findings = new Map<NewRow, Finding>(doubts.map(({ task }) => [task, { kind: 'changed', state: null }]));
  // When the service told no time, new bicycles cannot be told from old ones.
  const datable = doubts.filter(({ entry }) => entry.run.newest !== null);
  if (datable.length === 0) return findings;
  const candidates: Bicycle[] = [];
  let isWhole = false;
  for await (const bicycle of newestFirst(client, 'created')) {
    isWhole = datable.every(({ entry }) => isCertainlyNotLater(bicycle.created, entry.run.newest));
    if (isWhole) break;
    if (!made.has(bicycle.uuid ?? '')) candidates.push(bicycle);
  }
  // Those that ask for the most come first: what fits them may fit others, too.
  datable.sort((left, right) => Object.keys(right.task.body).length - Object.keys(left.task.body).length);
  for (const { task, entry } of datable) {
    const at = candidates.findIndex(
      (bicycle) => !isCertainlyNotLater(bicycle.created, entry.run.newest) && fits(bicycle, task.body),
    );
    const [found] = at === -1 ? [] : candidates.splice(at, 1);
    if (found !== undefined) {
      findings.set(task, { kind: 'done', uuid: found.uuid ?? null, state: found.state ?? null });
    } else if (isWhole) findings.set(task, { kind: 'untouched' });
  }
  return findings;
}

/** Whether a bicycle has what was asked for, as far as the service shows it; links by what they lead to. */
function fits(bicycle: Bicycle, body: NewBicycle): boolean {
  return NEW_BICYCLE_FIELDS.every((field) => {
    const [asked, found] = [body[field], bicycle[field]];
    if (asked === undefined || found === undefined) return true;
    if (asked === found) return true;
    return typeof found === 'string' && uuidOfLink(found) !== undefined && uuidOfLink(found) === uuidOfLink(asked);
  });
}
