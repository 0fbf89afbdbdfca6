// The state machine of a watch. Decides what to show for each message, and when to end. Does no
// I/O.
//
// It parses each message, merges it into the known bicycles, and applies the filters. It then
// returns the effects. Changes that the follower finds in the list are handled in the same way.
// When the watch ends, `end` is the last effect.

import type { Alert } from '../../api/alert.js';
import type { Bicycle } from '../../api/bicycle.js';
import { wholeUuid } from '../../api/links.js';
import { bicycleTopic, type PushEnvelope, uuidOfMessage } from '../../api/push.js';
import { FleetError, messageOf } from '../../errors.js';
import type { Stop } from '../../follow/ending.js';
import type { CommonEffect } from '../../follow/loop.js';
import type { Printable } from '../../follow/print.js';
import type { FollowerAnswer, FollowerOutput, OpenDoubt } from '../../follower/events.js';
import { Follower } from '../../follower/follower.js';
import { lastMsOf } from '../../follower/known-alerts.js';
import type { Change, KnownFleet } from '../../follower/known-fleet.js';
import { MemoryStore } from '../../follower/memory-store.js';
import { eventGap, type Message, type StreamEvent } from '../../http/stream/events.js';
import { isObject, parseJson } from '../../json/parse.js';
import { type Condition, matches } from '../../list/where.js';
import type { Moment } from '../../system/clock.js';
import { MACHINE_ZONE } from '../../system/time-zone.js';
import { readTime } from '../../terminal/time.js';
import type { WatchCounts, WatchEnd, WatchSummary } from '../../views/connection.js';
import { type Crossing, isMove, namesChange, type ShownEntry } from '../../views/watch.js';
import { ConnectionLog } from './connections.js';
import { CROSSING_FIELD } from './crossing.js';
import type { WatchPlan } from './plan.js';

export type WatchEvent =
  | StreamEvent
  | FollowerAnswer
  | { readonly type: 'tick' }
  /**
   * All bicycles of a mirror. `fromMs` is the time up to which their data is current, on the
   * monotonic clock.
   */
  | { readonly type: 'remembered'; readonly bicycles: readonly Bicycle[]; readonly fromMs: number }
  | Stop;

export type WatchEffect =
  /**
   * Shows a message, or a change that was found in the list after a gap. `data` is the envelope as
   * it was received. If a bicycle in the list meets the --until condition, there is no received
   * envelope, so fleet creates one.
   */
  | ({ readonly type: 'show' } & Printable)
  | Exclude<FollowerOutput, { type: 'learned' | 'caught-up' | 'gone' | 'counted' }>
  | CommonEffect;

/** The maximum number of characters that are kept from an invalid message. */
const KEPT_CHARACTERS = 1_000;

/** The parsed content of a pushed message. */
interface Content {
  readonly entry: ShownEntry;
  /** The fields that conditions can refer to. */
  readonly fields: { readonly [field: string]: unknown };
  readonly kind?: Change['kind'];
  /** The bicycle's known data before this message. */
  readonly known?: Bicycle | undefined;
}

/** Whether a bicycle is inside or outside the selection, or has just entered or left it. */
type Place = 'inside' | 'outside' | Crossing;

type BicycleEntry = ShownEntry & { readonly type: 'bicycle' };

/**
 * The envelope that is used for a bicycle from a list. With it, conditions on the sender can also
 * be checked for this bicycle.
 */
const FROM_LIST: PushEnvelope = { sender: 'bicycle' };

/**
 * After a message reports that a bicycle left its old state, fleet waits this long for the message
 * about the new state. If it arrives in time, both messages are shown as one line.
 */
const LEAVING_MS = 1_000;

