// What following alerts does next: `alertsState(state, event, now)` gives the state after an event and what is to be done, without I/O.
//
// There is one table, alert -> versions that were printed or were there before, and a cursor: the time up to which the list was read. What
// is in the list, not in the table and not older than the floor is news, whatever the clocks say. It is shown when the reading is whole, the
// oldest first: one that fails half-way has shown nothing. Webhooks and pushes bring alerts sooner; each version is shown once, whoever
// brings it. The state is handed on from step to step; the table in it alone changes in place.

import type { Alert } from '../../api/alert.js';
import type { Moment } from '../../clock.js';
import type { FleetError } from '../../errors.js';
import { LARGE_PAGE } from '../../http/first-page.js';
import type { StreamEvent } from '../../http/stream/events.js';
import type { Page, Query } from '../../http/types.js';
import { parseJson } from '../../json/parse.js';
import { add, after, followedBy, forEach, type Step, same } from '../../step.js';
import { readTime } from '../../terminal/time.js';
import { textOf } from '../../terminal/values.js';
import type { WatchEnd } from '../../views/stream.js';
import type { EndPlan, Stop } from '../follow/ending.js';
import type { End } from '../follow/loop.js';
import { matches } from '../list/where.js';
import { type AlertItem, type KnownAlerts, lastMsOf, type Source, type Version } from './known.js';
import type { Marks } from './memory.js';
import { afterFailure, afterReading, type Pace, startPace } from './pace.js';
import {
  addPage,
  CLOCK_MARGIN_MS,
  cursorLimitMs,
  type Order,
  oldestFirst,
  type Reading,
  readTo,
  startReading,
} from './reading.js';

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
  readonly marks: Marks & { readonly beganMs: number };
  readonly order: Order;
  readonly reading: Reading | undefined;
  readonly readings: number;
  /** A run before this one began the watch, and ended without a reading. */
  readonly isResumed: boolean;
  /** Whether a page has come at all. */
  readonly isProven: boolean;
  /** When the next reading begins, and from when on it is a deep one, on the monotonic clock. */
  readonly dueMs: number;
  readonly deepDueMs: number;
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
  | { readonly type: 'cursor'; readonly marks: Marks }
  /** The cursor was in the service's future. */
  | { readonly type: 'repaired'; readonly fromMs: number; readonly toMs: number }
  | { readonly type: 'read-page'; readonly id: number; readonly query: Query }
  | { readonly type: 'wake'; readonly inMs: number }
  | {
      readonly type: 'unread';
      readonly error: FleetError;
      readonly retryInMs: number;
      /** What the service asked for, where that is too long to be waited. */
      readonly cappedFromMs: number | undefined;
    }
  /** The list was read for the first time; so late that `unsure` alerts of the last hours may be newer than the watch. */
  | { readonly type: 'ready'; readonly alerts: number; readonly unsure: number }
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
  readonly marks: Marks;
}

/** A cursor that is ahead of the service by more is a mistake. */
const AHEAD_MS = 60_000;
/** A deep reading comes so often, or every so many readings. */
const DEEP_EVERY_MS = 60_000;
const DEEP_EVERY_READINGS = 10;
/** Alerts that were made before a first answer that took longer belong to the watch. */
const LATE_MS = 5_000;
/** The service's times have whole seconds. */
const SECOND_MS = 1_000;
/** After a list that was read, a refusal may pass for so long. */
const REFUSAL_LIMIT_MS = 60_000;

