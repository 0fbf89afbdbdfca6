// The state of a watch: what it shows of each message, and how it ends. No I/O.
//
// One event at a time: a message is read, merged, filtered and shown; what the follower finds is shown like it; an end is the last effect.

import type { Alert } from '../../api/alert.js';
import type { Bicycle } from '../../api/bicycle.js';
import { bicycleTopic, type PushEnvelope, uuidOfMessage } from '../../api/push.js';
import { FleetError, messageOf } from '../../errors.js';
import type { FollowerAnswer, FollowerOutput } from '../../follower/events.js';
import { Follower } from '../../follower/follower.js';
import type { Change, KnownFleet } from '../../follower/known-fleet.js';
import { MemoryStore } from '../../follower/memory-store.js';
import { eventGap, type Message, type StreamEvent } from '../../http/stream/events.js';
import { isObject, parseJson } from '../../json/parse.js';
import type { Moment } from '../../system/clock.js';
import { MACHINE_ZONE } from '../../system/time-zone.js';
import type { WatchCounts, WatchEnd, WatchSummary } from '../../views/connection.js';
import { namesChange, type ShownEntry } from '../../views/watch.js';
import type { Stop } from '../shared/follow/ending.js';
import type { CommonEffect } from '../shared/follow/loop.js';
import type { Printable } from '../shared/follow/print.js';
import { type Condition, matches } from '../shared/list/where.js';
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
  /** A message, or what a list showed after a gap; `data` is the envelope as it came, or one of our own for what was waited for. */
  | ({ readonly type: 'show' } & Printable)
  | Exclude<FollowerOutput, { type: 'learned' | 'caught-up' | 'gone' | 'counted' }>
  | CommonEffect;

/** How much of a message that cannot be read is kept. */
const KEPT_CHARACTERS = 1_000;

/** What a message is about. */
interface Content {
  readonly entry: ShownEntry;
  /** What conditions look at first. */
  readonly fields: { readonly [field: string]: unknown };
  readonly kind?: Change['kind'];
}

type BicycleEntry = ShownEntry & { readonly type: 'bicycle' };

