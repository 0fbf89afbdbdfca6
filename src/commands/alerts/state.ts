// What following alerts does next: `alertsState(state, event, now)` takes an event in and gives what is to be done, without I/O.
//
// There is one table, alert -> versions that were printed or were there before, and a cursor: the time up to which the list was read. What
// is in the list, not in the table and not older than the cursor by more than clocks may be wrong is news. It is shown when the reading is
// whole, the oldest first: one that fails half-way has shown nothing. Webhooks and pushes bring alerts sooner; each version is shown once,
// whoever brings it. The state changes in place.

import type { Alert } from '../../api/alert.js';
import { FleetError } from '../../errors.js';
import { LARGE_PAGE } from '../../http/first-page.js';
import { LONGEST_ASKED_PAUSE_MS } from '../../http/retry.js';
import type { StreamEvent } from '../../http/stream/events.js';
import type { Query } from '../../http/types.js';
import { doublingPauseMs, type Moment } from '../../system/clock.js';
import { MACHINE_ZONE } from '../../system/time-zone.js';
import { textOf } from '../../terminal/values.js';
import { iso } from '../../views/connection.js';
import type { End } from '../shared/follow/loop.js';
import { matches } from '../shared/list/where.js';
import type { AlertsEffect, AlertsEvent, AlertsPlan, Show } from './events.js';
import { type AlertItem, alertVersionOf, lastMsOf, type Source } from './known.js';
import type { ListReading, Order } from './reading.js';
import {
  addPage,
  CLOCK_MARGIN_MS,
  oldestFirst,
  readDownTo,
  startReading,
  topOf,
} from './reading.js';
import type { Marks, Memory } from './state-file.js';
import { readPushed } from './webhook-payload.js';

/** A cursor that is ahead of the service by more is a mistake. */
const AHEAD_MS = 60_000;
/** A deep reading comes so often, or every so many readings. */
const DEEP_EVERY_MS = 60_000;
const DEEP_EVERY_READINGS = 10;
/** Alerts that were made before a first answer that took longer belong to the watch. */
const LATE_MS = 5_000;
/** The service's times have whole seconds. */
const SECOND_MS = 1_000;
/** The first pause after a failure; each further one is twice as long. */
const FIRST_RETRY_MS = 1_000;
const LONGEST_RETRY_MS = 60_000;
/** After a list that was read, a refusal may pass for so long. */
const REFUSAL_LIMIT_MS = 60_000;

export type AlertsState = ReturnType<typeof startAlerts>;
export type AlertCounts = AlertsState['counts'];

/** `known` and `marks` are what a restart knows. */
export function startAlerts(
  plan: AlertsPlan,
  { known, marks }: Pick<Memory, 'known' | 'marks'>,
  now: Moment,
) {
  const { beganMs = plan.sinceMs, cursorMs } = marks;
  return {
    plan,
    known,
    marks: { beganMs: beganMs ?? now.wallMs, cursorMs } as Marks & { beganMs: number },
    /** The first reading comes later than the watch began, in this run or in one before. */
    isLate: beganMs !== undefined,
    order: 'modified' as Order,
    reading: undefined as ListReading | undefined,
    /** A page was asked for, and has not come. */
    isAsking: false,
    /** When the next reading begins, and from when on it is a deep one, on the monotonic clock. */
    dueMs: plan.everyMs === undefined ? Number.POSITIVE_INFINITY : now.monotonicMs,
    deepDueMs: now.monotonicMs,
    /** The failure that lasts; said once. */
    failure: undefined as { sinceMs: number; error: FleetError; inARow: number } | undefined,
    counts: {
      shown: 0,
      caughtUp: 0,
      pages: 0,
      readings: 0,
      failures: 0,
      /** How long the list could not be read, in milliseconds. */
      unreadMs: 0,
    },
  };
}

/** What happens within one event. */
interface Turn {
  readonly state: AlertsState;
  readonly now: Moment;
  readonly effects: AlertsEffect[];
  /** The last effect, where there is one. */
  end: End | undefined;
}

