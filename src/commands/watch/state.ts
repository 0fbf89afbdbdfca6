// What a watch does next: `watchState(state, event, now)` gives the state after an event and what is to be done, without I/O.
//
// One event at a time: a message is read, merged, filtered and shown; a loss begins a blindness; the catch-up looks up what was
// missed; an end is the last effect. The state is handed on from step to step; the knowledge in it alone changes in place.

import type { Alert } from '../../api/alert.js';
import type { Bicycle } from '../../api/bicycle.js';
import { bicycleTopic, type PushEnvelope, uuidOfMessage } from '../../api/push.js';
import type { FleetError } from '../../errors.js';
import { eventGap, type Gap, type Lost, type Message, type StreamEvent } from '../../http/stream/events.js';
import { isObject, JsonError, parseJson } from '../../json/parse.js';
import {
  type CatchUpEffect,
  type CatchUpEvent,
  type CatchUpState,
  catchUp,
  isBehind,
  startCatchUp,
} from '../../mirror/catch-up.js';
import { type Change, type Knowledge, type Moment, openKnowledge } from '../../mirror/knowledge.js';
import { add, followedBy, forEach, type Step, same } from '../../step.js';
import type { Entry } from '../../views/change.js';
import type { WatchCounts, WatchEnd, WatchSummary } from '../../views/stream.js';
import type { Stop } from '../follow/ending.js';
import type { End } from '../follow/loop.js';
import { matches } from '../list/where.js';
import type { Plan } from './plan.js';

export interface WatchState {
  readonly plan: Plan;
  readonly startedAt: Moment;
  readonly knowledge: Knowledge;
  readonly catchUp: CatchUpState;
  readonly counts: WatchCounts;
  /** The first ones; `counts.gapCount` says how many there were. */
  readonly gaps: readonly Gap[];
  /** The topics that are blind now: at first all of them. */
  readonly blind: ReadonlyMap<string, Blindness>;
  /** Bicycles that were said to leave a state, until the next message says which one they came to. */
  readonly leaving: ReadonlyMap<string, Leaving>;
  /** When the last message came, on the monotonic clock. */
  readonly lastMessageMs: number | undefined;
}

interface Blindness extends Pick<Gap, 'cause' | 'message'> {
  /** On the monotonic clock. */
  readonly fromMs: number;
}

interface Leaving {
  readonly state: unknown;
  readonly event: Message;
  readonly dueMs: number;
}

export type WatchEvent =
  | StreamEvent
  | Exclude<CatchUpEvent, { type: 'blind' | 'wanted' }>
  /** The whole fleet as a mirror has it, as of that moment of the monotonic clock. */
  | { readonly type: 'remembered'; readonly bicycles: readonly Bicycle[]; readonly fromMs: number }
  | Stop;

export type WatchEffect =
  /** A message to show, or what a list showed after a gap; `data` is the envelope as it came, or one of our own for what was waited for. */
  | { readonly type: 'show'; readonly entry: Entry; readonly atMs: number; readonly data: string | undefined }
  | { readonly type: 'stream'; readonly event: StreamEvent }
  | { readonly type: 'detail'; readonly text: string }
  | Exclude<CatchUpEffect, { type: 'learned' | 'caught-up' }>
  | End;

type WatchStep = Step<WatchState, WatchEffect>;

/** How many gaps are kept for the summary; all are counted. */
const KEPT_GAPS = 1_000;
/** How long the line of a state that is left waits for the one that says it all. */
const LEAVING_MS = 1_000;
/** How much of a message that cannot be read is kept. */
const KEPT_CHARACTERS = 1_000;

/** Of a topic that has neither stood nor failed. */
const NOT_CONNECTED = { cause: 'timeout', message: 'no connection was made' } as const;

