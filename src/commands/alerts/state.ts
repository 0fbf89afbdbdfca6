// What following alerts does next: `alertsState(state, event, now)` gives the state after an event and what is to be done, without I/O.
//
// The list is read newest first until it meets what is known, and what it brought is shown when it was read to that point, the oldest
// first: a reading that fails half-way has shown nothing. Webhooks and pushes bring alerts sooner; each version is shown once, whoever
// brings it. The state is handed on from step to step; the knowledge in it alone changes in place.

import type { Alert } from '../../api/alert.js';
import type { FleetError } from '../../errors.js';
import { LARGE_PAGE } from '../../http/first-page.js';
import type { StreamEvent } from '../../http/stream/events.js';
import type { Page, Query } from '../../http/types.js';
import { parseJson } from '../../json/parse.js';
import type { Moment } from '../../mirror/knowledge.js';
import { add, after, followedBy, forEach, type Step, same } from '../../step.js';
import { readTime } from '../../terminal/time.js';
import { textOf } from '../../terminal/values.js';
import type { WatchEnd } from '../../views/stream.js';
import type { EndPlan, Stop } from '../follow/ending.js';
import type { End } from '../follow/loop.js';
import { matches } from '../list/where.js';
import { type AlertItem, type KnownAlerts, keyOf, lastMsOf, type Source, type Version, versionOf } from './known.js';
import { afterFailure, afterReading, type Pace, startPace } from './pace.js';

/** What following alerts is asked to do. */
export interface AlertsPlan extends EndPlan {
  readonly form: 'lines' | 'json';
  /** What the list is asked for, besides order and page. */
  readonly query: Query;
  readonly types?: ReadonlySet<string> | undefined;
  readonly states?: ReadonlySet<string> | undefined;
  /** The pause between two readings of the list; undefined: it is never read. */
  readonly everyMs: number | undefined;
  /** The list only brings what no webhook did, at a pace that stays the same when nothing happens. */
  readonly isBackfill: boolean;
  /** What changed since then is shown at the start. */
  readonly sinceMs?: number | undefined;
}

export interface AlertsState {
  readonly plan: AlertsPlan;
  readonly known: KnownAlerts;
  /** The service's time up to which the list was read; undefined before the first reading. */
  readonly cursorMs: number | undefined;
  /** An alert that is not known and changed before this moment was there before. */
  readonly floorMs: number;
  /** `created`: the service does not order by `modified`, and what is open is read again. */
  readonly order: 'modified' | 'created';
  readonly reading: Reading | undefined;
  readonly readings: number;
  /** Whether a page has come at all. */
  readonly isProven: boolean;
  /** When the next reading begins, on the monotonic clock. */
  readonly dueMs: number;
  readonly pace: Pace;
  /** The failure that lasts; said once. */
  readonly failure: { readonly sinceMs: number; readonly message: string } | undefined;
  readonly counts: AlertCounts;
}

export interface AlertCounts {
  readonly shown: number;
  readonly caughtUp: number;
  readonly late: number;
  readonly readings: number;
  readonly failures: number;
}

interface Reading {
  readonly id: number;
  readonly pages: number;
  /** By their version, since pages shift while they are read. */
  readonly items: ReadonlyMap<string, AlertItem>;
  /** Alerts that were open and were not met yet; only where the order is that of `created`. */
  readonly open: ReadonlySet<string>;
  /** What the list is ordered by, of the last item; undefined as soon as the order was not kept. */
  readonly lastMs: number | undefined;
  readonly topMs: number | undefined;
  /** The time at the service when the first page came. */
  readonly serviceMs: number;
  /** Pages in a row that held nothing new. */
  readonly stalePages: number;
}

export type AlertsEvent =
  /** A page of the list; `serviceMs` is the time at the service. */
  | { readonly type: 'page'; readonly id: number; readonly page: Page<Alert>; readonly serviceMs: number }
  | { readonly type: 'failed'; readonly id: number; readonly error: FleetError; readonly askedMs: number | undefined }
  /** The alerts of one webhook, the oldest first. */
  | { readonly type: 'webhook'; readonly id: number; readonly items: readonly AlertItem[] }
  /** What the push channel says, where a topic is followed. */
  | StreamEvent
  | { readonly type: 'tick' }
  | Stop;

export interface Show {
  readonly type: 'show';
  readonly item: AlertItem;
  readonly version: Version;
  /** The state before, where it differs and is known. */
  readonly before: string | undefined;
  /** `caught-up`: no webhook brought it; `late`: behind a newer version. */
  readonly mark: 'caught-up' | 'late' | undefined;
}