export function alertsState(
  state: AlertsState,
  event: AlertsEvent,
  now: Moment,
): readonly AlertsEffect[] {
  const turn: Turn = { state, now, effects: [], end: undefined };
  if (event.type === 'tick') begin(turn);
  else if (event.type === 'page') takePage(turn, event);
  else if (event.type === 'failed') takeFailure(turn, event);
  else if (event.type === 'webhook') takeWebhook(turn, event);
  else if (event.type === 'stop') takeStop(turn, event);
  else takePushed(turn, event);
  return turn.end === undefined ? turn.effects : [...turn.effects, turn.end];
}

// The reading of the list

/** Begins a reading when it is due, or goes on with the page of one that failed; else says when. */
function begin({ state, now, effects }: Turn) {
  if (state.isAsking || state.dueMs === Number.POSITIVE_INFINITY) return;
  const inMs = state.dueMs - now.monotonicMs;
  // Rounded up: what is left of a millisecond by the arithmetic of floating numbers would wake for ever.
  if (inMs > 0) return void effects.push({ type: 'wake', inMs: Math.ceil(inMs) });
  const isDeep = state.deepDueMs <= now.monotonicMs;
  const query: Query = [
    ['ordering', `-${state.order}`],
    ...state.plan.query,
    ...(isDeep ? [LARGE_PAGE] : []),
  ];
  state.reading ??= startReading(isDeep, query);
  state.isAsking = true;
  effects.push({ type: 'read-page', query: state.reading.query });
}

/** Reads the list again from its head, by the order that every service knows. */
function beginByCreated(turn: Turn) {
  Object.assign(turn.state, { order: 'created', reading: undefined, dueMs: turn.now.monotonicMs });
  begin(turn);
}

function takePage(turn: Turn, { page, serviceMs }: AlertsEvent & { type: 'page' }) {
  const { state, now } = turn;
  const { order, reading } = state;
  state.isAsking = false;
  if (reading === undefined) return;
  // Each page that comes is a success: only failures in a row make the pause longer.
  if (state.failure !== undefined) state.failure.inARow = 0;
  if (reading.pages === 0)
    Object.assign(reading, { atMs: Math.min(serviceMs, now.wallMs), wallMs: now.wallMs });
  addPage(reading, order, page);
  state.counts.pages++;
  repair(turn, reading);
  if (reading.lastMs === undefined && order === 'modified' && page.next !== undefined)
    return beginByCreated(turn);
  // At the start it is the newest alert that was there before.
  const startMs = Math.min(topOf(reading), beganAtMs(state, reading));
  const end = readDownTo(reading, order, state.marks.cursorMs ?? startMs, page.next !== undefined);
  if (end !== undefined) finish(turn, reading, end);
  else {
    reading.query = page.next ?? [];
    begin(turn);
  }
}

/** When the watch began, by the service's clock; its times have whole seconds. */
function beganAtMs({ marks }: AlertsState, { atMs, wallMs }: ListReading): number {
  return Math.floor((marks.beganMs - wallMs + atMs) / SECOND_MS) * SECOND_MS;
}

function moveCursor({ state, effects }: Turn, cursorMs: number) {
  if (cursorMs === state.marks.cursorMs) return;
  state.marks = { ...state.marks, cursorMs };
  effects.push({ type: 'cursor', marks: state.marks });
}

/** Brings a cursor that lies in the future back. */
function repair(turn: Turn, { atMs }: ListReading) {
  const { cursorMs = atMs } = turn.state.marks;
  if (cursorMs <= atMs + AHEAD_MS) return;
  const from = iso(atMs - CLOCK_MARGIN_MS);
  const text = `the list was read until ${iso(cursorMs)}, which is ahead of the service's clock; reading again from ${from}`;
  turn.effects.push({ type: 'detail', text });
  moveCursor(turn, atMs);
}

