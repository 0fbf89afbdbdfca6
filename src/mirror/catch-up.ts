// Reading the list to learn what the stream did not say: at the start, and what changed during a gap. A machine without I/O.
//
// After a gap the list is read in `-modified` order. Everything that changed in the gap stands above the first bicycle that was
// modified well before it, so the reading is complete when it gets there, or to the end of the list. An order that is not kept, a
// bound that is reached, or a bicycle of which it cannot be said whether it changed make it incomplete.

import { type Bicycle, bicycleUuid } from '../api/bicycle.js';
import type { FleetError } from '../errors.js';
import type { Page, Query } from '../http/types.js';
import { after, type Step, same } from '../step.js';
import { readTime } from '../terminal/time.js';
import { type Change, DISORDER_MS, KNOWN_LIMIT, type Knowledge, type Mark, type Moment } from './knowledge.js';

export interface CatchUpOptions {
  /** Organizations whose lists are read. */
  readonly organizations: readonly string[];
  /** The bicycles that are followed by name, each read at its own address first; undefined when all are followed. */
  readonly bicycles: ReadonlySet<string> | undefined;
  /** Most pages of one organization in one reading; 0 reads nothing. */
  readonly mostPages: number;
  /** The first reading takes the whole list, whatever the bound. */
  readonly readsWhole: boolean;
}

export interface CatchUpState {
  readonly options: CatchUpOptions;
  /** Asked and taught; it alone changes in place. */
  readonly knowledge: Knowledge;
  /** Where things stood when the blindness began that no reading has made up for yet. */
  readonly mark: Mark | undefined;
  readonly wanted: Wanted | undefined;
  readonly reading: Reading | undefined;
  /** Before these moments of the monotonic clock no reading of the start, and none after a gap, begins. */
  readonly startDueMs: number;
  readonly gapDueMs: number;
  readonly readings: number;
}

interface Wanted {
  /** When the blindness began, by the machine's date; undefined for the start. */
  readonly sinceWallMs: number | undefined;
}

/** One reading, over as many requests as it takes. */
interface Reading extends Omit<Report, 'missing'> {
  readonly id: number;
  /** Undefined at the start, when nothing can have been missed. */
  readonly mark: Mark | undefined;
  /** Bicycles still to be read at their own address, the present one first. */
  readonly names: readonly string[];
  /** Organizations still to be read, the present one first. */
  readonly organizations: readonly string[];
  /** The bicycles followed by name that were not met yet. */
  readonly missing: ReadonlySet<string> | undefined;
  readonly pagesHere: number;
  /** Bicycles of the present list that were met, and the most that the service said there are. */
  readonly met: number;
  readonly total: number;
  /** Pages in a row that held no bicycle that was not known. */
  readonly stalePages: number;
  /** What `heard()` was when the request in flight was made. */
  readonly askedAt: number;
  /** The `modified` of the last item; undefined as soon as the order was not kept. */
  readonly lastMs: number | undefined;
}

export type CatchUpEvent =
  /** The stream is silent since `fromMs` of the monotonic clock. */
  | { readonly type: 'blind'; readonly fromMs: number }
  /** The stream stands: what it did not say is to be looked up. */
  | { readonly type: 'wanted'; readonly sinceWallMs: number | undefined }
  | { readonly type: 'page'; readonly id: number; readonly page: Page<Bicycle> }
  /** The answer of a bicycle's own address; undefined: there is none. */
  | { readonly type: 'bicycle'; readonly id: number; readonly bicycle: Bicycle | undefined }
  | { readonly type: 'failed'; readonly id: number; readonly error: FleetError }
  /** Time has passed. */
  | { readonly type: 'tick' };

export interface Report {
  readonly sinceWallMs: number | undefined;
  readonly pages: number;
  readonly changes: number;
  /** Bicycles of which nothing had been known. */
  readonly unknown: number;
  readonly isComplete: boolean;
  readonly isBoundReached: boolean;
  /** Followed by name, and not found. */
  readonly missing: readonly string[];
}