/** A bicycle that a list shows is judged as a message would be. */
const FROM_LIST: PushEnvelope = { sender: 'bicycle' };

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
  /** Whether the lists show every bicycle to the token. */
  seesAll = true;
  /** The bicycle that was seen last. */
  #lastSeen: Bicycle | undefined;
  /** What was said to leave a state, by UUID: shown with the state that it comes to, or alone when none is told. */
  readonly #leaving = new Map<
    string,
    { readonly entry: ShownEntry & { type: 'leaving' }; readonly event: Message }
  >();
  #effects: WatchEffect[] = [];
  #now: Moment;

  constructor(plan: WatchPlan, now: Moment) {
    this.plan = plan;
    this.#startedAt = now;
    this.#now = now;
    this.connections = new ConnectionLog(plan.topics, now);
    const isWhole = (plan.form === 'board' || plan.form === 'page') && wantsFleet(plan);
    const topics = new Map(plan.topics.map((topic) => [topic, '']));
    const options = {
      ...plan,
      topics,
      isWhole,
      mostPages: plan.resyncPages,
      seesAll: () => this.seesAll,
    };
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
    if (event.type === 'message') this.#takeMessage(event);
    else if (event.type === 'stop') this.#end(event.end, this.#errorOf(event));
    else if (event.type === 'remembered') this.follower.remember(event.bicycles, event.fromMs, now);
    else {
      if (event.type === 'tick') this.#showLeft(now.monotonicMs - LEAVING_MS);
      if ('topic' in event) {
        this.connections.take(event);
        this.#add({ type: 'stream', event });
      }
      if (event.type === 'closed') this.#end('failed', event.error);
      this.follower.take(event, now);
    }
    return this.#effects;
  }

  #add(effect: WatchEffect) {
    if (this.#effects.at(-1)?.type !== 'end') this.#effects.push(effect);
  }

  // Messages

  #takeMessage(event: Message) {
    if (event.data === '') return;
    let parsed: unknown;
    try {
      parsed = parseJson(event.data);
    } catch (error) {
      return this.#takeUnreadable(event, messageOf(error));
    }
    this.#counts.messages++;
    this.lastMessageMs = event.monotonicMs;
    const { plan } = this;
    const envelope = isObject(parsed) ? (parsed as PushEnvelope) : undefined;
    const { entry, fields, kind }: Content = isRemembering(plan)
      ? this.#readMessage(envelope, event)
      : asItCame(envelope, event.data);
    const { isWanted, isMet } = this.#judge(envelope, fields);
    if (!isWanted) return;
    const shown = entry.type === 'bicycle' ? this.#withLeft(entry) : entry;
    if (plan.form === 'json' || isMet) return this.#show(shown, event, isMet && kind !== 'late');
    if (shown.type === 'leaving' && shown.uuid !== undefined && isSender(plan, 'bicycle'))
      return void this.#leaving.set(shown.uuid, { entry: shown, event });
    // A line says something.
    const isSilent =
      kind === 'repeat' || (kind === 'update' && shown.type === 'bicycle' && !namesChange(shown));
    if (!isSilent) this.#show(shown, event, false);
  }

  /** The line of the state that it came to says which one it left. */
  #withLeft(entry: BicycleEntry): BicycleEntry {
    const { uuid = '', before, after } = entry;
    const left = this.#leaving.get(uuid)?.entry;
    this.#leaving.delete(uuid);
    if (left === undefined || before !== undefined || after.state === left.state) return entry;
    return { ...entry, before: { state: String(left.state) }, fields: ['state'] };
  }

  /** Shows what left a state before that moment of the monotonic clock, and of which no message came since. */
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
    const message = isObject(envelope?.message) ? envelope.message : undefined;
    if (envelope === undefined || message === undefined) return asItCame(envelope, event.data);
    const uuid = uuidOfMessage(envelope);
    if (envelope.sender === 'bicycle') {
      // When it came counts, not when its turn was: a slow reader of the output keeps it waiting.
      const change = this.follower.merge(uuid, message as Bicycle, event);
      this.#lastSeen = change.after;
      return { entry: entryOf(change), fields: change.after, kind: change.kind };
    }
    if (envelope.sender === 'bicycle_leaving_state') {
      const bicycle = this.known.get(uuid);
      const entry = { type: 'leaving', uuid, state: message['state'], bicycle } as const;
      // The state that is left is not the one the bicycle is in.
      return { entry, fields: { ...bicycle, state: undefined } };
    }
    if (envelope.sender === 'alert')
      return { entry: { type: 'alert', alert: message as Alert }, fields: message };
    return { entry: { type: 'other', envelope, text: JSON.stringify(message) }, fields: message };
  }

  /** Whether something is to be shown, and whether it is what was waited for. */
  #judge(envelope: PushEnvelope | undefined, fields: Content['fields']) {
    const { where = [], until = [] } = this.plan;
    const isOurs = isSender(this.plan, envelope?.sender);
    if (!isOurs || where.length + until.length === 0) return { isWanted: isOurs, isMet: false };
    const { sender, topic, message } = envelope ?? {};
    const value = { sender, topic, message, ...fields };
    const holds = (condition: Condition) =>
      matches(condition, value, { ms: this.#now.wallMs, zone: this.plan.zone ?? MACHINE_ZONE });
    const isWanted = where.every(holds);
    return { isWanted, isMet: isWanted && until.length > 0 && until.every(holds) };
  }

  // What the follower found

  #takeOutput(output: FollowerOutput) {
    if (output.type === 'learned') this.#takeLearned(output.bicycle);
    else if (output.type === 'caught-up')
      this.#takeFound(entryOf(output.change), output.change.after);
    else if (output.type === 'gone') this.#takeGone(output.uuid, output.bicycle);
    else if (output.type === 'counted') this.total = output.total ?? this.total;
    else {
      if (output.type === 'read') this.#counts.unknown += output.report.unknown;
      this.#add(output);
    }
  }

  /** Who is followed by name may be there already; of a whole organization only what happens counts. */
  #takeLearned(after: Bicycle) {
    const { bicycles, until } = this.plan;
    if (bicycles === undefined || until === undefined) return;
    this.#lastSeen = after;
    const entry = entryOf({
      kind: 'update',
      uuid: String(after.uuid),
      before: undefined,
      after,
      fields: [],
    });
    if (this.#judge(FROM_LIST, after).isMet) this.#takeFound(entry, after);
  }

  #takeFound(entry: BicycleEntry, bicycle: Bicycle) {
    this.#lastSeen = bicycle;
    const { isWanted, isMet } = this.#judge(FROM_LIST, bicycle);
    if (!isWanted) return;
    if (entry.kind === 'caught-up') this.#counts.caughtUp++;
    const data = isMet ? envelopeOf(this.plan, bicycle) : undefined;
    this.#showLast({ type: 'show', entry, atMs: this.#now.wallMs, data }, isMet);
  }

  #takeGone(uuid: string, bicycle: Bicycle) {
    const { bicycles, until } = this.plan;
    this.#counts.gone++;
    if (this.#judge(FROM_LIST, bicycle).isWanted)
      this.#add({
        type: 'show',
        entry: { type: 'gone', uuid, bicycle },
        atMs: this.#now.wallMs,
        data: undefined,
      });
    if (bicycles === undefined || until === undefined) return;
    if ([...bicycles].some((each) => this.known.get(each) !== undefined)) return;
    const which =
      bicycles.size === 1 ? `the bicycle ${uuid} is` : 'all the bicycles that are followed are';
    const hint = 'it was deleted, moved to another organization, or hidden from this role';
    this.#end(
      'failed',
      new FleetError('not-found', `${which} gone: not in the list any more`, { hint }),
    );
  }

  // The end

  /** What a stop from outside ends with: a watch that was never connected has failed, and says what it saw. */
  #errorOf({ end, error }: Stop): FleetError | undefined {
    const { never } = this.connections;
    if (error?.kind === 'timeout')
      return new FleetError('timeout', `${error.message}; ${never ?? this.#lastState()}`, {
        cause: error,
      });
    return end !== 'for' || error !== undefined || never === undefined
      ? error
      : new FleetError('network', never);
  }

  /** What the fields of --until were when they were seen last. */
  #lastState(): string {
    const bicycle = this.#lastSeen;
    if (bicycle === undefined) return 'no bicycle was seen';
    const fields = (this.plan.until ?? [])
      .map(({ field }) => field)
      .filter((field) => bicycle[field] !== undefined);
    const seen = fields.length > 0 ? [...new Set(fields)] : ['state'];
    return `last seen: ${seen.map((field) => `${field}=${bicycle[field]}`).join(', ')} (${bicycle.name ?? bicycle.uuid})`;
  }

  /** The last step; what was held back is shown first. */
  #end(reason: WatchEnd, error?: FleetError) {
    if (this.#effects.at(-1)?.type === 'end') return;
    if (this.#counts.shown !== this.plan.maxEvents) this.#showLeft(Number.POSITIVE_INFINITY);
    this.#add({ type: 'end', end: reason, ...(error === undefined ? {} : { error }) });
  }

  /** What a watch can say of itself at its end; a gap that lasts until then is counted. */
  summary(reason: WatchEnd, now: Moment): WatchSummary {
    return {
      ...this.connections.finish(now),
      ...this.counts,
      end: reason,
      endedAtMs: now.wallMs,
      // A machine that slept, or whose date was set forward: what the gaps count of that is a part of the whole.
      durationMs: Math.max(
        now.monotonicMs - this.#startedAt.monotonicMs,
        now.wallMs - this.#startedAt.wallMs,
      ),
      isUnread: this.plan.resyncPages > 0 && this.counts.gapCount > 0 && this.follower.isBehind,
      undelivered: 0,
    };
  }
}

