// The state of a watch: what it shows of each message, and how it ends. No I/O.
//
// One event at a time: a message is read, merged, filtered and shown; what the follower finds is shown like it; an end is the last effect.

import type { Alert } from '../../api/alert.js';
import type { Bicycle } from '../../api/bicycle.js';
import { bicycleTopic, type PushEnvelope, uuidOfMessage } from '../../api/push.js';
import { FleetError } from '../../errors.js';
import type { FollowerAnswer, FollowerOutput } from '../../follower/events.js';
import { Follower } from '../../follower/follower.js';
import { type Change, isResent, type KnownFleet } from '../../follower/known-fleet.js';
import { MemoryStore } from '../../follower/store.js';
import { eventGap, type Message, type StreamEvent } from '../../http/stream/events.js';
import { isObject, JsonError, parseJson } from '../../json/parse.js';
import type { Moment } from '../../system/clock.js';
import { namesChange, type ShownEntry } from '../../views/change.js';
import type { WatchCounts, WatchEnd, WatchSummary } from '../../views/stream.js';
import type { Stop } from '../shared/follow/ending.js';
import type { CommonEffect } from '../shared/follow/loop.js';
import { matches } from '../shared/list/where.js';
import { ConnectionLog } from './connections.js';
import type { WatchPlan } from './plan.js';

export type WatchEvent =
  | StreamEvent
  | FollowerAnswer
  | { readonly type: 'tick' }
  /** The whole fleet as a mirror has it, as of that moment of the monotonic clock. */
  | { readonly type: 'remembered'; readonly bicycles: readonly Bicycle[]; readonly fromMs: number }
  | Stop;

export type WatchEffect =
  /** A message to show, or what a list showed after a gap; `data` is the envelope as it came, or one of our own for what was waited for. */
  | { readonly type: 'show'; readonly entry: ShownEntry; readonly atMs: number; readonly data: string | undefined }
  | Exclude<FollowerOutput, { type: 'learned' | 'caught-up' | 'gone' | 'gap-close' | 'settled' | 'counted' }>
  | CommonEffect;

/** How much of a message that cannot be read is kept. */
const KEPT_CHARACTERS = 1_000;

/** A message that can be read. */
interface Content {
  readonly entry: ShownEntry;
  /** What conditions look at. */
  readonly value: () => { [field: string]: unknown };
  readonly kind?: Change['kind'];
}

/** How long the line of a state that is left waits for the message that says which one it came to. */
const LEAVING_MS = 1_000;

export class Watch {
  readonly plan: WatchPlan;
  /** When the last message came, on the monotonic clock. */
  lastMessageMs: number | undefined;
  readonly connections: ConnectionLog;
  readonly #counts = { messages: 0, shown: 0, caughtUp: 0, unknown: 0, gone: 0 };
  readonly #startedAt: Moment;
  readonly follower: Follower;
  readonly store = new MemoryStore();
  /** How many bicycles the service counts, when known. */
  total: number | undefined;
  /** The bicycle that was seen last. */
  #lastSeen: Bicycle | undefined;
  /** What was said to leave a state, by UUID. */
  readonly #leaving = new Map<string, { readonly entry: ShownEntry & { type: 'leaving' }; readonly event: Message }>();
  #effects: WatchEffect[] = [];
  #now: Moment;