export type CatchUpEffect =
  | {
      readonly type: 'read-page';
      readonly id: number;
      readonly organization: string;
      readonly next: Query | undefined;
      readonly isWhole: boolean;
    }
  | { readonly type: 'read-bicycle'; readonly id: number; readonly uuid: string }
  | { readonly type: 'wake'; readonly inMs: number }
  /** A bicycle at the start, not shown by itself. */
  | { readonly type: 'learned'; readonly bicycle: Bicycle }
  | { readonly type: 'caught-up'; readonly change: Change }
  /** How many bicycles the service says there are. */
  | { readonly type: 'counted'; readonly total: number | undefined }
  | { readonly type: 'read'; readonly report: Report }
  | {
      readonly type: 'unread';
      readonly error: FleetError;
      readonly sinceWallMs: number | undefined;
      readonly retryInMs: number | undefined;
    };

type CatchUpStep = Step<CatchUpState, CatchUpEffect>;

/** Two readings are at least this far apart: a connection that comes and goes must not become a crawl. */
const READING_PAUSE_MS = 10_000;
/** After a list that could not be read, the next try waits longer than the client's own tries took. */
const UNREAD_PAUSE_MS = 30_000;
/** From so many on, the list is less work than an address each. */
const MOST_NAMES = 100;
/** A list that goes on and on without a bicycle that is new is led in a circle. */
const STALE_PAGES_LIMIT = 10;

/** Where the reading of each organization's list begins. */
const LIST_START = { pagesHere: 0, met: 0, total: 0, stalePages: 0, lastMs: Number.POSITIVE_INFINITY };

export function startCatchUp(options: CatchUpOptions, knowledge: Knowledge): CatchUpState {
  const never = Number.NEGATIVE_INFINITY;
  return {
    options,
    knowledge,
    mark: undefined,
    wanted: undefined,
    reading: undefined,
    startDueMs: never,
    gapDueMs: never,
    readings: 0,
  };
}

/** Whether something that may have changed was not looked up yet. */
export function isBehind({ mark, reading }: CatchUpState): boolean {
  return mark !== undefined || reading?.mark !== undefined;
}

/** What a reading does next. */
export function catchUp(state: CatchUpState, event: CatchUpEvent, now: Moment): CatchUpStep {
  switch (event.type) {
    case 'blind':
      return { state: { ...state, mark: state.mark ?? state.knowledge.mark(event.fromMs) }, effects: [] };
    case 'wanted':
      return want(state, event.sinceWallMs, now);
    case 'tick':
      return begin(state, now);
  }
  const { reading } = state;
  if (event.id !== reading?.id) return same(state);
  switch (event.type) {
    case 'page':
      return takePage(state, reading, event.page, now);
    case 'bicycle':
      return takeOne(state, reading, event.bicycle, now);
    case 'failed':
      return takeFailure(state, reading, event.error, now);
  }
}

function want(state: CatchUpState, sinceWallMs: number | undefined, now: Moment): CatchUpStep {
  const { options, wanted, knowledge } = state;
  if (options.mostPages === 0 && !options.readsWhole) return same(state);
  if (options.organizations.length === 0) return same(state);
  const since = earliest(wanted?.sinceWallMs, sinceWallMs);
  // A gap without a mark is one event that could not be read: everything known still holds.
  const mark = sinceWallMs === undefined ? state.mark : (state.mark ?? knowledge.mark(now.monotonicMs));
  return begin({ ...state, mark, wanted: { sinceWallMs: since } }, now);
}

function earliest(a: number | undefined, b: number | undefined): number | undefined {
  return a === undefined ? b : b === undefined ? a : Math.min(a, b);
}