export type AlertsEffect =
  | Show
  /** Known from now on, not shown. */
  | { readonly type: 'learned'; readonly version: Version }
  /** The list was read up to this moment of the service. */
  | { readonly type: 'cursor'; readonly cursorMs: number }
  | { readonly type: 'read-page'; readonly id: number; readonly query: Query }
  | { readonly type: 'wake'; readonly inMs: number }
  | {
      readonly type: 'unread';
      readonly error: FleetError;
      readonly retryInMs: number;
      /** What the service asked for, where that is too long to be waited. */
      readonly cappedFromMs: number | undefined;
    }
  /** The list was read for the first time. */
  | { readonly type: 'ready'; readonly alerts: number }
  | { readonly type: 'back'; readonly downMs: number }
  | { readonly type: 'bound'; readonly items: number }
  /** A webhook was taken in; it is answered when what stands before this was delivered. */
  | { readonly type: 'accepted'; readonly id: number; readonly isNews: boolean }
  | { readonly type: 'stream'; readonly event: StreamEvent }
  | { readonly type: 'detail'; readonly text: string }
  | End;

type AlertsStep = Step<AlertsState, AlertsEffect>;

/** What a restart knows. */
export interface Remembered {
  readonly known: KnownAlerts;
  readonly cursorMs: number | undefined;
}

/** Changes become visible in the list out of order by so much: transactions that end late, whole seconds. */
export const OVERLAP_MS = 10_000;
/** A time of an alert that is ahead of the service's own by more is a mistake, and nothing is measured by it. */
const AHEAD_MS = 60_000;
/** What one reading keeps at most. */
const READING_LIMIT_ITEMS = 20_000;
/** How far what is open is looked for where the service does not order by `modified`. */
const OPEN_LIMIT_PAGES = 20;
/** A list that goes on and on without an alert that is new is led in a circle. */
const STALE_PAGES_LIMIT = 10;
/** After a list that was read, a refusal may pass for so long. */
const REFUSAL_LIMIT_MS = 60_000;

export function startAlerts(plan: AlertsPlan, { known, cursorMs }: Remembered, now: Moment): AlertsState {
  const sinceMs = plan.sinceMs === undefined ? undefined : plan.sinceMs + OVERLAP_MS;
  const from = cursorMs ?? sinceMs;
  return {
    plan,
    known,
    cursorMs: from,
    floorMs: from === undefined ? Number.NEGATIVE_INFINITY : from - OVERLAP_MS,
    order: 'modified',
    reading: undefined,
    readings: 0,
    isProven: false,
    dueMs: plan.everyMs === undefined ? Number.POSITIVE_INFINITY : now.monotonicMs,
    pace: startPace(plan.everyMs ?? 0, !plan.isBackfill),
    failure: undefined,
    counts: { shown: 0, caughtUp: 0, late: 0, readings: 0, failures: 0 },
  };
}

export function alertsState(state: AlertsState, event: AlertsEvent, now: Moment): AlertsStep {
  switch (event.type) {
    case 'tick':
      return begin(state, now);
    case 'page':
      return event.id === state.reading?.id ? takePage(state, state.reading, event, now) : same(state);
    case 'failed':
      return event.id === state.reading?.id ? takeFailure(state, state.reading, event, now) : same(state);
    case 'webhook':
      return takeWebhook(state, event, now);
    case 'stop':
      return end(state, event.end, event.error);
    default:
      return takePushed(state, event, now);
  }
}

function end(state: AlertsState, reason: WatchEnd, error?: FleetError): AlertsStep {
  return { state, effects: [{ type: 'end', end: reason, ...(error === undefined ? {} : { error }) }] };
}

// The reading of the list

/** Begins a reading when it is due; else says when. */
function begin(state: AlertsState, now: Moment): AlertsStep {
  if (state.reading !== undefined || state.dueMs === Number.POSITIVE_INFINITY) return same(state);
  const inMs = state.dueMs - now.monotonicMs;
  // Rounded up: what is left of a millisecond by the arithmetic of floating numbers would wake for ever.
  if (inMs > 0) return { state, effects: [{ type: 'wake', inMs: Math.ceil(inMs) }] };
  const isOfCreated = state.order === 'created';
  const reading: Reading = {
    id: state.readings + 1,
    pages: 0,
    items: new Map(),
    open: isOfCreated ? state.known.open() : new Set(),
    lastMs: Number.POSITIVE_INFINITY,
    topMs: undefined,
    serviceMs: now.wallMs,
    stalePages: 0,
  };
  const query: Query = [
    ['ordering', `-${state.order}`],
    ...state.plan.query,
    ...(isOfCreated || state.cursorMs === undefined ? [LARGE_PAGE] : []),
  ];
  const effect: AlertsEffect = { type: 'read-page', id: reading.id, query };
  return { state: { ...state, reading, readings: reading.id }, effects: [effect] };
}