  constructor(plan: WatchPlan, now: Moment, seesAll = () => true) {
    this.plan = plan;
    this.#startedAt = now;
    this.#now = now;
    this.connections = new ConnectionLog(plan.topics, now);
    const { topics, organizations, bicycles, resyncPages, form } = plan;
    const isWhole = (form === 'board' || form === 'page') && bicycles === undefined && wantsLists(plan);
    const followed = new Map(topics.map((topic) => [topic, '']));
    const options = { topics: followed, organizations, bicycles, isWhole, mostPages: resyncPages, seesAll };
    this.follower = new Follower(options, this.store, now, (output) => this.#takeOutput(output));
  }

  get counts(): WatchCounts {
    return { ...this.#counts, ...this.connections.counts };
  }

  get known(): KnownFleet {
    return this.follower.known;
  }

  /** What is to be done after an event; `end` is the last effect. */
  take(event: WatchEvent, now: Moment): readonly WatchEffect[] {
    this.#effects = [];
    this.#now = now;
    switch (event.type) {
      case 'message':
        this.#takeMessage(event);
        break;
      case 'remembered':
        this.follower.remember(event.bicycles, event.fromMs, now);
        break;
      case 'tick':
        this.#showLeft(now.monotonicMs - LEAVING_MS);
        this.follower.take(event, now);
        break;
      case 'stop':
        this.#end(event.end, this.#errorOf(event));
        break;
      default:
        this.#takeStream(event);
    }
    return this.#effects;
  }

  #add(effect: WatchEffect) {
    if (this.#effects.at(-1)?.type !== 'end') this.#effects.push(effect);
  }

  // The connection

  #takeStream(event: Exclude<WatchEvent, Message | Stop | { type: 'remembered' }>) {
    if (event.type === 'open' || event.type === 'lost' || event.type === 'gap' || event.type === 'closed') {
      this.connections.take(event);
      this.#add({ type: 'stream', event });
    }
    if (event.type === 'closed') this.#end('failed', event.error);
    else this.follower.take(event, this.#now);
  }

  // Messages

  #takeMessage(event: Message) {
    if (event.data === '') return;
    let parsed: unknown;
    try {
      parsed = parseJson(event.data);
    } catch (error) {
      return this.#takeUnreadable(event, error instanceof JsonError ? error.message : String(error));
    }
    this.#counts.messages++;
    this.lastMessageMs = event.monotonicMs;
    const envelope = isObject(parsed) ? (parsed as PushEnvelope) : undefined;
    if (isRemembering(this.plan)) return this.#takeContent(envelope, event);
    // Nothing asks what it says: it goes on as it came.
    if (isSender(this.plan, envelope?.sender)) this.#show({ type: 'other', envelope, text: event.data }, event, false);
  }

  #takeContent(envelope: PushEnvelope | undefined, event: Message) {
    const { plan } = this;
    const { entry, kind, value } = this.#readMessage(envelope, event);
    const { isWanted, isMet } = judge(plan, value, envelope?.sender ?? undefined, this.#now);
    if (!isWanted) return;
    const isFinal = isMet && kind !== 'late';
    if (kind !== undefined && entry.type === 'bicycle' && isResent({ kind })) this.#leaving.delete(entry.uuid ?? '');
    // A line says something.
    const isSilent = kind === 'repeat' || (entry.type === 'bicycle' && kind === 'update' && !namesChange(entry));
    if (plan.form === 'json' || isMet) return this.#show(entry, event, isFinal);
    if (entry.type === 'leaving' && entry.uuid !== undefined && isSender(plan, 'bicycle'))
      return void this.#leaving.set(entry.uuid, { entry, event });
    if (!isSilent) this.#show(entry.type === 'bicycle' ? this.#withLeft(entry) : entry, event, false);
  }

  /** The line of the state that it came to says which one it left. */
  #withLeft(entry: ShownEntry & { type: 'bicycle' }): ShownEntry {
    const left = entry.uuid === undefined ? undefined : this.#leaving.get(entry.uuid)?.entry;
    if (left === undefined) return entry;
    this.#leaving.delete(left.uuid ?? '');
    const isTold = entry.before !== undefined || entry.after.state === left.state;
    return isTold ? entry : { ...entry, before: { state: String(left.state) }, fields: ['state'] };
  }

  /** Shows what left a state before that moment of the monotonic clock, and of which nothing was heard since. */
  #showLeft(untilMs: number) {
    for (const [uuid, { entry, event }] of this.#leaving) {
      if (event.monotonicMs > untilMs || this.#effects.at(-1)?.type === 'end') continue;
      this.#leaving.delete(uuid);
      this.#show(entry, event, false);
    }
  }