/** The reading is whole: what is news is shown, the oldest first, and the rest is known. */
function finish(turn: Turn, reading: ListReading, readTo: 'end' | 'known' | 'bound') {
  const { state, now, effects } = turn;
  const { failure, counts, known, plan } = state;
  const { beganMs, cursorMs } = state.marks;
  if (failure !== undefined) {
    const downMs = now.monotonicMs - failure.sinceMs;
    counts.unreadMs += downMs;
    effects.push({ type: 'back', downMs });
  }
  if (readTo === 'bound') effects.push({ type: 'bound', items: reading.items.size });
  state.reading = undefined;
  state.failure = undefined;
  // A first reading that came late has alerts that are newer than the watch, too.
  const isLate = state.isLate || now.wallMs - beganMs > LATE_MS;
  const firstMs = isLate ? beganAtMs(state, reading) : Number.POSITIVE_INFINITY;
  const fromMs = cursorMs === undefined ? firstMs : cursorMs - CLOCK_MARGIN_MS;
  for (const item of oldestFirst(reading.items.values())) {
    const { source, before } = known.look(item);
    if (source !== undefined || turn.end !== undefined) continue;
    // One without a time is news unless it was there at the start.
    const isNews = (lastMsOf(item.value) ?? cursorMs ?? Number.NEGATIVE_INFINITY) >= fromMs;
    if (before !== undefined || isNews)
      show(turn, item, 'list', before, plan.isBackfill ? 'caught-up' : undefined);
    else learn(turn, item, 'there');
  }
  counts.readings++;
  if (turn.end !== undefined) return;
  if (counts.readings === 1) effects.push({ type: 'ready', alerts: reading.items.size });
  const everyMs = plan.everyMs ?? 0;
  if (reading.isDeep) {
    state.deepDueMs = now.monotonicMs + Math.min(DEEP_EVERY_MS, DEEP_EVERY_READINGS * everyMs);
    // Not by the others: what slipped past the edge of a page meanwhile is in the next one.
    moveCursor(turn, Math.max(cursorMs ?? Number.NEGATIVE_INFINITY, topOf(reading)));
  }
  waitFor(turn, everyMs);
}

function waitFor({ state, now, effects }: Turn, pauseMs: number) {
  state.dueMs = now.monotonicMs + pauseMs;
  effects.push({ type: 'wake', inMs: Math.ceil(pauseMs) });
}

function takeFailure(turn: Turn, { error, askedMs = 0 }: AlertsEvent & { type: 'failed' }) {
  const { state, now, effects } = turn;
  state.isAsking = false;
  // Assumed: a service that does not order by `modified` says 400, as it was observed for other fields.
  if (error.status === 400 && state.order === 'modified' && state.reading?.pages === 0) {
    const text =
      'the service cannot sort alerts by modified: only the newest 2,000 are checked for changes';
    effects.push({ type: 'detail', text });
    return beginByCreated(turn);
  }
  // A page that is not there may have been the last one of a list that became shorter.
  if (error.kind !== 'service' && error.kind !== 'network') state.reading = undefined;
  state.isLate = true;
  state.counts.failures++;
  const sinceMs = state.failure?.sinceMs ?? now.monotonicMs;
  const inARow = state.failure?.inARow ?? 0;
  const isNew = state.failure?.error.message !== error.message;
  if (!state.plan.isBackfill && isFinal(error, state.counts.pages > 0, now.monotonicMs - sinceMs)) {
    turn.end = { type: 'end', end: 'failed', error };
    return;
  }
  state.failure = { sinceMs, error, inARow: inARow + 1 };
  const backoffMs = doublingPauseMs(inARow + 1, FIRST_RETRY_MS, LONGEST_RETRY_MS);
  const pauseMs = Math.max(backoffMs, Math.min(askedMs, LONGEST_ASKED_PAUSE_MS));
  const cappedFromMs = askedMs > LONGEST_ASKED_PAUSE_MS ? askedMs : undefined;
  if (isNew) effects.push({ type: 'unread', error, retryInMs: pauseMs, cappedFromMs });
  waitFor(turn, pauseMs);
}

/** Ends the watch. It fails when its time is over and the list was never read. */
function takeStop(turn: Turn, event: AlertsEvent & { type: 'stop' }) {
  const { state, now } = turn;
  if (state.failure !== undefined) state.counts.unreadMs += now.monotonicMs - state.failure.sinceMs;
  const isUnread = event.end === 'for' && event.error === undefined && readsList(state);
  turn.end = { ...event, type: 'end', ...(isUnread ? { error: neverRead(state) } : {}) };
}