/** Whether every bicycle can be known, from a mirror or the lists: one that is followed by name is read at its own address. */
export function wantsFleet({ bicycles, organizations, resyncPages }: WatchPlan): boolean {
  return bicycles === undefined && organizations.length > 0 && resyncPages > 0;
}

/** What the stream would have said of a bicycle that was waited for, and that the list shows. */
function envelopeOf({ organizations }: WatchPlan, bicycle: Bicycle): string {
  const topic = bicycleTopic(organizations[0] ?? '', String(bicycle.uuid));
  return JSON.stringify({ topic, sender: 'bicycle', message: bicycle });
}

/** Whether anything asks what a bicycle was before: not where messages go on as they came, and no list is read after a gap. */
function isRemembering({ form, resyncPages, where, until }: WatchPlan): boolean {
  return form !== 'json' || resyncPages > 0 || where !== undefined || until !== undefined;
}

function isSender({ sender: wanted }: WatchPlan, sender: string | null | undefined): boolean {
  return wanted === undefined || wanted.includes(sender ?? '');
}

/** Nothing of what it says is looked at. */
function asItCame(envelope: PushEnvelope | undefined, text: string): Content {
  return { entry: { type: 'other', envelope, text }, fields: envelope ?? {} };
}

function entryOf({ kind, uuid, before, after, fields }: Change): BicycleEntry {
  return {
    type: 'bicycle',
    kind: kind === 'repeat' ? 'update' : kind,
    uuid,
    before,
    after,
    fields,
  };
}
