// The state machine that follows alerts: `alertsState(state, event, now)` handles an event and
// returns the effects to carry out. It does no I/O, and changes the state object in place.
//
// The state has a table of the known versions of each alert, and a cursor: the time up to which the
// list was read. An alert in the list is new when it is not in the table and not too old. It is too
// old when it is older than the cursor minus an allowance for wrong clocks.
//
// New alerts are shown after a whole pass over the list, oldest first. A pass that fails therefore
// shows nothing. Webhooks and pushed messages deliver alerts sooner. Each version is shown once.

import type { Alert } from '../../api/alert.js';
import { FleetError } from '../../errors.js';
import type { End } from '../../follow/loop.js';
import type { AlertOrder } from '../../follower/alert-feed.js';
import {
  type AlertItem,
  alertVersionOf,
  lastMsOf,
  type Source,
} from '../../follower/known-alerts.js';
import { LONGEST_ASKED_PAUSE_MS } from '../../http/retry.js';
import type { StreamEvent } from '../../http/stream/events.js';
import type { Page } from '../../http/types.js';
import { matches } from '../../list/where.js';
import { doublingPauseMs, type Moment } from '../../system/clock.js';
import { SECOND_MS } from '../../system/time-units.js';
import { MACHINE_ZONE } from '../../system/time-zone.js';
import { textOf } from '../../terminal/values.js';
import { iso } from '../../views/connection.js';
import type { AlertsEffect, AlertsEvent, AlertsPlan, Show } from './events.js';
import type { ListReading } from './reading.js';
import {
  addPage,
  CLOCK_MARGIN_MS,
  oldestFirst,
  readDownTo,
  repeatReading,
  startReading,
  topOf,
} from './reading.js';
import type { Marks, Memory } from './state-file.js';
import { readPushed } from './webhook-payload.js';

/** If the cursor is ahead of the service's clock by more than this, it is wrong. */
const AHEAD_MS = 60_000;
/**
 * A deep pass over the list starts after this time or after this number of passes, whichever comes
 * first.
 */
const DEEP_EVERY_MS = 60_000;
const DEEP_EVERY_READINGS = 10;
/**
 * When the first response takes longer than this, alerts may have been created while the watch
 * waited for it. The watch then shows these alerts too.
 */
const LATE_MS = 5_000;
/** The first pause after a failure. Each further pause is twice as long. */
const FIRST_RETRY_MS = 1_000;
const LONGEST_RETRY_MS = 60_000;
/** After a successful read of the list, refusals are treated as temporary for this long. */
const REFUSAL_LIMIT_MS = 60_000;

export type AlertsState = ReturnType<typeof startAlerts>;
export type AlertCounts = AlertsState['counts'];

/**
 * Creates the state of an alerts watch. Two values come from the state file. `known` contains the
 * recorded versions of alerts. `marks` contains the times up to which earlier runs read the list.
 */
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
    /**
     * Whether the first read of the list is late, because of a failure, a restart or --since. The
     * watch then also shows alerts that were created between its start and the first read.
     */
    isLate: beganMs !== undefined,
    order: 'modified' as AlertOrder,
    reading: undefined as ListReading | undefined,
    /** Whether a page was requested that has not arrived yet. */
    isAsking: false,
    /**
     * The time of the next read of the list, on the monotonic clock. From `deepDueMs` on, the next
     * read is a deep pass.
     */
    dueMs: plan.everyMs === undefined ? Number.POSITIVE_INFINITY : now.monotonicMs,
    deepDueMs: now.monotonicMs,
    /** The reason why the list cannot be read now. It is reported once. */
    failure: undefined as { sinceMs: number; error: FleetError; inARow: number } | undefined,
    counts: {
      shown: 0,
      caughtUp: 0,
      pages: 0,
      readings: 0,
      failures: 0,
      /** The total time for which the list could not be read, in milliseconds. */
      unreadMs: 0,
    },
  };
}

