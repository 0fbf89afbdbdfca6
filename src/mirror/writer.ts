// What the mirror's writer does next: `writerState(state, event, now)` gives the state after an event and what is to be done, without I/O.
//
// Messages are merged as they come. A cut opens a gap, which the catch-up closes; where that cannot be complete, the whole list is read.
// A whole reading is proven when it met as many bicycles as the service counted on any of its pages. What two proven readings did not
// show is gone. The knowledge and its ledger, which hold the rows of one batch, alone change in place.

import { type Bicycle, bicycleUuid } from '../api/bicycle.js';
import type { PushEnvelope } from '../api/push.js';
import { doublingPauseMs } from '../clock.js';
import type { FleetError } from '../errors.js';
import type { Closed, Gap, Lost, Message, Opened, Resync } from '../http/stream/events.js';
import type { Item } from '../http/types.js';
import { isObject } from '../json/parse.js';
import { after, followedBy, forEach, type Step, same } from '../step.js';
import { readTime } from '../terminal/time.js';
import {
  type CatchUpEffect,
  type CatchUpEvent,
  type CatchUpState,
  catchUp,
  isBehind,
  startCatchUp,
} from './catch-up.js';
import { type Knowledge, type Moment, openKnowledge } from './knowledge.js';
import type { Ledger, Origin } from './ledger.js';
import { utcOfMs } from './rows.js';
import type { Snapshot, SnapshotReading } from './schema.js';

export interface WriterPlan {
  /** The organization of each topic that is followed; none: lists alone are read. */
  readonly topics: ReadonlyMap<string, string>;
  readonly organizations: readonly string[];
}

export interface WriterState {
  readonly plan: WriterPlan;
  readonly startedAt: Moment;
  readonly knowledge: Knowledge;
  readonly ledger: Ledger;
  readonly catchUp: CatchUpState;
  /** The topics without a connection. */
  readonly blind: ReadonlySet<string>;
  readonly gap: OpenGap | undefined;
  /** A catch-up that waits for its turn: since when, by the machine's date. */
  readonly wantedSinceMs: number | undefined;
  /** The service's count of each organization, as the catch-up in progress saw it. */
  readonly totals: ReadonlyMap<string, number | undefined>;
  readonly isWhole: boolean;
  readonly whole: Whole | undefined;
  readonly wholeWanted: WholeWanted | undefined;
  readonly wholes: number;
  /** Whole readings in a row that failed, or did not end with tables that equal the list. */
  readonly failures: number;
  /** Comparisons in a row of the count with the service's that failed. */
  readonly mismatches: number;
  /** On the monotonic clock: when the list is compared next, and before when no whole reading begins for the count's sake. */
  readonly checkDueMs: number;
  /** Until when the table has everything that the list shows, links included: the next comparison reads what changed since. */
  readonly checked: Moment;
  /** When the catch-up in progress was asked for: what is heard while it reads, it may not show. */
  readonly asked: Moment;
  readonly isChecking: boolean;
  readonly wholeAllowedMs: number;
  /** When a large part of the fleet seemed gone, by the machine's date. */
  readonly suspectedMs: number | undefined;
  /** Lists are read from the first word of the push channel on, so that nothing falls between the two. */
  readonly mayRead: boolean;
}

export interface OpenGap {
  /** By the machine's date, in milliseconds. */
  readonly startedMs: number;
  /** When the channel stood again; undefined while it does not. */
  readonly endedMs: number | undefined;
  readonly reason: string;
  /** All of it was sent again so far. */
  readonly isBridged: boolean;
  /** What `ledger.found()` was when it began. */
  readonly foundBefore: number;
}

/** A reading of all lists. */
export interface Whole {
  readonly id: number;
  /** How far it is: what outlives this program. */
  readonly reading: SnapshotReading;
  /** Of the organization that is read now. */
  readonly pagesHere: number;
  readonly metHere: number;
}

interface WholeWanted {
  readonly reason: string;
  readonly dueMs: number;
  readonly isConfirming?: boolean | undefined;
  /** Where one that was interrupted goes on. */
  readonly resumed?: SnapshotReading | undefined;
}

