// Finds out whether requests that got no response were carried out. Reads the current state and the
// history of bicycles and alerts, and the list of new bicycles.

import { ALERT } from '../api/alert.js';
import { openAlertPages } from '../api/alert-pages.js';
import {
  BICYCLE,
  type Bicycle,
  bicycleUuid,
  NEW_BICYCLE_FIELDS,
  type NewBicycle,
} from '../api/bicycle.js';
import { readTransitions } from '../api/history.js';
import { wholeUuid } from '../api/links.js';
import { readOne } from '../api/read-one.js';
import type { Resource } from '../api/resource.js';
import type { Context } from '../context.js';
import { FleetError } from '../errors.js';
import { readAlertFeed } from '../follower/alert-feed.js';
import type { Client } from '../http/client.js';
import { ifOffered } from '../http/optional.js';
import { readPage } from '../http/pages.js';
import { answeredAtMs } from '../http/retry.js';
import { writtenNumber } from '../json/exact.js';
import { isObject, JsonError, parseJson, textOrNull } from '../json/parse.js';
import { readClaims } from '../settings/token.js';
import { clean } from '../terminal/clean.js';
import { readTime } from '../terminal/time.js';
import { textOf } from '../terminal/values.js';
import type { Before, Person, Sending, Start } from './journal-records.js';
import { isSimilarName } from './outcome.js';
import type { BulkChange, DecidedDoubt, Doubt, ShownByAnswers, TaskDecision } from './plan.js';

/**
 * The maximum number of pages that are read from a history. These pages contain more transitions
 * than a bicycle makes between a crash and the resumed run.
 */
const HISTORY_PAGES = 5;

/**
 * The maximum number of pages that are read from a list. It is limited because the list "is not
 * meant for keeping a whole fleet in sync by requesting thousands of bicycles at once"
 * (interface.md section 1). The newest changes are on the first pages.
 */
const LIST_PAGES = 500;

/**
 * Reads the state of the service at the start of a run: the newest `modified` or `created` in the
 * list, the service's time, and the user of the token. Assumed: bicycles have `modified`, because
 * section 4.1 uses it as an ordering.
 */
export async function readStart(
  context: Context,
  { resource, command }: BulkChange,
): Promise<Start> {
  const field = command === 'create' ? 'created' : 'modified';
  const client = await context.client();
  const user = await readUser(context, client);
  // Some users have permission to act on bicycles but not to list them. For these users, the newest
  // time stays unknown. If the service is down, the run fails here, before it sends anything.
  const answer = await ifOffered(client.send(newestFirst(resource, field)));
  if (answer === undefined) return { newest: null, isEmpty: false, date: null, user };
  const { items } = readPage<Bicycle>(answer);
  const moment = items[0]?.value[field];
  const dateMs = answeredAtMs(answer.headers);
  return {
    newest: typeof moment === 'string' && readTime(moment) !== undefined ? moment : null,
    isEmpty: items.length === 0,
    // Removes the milliseconds, because the `Date` header is in whole seconds.
    date: dateMs === undefined ? null : new Date(dateMs).toISOString().replace('.000Z', 'Z'),
    user,
  };
}

/**
 * Returns the user of the run, from the token and from the service's `/me/`. Assumed: `/me/`
 * returns the user as an object. When the request to `/me/` fails, only the token identifies the
 * user.
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

/**
 * Looks up the unresolved tasks sequentially and returns their outcomes. Throws when the service
 * cannot be reached.
 */
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
  // Some users have permission to act on bicycles but not to list them. A refused list is therefore
  // ignored.
  await ifOffered(findInList(client, resource, evidence));
  const targets = reached.size > 0 || target === undefined ? reached : new Set([target]);
  const decide = ({ task, entry }: Doubt) =>
    decideAction(entry.sending, evidence.get(task.key), { name: verb, targets });
  return doubts.map((doubt) => ({ ...doubt, ...decide(doubt) }));
}

/**
 * Reads the current state of one bicycle or alert. Returns undefined when the service does not show
 * it.
 */
async function readNow(client: Client, resource: Resource, uuid: string): Promise<Evidence['now']> {
  try {
    const item = await ifOffered(readOne(client, resource, uuid));
    return item && bicycleUuid(item.value) === uuid ? describe(item.value) : undefined;
  } catch (error) {
    // A success response with a different body, for example from a proxy, proves nothing.
    if (isOtherContent(error)) return undefined;
    throw error;
  }
}