export class Watch {
  readonly plan: WatchPlan;
  /** When the last message arrived, on the monotonic clock. */
  lastMessageMs: number | undefined;
  readonly connections: ConnectionLog;
  readonly #counts = { messages: 0, shown: 0, caughtUp: 0, unknown: 0, gone: 0, hiddenMoves: 0 };
  readonly #startedAt: Moment;
  readonly follower: Follower;
  readonly store = new MemoryStore();
  /** The total number of bicycles that the service counts, when it is known. */
  total: number | undefined;
  /** Whether the lists contain every bicycle that this token may see. */
  seesAll = true;
  /** The bicycle in the last message, or the last bicycle that was found in the list. */
  #lastSeen: Bicycle | undefined;
  /**
   * The leaving-state message of each bicycle, stored while fleet waits for the message about the
   * new state. If the new state is not reported in time, the leaving-state message is shown alone.
   */
  readonly #leaving = new Map<
    string,
    {
      readonly entry: ShownEntry & { type: 'leaving' };
      readonly event: Message;
      /** Whether the message was printed immediately, as with `--json`. */
      readonly isShown: boolean;
    }
  >();
  /**
   * Bicycles that were shown as `left` because they left a selected state. Their new state is
   * unknown, so the stored state is still the old one.
   */
  readonly #left = new Set<string>();
  #effects: WatchEffect[] = [];
  #now: Moment;

  constructor(plan: WatchPlan, now: Moment) {
    this.plan = plan;
    this.#startedAt = now;
    this.#now = now;
    this.connections = new ConnectionLog(plan.topics, now);
    const draws = plan.form === 'board' || plan.form === 'page';
    // All bicycles must be known. Otherwise fleet could not detect which bicycles enter or leave
    // the selection.
    const isWhole = (draws || plan.selection !== undefined) && wantsFleet(plan);
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

  /** Why the comparison after the last gap is incomplete. Undefined when it is complete. */
  get doubt(): OpenDoubt | undefined {
    return this.follower.doubt;
  }

  get known(): KnownFleet {
    return this.follower.known;
  }

  /** Handles an event and returns the resulting effects. An `end` effect is always the last one. */
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

  // The following methods handle pushed messages.

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
    const { entry, fields, kind, known }: Content = isRemembering(plan)
      ? this.#readMessage(envelope, event)
      : asItCame(envelope, event.data);
    const place = this.#placeOf(entry, known, envelope);
    const { isWanted, isMet } = this.#judge(envelope, fields, place);
    if (!isWanted) return;
    const shown = entry.type === 'bicycle' ? crossed(this.#withLeft(entry), place) : entry;
    const isHeld =
      shown.type === 'leaving' && shown.uuid !== undefined && isSender(plan, 'bicycle');
    if (plan.form === 'json' || isMet) {
      if (isHeld && plan.selection !== undefined)
        this.#leaving.set(shown.uuid ?? '', { entry: shown, event, isShown: true });
      return this.#show(shown, event, isMet && kind !== 'late');
    }
    if (isHeld)
      return void this.#leaving.set(shown.uuid ?? '', { entry: shown, event, isShown: false });
    if (shown.type === 'bicycle' && !isCrossing(place) && this.#isHidden(shown, kind)) return;
    this.#show(shown, event, false);
  }

  /**
   * Whether a message is hidden. A hidden message repeats an earlier one, changes nothing visible,
   * or (without --all) only moves the bicycle. Counts the hidden moves.
   */
  #isHidden(entry: BicycleEntry, kind: Change['kind'] | undefined): boolean {
    if (kind === 'repeat') return true;
    if (kind !== 'update' || namesChange(entry)) return false;
    if (!isMove(entry)) return true;
    if (this.plan.all === true) return false;
    this.#counts.hiddenMoves++;
    return true;
  }

  /**
   * Returns whether an entry is inside or outside the selection, or has just entered or left it.
   */
  #placeOf(entry: ShownEntry, known: Bicycle | undefined, envelope?: PushEnvelope): Place {
    const { selection } = this.plan;
    if (selection === undefined) return 'inside';
    if (entry.type === 'bicycle') return this.#placeOfBicycle(entry, known);
    const uuid =
      entry.type === 'alert'
        ? wholeUuid(String(entry.alert.bicycle ?? ''))
        : envelope && uuidOfMessage(envelope);
    const bicycle =
      entry.type === 'leaving' || entry.type === 'gone' ? entry.bicycle : this.known.get(uuid);
    return bicycle !== undefined && selection.has(bicycle) ? 'inside' : 'outside';
  }