export type WriterEvent =
  /** The first event: until when everything was heard, and compared, before; the gap that was open, the reading that was interrupted. */
  | {
      readonly type: 'resume';
      readonly heardMs: number | undefined;
      readonly checkedMs: number | undefined;
      readonly gap: { readonly startedMs: number; readonly reason: string } | undefined;
      readonly snapshot: Snapshot;
    }
  | Opened
  | Lost
  | Gap
  | Resync
  | Closed
  | {
      readonly type: 'heard';
      readonly event: Message;
      readonly envelope: PushEnvelope;
      readonly uuid: string | undefined;
    }
  | { readonly type: 'unreadable'; readonly event: Message; readonly reason: string }
  | Exclude<CatchUpEvent, { type: 'blind' | 'wanted' }>
  | {
      readonly type: 'whole-page';
      readonly id: number;
      readonly items: readonly Item<Bicycle>[];
      readonly count: number | undefined;
      /** The number of the next page; undefined on the last one, and where it has none. */
      readonly nextPage: number | undefined;
      /** What `heard()` was when it can have been asked for at the earliest. */
      readonly askedAt: number;
    }
  /** The list of an organization is read to its end. */
  | { readonly type: 'whole-list'; readonly id: number }
  /** What the database says of the whole reading. */
  | ({ readonly type: 'whole-met'; readonly id: number } & Meeting)
  | { readonly type: 'whole-failed'; readonly id: number; readonly error: FleetError; readonly random: number }
  | { readonly type: 'stop'; readonly error?: FleetError };

/** A whole reading held against the table. */
export interface Meeting {
  /** Distinct bicycles that the pass met. */
  readonly met: number;
  /** Bicycles of the table, not gone, that the reading did not show. */
  readonly missing: number;
  readonly rows: number;
  /** Everything it showed is available, and nothing that it did not show is: what a token without rights sees. */
  readonly looksFiltered: boolean;
}

export type WriterEffect =
  | (CatchUpEffect & { readonly type: 'read-page' | 'unread' })
  | { readonly type: 'read-whole'; readonly id: number; readonly organization: string; readonly page: number }
  | { readonly type: 'clear-listed' }
  | { readonly type: 'listed'; readonly uuids: readonly string[]; readonly pass: number }
  /** `started` is UTC, as the rows have it. */
  | { readonly type: 'verify'; readonly id: number; readonly pass: number; readonly started: string }
  | { readonly type: 'mark-gone'; readonly started: string }
  /** The open gap is over; or changes are not recorded, from the first to the last of them: moments that are near each other are one gap. */
  | {
      readonly type: 'gap-close' | 'gap-moment';
      readonly startedMs: number;
      readonly endedMs: number;
      readonly reason: string;
      readonly found: number;
    }
  | { readonly type: 'stream'; readonly event: Opened | Lost | Gap | Resync | Closed }
  | { readonly type: 'notice'; readonly event: string; readonly message: string }
  /** Everything that can be known without waiting is known. */
  | { readonly type: 'settled' }
  | { readonly type: 'end'; readonly error: FleetError | undefined };

export type WriterStep = Step<WriterState, WriterEffect>;

const LATE = 'messages came after the list had shown what followed them';
/** A list is ahead of messages that are on their way by no more than this; one that comes much later is sent again. */
const OVERTAKEN_MS = 60_000;

/** How often what changed since the last time is compared, and the count with the service's: one page each time at least. */
const CHECK_MS = 5 * 60_000;
/** A catch-up that would read more of an organization reads the whole list instead, several pages at a time. */
const MOST_PAGES = 200;
/** So many pages at most of a comparison; of a fleet that moves faster the links are as old as the last whole reading. */
const CHECK_PAGES = 20;
/** A count that differs is looked at once more: a bicycle may have come meanwhile. */
const RECHECK_MS = 15_000;
/** How often the pages are read at most before a reading counts as not proven. */
const MOST_PASSES = 3;
/** When more than a fifth of a fleet seems gone, it has to seem so again later: a service in trouble shows half of its list. */
const SUSPICIOUS_SHARE = 0.2;
const SUSPICIOUS_BICYCLES = 10;
const SUSPICION_MS = 10 * 60_000;
/** Pauses after whole readings that failed, and that came to nothing. */
const FIRST_PAUSE_MS = 5_000;
const LONGEST_PAUSE_MS = 5 * 60_000;
const FIRST_VAIN_PAUSE_MS = 10 * 60_000;
const LONGEST_VAIN_PAUSE_MS = 6 * 3_600_000;

/** Where a pass through the lists begins. */
const FIRST_PAGE = { organizations: 0, page: 1, read: 0, counts: [] } as const;

const NO_DOUBT = { failures: 0, mismatches: 0, suspectedMs: undefined } as const;

/** Everything that a list shows is compared. */
const NO_MARK = { fromMs: Number.NEGATIVE_INFINITY, modifiedMs: Number.NEGATIVE_INFINITY, isProven: true } as const;