/** The state and the collected effects while one event is handled. */
interface Turn {
  readonly state: AlertsState;
  readonly now: Moment;
  readonly effects: AlertsEffect[];
  /** The effect that ends the watch. It is carried out after all other effects. */
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

// The functions below read the list of alerts.

/**
 * Starts to read the list when the next read is due, or continues after a failure. Otherwise
 * schedules the next read.
 */
function begin({ state, now, effects }: Turn) {
  if (state.isAsking || state.dueMs === Number.POSITIVE_INFINITY) return;
  const inMs = state.dueMs - now.monotonicMs;
  // The wait is rounded up. Otherwise the program would wake up several times during the last
  // fraction of a millisecond.
  if (inMs > 0) return void effects.push({ type: 'wake', inMs: Math.ceil(inMs) });
  const isDeep = state.deepDueMs <= now.monotonicMs;
  state.reading ??= startReading(isDeep, state.plan.query, state.order);
  state.isAsking = true;
  effects.push({ type: 'read-page', query: state.reading.feed.query });
}

/** Reads the list again, sorted by creation time. Every service supports this order. */
function beginByCreated(turn: Turn) {
  Object.assign(turn.state, { order: 'created', reading: undefined, dueMs: turn.now.monotonicMs });
  begin(turn);
}

function takePage(turn: Turn, { page, serviceMs }: AlertsEvent & { type: 'page' }) {
  const { state, now } = turn;
  const { reading } = state;
  state.isAsking = false;
  if (reading === undefined) return;
  // Each page that arrives is a success, so the backoff restarts with its first pause.
  if (state.failure !== undefined) state.failure.inARow = 0;
  const { feed } = reading;
  if (feed.pages === 0) {
    reading.atMs = Math.min(serviceMs, now.wallMs);
    reading.wallMs = now.wallMs;
  }
  addPage(reading, page);
  state.counts.pages++;
  repair(turn, reading);
  if (feed.lastMs === undefined && feed.order === 'modified' && feed.hasNext)
    return beginByCreated(turn);
  // In the first pass of a watch, fleet stops reading at the newest alert that existed before the
  // watch started.
  const startMs = Math.min(topOf(reading), beganAtMs(state, reading));
  const end = readDownTo(reading, state.marks.cursorMs ?? startMs);
  if (end === undefined) {
    begin(turn);
  } else if (feed.mustRepeat) {
    state.reading = repeatReading(reading);
    begin(turn);
  } else {
    finish(turn, reading, end);
  }
}

/**
 * Returns when the watch started, by the service's clock. The result is rounded down, because the
 * service's times are in whole seconds.
 */
function beganAtMs({ marks }: AlertsState, { atMs, wallMs }: ListReading): number {
  return Math.floor((marks.beganMs - wallMs + atMs) / SECOND_MS) * SECOND_MS;
}

function moveCursor({ state, effects }: Turn, cursorMs: number) {
  if (cursorMs === state.marks.cursorMs) return;
  state.marks = { ...state.marks, cursorMs };
  effects.push({ type: 'cursor', marks: state.marks });
}

/** Moves the cursor back to the service's time when the cursor is in the future. */
function repair(turn: Turn, { atMs }: ListReading) {
  const { cursorMs = atMs } = turn.state.marks;
  if (cursorMs <= atMs + AHEAD_MS) return;
  const from = iso(atMs - CLOCK_MARGIN_MS);
  const text = `the list was read until ${iso(cursorMs)}, which is ahead of the service's clock; reading again from ${from}`;
  turn.effects.push({ type: 'detail', text });
  moveCursor(turn, atMs);
}

/**
 * Returns the alerts of a page that may be shown: unknown alerts that are not older than the
 * cursor. Without a cursor, the start of the watch is used.
 */
export function newAlertsOf({ known, marks }: AlertsState, page: Page<Alert>): Alert[] {
  const fromMs = (marks.cursorMs ?? marks.beganMs) - CLOCK_MARGIN_MS;
  const isNew = (item: AlertItem) =>
    known.look(item).source === undefined && (lastMsOf(item.value) ?? fromMs) >= fromMs;
  return page.items.filter(isNew).map(({ value }) => value);
}

/**
 * Completes a pass over the list. Shows the new alerts, oldest first, and marks all remaining
 * alerts as known.
 */
function finish(turn: Turn, reading: ListReading, readTo: 'end' | 'known' | 'bound') {
  const { state, now, effects } = turn;
  const { failure, counts, known, plan } = state;
  const { beganMs, cursorMs } = state.marks;
  if (failure !== undefined) {
    const downMs = now.monotonicMs - failure.sinceMs;
    counts.unreadMs += downMs;
    effects.push({ type: 'back', downMs });
  }
  if (readTo === 'bound') effects.push({ type: 'bound', items: reading.feed.versions });
  state.reading = undefined;
  state.failure = undefined;
  // When the first read of the list was late, the list also contains alerts that were created after
  // the watch started.
  const isLate = state.isLate || now.wallMs - beganMs > LATE_MS;
  const firstMs = isLate ? beganAtMs(state, reading) : Number.POSITIVE_INFINITY;
  const fromMs = cursorMs === undefined ? firstMs : cursorMs - CLOCK_MARGIN_MS;
  // The loop below marks the alerts of this pass as known. Whether an alert is new must therefore
  // be determined before the loop.
  const isNew = (item: AlertItem) => known.look(item).source === undefined;
  const isCertain = reading.feed.isProven(reading.laterItems.some(isNew));
  for (const item of oldestFirst(reading.found.values())) {
    const { source, before } = known.look(item);
    if (source !== undefined || turn.end !== undefined) continue;
    // An alert without a time is new unless it existed before the watch started.
    const isNews = (lastMsOf(item.value) ?? cursorMs ?? Number.NEGATIVE_INFINITY) >= fromMs;
    if (before !== undefined || isNews)
      show(turn, item, 'list', before, plan.isBackfill ? 'caught-up' : undefined);
    else learn(turn, item, 'there');
  }
  counts.readings++;
  if (turn.end !== undefined) return;
  if (counts.readings === 1) effects.push({ type: 'ready', alerts: reading.feed.versions });
  const everyMs = plan.everyMs ?? 0;
  if (reading.isDeep) {
    const pauseMs = Math.min(DEEP_EVERY_MS, DEEP_EVERY_READINGS * everyMs);
    state.deepDueMs = now.monotonicMs + (isCertain ? pauseMs : 0);
    // Only a deep pass moves the cursor, so that each quick pass covers all alerts since the last
    // deep pass. An alert can move to another page while the list is read, and an earlier pass may
    // have missed it. If a deep pass may have missed an alert, the cursor also stays, so that the
    // next pass reads the same range again.
    if (isCertain) moveCursor(turn, Math.max(cursorMs ?? Number.NEGATIVE_INFINITY, topOf(reading)));
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
  // Assumed: a service that cannot sort by `modified` returns 400, as was observed for other
  // fields.
  const { feed } = state.reading ?? {};
  if (feed?.pages === 0 && feed.isOrderRefused(error)) {
    const text =
      'the service cannot sort alerts by modified: only the newest 2,000 are checked for changes';
    effects.push({ type: 'detail', text });
    return beginByCreated(turn);
  }
  // After a refusal, fleet reads the list from the first page again. The list may have become
  // shorter, so that the requested page no longer exists.
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

/** Ends the watch. The watch fails when the --for time is over and the list was never read. */
function takeStop(turn: Turn, event: AlertsEvent & { type: 'stop' }) {
  const { state, now } = turn;
  if (state.failure !== undefined) state.counts.unreadMs += now.monotonicMs - state.failure.sinceMs;
  const isUnread = event.end === 'for' && event.error === undefined && readsList(state);
  turn.end = { ...event, type: 'end', ...(isUnread ? { error: neverRead(state) } : {}) };
}

/** Whether the watch needs to read the list, but has not succeeded yet. */
function readsList({ plan, counts }: AlertsState): boolean {
  return plan.everyMs !== undefined && !plan.isBackfill && counts.readings === 0;
}

/**
 * Returns the error of a watch that never read the list. Its exit code is 7 when the service
 * answered with an error, otherwise 8.
 */
function neverRead({ failure }: AlertsState): FleetError {
  const isAnswered = failure !== undefined && failure.error.kind !== 'network';
  const reason = failure?.error.message ?? 'the service did not answer';
  return new FleetError(isAnswered ? 'service' : 'network', `no alerts could be read: ${reason}`, {
    hint: 'run "fleet doctor" to check the service',
  });
}

/**
 * Returns true when a retry cannot help: the service has never answered successfully, or has
 * refused requests for a minute.
 */
function isFinal(
  { kind, status = 0, isLasting }: FleetError,
  isProven: boolean,
  lastedMs: number,
): boolean {
  // The failure of a token source may be temporary.
  if (kind === 'config') return isLasting && !isProven;
  if (kind === 'internal' || kind === 'usage') return true;
  // The service answered successfully, but the response is not a list.
  if (kind === 'service') return !isProven && status > 0 && status < 300;
  return kind !== 'network' && (!isProven || lastedMs >= REFUSAL_LIMIT_MS);
}

// The following functions handle webhooks and pushed messages.

function takeWebhook(turn: Turn, { webhook }: AlertsEvent & { type: 'webhook' }) {
  const { state, effects } = turn;
  let isNews = webhook.items.length === 0;
  for (const item of webhook.items) {
    // The watch ended before it handled all alerts of this webhook. fleet does not answer the
    // webhook, so that the sender sends it again to the next listener.
    if (turn.end !== undefined) return;
    const { source, before } = state.known.look(item);
    isNews ||= source !== 'webhook';
    if (source === undefined || source === 'there') show(turn, item, 'webhook', before);
    // This version was already shown after it was found in the list. Records that a webhook has now
    // also delivered the version.
    else if (source === 'list') learn(turn, item, 'webhook');
  }
  effects.push({ type: 'accepted', webhook, isNews });
}

/**
 * Handles an event of the push channel. The channel may omit alerts or send only parts of them. The
 * next read of the list finds these alerts.
 */
function takePushed(turn: Turn, event: StreamEvent) {
  const { state, effects } = turn;
  if (event.type !== 'message') effects.push({ type: 'stream', event });
  if (event.type === 'closed') turn.end = { type: 'end', end: 'failed', error: event.error };
  const alert = event.type === 'message' ? readPushed(event.data) : undefined;
  if (alert === undefined) return;
  // Skips an alert when its bicycle was not read yet. The next read of the list finds the alert
  // again, and its bicycle is then known.
  if (state.plan.subjects?.isSelected(alert.value) === 'unread') return;
  const { source, before } = state.known.look(alert);
  if (source === undefined) show(turn, alert, 'list', before);
}

// The following functions show alerts.

function learn({ state, effects }: Turn, item: AlertItem, source: Source) {
  const version = alertVersionOf(item, source);
  state.known.learn(version);
  effects.push({ type: 'learned', version });
}

/**
 * Shows an alert unless the filters exclude it. Ends the watch when the alert satisfies the
 * condition of --until, or when the maximum number of alerts is reached.
 */
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

/**
 * Returns whether an alert passes the filters. fleet checks the filters itself, because a service
 * may ignore a query parameter.
 */
function isWanted({ type, state, subjects }: AlertsPlan, alert: Alert): boolean {
  const isOne = (words: readonly string[] | undefined, word: unknown) =>
    words?.includes(textOf(word) ?? '') ?? true;
  if (!isOne(type, alert.alert_type) || !isOne(state, alert.state)) return false;
  return subjects === undefined || subjects.isSelected(alert) === true;
}