export function startWatch(plan: Plan, now: Moment): WatchState {
  const counts = { messages: 0, shown: 0, reconnects: 0, gapCount: 0, blindMs: 0, dropped: 0, caughtUp: 0, unknown: 0 };
  const options = {
    organizations: plan.organizations,
    bicycles: plan.bicycles,
    mostPages: plan.resyncPages,
    readsWhole: (plan.form === 'board' || plan.form === 'page') && plan.bicycles === undefined && plan.resyncPages > 0,
  };
  const knowledge = openKnowledge(now);
  return {
    plan,
    startedAt: now,
    knowledge,
    catchUp: startCatchUp(options, knowledge),
    counts,
    gaps: [],
    blind: new Map(plan.topics.map((topic) => [topic, { fromMs: now.monotonicMs, ...NOT_CONNECTED }])),
    leaving: new Map(),
    lastMessageMs: undefined,
  };
}

export function watchState(state: WatchState, event: WatchEvent, now: Moment): WatchStep {
  switch (event.type) {
    case 'message':
      return takeMessage(state, event, now);
    case 'open':
      return takeOpen(state, event);
    case 'lost':
      return takeLost(state, event, now);
    case 'gap':
      return takeGap(state, event, now);
    case 'resync':
      return lookUp(state, { type: 'wanted', sinceWallMs: event.sinceWallMs }, now);
    case 'closed': {
      const told: WatchEffect = { type: 'stream', event };
      return followedBy({ state, effects: [told] }, (open) => end(open, 'failed', event.error));
    }
    case 'remembered':
      return remember(state, event, now);
    case 'stop':
      return end(state, event.end, event.error);
    case 'tick':
      return followedBy(release(state, now.monotonicMs), (released) => lookUp(released, event, now));
    default:
      return lookUp(state, event, now);
  }
}

/** Whether a mirror can say how everything was: a bicycle that is followed by name is read at its own address. */
export function wantsFleet(plan: Plan): boolean {
  return plan.bicycles === undefined && plan.resyncPages > 0 && plan.organizations.length > 0 && isRemembering(plan);
}

/** What changed since the mirror was read is looked up as after a gap. */
function remember(
  state: WatchState,
  { bicycles, fromMs }: WatchEvent & { type: 'remembered' },
  now: Moment,
): WatchStep {
  const { knowledge } = state;
  for (const bicycle of bicycles) knowledge.learn(bicycle, { ...now, monotonicMs: fromMs });
  knowledge.cover(Number.NEGATIVE_INFINITY);
  const step: WatchStep = { state, effects: [{ type: 'counted', total: bicycles.length }] };
  return followedBy(step, (known) => lookUp(known, { type: 'blind', fromMs }, now));
}

// The connection

function takeOpen(state: WatchState, event: StreamEvent & { type: 'open' }): WatchStep {
  const blind = new Map(state.blind);
  blind.delete(event.topic);
  const next = { ...state, blind };
  return { state: event.isReturn ? add(next, { reconnects: 1 }) : next, effects: [{ type: 'stream', event }] };
}

function takeLost(state: WatchState, event: Lost, now: Moment): WatchStep {
  const { topic, cause, lastLifeWallMs } = event;
  const before = state.blind.get(topic);
  const fromMs = before?.fromMs ?? event.monotonicMs - event.blindMs;
  const { message } = event.error;
  // What ended a connection counts; of one that never stood, what is wrong now.
  const blindness = before !== undefined && lastLifeWallMs !== undefined ? before : { fromMs, cause, message };
  const blind = new Map(state.blind).set(topic, blindness);
  const step: WatchStep = { state: { ...state, blind }, effects: [{ type: 'stream', event }] };
  // What never stood has missed nothing yet: the first reading shows how things are.
  if (lastLifeWallMs === undefined) return step;
  return followedBy(step, (lost) => lookUp(lost, { type: 'blind', fromMs }, now));
}

function countGap(state: WatchState, gap: Gap): WatchState {
  const gaps = state.gaps.length < KEPT_GAPS ? [...state.gaps, gap] : state.gaps;
  return add({ ...state, gaps }, { gapCount: 1, blindMs: gap.durationMs, dropped: gap.droppedEvents });
}