export function startWriter(plan: WriterPlan, ledger: Ledger, now: Moment): WriterState {
  const knowledge = openKnowledge(now, ledger);
  return {
    plan,
    startedAt: now,
    knowledge,
    ledger,
    catchUp: startReading(plan, knowledge),
    blind: new Set(plan.topics.keys()),
    gap: undefined,
    wantedSinceMs: undefined,
    totals: new Map(),
    isWhole: false,
    whole: undefined,
    wholeWanted: undefined,
    wholes: 0,
    failures: 0,
    mismatches: 0,
    checkDueMs: now.monotonicMs + CHECK_MS,
    checked: now,
    asked: now,
    isChecking: false,
    wholeAllowedMs: Number.NEGATIVE_INFINITY,
    suspectedMs: undefined,
    mayRead: plan.topics.size === 0,
  };
}

function startReading({ organizations }: WriterPlan, knowledge: Knowledge): CatchUpState {
  return startCatchUp({ organizations, bicycles: undefined, mostPages: MOST_PAGES, readsWhole: false }, knowledge);
}

/** Whether the push channel tells everything now. */
export function isHearing({ plan, blind }: WriterState): boolean {
  return plan.topics.size > 0 && blind.size === 0;
}

/** Whether the tables are as true as they can be. */
export function isCurrent(state: WriterState): boolean {
  return state.isWhole && isHearing(state) && state.gap === undefined;
}

export function writerState(state: WriterState, event: WriterEvent, now: Moment): WriterStep {
  switch (event.type) {
    case 'heard':
      return takeHeard(state, event);
    case 'stop':
      return { state, effects: [{ type: 'end', error: event.error }] };
    case 'closed':
      return {
        state,
        effects: [
          { type: 'stream', event },
          { type: 'end', error: event.error },
        ],
      };
    default:
      return followedBy(take(state, event, now), (next) => schedule(next, now));
  }
}

type Taken = Exclude<WriterEvent, { type: 'heard' | 'stop' | 'closed' }>;

function take(state: WriterState, event: Taken, now: Moment): WriterStep {
  switch (event.type) {
    case 'resume':
      return takeResume(state, event, now);
    case 'open':
      return takeOpen(state, event, now);
    case 'lost':
      return takeLost(state, event, now);
    case 'gap':
      return takeGap(state, event, now);
    case 'resync':
      return takeResync(state, event);
    case 'unreadable':
      return takeUnreadable(state, event, now);
    case 'whole-page':
      return event.id === state.whole?.id ? takePage(state, state.whole, event, now) : same(state);
    case 'whole-list':
      return event.id === state.whole?.id ? takeListEnd(state, state.whole) : same(state);
    case 'whole-met':
      return event.id === state.whole?.id ? takeMeeting(state, state.whole, event, now) : same(state);
    case 'whole-failed':
      return event.id === state.whole?.id ? takeWholeFailure(state, state.whole, event, now) : same(state);
    default:
      return lookUp(state, event, now);
  }
}

/** Without a catch-up that waits these open no gap; of a first reading the mark would be looked for among all rows. */
const MARKLESS: ReadonlySet<WriterEvent['type']> = new Set(['tick', 'whole-list', 'whole-met']);

/** What the ledger has to have loaded for these events: rows, and `latest` of what was known at a moment of the machine's date, where a mark is made. */
export function needsOf(
  state: WriterState,
  events: readonly WriterEvent[],
  heardMs: number,
  { monotonicMs }: Moment,
): { readonly uuids: ReadonlySet<string>; readonly latestMs: number | undefined } {
  const uuids = new Set<string>();
  const isChecking = monotonicMs >= state.checkDueMs || state.mismatches > 0;
  let isMarking = isChecking;
  let marks = [heardMs, state.gap?.startedMs ?? heardMs];
  for (const event of events) {
    if (event.type === 'heard') {
      if (event.uuid !== undefined) uuids.add(event.uuid);
    } else if (event.type === 'page' || event.type === 'whole-page') {
      const items = event.type === 'page' ? event.page.items : event.items;
      for (const { value } of items) {
        const uuid = bicycleUuid(value);
        if (uuid !== undefined) uuids.add(uuid);
      }
    } else if (!MARKLESS.has(event.type) || state.catchUp.wanted !== undefined || state.wantedSinceMs !== undefined) {
      isMarking = true;
      if (event.type === 'resume') marks = [heardMs, event.gap?.startedMs ?? heardMs, event.checkedMs ?? heardMs];
    }
  }
  if (isChecking) marks.push(state.checked.wallMs);
  return { uuids, latestMs: isMarking ? Math.min(...marks) : undefined };
}