/** Begins the next reading now, whatever the pace. */
function beginNow(state: AlertsState, now: Moment): AlertsStep {
  if (state.plan.everyMs === undefined || state.failure !== undefined) return same(state);
  return begin({ ...state, dueMs: now.monotonicMs }, now);
}

function takePage(
  state: AlertsState,
  before: Reading,
  { page, serviceMs }: AlertsEvent & { type: 'page' },
  now: Moment,
): AlertsStep {
  const reading = addPage(state, before, page, serviceMs);
  const proven = { ...state, isProven: true };
  if (reading.lastMs === undefined && state.order === 'modified' && page.next !== undefined) {
    return begin({ ...proven, order: 'created', reading: undefined, dueMs: now.monotonicMs }, now);
  }
  const { cursorMs } = state;
  // At the start the newest alert says where it begins.
  const markMs = cursorMs ?? reading.topMs;
  const isBelow = markMs !== undefined && reading.lastMs !== undefined && reading.lastMs < markMs - OVERLAP_MS;
  const isFar = reading.items.size >= READING_LIMIT_ITEMS || reading.stalePages >= STALE_PAGES_LIMIT;
  const isOpenMet = reading.open.size === 0 || reading.pages >= OPEN_LIMIT_PAGES;
  // What is open is known from the start, where it has to be read again to see it change.
  const isEnough =
    isBelow && isOpenMet && (state.order === 'modified' || cursorMs !== undefined || reading.pages >= OPEN_LIMIT_PAGES);
  if (page.next === undefined) return finish(proven, { ...reading, readTo: 'end' }, now);
  if (isEnough || isFar) return finish(proven, { ...reading, readTo: isEnough ? 'known' : 'bound' }, now);
  const effect: AlertsEffect = { type: 'read-page', id: reading.id, query: page.next };
  return { state: { ...proven, reading }, effects: [effect] };
}

interface WholeReading extends Reading {
  /** It came to the end of the list, to where all that follows is known, or is long enough. */
  readonly readTo: 'end' | 'known' | 'bound';
}

function addPage({ order }: AlertsState, before: Reading, page: Page<Alert>, serviceMs: number): Reading {
  const items = new Map(before.items);
  const open = new Set(before.open);
  let { lastMs, topMs } = before;
  for (const item of page.items) {
    const version = versionOf(item, 'list');
    const key = keyOf(version);
    open.delete(version.id);
    const orderMs = order === 'modified' ? lastMsOf(item.value) : readTime(item.value.created);
    // Once out of order, always out of order: then nothing proves that the rest is older.
    lastMs = orderMs === undefined || lastMs === undefined || orderMs > lastMs ? undefined : orderMs;
    const changedMs = lastMsOf(item.value);
    if (changedMs !== undefined && changedMs <= serviceMs + AHEAD_MS) topMs = Math.max(topMs ?? changedMs, changedMs);
    if (!items.has(key)) items.set(key, item);
  }
  const stalePages = items.size > before.items.size ? 0 : before.stalePages + 1;
  const first = before.pages === 0 ? { serviceMs } : {};
  return { ...before, ...first, pages: before.pages + 1, items, open, lastMs, topMs, stalePages };
}