/** Whether the watch depends on the list, and did not read it once. */
function readsList({ plan, counts }: AlertsState): boolean {
  return plan.everyMs !== undefined && !plan.isBackfill && counts.readings === 0;
}

/** Exit code 7 when the service answered with an error, otherwise 8. */
function neverRead({ failure }: AlertsState): FleetError {
  const isAnswered = failure !== undefined && failure.error.kind !== 'network';
  const reason = failure?.error.message ?? 'the service did not answer';
  return new FleetError(
    isAnswered ? 'service' : 'network',
    `the alerts were never read: ${reason}`,
    {
      hint: '"fleet doctor" checks the service',
    },
  );
}

/** Whether asking again is of no use: what the service refuses from the start, or for a minute after it did not. */
function isFinal(
  { kind, status = 0, isLasting }: FleetError,
  isProven: boolean,
  lastedMs: number,
): boolean {
  // A token source may fail for a while.
  if (kind === 'config') return isLasting && !isProven;
  if (kind === 'internal' || kind === 'usage') return true;
  // An answer that is no list.
  if (kind === 'service') return !isProven && status > 0 && status < 300;
  return kind !== 'network' && (!isProven || lastedMs >= REFUSAL_LIMIT_MS);
}

// What comes by itself

function takeWebhook(turn: Turn, { webhook }: AlertsEvent & { type: 'webhook' }) {
  const { state, effects } = turn;
  let isNews = webhook.items.length === 0;
  for (const item of webhook.items) {
    // One that ends all before its last alert is not answered: it is sent again to whoever listens next.
    if (turn.end !== undefined) return;
    const { source, before } = state.known.look(item);
    isNews ||= source !== 'webhook';
    if (source === undefined || source === 'there') show(turn, item, 'webhook', before);
    // The list had it first: from now on a webhook did as well.
    else if (source === 'list') learn(turn, item, 'webhook');
  }
  effects.push({ type: 'accepted', webhook, isNews });
}

/** What the channel does not say, or says in part, stands in the list. */
function takePushed(turn: Turn, event: StreamEvent) {
  const { state, effects } = turn;
  if (event.type !== 'message') effects.push({ type: 'stream', event });
  if (event.type === 'closed') turn.end = { type: 'end', end: 'failed', error: event.error };
  const alert = event.type === 'message' ? readPushed(event.data) : undefined;
  if (alert === undefined) return;
  const { source, before } = state.known.look(alert);
  if (source === undefined) show(turn, alert, 'list', before);
}

// What is shown

function learn({ state, effects }: Turn, item: AlertItem, source: Source) {
  const version = alertVersionOf(item, source);
  state.known.learn(version);
  effects.push({ type: 'learned', version });
}

/** Shows an alert unless the filters leave it out; ends what waited for it. */
function show(
  turn: Turn,
  item: AlertItem,
  source: Source,
  before: string | undefined,
  mark?: Show['mark'],
) {
  const { state, now, effects } = turn;
  const { plan, counts } = state;
  if (!isWanted(plan, item.value)) return learn(turn, item, source);
  const version = alertVersionOf(item, source);
  state.known.learn(version);
  effects.push({
    type: 'show',
    item,
    version,
    before: before === version.state ? undefined : before,
    mark,
  });
  counts.shown++;
  if (mark === 'caught-up') counts.caughtUp++;
  const isMet = plan.until?.every((condition) =>
    matches(condition, item.value, { ms: now.wallMs, zone: plan.zone ?? MACHINE_ZONE }),
  );
  if (isMet || counts.shown === plan.maxEvents)
    turn.end = { type: 'end', end: isMet ? 'until' : 'max-events' };
}

/** Checked on this side as well: a service may ignore a parameter. */
function isWanted({ type, state }: AlertsPlan, alert: Alert): boolean {
  const isOne = (words: readonly string[] | undefined, word: unknown) =>
    words?.includes(textOf(word) ?? '') ?? true;
  return isOne(type, alert.alert_type) && isOne(state, alert.state);
}