// Messages

function takeHeard(state: WriterState, { event, envelope, uuid }: WriterEvent & { type: 'heard' }): WriterStep {
  const { knowledge, plan, isWhole } = state;
  const message = isObject(envelope.message) ? envelope.message : undefined;
  if (message === undefined) return same(state);
  // "bicycle_leaving_state" names the state that is left, which the message before it said.
  if (envelope.sender !== 'bicycle' || uuid === undefined) return same(state);
  const moment = { monotonicMs: event.monotonicMs, wallMs: event.atMs };
  const saysModified = typeof message['modified'] === 'string';
  sayOrigin(state, moment, { source: 'push', followed: plan.topics.get(event.topic) ?? '', saysModified });
  const { kind, before } = knowledge.hear(uuid, message as Bicycle, moment);
  if (kind !== 'late' || !isWhole) return same(state);
  // A list had shown already what followed it: the steps from it to what the list showed are not recorded.
  const atMs = readTime(message['modified']) ?? event.atMs;
  const untilMs = Math.max(atMs, Math.min(readTime(before?.modified) ?? atMs, atMs + OVERTAKEN_MS));
  return { state, effects: [{ type: 'gap-moment', startedMs: atMs, endedMs: untilMs, reason: LATE, found: 0 }] };
}

/** What the next statements about bicycles are. */
function sayOrigin(
  { ledger, knowledge, isWhole }: WriterState,
  { monotonicMs, wallMs }: Moment,
  origin: Pick<Origin, 'source' | 'followed'> & Partial<Origin>,
): void {
  ledger.from({
    json: undefined,
    saysModified: true,
    receivedMs: wallMs,
    isFirstReading: !isWhole,
    isPlausible: (modifiedMs) => knowledge.isPlausible(modifiedMs, monotonicMs),
    ...origin,
  });
}

/** One bad message is a gap of no length: the list is asked what it may have said. */
function takeUnreadable(
  state: WriterState,
  { event, reason }: WriterEvent & { type: 'unreadable' },
  now: Moment,
): WriterStep {
  const message = `a message of ${event.data.length} characters cannot be read: ${reason}`;
  const open = openGap(state, { startedMs: event.atMs, reason: message, isBridged: false }, now);
  return {
    state: blinded(open, event.monotonicMs, event.atMs, now),
    effects: [{ type: 'notice', event: 'unreadable', message }],
  };
}

// The connection and its gaps

function takeResume(state: WriterState, event: WriterEvent & { type: 'resume' }, now: Moment): WriterStep {
  const { heardMs, checkedMs = heardMs, gap, snapshot } = event;
  const { isWhole } = snapshot;
  const resumed = snapshot.reading ?? undefined;
  const reason = isWhole ? resumed && 'a reading that was interrupted' : 'the first reading';
  const wholeWanted: WholeWanted | undefined =
    reason === undefined ? undefined : { reason, dueMs: now.monotonicMs, isConfirming: resumed?.isConfirming, resumed };
  const suspectedMs = snapshot.suspected === null ? undefined : Date.parse(snapshot.suspected);
  const next = { ...state, isWhole, wholeWanted, suspectedMs };
  if (isWhole) state.knowledge.cover(Number.NEGATIVE_INFINITY);
  if (heardMs === undefined) return same(next);
  // The gap that a writer left open when it was killed began before the last thing it heard.
  const startedMs = Math.min(heardMs, gap?.startedMs ?? heardMs);
  // What messages left out since the last comparison is looked up with what was missed.
  const checked = momentAt(Math.min(checkedMs ?? startedMs, startedMs), now);
  const blindness = { startedMs, reason: gap?.reason ?? 'the mirror was not running', isBridged: false };
  // Lists that are read once show what was before the first of them was asked for.
  const open = openGap({ ...next, checked, checkDueMs: checked.monotonicMs + CHECK_MS }, blindness, state.startedAt);
  const fromMs = checked.monotonicMs;
  return same(state.plan.topics.size === 0 ? blinded(open, fromMs, startedMs, now) : blind(open, fromMs, now));
}

/** A moment of the machine's date that is over. */
function momentAt(wallMs: number, now: Moment): Moment {
  return { wallMs, monotonicMs: now.monotonicMs - Math.max(0, now.wallMs - wallMs) };
}

function takeOpen(state: WriterState, event: Opened, now: Moment): WriterStep {
  const blind = new Set(state.blind);
  blind.delete(event.topic);
  const { gap } = state;
  const ended =
    gap !== undefined && gap.endedMs === undefined && blind.size === 0 ? { ...gap, endedMs: now.wallMs } : gap;
  return { state: { ...state, blind, gap: ended, mayRead: true }, effects: [{ type: 'stream', event }] };
}