  #show(entry: ShownEntry, { atMs, data }: Message, isMet: boolean) {
    this.#counts.shown++;
    this.#showLast({ type: 'show', entry, atMs, data }, isMet);
  }

  /** Shows it, and ends where it is what was waited for, or enough. */
  #showLast(effect: WatchEffect, isMet: boolean) {
    this.#add(effect);
    if (isMet) this.#end('until');
    else if (this.#counts.shown === this.plan.maxEvents) this.#end('max-events');
  }

  /** One bad message costs one message: it is a gap of no length, and the list is asked what it may have said. */
  #takeUnreadable(event: Message, reason: string) {
    const { data } = event;
    const message = `an event of ${data.length} characters cannot be read: ${reason}`;
    const gap = eventGap(event, 'broken', message, data.slice(0, KEPT_CHARACTERS));
    this.connections.add(gap);
    this.#add({ type: 'stream', event: gap });
    this.follower.takeUnreadable(event, message, this.#now);
  }

  /** What a message is about; merged into what is known. */
  #readMessage(envelope: PushEnvelope | undefined, event: Message): Content {
    const { data } = event;
    const uuid = envelope === undefined ? undefined : uuidOfMessage(envelope);
    const message = isObject(envelope?.message) ? envelope.message : undefined;
    const frame = () => ({ sender: envelope?.sender, topic: envelope?.topic, message });
    if (envelope === undefined || message === undefined) {
      return { entry: { type: 'other', envelope, text: data }, value: () => ({ ...frame(), ...envelope }) };
    }
    if (envelope.sender === 'bicycle') {
      // When it came counts, not when its turn was: a slow reader of the output keeps it waiting.
      const change = this.follower.hear(uuid, message as Bicycle, event);
      this.#lastSeen = change.after;
      return { entry: entryOf(change), value: () => ({ ...frame(), ...change.after }), kind: change.kind };
    }
    if (envelope.sender === 'bicycle_leaving_state') {
      const bicycle = this.known.get(uuid);
      // The state that is left is not the one the bicycle is in.
      const value = () => ({ ...frame(), ...bicycle, state: undefined });
      return { entry: { type: 'leaving', uuid, state: message['state'], bicycle }, value };
    }
    const entry: ShownEntry =
      envelope.sender === 'alert'
        ? { type: 'alert', alert: message as Alert }
        : { type: 'other', envelope, text: this.plan.form === 'json' ? data : JSON.stringify(message) };
    return { entry, value: () => ({ ...frame(), ...message }) };
  }

  // What the follower found

  #takeOutput(output: FollowerOutput) {
    switch (output.type) {
      case 'learned':
        return this.#takeLearned(output.bicycle);
      case 'caught-up':
        return this.#takeCaughtUp(output.change);
      case 'gone':
        return this.#takeGone(output.uuid, output.bicycle);
      case 'gap-close':
      case 'settled':
        return;
      case 'counted':
        this.total = output.total ?? this.total;
        return;
      case 'read':
        this.#counts.unknown += output.report.unknown;
    }
    this.#add(output);
  }

  #judgeBicycle(bicycle: Bicycle) {
    return judge(this.plan, () => ({ sender: 'bicycle', ...bicycle }), 'bicycle', this.#now);
  }

  #takeLearned(bicycle: Bicycle) {
    const { plan } = this;
    // Who is followed by name may be there already; of a whole organization only what happens counts.
    if (plan.bicycles === undefined || plan.until === undefined) return;
    this.#lastSeen = bicycle;
    if (!this.#judgeBicycle(bicycle).isMet) return;
    const uuid = String(bicycle.uuid);
    const entry: ShownEntry = { type: 'bicycle', kind: 'update', uuid, before: undefined, after: bicycle, fields: [] };
    this.#showLast({ type: 'show', entry, atMs: this.#now.wallMs, data: envelopeOf(plan, bicycle) }, true);
  }

  #takeCaughtUp(change: Change) {
    const { after } = change;
    this.#lastSeen = after;
    const { isWanted, isMet } = this.#judgeBicycle(after);
    if (!isWanted) return;
    this.#counts.caughtUp++;
    const data = isMet ? envelopeOf(this.plan, after) : undefined;
    this.#showLast({ type: 'show', entry: entryOf(change), atMs: this.#now.wallMs, data }, isMet);
  }

  #takeGone(uuid: string, bicycle: Bicycle) {
    const { plan } = this;
    const { isWanted } = this.#judgeBicycle(bicycle);
    this.#counts.gone++;
    if (isWanted)
      this.#add({ type: 'show', entry: { type: 'gone', uuid, bicycle }, atMs: this.#now.wallMs, data: undefined });
    const { bicycles } = plan;
    if (bicycles === undefined || plan.until === undefined) return;
    if ([...bicycles].some((each) => this.known.get(each) !== undefined)) return;
    const which = bicycles.size === 1 ? `the bicycle ${uuid} is` : 'all the bicycles that are followed are';
    const hint = 'it was deleted, moved to another organization, or hidden from this role';
    this.#end('failed', new FleetError('not-found', `${which} gone: not in the list any more`, { hint }));
  }

  // The end

  /** What a stop from outside ends with: a watch that was never connected has failed, and says what it saw. */
  #errorOf({ end, error }: Stop): FleetError | undefined {
    const { never } = this.connections;
    if (error?.kind === 'timeout')
      return new FleetError('timeout', `${error.message}; ${never ?? this.#lastState()}`, { cause: error });
    return end !== 'for' || error !== undefined || never === undefined ? error : new FleetError('network', never);
  }

  /** What the fields of --until were when they were seen last. */
  #lastState(): string {
    const { bicycles, until = [] } = this.plan;
    const [only] = bicycles?.size === 1 ? bicycles : [];
    const bicycle = (only === undefined ? undefined : this.known.get(only)) ?? this.#lastSeen;
    if (bicycle === undefined) return 'no bicycle was seen';
    const fields = [...new Set(until.map(({ field }) => field))].filter((field) => bicycle[field] !== undefined);
    const said = (fields.length > 0 ? fields : ['state']).map((field) => `${field}=${String(bicycle[field])}`);
    return `last seen: ${said.join(', ')}`;
  }

  /** The last step; what was held back is shown first. */
  #end(reason: WatchEnd, error?: FleetError) {
    if (this.#effects.at(-1)?.type === 'end') return;
    if (this.#counts.shown !== this.plan.maxEvents) this.#showLeft(Number.POSITIVE_INFINITY);
    this.#add({ type: 'end', end: reason, ...(error === undefined ? {} : { error }) });
  }

  /** What a watch can say of itself at its end; a gap that lasts until then is counted. */
  summary(reason: WatchEnd, now: Moment): WatchSummary {
    const connections = this.connections.finish(now);
    return {
      ...this.counts,
      ...connections,
      end: reason,
      endedAtMs: now.wallMs,
      // A machine that slept, or whose date was set forward: what the gaps count of that is a part of the whole.
      durationMs: Math.max(now.monotonicMs - this.#startedAt.monotonicMs, now.wallMs - this.#startedAt.wallMs),
      isUnread: this.plan.resyncPages > 0 && this.counts.gapCount > 0 && this.follower.isBehind,
      undelivered: 0,
    };
  }
}

function wantsLists({ organizations, resyncPages }: WatchPlan): boolean {
  return organizations.length > 0 && resyncPages > 0;
}

/** Whether a mirror can say how everything was: a bicycle that is followed by name is read at its own address. */
export function wantsFleet(plan: WatchPlan): boolean {
  return plan.bicycles === undefined && wantsLists(plan);
}

/** What the stream would have said of a bicycle that was waited for, and that the list shows. */
function envelopeOf({ organizations }: WatchPlan, bicycle: Bicycle): string {
  const topic = bicycleTopic(organizations[0] ?? '', String(bicycle.uuid));
  return JSON.stringify({ topic, sender: 'bicycle', message: bicycle });
}

/** Whether anything asks what a bicycle was before: not where messages go on as they came, and no list is read after a gap. */
function isRemembering({ form, resyncPages, where, until }: WatchPlan): boolean {
  return form !== 'json' || resyncPages > 0 || where.length > 0 || until !== undefined;
}

function isSender({ senders }: WatchPlan, sender: string | null | undefined): boolean {
  return senders === undefined || (typeof sender === 'string' && senders.has(sender));
}

/** Whether a value is to be shown, and whether it is what was waited for. */
function judge(plan: WatchPlan, value: () => { [field: string]: unknown }, sender: string | undefined, now: Moment) {
  const { where, until } = plan;
  const isWanted = isSender(plan, sender);
  if (!isWanted || (where.length === 0 && until === undefined)) return { isWanted, isMet: false };
  const found = value();
  if (!where.every((condition) => matches(condition, found, now.wallMs))) return { isWanted: false, isMet: false };
  return { isWanted, isMet: until?.every((condition) => matches(condition, found, now.wallMs)) === true };
}

function entryOf({ kind, uuid, before, after, fields }: Change): ShownEntry {
  return { type: 'bicycle', kind: kind === 'repeat' ? 'update' : kind, uuid, before, after, fields };
}