function takeGap(state: WatchState, gap: Gap, now: Moment): WatchStep {
  const step: WatchStep = { state: countGap(state, gap), effects: [{ type: 'stream', event: gap }] };
  const fromMs = gap.monotonicMs - gap.durationMs;
  return followedBy(step, (counted) => lookUp(counted, { type: 'blind', fromMs }, now));
}

// Messages

interface Content {
  readonly entry: Entry;
  /** What conditions look at. */
  readonly value: () => { [field: string]: unknown };
  readonly kind?: Change['kind'];
}

function takeMessage(state: WatchState, event: Message, now: Moment): WatchStep {
  if (event.data === '') {
    const name = event.name === 'message' ? '' : ` (${event.name})`;
    return { state, effects: [{ type: 'detail', text: `an event without data came${name}` }] };
  }
  let parsed: unknown;
  try {
    parsed = parseJson(event.data);
  } catch (error) {
    return takeUnreadable(state, event, error instanceof JsonError ? error.message : String(error), now);
  }
  const envelope = isObject(parsed) ? (parsed as PushEnvelope) : undefined;
  if (isRemembering(state.plan)) return takeContent(countMessage(state, event, 0), envelope, event, now);
  // Nothing asks what it says: it goes on as it came.
  const isWanted = isSender(state.plan, envelope?.sender);
  if (!isWanted) return same(countMessage(state, event, 0));
  return showCounted(countMessage(state, event, 1), { type: 'other', envelope, text: event.data }, event, false);
}

/** The state after a message, counted as shown or not in one copy: a fast stream spends much of its time on copies. */
function countMessage(state: WatchState, { monotonicMs }: Message, shown: 0 | 1): WatchState {
  const { counts } = state;
  const next = { ...counts, messages: counts.messages + 1, shown: counts.shown + shown };
  return { ...state, counts: next, lastMessageMs: monotonicMs };
}

/** A message that can be read. */
function takeContent(state: WatchState, envelope: PushEnvelope | undefined, event: Message, now: Moment): WatchStep {
  const isLines = state.plan.form !== 'json';
  const uuid = envelope === undefined ? undefined : uuidOfMessage(envelope);
  const held = uuid === undefined ? undefined : state.leaving.get(uuid);
  const content = readMessage(state, envelope, event, uuid);
  const { isWanted, isMet } = judge(state.plan, content.value, envelope?.sender ?? undefined, now);
  if (!isWanted) return same(state);
  const { entry, kind } = content;
  if (entry.type === 'leaving' && uuid !== undefined && isLines && !isMet && isSender(state.plan, 'bicycle')) {
    const leaving = new Map(state.leaving).set(uuid, {
      state: entry.state,
      event,
      dueMs: now.monotonicMs + LEAVING_MS,
    });
    return { state: { ...state, leaving }, effects: [{ type: 'wake', inMs: LEAVING_MS }] };
  }
  if (kind === 'repeat' && isLines && !isMet) return same(state);
  if (held === undefined || entry.type !== 'bicycle' || uuid === undefined) {
    return show(state, entry, event, isMet && kind !== 'late');
  }
  // The line of the state that it came to says which one it left.
  const leaving = new Map(state.leaving);
  leaving.delete(uuid);
  const isTold = entry.before !== undefined || entry.after.state === held.state;
  const whole: Entry = isTold ? entry : { ...entry, before: { state: String(held.state) }, fields: ['state'] };
  return show({ ...state, leaving }, whole, event, isMet && kind !== 'late');
}

function show(state: WatchState, entry: Entry, event: Message, isMet: boolean): WatchStep {
  return showCounted(add(state, { shown: 1 }), entry, event, isMet);
}

function showCounted(shown: WatchState, entry: Entry, { atMs, data }: Message, isMet: boolean): WatchStep {
  return showLast(shown, { type: 'show', entry, atMs, data }, isMet);
}