function takeLost(state: WriterState, event: Lost, now: Moment): WriterStep {
  const { topic, lastLifeWallMs, blindMs } = event;
  const next = { ...state, blind: new Set(state.blind).add(topic), mayRead: true };
  const startedMs = lastLifeWallMs ?? state.startedAt.wallMs;
  const fromMs = lastLifeWallMs === undefined ? state.startedAt.monotonicMs : event.monotonicMs - blindMs;
  const blindness = { startedMs, reason: event.error.message, isBridged: lastLifeWallMs !== undefined };
  return { state: blind(openGap(next, blindness, now), fromMs, now), effects: [{ type: 'stream', event }] };
}

function takeGap(state: WriterState, event: Gap, now: Moment): WriterStep {
  const { fromWallMs: startedMs, message: reason, replayed: isBridged } = event;
  const fromMs = event.monotonicMs - event.durationMs;
  const open = openGap(state, { startedMs, reason, isBridged }, now);
  return { state: blind(open, fromMs, now), effects: [{ type: 'stream', event }] };
}

/** The channel stands, and a replay has had its chance: what it did not say is looked up. */
function takeResync(state: WriterState, event: Resync): WriterStep {
  const next = { ...state, mayRead: true };
  const sinceMs = event.sinceWallMs ?? state.gap?.startedMs;
  if (sinceMs === undefined) return same(next);
  return same({ ...next, wantedSinceMs: Math.min(sinceMs, next.wantedSinceMs ?? sinceMs) });
}

interface Blindness {
  readonly startedMs: number;
  readonly reason: string;
  /** What was sent meanwhile may come after all. */
  readonly isBridged: boolean;
}

/** Gaps that overlap are one; it lasts as long as a topic is without a connection. */
function openGap(state: WriterState, { startedMs, reason, isBridged }: Blindness, now: Moment): WriterState {
  const endedMs = state.blind.size === 0 ? now.wallMs : undefined;
  const gap = state.gap ?? { startedMs, reason, isBridged, foundBefore: state.ledger.found() };
  const earliestMs = Math.min(gap.startedMs, startedMs);
  return { ...state, gap: { ...gap, startedMs: earliestMs, endedMs, isBridged: gap.isBridged && isBridged } };
}

/** Where things stood then is remembered for the catch-up. */
function blind(state: WriterState, fromMs: number, now: Moment): WriterState {
  return { ...state, catchUp: catchUp(state.catchUp, { type: 'blind', fromMs }, now).state };
}

/** Everything since then is to be looked up. */
function blinded(state: WriterState, fromMs: number, sinceMs: number, now: Moment): WriterState {
  return { ...blind(state, fromMs, now), wantedSinceMs: Math.min(sinceMs, state.wantedSinceMs ?? sinceMs) };
}

/** What was missed is found: the gap is over, unless the channel is down again, or was since that reading began. */
function closeGap(state: WriterState): WriterStep {
  const { gap, ledger } = state;
  if (gap?.endedMs === undefined || state.wantedSinceMs !== undefined || state.catchUp.mark !== undefined)
    return same(state);
  const found = ledger.found() - gap.foundBefore;
  const next = { ...state, gap: undefined };
  // "A cut that the replay bridged is none."
  if (gap.isBridged && found === 0) return same(next);
  // A change that undid one that was missed has nothing to record: the gap lasts until the last of these.
  const { startedMs, reason } = gap;
  const endedMs = Math.max(gap.endedMs, startedMs, ledger.undoneMs());
  return { state: next, effects: [{ type: 'gap-close', startedMs, endedMs, reason, found }] };
}

// The catch-up

function lookUp(state: WriterState, event: CatchUpEvent, now: Moment): WriterStep {
  const { reading } = state.catchUp;
  const organization = reading?.organizations[0];
  if (event.type === 'page' && organization !== undefined)
    sayOrigin(state, now, { source: 'list', followed: organization });
  const read = catchUp(state.catchUp, event, now);
  return forEach(
    { ...state, catchUp: read.state },
    read.effects,
    (open, effect): WriterStep => takeCatchUp(open, effect, reading, now),
  );
}