/** The reading is whole: what is news is shown, the oldest first, and the rest is known. */
function finish(state: AlertsState, reading: WholeReading, now: Moment): AlertsStep {
  const { plan, failure } = state;
  const effects: AlertsEffect[] = [];
  if (failure !== undefined) effects.push({ type: 'back', downMs: now.monotonicMs - failure.sinceMs });
  if (reading.readTo === 'bound') effects.push({ type: 'bound', items: reading.items.size });
  const over = add({ ...state, reading: undefined, failure: undefined }, { readings: 1 });
  let news = 0;
  const shown = forEach(over, oldestFirst(reading.items.values()), (open, item): AlertsStep => {
    const look = state.known.look(item);
    if (look.kind === 'repeat' || look.kind === 'older') return same(open);
    const changedMs = lastMsOf(item.value);
    const isOld = look.kind === 'unknown' && changedMs !== undefined && changedMs < state.floorMs;
    if (state.cursorMs === undefined || isOld) return learn(open, item, 'list');
    news++;
    const mark = plan.isBackfill ? 'caught-up' : undefined;
    return show(open, item, { source: 'list', before: look.before, mark }, now);
  });
  const ready: AlertsEffect[] = over.counts.readings === 1 ? [{ type: 'ready', alerts: reading.items.size }] : [];
  return after(
    effects,
    followedBy(shown, (open) => after(ready, rest(open, reading, news > 0, now))),
  );
}

/** Moves the cursor, and waits for the next reading. */
function rest(state: AlertsState, reading: WholeReading, hasNews: boolean, now: Moment): AlertsStep {
  const { cursorMs, plan } = state;
  // An alert that left the pages while they were read may have drawn another past their edge: they are read again before that is forgotten.
  const isShaky = reading.pages > 1 && hasNews && cursorMs !== undefined && reading.readTo !== 'bound';
  const nextMs = isShaky
    ? cursorMs
    : Math.max(cursorMs ?? Number.NEGATIVE_INFINITY, reading.topMs ?? cursorMs ?? reading.serviceMs);
  // Where the whole list was read at the start, everything that is not known is new.
  const startMs = reading.readTo === 'end' ? Number.NEGATIVE_INFINITY : nextMs - OVERLAP_MS;
  const floorMs = cursorMs === undefined ? startMs : state.floorMs;
  const pace = afterReading(state.pace, hasNews);
  const pauseMs = isShaky ? Math.min(pace.everyMs, plan.everyMs ?? 0) : pace.everyMs;
  const next = { ...state, cursorMs: nextMs, floorMs, pace, dueMs: now.monotonicMs + pauseMs };
  const wake: AlertsEffect = { type: 'wake', inMs: Math.ceil(pauseMs) };
  return { state: next, effects: nextMs === cursorMs ? [wake] : [{ type: 'cursor', cursorMs: nextMs }, wake] };
}

/** By the time of their change; what has the same, or none, in the list's own order. */
function oldestFirst(items: Iterable<AlertItem>): AlertItem[] {
  const timed = [...items].map((item) => ({ item, at: lastMsOf(item.value) ?? 0 })).reverse();
  return timed.sort((a, b) => a.at - b.at).map(({ item }) => item);
}

function takeFailure(
  state: AlertsState,
  reading: Reading,
  { error, askedMs }: AlertsEvent & { type: 'failed' },
  now: Moment,
): AlertsStep {
  // Assumed: a service that does not order by `modified` says 400, as it was observed for other fields.
  if (error.status === 400 && state.order === 'modified' && reading.pages === 0) {
    const next: AlertsState = { ...state, order: 'created', reading: undefined, dueMs: now.monotonicMs };
    const detail: AlertsEffect = {
      type: 'detail',
      text: 'the service does not order alerts by modified; reading what is open again',
    };
    return followedBy({ state: next, effects: [detail] }, (open) => begin(open, now));
  }
  const failed = add({ ...state, reading: undefined }, { failures: 1 });
  const sinceMs = state.failure?.sinceMs ?? now.monotonicMs;
  if (!state.plan.isBackfill && isFinal(error, state.isProven, now.monotonicMs - sinceMs))
    return end(failed, 'failed', error);
  const { pace, pauseMs, cappedFromMs } = afterFailure(state.pace, { askedMs, isThrottled: error.status === 429 });
  const unread: AlertsEffect = { type: 'unread', error, retryInMs: pauseMs, cappedFromMs };
  const isSaid = state.failure?.message === error.message;
  const next = { ...failed, pace, failure: { sinceMs, message: error.message }, dueMs: now.monotonicMs + pauseMs };
  return { state: next, effects: [...(isSaid ? [] : [unread]), { type: 'wake', inMs: Math.ceil(pauseMs) }] };
}

/** Whether asking again is of no use: what the service refuses from the start, or for a minute after it did not. */
function isFinal({ kind, status }: FleetError, isProven: boolean, lastedMs: number): boolean {
  if (kind === 'internal' || kind === 'usage') return true;
  if (kind === 'network') return false;
  const isAnswer = kind === 'service' && status !== undefined && status < 300;
  if (kind === 'service' && !isAnswer) return false;
  if (!isProven) return true;
  // A token command may fail for a while.
  if (kind === 'config' || isAnswer) return false;
  return lastedMs >= REFUSAL_LIMIT_MS;
}