/** Begins the reading that is wanted, or says when it may begin; one at a time. */
function begin(state: CatchUpState, now: Moment): CatchUpStep {
  const { wanted, options, knowledge } = state;
  if (wanted === undefined || state.reading !== undefined) return same(state);
  const inMs = (state.mark === undefined ? state.startDueMs : state.gapDueMs) - now.monotonicMs;
  // Rounded up: what is left of a millisecond by the arithmetic of floating numbers would wake for ever.
  if (inMs > 0) return { state, effects: [{ type: 'wake', inMs: Math.ceil(inMs) }] };
  // A first reading that comes after a gap has to be compared with what little is known.
  const { mark } = state;
  const names = options.bicycles === undefined || options.bicycles.size > MOST_NAMES ? [] : [...options.bicycles];
  const reading: Reading = {
    id: state.readings + 1,
    sinceWallMs: mark === undefined ? undefined : (wanted.sinceWallMs ?? now.wallMs),
    mark,
    names,
    organizations: options.organizations,
    missing: options.bicycles === undefined ? undefined : new Set(options.bicycles),
    pages: 0,
    ...LIST_START,
    askedAt: knowledge.heard(),
    changes: 0,
    unknown: 0,
    isComplete: true,
    isBoundReached: false,
  };
  const gapDueMs = mark === undefined ? state.gapDueMs : now.monotonicMs + READING_PAUSE_MS;
  const next = { ...state, mark: undefined, wanted: undefined, gapDueMs, readings: reading.id };
  return ask(next, reading, undefined);
}

/** Asks for what comes next: the bicycle of the next name, a page, or the report that all is read. */
function ask(state: CatchUpState, before: Reading, next: Query | undefined): CatchUpStep {
  const { knowledge } = state;
  const reading = { ...before, askedAt: knowledge.heard() };
  const [uuid] = reading.names;
  const [organization] = reading.organizations;
  const { id } = reading;
  if (uuid !== undefined) return { state: { ...state, reading }, effects: [{ type: 'read-bicycle', id, uuid }] };
  if (organization !== undefined && reading.missing?.size !== 0) {
    const isWhole = state.options.readsWhole && reading.mark === undefined;
    return { state: { ...state, reading }, effects: [{ type: 'read-page', id, organization, next, isWhole }] };
  }
  const missing = [...(reading.missing ?? [])];
  if (reading.mark === undefined && reading.missing === undefined) {
    const { lastMs = Number.POSITIVE_INFINITY } = reading;
    if (reading.isComplete) knowledge.cover(Number.NEGATIVE_INFINITY);
    else if (Number.isFinite(lastMs) && state.options.organizations.length === 1) knowledge.cover(lastMs);
  }
  const { sinceWallMs, pages, changes, unknown, isBoundReached } = reading;
  const isComplete = reading.isComplete && missing.length === 0;
  const report: Report = { sinceWallMs, pages, changes, unknown, isComplete, isBoundReached, missing };
  const wake: CatchUpEffect[] = state.wanted === undefined ? [] : [{ type: 'wake', inMs: 0 }];
  return { state: { ...state, reading: undefined }, effects: [{ type: 'read', report }, ...wake] };
}

/** One item of a list or of its own address: learned at the start, compared after a gap. */
function takeItem(
  knowledge: Knowledge,
  reading: Reading,
  item: Bicycle,
  now: Moment,
): { reading: Reading; effects: CatchUpEffect[] } {
  if (reading.mark === undefined) {
    knowledge.learn(item, now);
    return { reading, effects: [{ type: 'learned', bicycle: knowledge.get(bicycleUuid(item)) ?? item }] };
  }
  const { change, isUnknown, isUncertain } = knowledge.compare(item, reading.mark, reading.askedAt, now);
  const taken = {
    ...reading,
    changes: reading.changes + (change === undefined ? 0 : 1),
    unknown: reading.unknown + (isUnknown ? 1 : 0),
    isComplete: reading.isComplete && !isUncertain,
  };
  return { reading: taken, effects: change === undefined ? [] : [{ type: 'caught-up', change }] };
}

function takeOne(state: CatchUpState, before: Reading, bicycle: Bicycle | undefined, now: Moment): CatchUpStep {
  const [uuid = '', ...names] = before.names;
  if (bicycle === undefined || bicycleUuid(bicycle) !== uuid) {
    // Assumed: 404 and 405 are of a service without such an address as well; the list decides.
    return ask(state, { ...before, names }, undefined);
  }
  const missing = new Set(before.missing);
  missing.delete(uuid);
  const { reading, effects } = takeItem(state.knowledge, { ...before, names, missing }, bicycle, now);
  return after(effects, ask(state, reading, undefined));
}