function takeCatchUp(
  state: WriterState,
  effect: CatchUpEffect,
  reading: CatchUpState['reading'],
  now: Moment,
): WriterStep {
  const organization = reading?.organizations[0];
  switch (effect.type) {
    case 'read-page':
      return { state, effects: [effect] };
    case 'counted':
      if (organization === undefined) return same(state);
      return same({ ...state, totals: new Map(state.totals).set(organization, effect.total) });
    case 'unread':
      // What is refused is refused again: the whole list may be asked for in another order.
      if (effect.retryInMs === undefined) return after([effect], wantWhole(state, effect.error.message, now));
      return { state, effects: [effect] };
    case 'read':
      if (!effect.report.isComplete && !state.isChecking) return wantWhole(state, 'the catch-up was not complete', now);
      return followedBy(closeGap(state), (open) => compareCount(takeChecked(open, reading?.mark?.fromMs, now), now));
    default:
      // Ticks come every second, and what was found is in the ledger.
      return same(state);
  }
}

/** A reading from where the table was last compared is the next comparison; one after a gap goes back to where that began. */
function takeChecked(state: WriterState, fromMs: number | undefined, { monotonicMs }: Moment): WriterState {
  const isCompared = fromMs === state.checked.monotonicMs;
  const moved = isCompared ? { checked: state.asked, checkDueMs: monotonicMs + CHECK_MS } : {};
  return { ...state, ...moved, isChecking: false };
}

/** Bicycles leave the list without a word: where the counts differ, the whole list is read. */
function compareCount(state: WriterState, now: Moment): WriterStep {
  const totals = state.plan.organizations.map((organization) => state.totals.get(organization));
  const total = totals.reduce<number | undefined>(
    (sum, each) => (sum === undefined || each === undefined ? undefined : sum + each),
    0,
  );
  const isEqual = total === undefined || total === state.ledger.size();
  const mismatches = isEqual ? 0 : state.mismatches + 1;
  const checkDueMs = mismatches === 1 ? Math.min(state.checkDueMs, now.monotonicMs + RECHECK_MS) : state.checkDueMs;
  const next = { ...state, mismatches, checkDueMs, totals: new Map() };
  if (mismatches < 2 || now.monotonicMs < state.wholeAllowedMs) return same(next);
  return wantWhole(
    { ...next, mismatches: 0 },
    `the service counts ${total} bicycles, the mirror ${state.ledger.size()}`,
    now,
  );
}

// The whole list

function wantWhole(state: WriterState, reason: string, now: Moment): WriterStep {
  if (state.whole !== undefined || state.wholeWanted !== undefined) return same(state);
  const dueMs = state.isWhole ? Math.max(now.monotonicMs, state.wholeAllowedMs) : now.monotonicMs;
  return {
    state: { ...state, wholeWanted: { reason, dueMs } },
    effects: [{ type: 'notice', event: 'whole', message: `reading the whole list: ${reason}` }],
  };
}

/** Begins what waits for its turn; one reading at a time. */
function schedule(state: WriterState, now: Moment): WriterStep {
  const { wholeWanted, catchUp: reading, plan } = state;
  if (!state.mayRead || state.whole !== undefined || reading.reading !== undefined) return same(state);
  const isStanding = plan.topics.size === 0 || state.blind.size === 0;
  // While the channel is down the first reading alone is of use: another one would have to be followed by one more.
  if (wholeWanted !== undefined && (isStanding || !state.isWhole)) {
    if (wholeWanted.dueMs <= now.monotonicMs) return beginWhole(state, wholeWanted, now);
    // Who reads once does not wait for what is due later.
    if (plan.topics.size === 0) return { state, effects: [{ type: 'settled' }] };
  }
  if (!isStanding || !state.isWhole) return same(state);
  const { wantedSinceMs } = state;
  if (wantedSinceMs !== undefined) {
    const next = beginLookUp({ ...state, wantedSinceMs: undefined }, MOST_PAGES, now);
    return lookUp(next, { type: 'wanted', sinceWallMs: wantedSinceMs }, now);
  }
  if (reading.wanted !== undefined || isBehind(reading) || wholeWanted !== undefined) return same(state);
  const isOnce = plan.topics.size === 0;
  if (isOnce ? state.mismatches === 1 : now.monotonicMs >= state.checkDueMs) return check(state, now);
  return isOnce ? { state, effects: [{ type: 'settled' }] } : same(state);
}

/** The state in which a catch-up is asked for, of so many pages at most. */
function beginLookUp(state: WriterState, mostPages: number, now: Moment): WriterState {
  const { catchUp: reading } = state;
  const bounded = { ...reading, options: { ...reading.options, mostPages } };
  return { ...state, catchUp: bounded, isChecking: false, asked: now, totals: new Map() };
}