  #placeOfBicycle({ kind, uuid = '', after }: BicycleEntry, known: Bicycle | undefined): Place {
    const has = (bicycle: Bicycle) => this.plan.selection?.has(bicycle) ?? true;
    const isInside = has(after);
    // A late message contains old data, and newer data was already shown. A late message therefore
    // cannot make the bicycle enter or leave the selection.
    if (kind === 'late') return isInside ? 'inside' : 'outside';
    const hasLeft = this.#left.delete(uuid);
    // An unknown bicycle is treated as `entered` only when the whole fleet was known before. After
    // a gap, fleet cannot know whether the bicycle has just entered: it may have been in the
    // selection all the time.
    const isNew = this.known.isWhole && kind !== 'caught-up';
    if (known === undefined && !hasLeft && !isNew) return isInside ? 'inside' : 'outside';
    const wasInside = !hasLeft && known !== undefined && has(known);
    if (isInside === wasInside) return isInside ? 'inside' : 'outside';
    return isInside ? 'entered' : 'left';
  }

  /**
   * Combines a message about a new state with the earlier leaving-state message of the same
   * bicycle. One line then shows both states.
   */
  #withLeft(entry: BicycleEntry): BicycleEntry {
    const { uuid = '', before, after } = entry;
    const left = this.#leaving.get(uuid)?.entry;
    this.#leaving.delete(uuid);
    if (left === undefined || before !== undefined || after.state === left.state) return entry;
    return { ...entry, before: { state: String(left.state) }, fields: ['state'] };
  }

  /**
   * Shows the delayed leaving-state messages that arrived before `untilMs` on the monotonic clock.
   * They were delayed to wait for the message about the new state.
   */
  #showLeft(untilMs: number) {
    for (const [uuid, { entry, event, isShown }] of this.#leaving) {
      if (event.monotonicMs > untilMs || this.#effects.at(-1)?.type === 'end') continue;
      this.#leaving.delete(uuid);
      const hasLeft = this.plan.selection?.states?.includes(String(entry.state)) === true;
      if (hasLeft) this.#left.add(uuid);
      const crossing = hasLeft ? 'left' : undefined;
      if (isShown && crossing === undefined) continue;
      const { isMet } = this.#judge({ sender: 'bicycle' }, entry.bicycle ?? {}, crossing);
      const printed = isShown ? { ...event, data: undefined } : event;
      this.#show({ ...entry, crossing }, printed, crossing !== undefined && isMet);
    }
  }

  #show(
    entry: ShownEntry,
    { atMs, data }: Pick<Message, 'atMs'> & { readonly data: string | undefined },
    isMet: boolean,
  ) {
    if (data !== undefined) this.#counts.shown++;
    const eventMs = eventMsOf(entry) ?? atMs;
    this.#showLast({ type: 'show', entry, atMs: eventMs, receivedMs: atMs, data }, isMet);
  }

  /**
   * Shows an entry. Ends the watch when the entry satisfies the --until condition, or when the
   * maximum number of entries is reached.
   */
  #showLast(effect: WatchEffect, isMet: boolean) {
    this.#add(effect);
    if (isMet) this.#end('until');
    else if (this.#counts.shown === this.plan.maxEvents) this.#end('max-events');
  }

  /**
   * Reports an invalid message as a gap of zero length. The follower then reads the list to find
   * the change.
   */
  #takeUnreadable(event: Message, reason: string) {
    const { data } = event;
    const message = `an event of ${data.length} characters cannot be read: ${reason}`;
    const gap = eventGap(event, 'broken', message, data.slice(0, KEPT_CHARACTERS));
    this.connections.add(gap);
    this.#add({ type: 'stream', event: gap });
    this.follower.takeUnreadable(event, message, this.#now);
  }

  /** Merges a message into the known bicycles, and returns the content of the message. */
  #readMessage(envelope: PushEnvelope | undefined, event: Message): Content {
    const message = isObject(envelope?.message) ? envelope.message : undefined;
    if (envelope === undefined || message === undefined) return asItCame(envelope, event.data);
    const uuid = uuidOfMessage(envelope);
    if (envelope.sender === 'bicycle') {
      // The message is merged with its time of arrival, because it may have waited in the queue
      // while the output was slow.
      const known = this.known.get(uuid);
      const change = this.follower.merge(uuid, message as Bicycle, event);
      this.#lastSeen = change.after;
      const entry = { ...entryOf(change), eventMs: readTime(message['modified']) };
      return { entry, fields: change.after, kind: change.kind, known };
    }
    if (envelope.sender === 'bicycle_leaving_state') {
      const bicycle = this.known.get(uuid);
      const entry = { type: 'leaving', uuid, state: message['state'], bicycle } as const;
      // The message contains only the old state, so the current state is unknown.
      return { entry, fields: { ...bicycle, state: undefined } };
    }
    if (envelope.sender === 'alert')
      return { entry: { type: 'alert', alert: message as Alert }, fields: message };
    return { entry: { type: 'other', envelope, text: JSON.stringify(message) }, fields: message };
  }

  /**
   * Returns whether an entry passes the filters, and whether it satisfies the condition of --until.
   */
  #judge(
    envelope: PushEnvelope | undefined,
    fields: Content['fields'],
    place: Place | undefined = 'inside',
  ) {
    const { where = [], until = [] } = this.plan;
    const isOurs = isSender(this.plan, envelope?.sender) && place !== 'outside';
    if (!isOurs || where.length + until.length === 0) return { isWanted: isOurs, isMet: false };
    const { sender, topic, message } = envelope ?? {};
    const value = { sender, topic, message, ...fields, [CROSSING_FIELD]: place };
    const holds = (condition: Condition) =>
      matches(condition, value, {
        ms: this.#now.wallMs,
        zone: this.plan.zoneOfTimes ?? MACHINE_ZONE,
      });
    const isWanted = where.every(holds);
    return { isWanted, isMet: isWanted && until.length > 0 && until.every(holds) };
  }

  // The methods below handle the follower's output.

  #takeOutput(output: FollowerOutput) {
    if (output.type === 'learned') this.#takeLearned(output.bicycle);
    else if (output.type === 'caught-up')
      this.#takeFound(entryOf(output.change), output.change.after, output.change.before);
    else if (output.type === 'gone') this.#takeGone(output.uuid, output.bicycle);
    else if (output.type === 'counted') this.total = output.total ?? this.total;
    else {
      if (output.type === 'read') this.#counts.unknown += output.report.unknown;
      this.#add(output);
    }
  }

  /**
   * Handles the first data that was received for a bicycle. If the bicycle is followed individually,
   * this data may already satisfy the --until condition. If a whole organization is followed, only
   * later changes can satisfy it.
   */
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
    const place = this.#placeOf(entry, after);
    if (this.#judge(FROM_LIST, after, place).isMet) this.#takeFound(entry, after, after);
  }

  #takeFound(entry: BicycleEntry, bicycle: Bicycle, known: Bicycle | undefined) {
    this.#lastSeen = bicycle;
    const place = this.#placeOf(entry, known);
    const { isWanted, isMet } = this.#judge(FROM_LIST, bicycle, place);
    if (!isWanted) return;
    if (entry.kind === 'caught-up') this.#counts.caughtUp++;
    const data = isMet ? envelopeOf(this.plan, bicycle) : undefined;
    const shown = { ...crossed(entry, place), eventMs: readTime(bicycle.modified) };
    const receivedMs = this.#now.wallMs;
    const atMs = eventMsOf(shown) ?? receivedMs;
    this.#showLast({ type: 'show', entry: shown, atMs, receivedMs, data }, isMet);
  }

  #takeGone(uuid: string, bicycle: Bicycle) {
    const { bicycles, until } = this.plan;
    this.#counts.gone++;
    const entry = { type: 'gone', uuid, bicycle } as const;
    const atMs = this.#now.wallMs;
    if (this.#judge(FROM_LIST, bicycle, this.#placeOf(entry, bicycle)).isWanted)
      this.#add({ type: 'show', entry, atMs, receivedMs: atMs, data: undefined });
    if (bicycles === undefined || until === undefined) return;
    if ([...bicycles].some((each) => this.known.get(each) !== undefined)) return;
    const which = bicycles.size === 1 ? `the bicycle ${uuid} is` : 'all followed bicycles are';
    const hint =
      'possible reasons: deleted, moved to another organization, or hidden from this role';
    this.#end('failed', new FleetError('not-found', `${which} no longer in the list`, { hint }));
  }

  // The following methods end the watch.

  /**
   * Returns the error for a watch that is stopped from outside. If the --for time is over and the
   * watch never connected, the watch has failed. After a timeout, the error describes the last
   * known state, or says that the watch never connected.
   */
  #errorOf({ end, error }: Stop): FleetError | undefined {
    const { never } = this.connections;
    if (error?.kind === 'timeout')
      return error.with({ message: `${error.message}; ${never ?? this.#lastState()}` });
    return end !== 'for' || error !== undefined || never === undefined
      ? error
      : new FleetError('network', never);
  }

  /** Describes the most recent bicycle, using the fields that --until refers to. */
  #lastState(): string {
    const bicycle = this.#lastSeen;
    if (bicycle === undefined) return 'no bicycle was seen';
    const fields = (this.plan.until ?? [])
      .map(({ field }) => field)
      .filter((field) => bicycle[field] !== undefined);
    const seen = fields.length > 0 ? [...new Set(fields)] : ['state'];
    return `last seen: ${seen.map((field) => `${field}=${bicycle[field]}`).join(', ')} (${bicycle.name ?? bicycle.uuid})`;
  }

  /** Shows the delayed leaving-state messages, and then ends the watch. */
  #end(reason: WatchEnd, error?: FleetError) {
    if (this.#effects.at(-1)?.type === 'end') return;
    if (this.#counts.shown !== this.plan.maxEvents) this.#showLeft(Number.POSITIVE_INFINITY);
    this.#add({ type: 'end', end: reason, ...(error === undefined ? {} : { error }) });
  }

  /** Returns the summary of the watch. An ongoing outage is treated as a gap. */
  summary(reason: WatchEnd, now: Moment): WatchSummary {
    return {
      ...this.connections.finish(now),
      ...this.counts,
      end: reason,
      endedAtMs: now.wallMs,
      durationMs: now.monotonicMs - this.#startedAt.monotonicMs,
      isUnread: this.plan.resyncPages > 0 && this.counts.gapCount > 0 && this.follower.isBehind,
      undelivered: 0,
    };
  }
}

