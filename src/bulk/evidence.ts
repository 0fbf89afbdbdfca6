// Reads bicycles or alerts with unresolved requests: their present state, and the service's history of
// their transitions.

import { BICYCLE, type Bicycle, bicycleUuid } from '../api/bicycle.js';
import { readTransitions } from '../api/history.js';
import type { Resource } from '../api/resource.js';
import type { Context } from '../context.js';
import { FleetError } from '../errors.js';
import type { Client } from '../http/client.js';
import { ifOffered } from '../http/optional.js';
import { readPage } from '../http/pages.js';
import { answeredAtMs } from '../http/retry.js';
import { writtenNumber } from '../json/exact.js';
import { isObject, JsonError, parseJson, textOrNull } from '../json/parse.js';
import { readTime } from '../terminal/time.js';
import { decideAction, type Evidence, personOf, personOfToken } from './doubts.js';
import type { Before, Person, Start } from './journal-records.js';
import type { BulkChange, DecidedDoubt, Doubt, ShownByAnswers } from './plan.js';

/** The maximum number of pages of a history. A bicycle has fewer transitions between a crash and the resume. */
const HISTORY_PAGES = 5;

/**
 * The maximum number of pages of a list. "It is not meant for keeping a whole fleet in sync by
 * requesting thousands of bicycles at once" (interface.md section 1). The newest changes come first.
 */
const LIST_PAGES = 500;

/**
 * Reads the state of the service at the start of a run: the newest `modified` or `created` of its
 * list, its date, and the user of the token. Assumed: bicycles have `modified`, because section 4.1
 * orders by it.
 */
export async function readStart(
  context: Context,
  { resource, command }: BulkChange,
): Promise<Start> {
  const field = command === 'create' ? 'created' : 'modified';
  const client = await context.client();
  const user = await readUser(context, client);
  // A user who may act but not list has no newest time. A service that is down is reported here, before
  // anything is sent.
  const answer = await ifOffered(client.send(newestFirst(resource, field)));
  if (answer === undefined) return { newest: null, isEmpty: false, date: null, user };
  const { items } = readPage<Bicycle>(answer);
  const moment = items[0]?.value[field];
  const dateMs = answeredAtMs(answer.headers);
  return {
    newest: typeof moment === 'string' && readTime(moment) !== undefined ? moment : null,
    isEmpty: items.length === 0,
    // An HTTP date has whole seconds.
    date: dateMs === undefined ? null : new Date(dateMs).toISOString().replace('.000Z', 'Z'),
    user,
  };
}

/**
 * Returns the user of the run: from the token, and from the service's `/me/`. Assumed: that answer is
 * the user as an object. Without it, only the token names the user.
 */
async function readUser(context: Context, client: Client): Promise<Person[]> {
  const named = personOfToken(await (await context.token()).get());
  try {
    const { text } = await client.send({ path: '/me/', subject: 'your user', retries: 0 });
    return [named, personOf(parseJson(text))];
  } catch (error) {
    context.signal.throwIfAborted();
    if (error instanceof JsonError || error instanceof FleetError) return [named];
    throw error;
  }
}

/** Reads and decides the unresolved tasks one after the other. Throws when the service cannot be reached. */
export async function lookUpActions(
  client: Client,
  doubts: readonly Doubt[],
  {
    resource,
    verb,
    target,
  }: Pick<BulkChange, 'resource' | 'verb'> & { target: string | undefined },
  { reached }: Pick<ShownByAnswers, 'reached'>,
): Promise<DecidedDoubt[]> {
  const evidence = new Map<string, Evidence>();
  for (const { task } of doubts) {
    const now = await readNow(client, resource, task.key);
    evidence.set(task.key, { now, history: await readHistory(client, resource, task.key) });
  }
  // A user who may act but not list decides without the list.
  await ifOffered(findInList(client, resource, evidence));
  const targets = reached.size > 0 || target === undefined ? reached : new Set([target]);
  const decide = ({ task, entry }: Doubt) =>
    decideAction(entry.sending, evidence.get(task.key), { name: verb, targets });
  return doubts.map((doubt) => ({ ...doubt, ...decide(doubt) }));
}

/** Reads one bicycle or alert. Assumed: it has an address, because alerts link to bicycles (section 2.2). */
async function readNow(
  client: Client,
  { path, one }: Resource,
  uuid: string,
): Promise<Evidence['now']> {
  const answer = await ifOffered(client.send({ path: path(uuid), subject: `the ${one}` }));
  try {
    const body = parseJson(answer?.text ?? 'null');
    return isObject(body) && bicycleUuid(body) === uuid ? describe(body) : undefined;
  } catch (error) {
    if (error instanceof JsonError) return undefined;
    throw error;
  }
}

async function readHistory(
  client: Client,
  resource: Resource,
  uuid: string,
): Promise<Evidence['history']> {
  const steps =
    resource === BICYCLE ? await readTransitions(client, uuid, HISTORY_PAGES) : undefined;
  return steps?.map(({ timestamp, transition, by }) => ({
    timestamp,
    transition,
    by: personOf(by),
  }));
}

/** Searches the list, newest changes first, for bicycles that could not be read one by one. */
async function findInList(
  client: Client,
  resource: Resource,
  evidence: Map<string, Evidence>,
): Promise<void> {
  const missing = new Set(
    [...evidence].filter(([, { now }]) => now === undefined).map(([uuid]) => uuid),
  );
  if (missing.size === 0) return;
  await readNewest(client, resource, 'modified', (bicycle) => {
    const uuid = bicycleUuid(bicycle) ?? '';
    if (missing.delete(uuid))
      evidence.set(uuid, { now: describe(bicycle), history: evidence.get(uuid)?.history });
    return missing.size === 0;
  });
}

type Dated = 'modified' | 'created';

/** Returns the request of the list with the newest first (section 4.1 has `-modified` as an example). */
function newestFirst({ listPath, many }: Resource, field: Dated) {
  return {
    path: listPath,
    query: [['ordering', `-${field}`]] as const,
    subject: `the list of ${many}`,
  };
}

/** Passes items to `take` until it returns true or the list ends. Resolves with false when the list is too long. */
export async function readNewest(
  client: Client,
  resource: Resource,
  field: Dated,
  take: (bicycle: Bicycle) => boolean,
): Promise<boolean> {
  let pages = 0;
  for await (const { items } of client.pages<Bicycle>(newestFirst(resource, field))) {
    if (items.some(({ value }) => take(value))) return true;
    pages += 1;
    if (pages >= LIST_PAGES) return false;
  }
  return true;
}

function describe(bicycle: Bicycle): NonNullable<Evidence['now']> {
  return { ...describeBefore(bicycle), modified: textOrNull(bicycle.modified) };
}

function versionText(version: unknown): string | null {
  if (typeof version === 'number' || typeof version === 'string') return String(version);
  return writtenNumber(version) ?? null;
}

/** Returns the state and the version of a bicycle or alert, from an input or an answer. */
export function describeBefore(bicycle: { [field: string]: unknown }): Before {
  const version = bicycle['concurrency_version'];
  return {
    state: textOrNull(bicycle['state']),
    version: versionText(version),
  };
}