// What comes by itself

function takeWebhook(state: AlertsState, { id, items }: AlertsEvent & { type: 'webhook' }, now: Moment): AlertsStep {
  let isNews = items.length === 0;
  let left = items.length;
  const { state: taken, effects } = forEach(state, items, (open, item): AlertsStep => {
    const { kind, before, isBrought } = state.known.look(item);
    isNews ||= !isBrought;
    left--;
    const mark = kind === 'older' ? 'late' : undefined;
    if (kind !== 'repeat') return show(open, item, { source: 'webhook', before, mark }, now);
    // The list told of it first: from now on a webhook did as well.
    return isBrought ? same(open) : learn(open, item, 'webhook');
  });
  // One that ends all is answered when nothing of it is left; else it is sent again to whoever listens next.
  const answer: AlertsEffect[] = left === 0 ? [{ type: 'accepted', id, isNews }] : [];
  const end = effects.filter(({ type }) => type === 'end');
  return { state: taken, effects: [...effects.slice(0, effects.length - end.length), ...answer, ...end] };
}

function takePushed(state: AlertsState, event: StreamEvent, now: Moment): AlertsStep {
  const told: AlertsStep = { state, effects: [{ type: 'stream', event }] };
  if (event.type === 'closed') return followedBy(told, (open) => end(open, 'failed', event.error));
  // What the channel did not say stands in the list.
  if (event.type === 'gap') return followedBy(told, (open) => beginNow(open, now));
  if (event.type !== 'message') return told;
  const alert = readPushed(event.data);
  if (alert === 'other') return same(state);
  // A part of an alert: the list has the whole.
  if (alert === 'part') return beginNow(state, now);
  const { kind, before } = state.known.look(alert);
  return kind === 'repeat' || kind === 'older'
    ? same(state)
    : show(state, alert, { source: 'push', before, mark: undefined }, now);
}

/** The alert of a message (section 2.5); a message may be of something else, or carry a part alone. */
function readPushed(data: string): AlertItem | 'other' | 'part' {
  let envelope: unknown;
  try {
    envelope = parseJson(data);
  } catch {
    return 'part';
  }
  const { sender, message } = (envelope ?? {}) as { sender?: unknown; message?: unknown };
  if (sender !== 'alert') return 'other';
  const value = (typeof message === 'object' && message !== null ? message : {}) as Alert;
  const isWhole = [value.uuid, value.modified, value.state].every((field) => typeof field === 'string' && field !== '');
  return isWhole ? { value, json: JSON.stringify(value) } : 'part';
}

// What is shown

interface Bringing {
  readonly source: Source;
  readonly before: string | undefined;
  readonly mark: Show['mark'];
}

function learn(state: AlertsState, item: AlertItem, source: Source): AlertsStep {
  return { state, effects: [{ type: 'learned', version: state.known.learn(item, source) }] };
}

/** Shows an alert unless the filters leave it out; ends what waited for it. */
function show(state: AlertsState, item: AlertItem, { source, before, mark }: Bringing, now: Moment): AlertsStep {
  const { plan } = state;
  const version = state.known.learn(item, source);
  if (!isWanted(plan, item.value)) return { state, effects: [{ type: 'learned', version }] };
  const isChange = before !== undefined && before !== version.state && mark !== 'late';
  const shown = add(state, { shown: 1, caughtUp: mark === 'caught-up' ? 1 : 0, late: mark === 'late' ? 1 : 0 });
  const effect: Show = { type: 'show', item, version, before: isChange ? before : undefined, mark };
  const step: AlertsStep = { state: shown, effects: [effect] };
  if (plan.until?.every((condition) => matches(condition, item.value, now.wallMs)))
    return followedBy(step, (met) => end(met, 'until'));
  return shown.counts.shown === plan.maxEvents ? followedBy(step, (full) => end(full, 'max-events')) : step;
}

/** Checked on this side as well: a service may ignore a parameter. */
function isWanted({ types, states }: AlertsPlan, { alert_type, state }: Alert): boolean {
  const has = (words: ReadonlySet<string> | undefined, word: unknown) =>
    words === undefined || words.has(textOf(word) ?? '');
  return has(types, alert_type) && has(states, state);
}