export function startAlerts(plan: AlertsPlan, { known, marks }: Remembered, now: Moment): AlertsState {
  const { cursorMs = plan.sinceMs, beganMs = now.wallMs } = marks;
  const floorMs =
    marks.cursorMs === undefined ? plan.sinceMs : Math.max(marks.cursorMs - CLOCK_MARGIN_MS, marks.floorMs ?? 0);
  return {
    plan,
    known,
    marks: { beganMs, cursorMs, floorMs },
    order: 'modified',
    reading: undefined,
    readings: 0,
    isResumed: marks.beganMs !== undefined,
    isProven: false,
    dueMs: plan.everyMs === undefined ? Number.POSITIVE_INFINITY : now.monotonicMs,
    deepDueMs: now.monotonicMs,
    pace: startPace(plan.everyMs ?? 0),
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
  const isDeep = state.deepDueMs <= now.monotonicMs;
  const reading = startReading(state.readings + 1, isDeep, now.wallMs);
  const query: Query = [['ordering', `-${state.order}`], ...state.plan.query, ...(isDeep ? [LARGE_PAGE] : [])];
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
  const { order } = state;
  const reading = addPage(before, order, page, serviceMs);
  const { state: proven, effects } = repair({ ...state, isProven: true }, reading, now);
  if (reading.lastMs === undefined && order === 'modified' && page.next !== undefined) {
    return after(effects, begin({ ...proven, order: 'created', reading: undefined, dueMs: now.monotonicMs }, now));
  }
  // At the start the newest alert says where it begins.
  const cursorMs = proven.marks.cursorMs ?? topOf(reading, now);
  const end = readTo(reading, order, cursorMs, page.next !== undefined);
  if (end !== undefined) return after(effects, finish(proven, reading, end, now));
  const effect: AlertsEffect = { type: 'read-page', id: reading.id, query: page.next ?? [] };
  return { state: { ...proven, reading }, effects: [...effects, effect] };
}

/** The newest time of an alert that is not ahead of the service. */
function topOf({ topMs, serviceMs }: Reading, now: Moment): number | undefined {
  return topMs === undefined ? undefined : Math.min(topMs, cursorLimitMs(serviceMs, now.wallMs));
}

/** Brings a cursor that lies in the future back to the newest alert that is known and does not. */
function repair(state: AlertsState, { serviceMs }: Reading, now: Moment): AlertsStep {
  const { marks, known } = state;
  const { cursorMs: fromMs } = marks;
  const limitMs = cursorLimitMs(serviceMs, now.wallMs);
  if (fromMs === undefined || fromMs <= limitMs + AHEAD_MS) return same(state);
  const times = known.versions().flatMap(({ modified }) => readTime(modified) ?? []);
  const toMs = times.reduce((last, at) => (at <= limitMs ? Math.max(last, at) : last), limitMs - CLOCK_MARGIN_MS);
  const repaired = { ...marks, cursorMs: toMs, floorMs: toMs - CLOCK_MARGIN_MS };
  const effects: AlertsEffect[] = [
    { type: 'repaired', fromMs, toMs },
    { type: 'cursor', marks: repaired },
  ];
  return { state: { ...state, marks: repaired }, effects };
}

/** The reading is whole: what is news is shown, the oldest first, and the rest is known. */
function finish(state: AlertsState, reading: Reading, end: 'end' | 'known' | 'bound', now: Moment): AlertsStep {
  const { plan, failure } = state;
  const { beganMs, cursorMs, floorMs } = state.marks;
  const effects: AlertsEffect[] = [];
  if (failure !== undefined) effects.push({ type: 'back', downMs: now.monotonicMs - failure.sinceMs });
  if (end === 'bound') effects.push({ type: 'bound', items: reading.items.size });
  const over = add({ ...state, reading: undefined, failure: undefined }, { readings: 1 });
  const isFirst = cursorMs === undefined;
  // A first reading that came late has alerts that are newer than the watch, too; their times have whole seconds.
  const waitedMs = now.wallMs - beganMs;
  const isLate = isFirst && (state.isResumed || state.counts.failures > 0 || waitedMs > LATE_MS);
  const beganAtMs = Math.floor((reading.serviceMs - waitedMs) / SECOND_MS) * SECOND_MS;
  const firstMs = isLate ? beganAtMs : Number.POSITIVE_INFINITY;
  const fromMs = isFirst ? firstMs : (floorMs ?? Number.NEGATIVE_INFINITY);
  let news = 0;
  let unsure = 0;
  const shown = forEach(over, oldestFirst(reading.items.values()), (open, item): AlertsStep => {
    const { source, before } = state.known.look(item);
    if (source !== undefined) return same(open);
    const changedMs = lastMsOf(item.value) ?? (isFirst ? Number.NEGATIVE_INFINITY : fromMs);
    if (before === undefined && changedMs < fromMs) {
      if (isLate && changedMs >= beganAtMs - CLOCK_MARGIN_MS) unsure++;
      return learn(open, item, 'there');
    }
    news++;
    const mark = plan.isBackfill ? 'caught-up' : undefined;
    return show(open, item, { source: 'list', before, mark }, now);
  });
  const ready: AlertsEffect[] =
    over.counts.readings === 1 ? [{ type: 'ready', alerts: reading.items.size, unsure }] : [];
  return after(
    effects,
    followedBy(shown, (open) => after(ready, rest(open, reading, end, news > 0, now))),
  );
}

/** Moves the cursor, and waits for the next reading. */
function rest(state: AlertsState, reading: Reading, end: string, hasNews: boolean, now: Moment): AlertsStep {
  const { plan, marks } = state;
  const { cursorMs } = marks;
  // An alert that left the pages while they were read may have drawn another past their edge: they are read again before that is forgotten.
  const isShaky = reading.pages > 1 && hasNews && cursorMs !== undefined && end !== 'bound';
  const topMs = topOf(reading, now);
  const startMs = topMs ?? cursorLimitMs(reading.serviceMs, now.wallMs) - (now.wallMs - marks.beganMs);
  const nextMs = isShaky ? cursorMs : Math.max(cursorMs ?? startMs, topMs ?? startMs);
  // Where the whole list was read at the start, everything that is not known is new.
  const startFloorMs = end === 'end' ? Number.NEGATIVE_INFINITY : nextMs - CLOCK_MARGIN_MS;
  const floorMs = cursorMs === undefined ? startFloorMs : marks.floorMs;
  const pace = afterReading(state.pace);
  const pauseMs = isShaky ? (plan.everyMs ?? 0) : pace.everyMs;
  const deepPauseMs = isShaky ? 0 : Math.min(DEEP_EVERY_MS, DEEP_EVERY_READINGS * pace.everyMs);
  const deepDueMs = reading.isDeep ? now.monotonicMs + deepPauseMs : state.deepDueMs;
  const moved = { ...marks, cursorMs: nextMs, floorMs };
  const next = { ...state, marks: moved, pace, dueMs: now.monotonicMs + pauseMs, deepDueMs };
  const wake: AlertsEffect = { type: 'wake', inMs: Math.ceil(pauseMs) };
  return { state: next, effects: nextMs === cursorMs ? [wake] : [{ type: 'cursor', marks: moved }, wake] };
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
      text: 'the service does not order alerts by modified; changes are looked for in the newest 2,000',
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
function isFinal({ kind, status, isLasting }: FleetError, isProven: boolean, lastedMs: number): boolean {
  // A token source may fail for a while.
  if (kind === 'config') return isLasting && !isProven;
  if (kind === 'internal' || kind === 'usage') return true;
  if (kind === 'network') return false;
  const isAnswer = kind === 'service' && status !== undefined && status < 300;
  if (kind === 'service' && !isAnswer) return false;
  if (!isProven) return true;
  if (isAnswer) return false;
  return lastedMs >= REFUSAL_LIMIT_MS;
}

// What comes by itself

function takeWebhook(state: AlertsState, { id, items }: AlertsEvent & { type: 'webhook' }, now: Moment): AlertsStep {
  let isNews = items.length === 0;
  let left = items.length;
  const { state: taken, effects } = forEach(state, items, (open, item): AlertsStep => {
    const { source, before, isOlder } = state.known.look(item);
    isNews ||= source !== 'webhook';
    left--;
    const isPrinted = source !== undefined && source !== 'there';
    if (!isPrinted) return show(open, item, { source: 'webhook', before, mark: isOlder ? 'late' : undefined }, now);
    // The list told of it first: from now on a webhook did as well.
    return source === 'webhook' ? same(open) : learn(open, item, 'webhook');
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
  const { source, before, isOlder } = state.known.look(alert);
  if (source !== undefined) return same(state);
  return show(state, alert, { source: 'push', before, mark: isOlder ? 'late' : undefined }, now);
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