/** Shows it, and ends where it is what was waited for, or enough. */
function showLast(state: WatchState, effect: WatchEffect, isMet: boolean): WatchStep {
  const step: WatchStep = { state, effects: [effect] };
  if (isMet) return followedBy(step, (met) => end(met, 'until'));
  return state.counts.shown === state.plan.maxEvents ? followedBy(step, (full) => end(full, 'max-events')) : step;
}

/** One bad message costs one message: it is a gap of no length, and the list is asked what it may have said. */
function takeUnreadable(state: WatchState, event: Message, reason: string, now: Moment): WatchStep {
  const { data, atMs } = event;
  const message = `an event of ${data.length} characters cannot be read: ${reason}`;
  const gap = eventGap(event, 'broken', message, data.slice(0, KEPT_CHARACTERS));
  return followedBy(takeGap(state, gap, now), (open) => lookUp(open, { type: 'wanted', sinceWallMs: atMs }, now));
}

/** What a message is about; merged into what is known. */
function readMessage(
  { plan, knowledge }: WatchState,
  envelope: PushEnvelope | undefined,
  { data, monotonicMs, atMs }: Message,
  uuid: string | undefined,
): Content {
  const message = isObject(envelope?.message) ? envelope.message : undefined;
  const frame = () => ({ sender: envelope?.sender, topic: envelope?.topic, message });
  if (envelope === undefined || message === undefined) {
    return { entry: { type: 'other', envelope, text: data }, value: () => ({ ...frame(), ...envelope }) };
  }
  if (envelope.sender === 'bicycle') {
    // When it came counts, not when its turn was: a slow reader of the output keeps it waiting.
    const change = knowledge.hear(uuid, message as Bicycle, { monotonicMs, wallMs: atMs });
    return { entry: entryOf(change), value: () => ({ ...frame(), ...change.after }), kind: change.kind };
  }
  if (envelope.sender === 'bicycle_leaving_state') {
    const bicycle = knowledge.get(uuid);
    // The state that is left is not the one the bicycle is in.
    const value = () => ({ ...frame(), ...bicycle, state: undefined });
    return { entry: { type: 'leaving', uuid, state: message['state'], bicycle }, value };
  }
  const entry: Entry =
    envelope.sender === 'alert'
      ? { type: 'alert', alert: message as Alert }
      : { type: 'other', envelope, text: plan.form === 'json' ? data : JSON.stringify(message) };
  return { entry, value: () => ({ ...frame(), ...message }) };
}

/** Whether anything asks what a bicycle was before: not where messages go on as they came, and no list is read after a gap. */
function isRemembering({ form, resyncPages, where, until }: Plan): boolean {
  return form !== 'json' || resyncPages > 0 || where.length > 0 || until !== undefined;
}

function isSender({ senders }: Plan, sender: string | null | undefined): boolean {
  return senders === undefined || (typeof sender === 'string' && senders.has(sender));
}

/** Whether a value is to be shown, and whether it is what was waited for. */
function judge(plan: Plan, value: () => { [field: string]: unknown }, sender: string | undefined, now: Moment) {
  const { where, until } = plan;
  const isWanted = isSender(plan, sender);
  if (!isWanted || (where.length === 0 && until === undefined)) return { isWanted, isMet: false };
  const found = value();
  if (!where.every((condition) => matches(condition, found, now.wallMs))) return { isWanted: false, isMet: false };
  return { isWanted, isMet: until?.every((condition) => matches(condition, found, now.wallMs)) === true };
}

/** Shows what was said to leave a state and of which nothing was heard since. */
function release(state: WatchState, monotonicMs: number): WatchStep {
  return forEach(state, state.leaving, (open, [uuid, { state: left, event, dueMs }]): WatchStep => {
    if (dueMs > monotonicMs) return same(open);
    const leaving = new Map(open.leaving);
    leaving.delete(uuid);
    const released = { ...open, leaving };
    const bicycle = state.knowledge.get(uuid);
    const isTold = bicycle?.state !== undefined && bicycle.state !== left;
    return isTold ? same(released) : show(released, { type: 'leaving', uuid, state: left, bicycle }, event, false);
  });
}