/** Reads what the list says was modified since the last time: its count, and what messages leave out, such as links. */
function check(state: WriterState, now: Moment): WriterStep {
  const checkDueMs = now.monotonicMs + CHECK_MS;
  const next = { ...beginLookUp(state, CHECK_PAGES, now), isChecking: true, checkDueMs };
  return lookUp(blind(next, state.checked.monotonicMs, now), { type: 'wanted', sinceWallMs: now.wallMs }, now);
}

function beginWhole(state: WriterState, { isConfirming = false, resumed }: WholeWanted, now: Moment): WriterStep {
  const reading = resumed ?? { ...FIRST_PAGE, started: utcOfMs(now.wallMs), isConfirming, pass: 1 };
  const whole = { id: state.wholes + 1, reading, pagesHere: reading.page - 1, metHere: 0 };
  const step = readOn({ ...state, wholeWanted: undefined, wholes: whole.id }, whole);
  // What a second reading shows counts beside what the first one showed.
  return isConfirming || resumed !== undefined ? step : after([{ type: 'clear-listed' }], step);
}

function readOn(before: WriterState, whole: Whole): WriterStep {
  const state = { ...before, whole };
  const { id, reading } = whole;
  const organization = state.plan.organizations[reading.organizations];
  if (organization === undefined)
    return { state, effects: [{ type: 'verify', id, pass: reading.pass, started: reading.started }] };
  return { state, effects: [{ type: 'read-whole', id, organization, page: reading.page }] };
}

/** What of the readings outlives this program. */
export function snapshotOf({ whole, wholeWanted, isWhole, suspectedMs }: WriterState): Snapshot {
  const suspected = suspectedMs === undefined ? null : utcOfMs(suspectedMs);
  return { isWhole, suspected, reading: whole?.reading ?? wholeWanted?.resumed ?? null };
}

/** The reading with a count of its present organization; null where the service says none. */
function counted(reading: SnapshotReading, count: number | null): (number | null)[] {
  const counts = [...reading.counts];
  counts[reading.organizations] = count;
  return counts;
}

function takePage(
  state: WriterState,
  before: Whole,
  event: WriterEvent & { type: 'whole-page' },
  now: Moment,
): WriterStep {
  const { knowledge, plan } = state;
  const { reading } = before;
  const followed = plan.organizations[reading.organizations] ?? '';
  const uuids: string[] = [];
  for (const { value, json } of event.items) {
    const uuid = bicycleUuid(value);
    if (uuid === undefined) continue;
    uuids.push(uuid);
    sayOrigin(state, now, { source: 'list', followed, json });
    knowledge.compare(value, NO_MARK, event.askedAt, now);
  }
  const most = Math.max(event.count ?? -1, reading.counts[reading.organizations] ?? -1);
  const whole: Whole = {
    ...before,
    reading: {
      ...reading,
      page: event.nextPage ?? reading.page,
      read: reading.read + uuids.length,
      counts: counted(reading, most < 0 ? null : most),
    },
    pagesHere: before.pagesHere + 1,
    metHere: before.metHere + uuids.length,
  };
  return { state: { ...state, whole }, effects: [{ type: 'listed', uuids, pass: reading.pass }] };
}

function takeListEnd(state: WriterState, { id, reading, pagesHere, metHere }: Whole): WriterStep {
  const count = reading.counts[reading.organizations] ?? null;
  // A bare array has no count; where it came in one piece, nothing can have slipped between its pages.
  const counts = counted(reading, count === null && pagesHere === 1 ? metHere : count);
  const next = { ...reading, counts, organizations: reading.organizations + 1, page: 1 };
  return readOn(state, { id, reading: next, pagesHere: 0, metHere: 0 });
}

function takeMeeting(
  state: WriterState,
  whole: Whole,
  event: WriterEvent & { type: 'whole-met' },
  now: Moment,
): WriterStep {
  const { reading } = whole;
  const counts = state.plan.organizations.map((_, index) => reading.counts[index] ?? undefined);
  const total = counts.reduce<number>((sum, count) => sum + (count ?? 0), 0);
  const isCounted = counts.every((count) => count !== undefined);
  const ended = { ...state, whole: undefined };
  if (isCounted && event.met < total) {
    if (reading.pass < MOST_PASSES)
      return readOn(state, { ...whole, reading: { ...reading, ...FIRST_PAGE, pass: reading.pass + 1 } });
    const message = `the list showed ${event.met} of ${total} bicycles, ${MOST_PASSES} times; it is read again later`;
    return inVain(ended, 'incomplete', message, now, true);
  }
  const done = finishWhole(ended, Date.parse(reading.started), now);
  if (event.missing === 0) return { state: { ...done.state, ...NO_DOUBT }, effects: done.effects };
  const reason = cannotMark(event, isCounted, total);
  if (reason !== undefined) {
    const message = `${event.missing} bicycles of the mirror are not in the list and stay as they are: ${reason}`;
    return followedBy(done, (open) => inVain(open, 'kept', message, now, false));
  }
  if (reading.isConfirming) {
    const effects: WriterEffect[] = [...done.effects, { type: 'mark-gone', started: reading.started }];
    return { state: { ...done.state, ...NO_DOUBT }, effects };
  }
  return followedBy(done, (open) => confirm(open, event, now));
}