function isOtherContent(error: unknown): boolean {
  if (!(error instanceof FleetError) || error.kind !== 'service') return false;
  return error.status !== undefined && error.status < 300;
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

/**
 * Searches the list for bicycles that the service did not return at their own URLs. The search
 * starts with the newest changes.
 */
async function findInList(
  client: Client,
  resource: Resource,
  evidence: Map<string, Evidence>,
): Promise<void> {
  const missing = new Set(
    [...evidence].filter(([, { now }]) => now === undefined).map(([uuid]) => uuid),
  );
  if (missing.size === 0) return;
  const take = (item: Bicycle) => {
    const uuid = bicycleUuid(item) ?? '';
    if (missing.delete(uuid))
      evidence.set(uuid, { now: describe(item), history: evidence.get(uuid)?.history });
    return missing.size === 0;
  };
  if (resource === ALERT) await readNewestAlerts(client, take);
  else await readNewest(client, resource, 'modified', take);
}

/**
 * Reads alerts, most recently changed first, and calls `take` with each one. Stops when `take`
 * returns true or the list ends.
 */
async function readNewestAlerts(client: Client, take: (alert: Bicycle) => boolean): Promise<void> {
  let pages = 0;
  await readAlertFeed({
    filters: [],
    order: 'modified',
    hasLargePages: true,
    readPage: openAlertPages(client),
    takePage(alerts) {
      pages += 1;
      const isDone = alerts.some(({ value }) => take(value as Bicycle));
      return { hasNews: true, isEnough: isDone || pages >= LIST_PAGES };
    },
  });
}

function describe(bicycle: Bicycle): NonNullable<Evidence['now']> {
  return { ...describeBefore(bicycle), modified: textOrNull(bicycle.modified) };
}

/** One entry of the service's history of a bicycle. */
export interface HistoryEntry {
  timestamp: string | null;
  transition: string | null;
  /** The user who made the entry, if the service names one. */
  by: Person;
}

/**
 * The service's data about a bicycle. It is read when every sent request must have reached the
 * service.
 */
export interface Evidence {
  /** The bicycle now; undefined when the service does not show it. */
  now: { state: string | null; modified: string | null; version: string | null } | undefined;
  /**
   * The bicycle's history. Undefined when the service has no history, or does not show it to this
   * user.
   */
  history: readonly HistoryEntry[] | undefined;
}

/** A transition that was sent, and the states to which it can lead. */
export interface SentTransition {
  name: string;
  targets: ReadonlySet<string>;
}

/**
 * Decides whether an action was carried out when its request got no response.
 *
 * - `done`: this is the outcome in two cases. In the first case, the history shows that this user
 *   made the transition after the start of the run. In the second case, the bicycle changed from
 *   another state to a target state of the transition. The history must not contradict this.
 * - `untouched`: the bicycle has not been saved since the run began. A bicycle with a newer
 *   `modified` is not `untouched`, but this also does not prove `done`.
 * - `unknown`: in all other cases.
 */
export function decideAction(
  sending: Sending,
  evidence: Evidence | undefined,
  transition: SentTransition,
): TaskDecision {
  const { now, history } = evidence ?? {};
  const state = now?.state ?? null;
  const unknown = (why: string): TaskDecision => ({ kind: 'unknown', state, why });
  if (history?.some((entry) => provesAction(entry, sending, transition.name)))
    return { kind: 'done', state, how: 'history', why: "the service's history shows it" };
  if (now === undefined) return unknown('the service does not show the bicycle');
  if (isUntouched(now, sending)) return { kind: 'untouched' };
  const contradiction = findContradiction(history, sending, transition.name);
  if (contradiction !== undefined) return unknown(contradiction);
  const before = sending.before?.state ?? null;
  if (before === null || state === null) return unknown(whyUnknownBefore(history));
  if (before === state) return unknown(`it was ${before} before`);
  if (!transition.targets.has(state)) return unknown(`it was ${before} before, and changed since`);
  return { kind: 'done', state, how: 'state', why: `it was ${before} before and is ${state} now` };
}

/**
 * Returns the reason for an unknown outcome, as a text for the user. Used when the target's state
 * before the request is missing from the journal.
 */
function whyUnknownBefore(history: Evidence['history']): string {
  if (history === undefined || history.length === 0) return 'it was changed since';
  return "the service's history shows it in the second in which the run began, and its state before is not known";
}

function isUntouched(now: NonNullable<Evidence['now']>, { start, before }: Sending): boolean {
  if (before?.version != null && before.version === now.version) return true;
  return isCertainlyNotLater(now.modified, lastMomentBefore(start));
}

/**
 * Whether a history entry proves that this user made the transition during the run: its time is
 * definitely after the start of the run.
 */
function provesAction(
  { transition, timestamp, by }: HistoryEntry,
  { start, afterMs }: Sending,
  name: string,
): boolean {
  const moment = spanOf(timestamp);
  const began = [start.newest, start.date].map(readTime).filter((one) => one !== undefined);
  if (moment === undefined || began.length === 0) return false;
  if (!isSameTransition(transition, name) || !isOneOf(by, start.user)) return false;
  // The journal contains two service times for the start of the run: the newest `modified` and the
  // response's `Date`. The later one is used.
  const beganMs = Math.max(...began);
  // An entry from the same second as the run's start proves nothing, because this user may have
  // made the same transition just before the run.
  return isLaterSecond(moment.fromMs, beganMs) && moment.toMs >= Math.floor(beganMs + afterMs);
}

/**
 * Returns the reason why the history contradicts the conclusion that this user made the transition.
 * Reasons are another user, another transition, or a missing transition since the start of the run.
 * Returns undefined when the service has no history, or when the history contains only this user's
 * transition.
 */
function findContradiction(
  history: Evidence['history'],
  { start }: Sending,
  name: string,
): string | undefined {
  if (history === undefined || history.length === 0) return undefined;
  const beganMs = readTime(start.date) ?? readTime(start.newest);
  if (beganMs === undefined)
    return "the service's history cannot be compared: the service says no time";
  const recent: HistoryEntry[] = [];
  for (const entry of history) {
    const moment = spanOf(entry.timestamp);
    if (moment === undefined) return "the service's history does not say when it was changed";
    if (!isLaterSecond(beganMs, moment.toMs)) recent.push(entry);
  }
  if (recent.length === 0) return "the service's history does not show it";
  const other = recent.find((entry) => !isSameTransition(entry.transition, name));
  if (other !== undefined)
    return `the service's history shows "${clean(other.transition ?? 'none')}" since the run began`;
  if (recent.every(({ by }) => isOneOf(by, start.user))) return undefined;
  return "the service's history does not show that this user did it";
}

/**
 * Whether two names refer to the same transition. Observed: the history contains `return_` for a
 * return.
 */
export function isSameTransition(one: string | null, other: string): boolean {
  return one !== null && lettersOf(one) === lettersOf(other);
}

function lettersOf(name: string): string {
  return name.toLowerCase().replace(/[^\p{L}]/gu, '');
}

/**
 * Reads the newest bicycles and determines which of the unanswered create requests succeeded.
 * Assumed: the list contains each new bicycle.
 */
export async function lookUpCreations(
  client: Client,
  doubts: readonly Doubt[],
  shown: ShownByAnswers,
): Promise<DecidedDoubt[]> {
  const starts = doubts.map(({ entry }) => entry.sending.start);
  const bicycles: Bicycle[] = [];
  const isWhole =
    // Without the service's time, new and old bicycles cannot be distinguished.
    starts.some(isDatable) &&
    (await readNewest(client, BICYCLE, 'created', (bicycle) => {
      const isOld = starts.every((start) => isBefore(bicycle, start));
      if (!isOld) bicycles.push(bicycle);
      return isOld;
    }));
  return decideCreations(doubts, { bicycles, isWhole }, shown);
}

/** The maximum length of a quoted name in a message. */
const LONGEST_NAME_CHARACTERS = 60;

/**
 * Determines which of the unanswered create requests succeeded.
 *
 * - `done`: exactly one new bicycle has all requested values, and no other unanswered create
 *   request can have created it.
 * - `untouched`: no new bicycle has a similar name.
 * - `unknown`: in all other cases, because a service can change the strings that it stores.
 *
 * @param candidates the newest bicycles, and a flag. The flag says whether they include all
 * bicycles that were created since the earliest start of a run.
 */
export function decideCreations(
  doubts: readonly Doubt[],
  candidates: { bicycles: readonly Bicycle[]; isWhole: boolean },
  { made }: Pick<ShownByAnswers, 'made'>,
): DecidedDoubt[] {
  const { isWhole } = candidates;
  // Excludes bicycles that other tasks created, according to the responses to those tasks.
  const bicycles = candidates.bicycles.filter(({ uuid }) => !made.has(textOf(uuid) ?? ''));

  function decide(doubt: Doubt): TaskDecision {
    const { start } = doubt.entry.sending;
    const unknown = (why: string): TaskDecision => ({ kind: 'unknown', state: null, why });
    if (!isDatable(start)) return unknown('the service says no time');
    if (!isWhole) return unknown('the list is too long');
    const similar = bicycles.filter((bicycle) => isSimilarCreation(bicycle, doubt));
    const [first] = similar;
    if (first === undefined) return { kind: 'untouched' };
    const exact = similar.filter((bicycle) => fits(bicycle, doubt.task.creation?.body));
    const [found, ...others] = exact;
    if (found === undefined) {
      const asked = doubt.task.creation?.body.name?.trim();
      const closest = similar.find(({ name }) => textOf(name)?.trim() === asked) ?? first;
      const name = clean((textOf(closest.name) ?? '').slice(0, LONGEST_NAME_CHARACTERS));
      return unknown(`"${name}" was created since, and may be this bicycle`);
    }
    if (start.newest !== null && !isCertainlyLater(found.created, start.newest))
      return unknown('a bicycle with these values was created as the run began');
    const rivals = doubts.filter((other) => other !== doubt && couldHaveMade(other, found));
    if (others.length > 0 || rivals.length > 0)
      return unknown('several bicycles or requests have these values');
    const [uuid, state] = [textOf(found.uuid) ?? null, found.state ?? null];
    return { kind: 'done', uuid, state, how: 'list', why: 'the list shows it' };
  }

  return doubts.map((doubt) => ({ ...doubt, ...decide(doubt) }));
}

/**
 * Whether a create request may have created this bicycle. The bicycle must not be older than the
 * run. It must have a similar name, and belong to the same organization.
 */
function isSimilarCreation(bicycle: Bicycle, { task, entry }: Doubt): boolean {
  if (isBefore(bicycle, entry.sending.start)) return false;
  const { name = '', organization } = task.creation?.body ?? {};
  const asked = wholeUuid(organization ?? '');
  const found = wholeUuid(textOf(bicycle['organization']) ?? '');
  if (asked !== undefined && found !== undefined && asked !== found) return false;
  return isSimilarName(name, bicycle.name);
}

/**
 * Whether a request may have created the bicycle: its name, organization and serial number do not
 * contradict the bicycle's values.
 */
function couldHaveMade(doubt: Doubt, bicycle: Bicycle): boolean {
  const { serial_number: asked = '' } = doubt.task.creation?.body ?? {};
  const found = bicycle.serial_number;
  if (!isSimilarCreation(bicycle, doubt)) return false;
  return asked === '' || !found || isSimilarName(asked, found);
}

/**
 * Whether a bicycle has the requested values. Fields that the service does not show are ignored.
 */
function fits(bicycle: Bicycle, body: Partial<NewBicycle> = {}): boolean {
  return NEW_BICYCLE_FIELDS.every((field) => {
    const [asked, found] = [body[field], bicycle[field]];
    if (asked === undefined || found === undefined || asked === found) return true;
    return (
      typeof found === 'string' &&
      wholeUuid(found) !== undefined &&
      wholeUuid(found) === wholeUuid(asked)
    );
  });
}

function isDatable(start: Start): boolean {
  return start.isEmpty || lastMomentBefore(start) !== null;
}

/** Whether the bicycle definitely existed before the run began. */
function isBefore(bicycle: Bicycle, start: Start): boolean {
  return !start.isEmpty && isCertainlyNotLater(bicycle.created, lastMomentBefore(start));
}

type Dated = 'modified' | 'created';

/** Returns the request for a list, newest first. Section 4.1 gives `-modified` as an example. */
function newestFirst({ listPath, many }: Resource, field: Dated) {
  return {
    path: listPath,
    query: [['ordering', `-${field}`]] as const,
    subject: `the list of ${many}`,
  };
}

/**
 * Reads the items of a list, newest first, and calls `take` with each one. Stops when `take`
 * returns true or the list ends. Resolves with false when the maximum number of pages was read
 * without a match.
 */
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

/**
 * Returns the state and the version of a bicycle or alert. `bicycle` comes from an input or a
 * response.
 */
export function describeBefore(bicycle: { [field: string]: unknown }): Before {
  const version = bicycle['concurrency_version'];
  return {
    state: textOrNull(bicycle['state']),
    version: versionText(version),
  };
}

function versionText(version: unknown): string | null {
  if (typeof version === 'number' || typeof version === 'string') return String(version);
  return writtenNumber(version) ?? null;
}

/**
 * Returns the earliest and latest moment that an ISO 8601 time can refer to, in milliseconds since
 * the epoch. A time without decimals can mean any moment within its second.
 */
function spanOf(moment: unknown): { fromMs: number; toMs: number } | undefined {
  const fromMs = readTime(moment);
  if (fromMs === undefined) return undefined;
  return /[.,]\d{3}/.test(String(moment))
    ? { fromMs, toMs: fromMs }
    : { fromMs, toMs: fromMs + 999 };
}

function isLaterSecond(milliseconds: number, otherMilliseconds: number): boolean {
  return Math.floor(milliseconds / 1000) > Math.floor(otherMilliseconds / 1000);
}

/**
 * Whether the first time is definitely not later than the second. False when either time is
 * unknown.
 */
export function isCertainlyNotLater(moment: unknown, other: string | null): boolean {
  const [span, otherSpan] = [spanOf(moment), spanOf(other)];
  return span !== undefined && otherSpan !== undefined && span.toMs <= otherSpan.fromMs;
}

/** Whether a moment is certainly later than another. */
export function isCertainlyLater(moment: unknown, other: string): boolean {
  const [span, otherSpan] = [spanOf(moment), spanOf(other)];
  return span !== undefined && otherSpan !== undefined && span.fromMs > otherSpan.toMs;
}

/**
 * Returns the latest moment that is certainly before the run, or null when it is unknown. This is
 * the earlier of two times: the newest change, and the service's own time. The newest change alone
 * is not reliable, because a wrong `modified` can be in the future.
 */
export function lastMomentBefore({ newest, date }: Start): string | null {
  if (newest === null || date === null) return null;
  return isCertainlyNotLater(newest, date) ? newest : date;
}

/** Identifier kinds, most reliable first. */
const KINDS = ['uuid', 'id', 'email', 'username'] as const;

/** A text that is longer than this is not treated as a user name. */
const NAME_CHARACTERS = 300;

/**
 * Returns a user's identifiers from a string, a number or an object. Returns an empty object when
 * the value contains no usable identifier.
 */
export function personOf(value: unknown): Person {
  if (isObject(value)) {
    const { uuid, url, id, email, username } = value;
    const named = { email: nameIn(email), username: nameIn(username) };
    return { ...named, ...identityIn(id), ...identityIn(url), ...identityIn(uuid) };
  }
  const name = nameIn(value);
  return (
    identityIn(value) ??
    (name === undefined ? {} : { [name.includes('@') ? 'email' : 'username']: name })
  );
}

function nameIn(value: unknown): string | undefined {
  const isName =
    typeof value === 'string' && value.length <= NAME_CHARACTERS && /^[^\s/]+$/.test(value.trim());
  return isName ? value.trim().toLowerCase() : undefined;
}

/** Returns the UUID or number that the value contains, even when it is the last part of a link. */
function identityIn(value: unknown): Person | undefined {
  if (typeof value !== 'string' && typeof value !== 'number') return undefined;
  const text = String(value).slice(0, NAME_CHARACTERS).trim();
  const uuid = wholeUuid(text);
  if (uuid !== undefined) return { uuid };
  const [, id] = /(?:^|\/)(\d{1,18})\/?$/.exec(text) ?? [];
  return id === undefined ? undefined : { id };
}

/**
 * Whether the user is definitely one of these users. Compares the most reliable identifier that
 * both users have.
 */
export function isOneOf(someone: Person, people: readonly Person[]): boolean {
  return people.some((one) => {
    const kind = KINDS.find((each) => one[each] !== undefined && someone[each] !== undefined);
    return kind !== undefined && one[kind] === someone[kind];
  });
}

/**
 * Returns the user that a token names. Assumed: `sub` (RFC 7519 section 4.1.2) or `user_id` is a
 * UUID, a number or the user's URL.
 */
export function personOfToken(token: string): Person {
  const { sub, user_id, email, username } = readClaims(token) ?? {};
  return { ...personOf({ email, username }), ...personOf(user_id), ...personOf(sub) };
}