function takePage(state: CatchUpState, before: Reading, page: Page<Bicycle>, now: Moment): CatchUpStep {
  const effects: CatchUpEffect[] = [{ type: 'counted', total: page.count }];
  const missing = before.missing === undefined ? undefined : new Set(before.missing);
  const { knowledge } = state;
  const sizeBefore = knowledge.size();
  let { lastMs } = before;
  let reading: Reading = { ...before, missing, pages: before.pages + 1, pagesHere: before.pagesHere + 1 };
  for (const { value } of page.items) {
    const modifiedMs = readTime(value.modified);
    // Once out of order, always out of order: then nothing proves that the rest is older.
    lastMs = modifiedMs === undefined || lastMs === undefined || modifiedMs > lastMs ? undefined : modifiedMs;
    if (missing !== undefined && !missing.delete(bicycleUuid(value) ?? '')) continue;
    const taken = takeItem(knowledge, reading, value, now);
    reading = taken.reading;
    effects.push(...taken.effects);
  }
  const stalePages = knowledge.size() > sizeBefore ? 0 : before.stalePages + 1;
  const met = before.met + page.items.length;
  const total = Math.max(before.total, page.count ?? 0);
  return after(effects, decide(state, { ...reading, met, total, lastMs, stalePages }, page.next));
}

/** After a page: the next one, or the next organization where this list is read as far as it has to be, or may be. */
function decide(state: CatchUpState, reading: Reading, next: Query | undefined): CatchUpStep {
  const { knowledge } = state;
  const { mark, lastMs, missing, organizations } = reading;
  const isWhole = state.options.readsWhole && mark === undefined;
  if (missing?.size === 0) return endList(state, reading, true);
  // Where a bicycle left the list meanwhile, another one may have slipped from a page to the one before.
  if (next === undefined) return endList(state, reading, reading.met >= reading.total);
  if (mark !== undefined && lastMs !== undefined && lastMs < mark.modifiedMs - DISORDER_MS) {
    // Those followed by name that were not met in the last organization stand further down, so they did not change.
    const isFound = missing !== undefined && organizations.length === 1;
    const below = isFound ? { ...reading, missing: new Set<string>() } : reading;
    return endList(state, below, mark.isProven || knowledge.isWhole());
  }
  const isBoundReached = isWhole ? knowledge.size() >= KNOWN_LIMIT : reading.pagesHere >= state.options.mostPages;
  if (isBoundReached) return endList(state, { ...reading, isBoundReached }, false);
  if (isWhole && reading.stalePages >= STALE_PAGES_LIMIT) return endList(state, reading, false);
  return ask(state, reading, next);
}

/** Goes on with the next organization; `lastMs` of the last one says later how far it was read. */
function endList(state: CatchUpState, reading: Reading, isComplete: boolean): CatchUpStep {
  const organizations = reading.organizations.slice(1);
  const done = { ...reading, organizations, isComplete: reading.isComplete && isComplete };
  return ask(state, organizations.length > 0 ? { ...done, ...LIST_START } : done, undefined);
}

/** A list that cannot be read is no end, but what was missed stays missed: it is tried again later. */
function takeFailure(state: CatchUpState, reading: Reading, error: FleetError, now: Moment): CatchUpStep {
  const isWorthRetrying = error.kind === 'network' || error.kind === 'service' || error.kind === 'auth';
  const { sinceWallMs } = reading;
  const retryInMs = isWorthRetrying ? UNREAD_PAUSE_MS : undefined;
  const dueMs = now.monotonicMs + UNREAD_PAUSE_MS;
  const next: CatchUpState = {
    ...state,
    reading: undefined,
    mark: reading.mark ?? state.mark,
    wanted: isWorthRetrying ? { sinceWallMs: earliest(state.wanted?.sinceWallMs, sinceWallMs) } : state.wanted,
    ...(reading.mark === undefined ? { startDueMs: dueMs } : { gapDueMs: dueMs }),
  };
  // A gap that waits for its own reading need not wait for the start's.
  const inMs = next.mark !== undefined && reading.mark === undefined ? 0 : UNREAD_PAUSE_MS;
  const wake: CatchUpEffect[] = next.wanted === undefined ? [] : [{ type: 'wake', inMs }];
  return { state: next, effects: [{ type: 'unread', error, sinceWallMs, retryInMs }, ...wake] };
}