/**
 * Whether the watch reads all bicycles at startup, from a mirror or from the lists. Bicycles that
 * are followed individually are read one by one.
 */
export function wantsFleet({ bicycles, organizations, resyncPages }: WatchPlan): boolean {
  return bicycles === undefined && organizations.length > 0 && resyncPages > 0;
}

/**
 * Creates an envelope in the format of a pushed message, for a bicycle from the list that satisfies
 * the --until condition.
 */
function envelopeOf({ organizations }: WatchPlan, bicycle: Bicycle): string {
  const topic = bicycleTopic(organizations[0] ?? '', String(bicycle.uuid));
  return JSON.stringify({ topic, sender: 'bicycle', message: bicycle });
}

/**
 * Whether the watch needs earlier values of bicycles. Earlier values are not needed when messages
 * are printed unchanged, without filters and without reading the list.
 */
function isRemembering({ form, resyncPages, where, until, selection }: WatchPlan): boolean {
  const hasFilters = where !== undefined || until !== undefined || selection !== undefined;
  return form !== 'json' || resyncPages > 0 || hasFilters;
}

function isSender({ sender: wanted }: WatchPlan, sender: string | null | undefined): boolean {
  return wanted === undefined || wanted.includes(sender ?? '');
}

/** Returns the content of a message that is printed without being interpreted. */
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

function isCrossing(place: Place): place is Crossing {
  return place === 'entered' || place === 'left';
}

/** Marks an entry as `entered` or `left` when its bicycle entered or left the selection. */
function crossed(entry: BicycleEntry, place: Place): BicycleEntry {
  return isCrossing(place) ? { ...entry, crossing: place } : entry;
}

/**
 * Returns the time of the event by the service's clock, or undefined when the message contains no
 * time.
 */
function eventMsOf(entry: ShownEntry): number | undefined {
  if (entry.type === 'bicycle') return entry.eventMs;
  return entry.type === 'alert' ? lastMsOf(entry.alert) : undefined;
}