// The catch-up

function lookUp(state: WatchState, event: CatchUpEvent, now: Moment): WatchStep {
  const read = catchUp(state.catchUp, event, now);
  return forEach({ ...state, catchUp: read.state }, read.effects, (open, effect) => takeCatchUp(open, effect, now));
}

function takeCatchUp(state: WatchState, effect: CatchUpEffect, now: Moment): WatchStep {
  const { plan } = state;
  if (effect.type === 'learned') {
    // Who is followed by name may be there already; of a whole organization only what happens counts.
    if (plan.bicycles === undefined || plan.until === undefined) return same(state);
    const { bicycle } = effect;
    if (!judge(plan, () => ({ sender: 'bicycle', ...bicycle }), 'bicycle', now).isMet) return same(state);
    const uuid = String(bicycle.uuid);
    const entry: Entry = { type: 'bicycle', kind: 'update', uuid, before: undefined, after: bicycle, fields: [] };
    return showLast(state, { type: 'show', entry, atMs: now.wallMs, data: envelopeOf(plan, bicycle) }, true);
  }
  if (effect.type === 'caught-up') {
    const { after } = effect.change;
    const { isWanted, isMet } = judge(plan, () => ({ sender: 'bicycle', ...after }), 'bicycle', now);
    if (!isWanted) return same(state);
    const data = isMet ? envelopeOf(plan, after) : undefined;
    const entry = entryOf(effect.change);
    return showLast(add(state, { caughtUp: 1 }), { type: 'show', entry, atMs: now.wallMs, data }, isMet);
  }
  const counted = effect.type === 'read' ? add(state, { unknown: effect.report.unknown }) : state;
  return { state: counted, effects: [effect] };
}

/** What the stream would have said of a bicycle that was waited for, and that the list shows. */
function envelopeOf({ organizations }: Plan, bicycle: Bicycle): string {
  const topic = bicycleTopic(organizations[0] ?? '', String(bicycle.uuid));
  return JSON.stringify({ topic, sender: 'bicycle', message: bicycle });
}

// The end

/** The last step: what was held back is shown first. */
function end(state: WatchState, reason: WatchEnd, error?: FleetError): WatchStep {
  const plan = { ...state.plan, maxEvents: undefined };
  const released = release({ ...state, plan }, Number.POSITIVE_INFINITY);
  const last: WatchEffect = { type: 'end', end: reason, ...(error === undefined ? {} : { error }) };
  return { state: { ...released.state, plan: state.plan }, effects: [...released.effects, last] };
}

/** What a watch can say of itself at its end; a gap that lasts until then is counted. */
export function summaryOf(state: WatchState, reason: WatchEnd, now: Moment): WatchSummary {
  let ended = state;
  for (const [topic, { fromMs, cause, message }] of state.blind) {
    const durationMs = Math.max(0, now.monotonicMs - fromMs);
    const at = { atMs: now.wallMs, monotonicMs: now.monotonicMs, fromWallMs: now.wallMs - durationMs };
    const gap = { topic, ...at, cause, message, durationMs, replayed: false, droppedEvents: 0 };
    ended = countGap(ended, { type: 'gap', ...gap });
  }
  return {
    ...ended.counts,
    end: reason,
    endedAtMs: now.wallMs,
    // A machine that slept, or whose date was set forward: what the gaps count of that is a part of the whole.
    durationMs: Math.max(now.monotonicMs - state.startedAt.monotonicMs, now.wallMs - state.startedAt.wallMs),
    gaps: ended.gaps,
    isUnread: state.plan.resyncPages > 0 && ended.counts.gapCount > 0 && isBehind(state.catchUp),
    undelivered: 0,
  };
}

function entryOf({ kind, uuid, before, after, fields }: Change): Entry {
  return { type: 'bicycle', kind: kind === 'repeat' ? 'update' : kind, uuid, before, after, fields };
}