/** What one proven reading did not show may have slipped between two pages: a second one has to agree. */
function confirm(state: WriterState, { missing, rows }: Meeting, now: Moment): WriterStep {
  const suspectedMs = isSuspicious({ missing, rows }) ? (state.suspectedMs ?? now.wallMs) : undefined;
  const inMs = suspectedMs === undefined ? 0 : Math.max(0, suspectedMs + SUSPICION_MS - now.wallMs);
  const later = inMs > 0 ? ` in ${Math.ceil(inMs / 60_000)} min` : '';
  const message = `${missing} of ${rows} bicycles are not in the list any more; it is read once more${later} to be sure`;
  const wholeWanted = { reason: message, dueMs: now.monotonicMs + inMs, isConfirming: true };
  return { state: { ...state, suspectedMs, wholeWanted }, effects: [{ type: 'notice', event: 'confirm', message }] };
}

function isSuspicious({ missing, rows }: Pick<Meeting, 'missing' | 'rows'>): boolean {
  return missing > SUSPICIOUS_BICYCLES && missing > rows * SUSPICIOUS_SHARE;
}

function cannotMark(meeting: Meeting, isCounted: boolean, total: number): string | undefined {
  if (!isCounted) return 'the service does not say how many there are';
  if (total === 0) return 'the list is empty';
  const isFiltered = meeting.looksFiltered && isSuspicious(meeting);
  return isFiltered ? 'the list shows available bicycles alone, as to a token with fewer rights' : undefined;
}

/** The tables hold what the list holds; a gap that was over when the reading began is made up for. */
function finishWhole(state: WriterState, startedMs: number, now: Moment): WriterStep {
  state.knowledge.cover(Number.NEGATIVE_INFINITY);
  const checked = momentAt(startedMs, now);
  // After a long reading at once, but not in this step: the ledger loads first what the mark is made of.
  const checkDueMs = Math.max(checked.monotonicMs + CHECK_MS, now.monotonicMs + 1);
  const next: WriterState = { ...state, isWhole: true, checked, checkDueMs };
  const { gap } = next;
  const isMadeUp = gap === undefined || (gap.endedMs !== undefined && gap.endedMs <= startedMs);
  if (!isMadeUp) return same(next);
  return closeGap({ ...next, wantedSinceMs: undefined, catchUp: startReading(next.plan, next.knowledge) });
}

/** A reading that did not make the tables equal to the list: the next one waits, longer each time. */
function inVain(state: WriterState, name: string, message: string, now: Moment, isWanted: boolean): WriterStep {
  const failures = state.failures + 1;
  const wholeAllowedMs = now.monotonicMs + doublingPauseMs(failures, FIRST_VAIN_PAUSE_MS, LONGEST_VAIN_PAUSE_MS);
  const wholeWanted = isWanted ? { reason: message, dueMs: wholeAllowedMs } : undefined;
  const next = { ...state, failures, wholeAllowedMs, mismatches: 0, wholeWanted };
  return { state: next, effects: [{ type: 'notice', event: name, message }] };
}

/** A list that cannot be read is read on from the same page. */
function takeWholeFailure(
  state: WriterState,
  { reading: resumed }: Whole,
  event: WriterEvent & { type: 'whole-failed' },
  now: Moment,
): WriterStep {
  const failures = state.failures + 1;
  const pauseMs = Math.ceil((0.5 + event.random / 2) * doublingPauseMs(failures, FIRST_PAUSE_MS, LONGEST_PAUSE_MS));
  const { isConfirming } = resumed;
  const wholeWanted = { reason: event.error.message, dueMs: now.monotonicMs + pauseMs, isConfirming, resumed };
  return {
    state: { ...state, whole: undefined, wholeWanted, failures },
    effects: [{ type: 'unread', error: event.error, sinceWallMs: undefined, retryInMs: pauseMs }],
  };
}
