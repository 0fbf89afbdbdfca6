// The loop of the mirror's writer: events become batches, each is stepped through the machine and written in one transaction.

import { randomUUID } from 'node:crypto';
import type { Alert } from '../../api/alert.js';
import type { PushEnvelope } from '../../api/push.js';
import { every, sleep } from '../../clock.js';
import type { Context } from '../../context.js';
import type { Client } from '../../http/client.js';
import type { Message, StreamEvent } from '../../http/stream/events.js';
import { openQueue, type Queue } from '../../http/stream/queue.js';
import type { Item } from '../../http/types.js';
import { needsExactReading, readExact } from '../../json/exact.js';
import { isObject, JsonError, parseJson } from '../../json/parse.js';
import type { MirrorAddress } from '../../mirror/address.js';
import { admitted, admittedUuid, storableJson } from '../../mirror/admit.js';
import { HEARTBEAT_MS, releaseLease, type Writer } from '../../mirror/lease.js';
import { type Ledger, openLedger } from '../../mirror/ledger.js';
import { thisWriter } from '../../mirror/process.js';
import {
  adopt,
  type Commit,
  commit,
  type Found,
  isEmpty,
  isStored,
  type MirrorIdentity,
  prune,
  storeAlerts,
  verify,
} from '../../mirror/store.js';
import {
  isCurrent,
  isHearing,
  needsOf,
  startWriter,
  type WriterEffect,
  type WriterEvent,
  type WriterPlan,
  type WriterState,
  type WriterStep,
  writerState,
} from '../../mirror/writer.js';
import { type Ending, openEnding } from '../follow/ending.js';
import { momentOf } from '../follow/loop.js';
import { read } from '../watch/read.js';
import { type Counters, openCounters, type Reading } from './counters.js';
import { type Keeper, openKeeper } from './keeper.js';
import { readWhole, type WholeOptions } from './read.js';
import { openReport, type Report } from './report.js';

export type SessionEvent = StreamEvent | Exclude<WriterEvent, { type: 'heard' | 'unreadable' }>;

export interface SessionOptions {
  readonly address: MirrorAddress;
  readonly identity: MirrorIdentity;
  readonly plan: WriterPlan;
  /** How long history is kept; undefined is for ever. */
  readonly keepMs: number | undefined;
}

/** What the writer's parts share; what is not `readonly` changes in place. */
export interface Session {
  readonly context: Context;
  readonly options: SessionOptions;
  readonly queue: Queue<SessionEvent>;
  readonly ending: Ending;
  readonly keeper: Keeper;
  readonly counters: Counters;
  readonly report: Report;
  readonly ledger: Ledger;
  readonly found: Found;
  readonly writer: Writer;
  /** When each topic gave its last sign of life, by the machine's date: a message or a comment. */
  readonly life: Map<string, number>;
  /** What is written. */
  state: WriterState;
  /** The number of the last batch. */
  batch: number;
  /** When the last heartbeat was written, and when history is looked through next, on the monotonic clock. */
  beatAtMs: number;
  pruneDueMs: number;
  /** Until when everything was heard, by the machine's date. */
  heardMs: number;
}

/** What waits to be written: under load a batch holds so much, and pages of indexes are written once for many messages. */
const QUEUE_LIMIT_CHARACTERS = 2 * 1024 * 1024;
/** Messages are gathered for so long before they are written. */
const GATHER_MS = 100;
/** Events of a batch that are read at once. */
const PART_EVENTS = 100;
const TICK_MS = 1_000;
/** A list waits for so long before it is taken: messages about what it shows may be on their way, and come first. */
const OVERTAKING_MS = 500;
/** How often old history is looked for. */
const PRUNE_MS = 3_600_000;

/** Opens the mirror as its one writer. */
export async function openSession(context: Context, options: SessionOptions): Promise<Session> {
  const { clock } = context;
  const queue = openQueue<SessionEvent>(QUEUE_LIMIT_CHARACTERS);
  const ending = openEnding(context, queue.push, {});
  const counters = openCounters();
  const report = await openReport(context, counters, options.plan.topics.size > 1);
  const writer = thisWriter(randomUUID());
  let keeper: Keeper | undefined;
  try {
    keeper = await openKeeper(context, {
      address: options.address,
      baseUrl: options.identity.baseUrl,
      over: ending.over.signal,
      report,
      counters,
    });
    const found = await keeper.run((database) => adopt(database, writer, options.identity, clock.wallMs()));
    const ledger = openLedger();
    ledger.setSize(found.rows);
    return {
      ...{ context, options, queue, ending, keeper, counters, report, ledger, found, writer },
      life: new Map([...options.plan.topics.keys()].map((topic) => [topic, 0])),
      state: startWriter(options.plan, ledger, momentOf(clock)),
      batch: 0,
      beatAtMs: Number.NEGATIVE_INFINITY,
      heardMs: found.heardMs ?? clock.wallMs(),
      pruneDueMs: clock.monotonicMs(),
    };
  } catch (thrown) {
    ending.close();
    await report.close();
    await keeper?.close();
    throw thrown;
  }
}

/** What a monitoring system asks for. */
export function lookAt({ state, ledger, context, beatAtMs }: Session): Reading {
  return {
    rows: ledger.size(),
    isStreamUp: isHearing(state),
    isGapOpen: state.gap !== undefined,
    isWhole: state.isWhole,
    // A writer whose database is away says so by its heartbeat.
    isCurrent: isCurrent(state) && context.clock.monotonicMs() - beatAtMs < 3 * HEARTBEAT_MS,
  };
}

/** Writes until the end. Throws what ended it; `onSettled` is called when lists alone are read and nothing is left to read. */
export async function runSession(session: Session, client: Client, onSettled: () => void): Promise<void> {
  const { context, queue, found, report, ending } = session;
  queue.push({ type: 'resume', ...found });
  every(context.clock, TICK_MS, ending.over.signal, () => queue.push({ type: 'tick' }));
  for await (const batch of queue.batches()) {
    const effects = await takeBatch(session, batch);
    report.show(session.state);
    const end = effects.find((effect) => effect.type === 'end');
    if (end?.error !== undefined) throw end.error;
    if (end !== undefined) return;
    await perform(session, client, effects, onSettled);
    if (!ending.over.signal.aborted) await gather(context, queue, ending.over.signal);
  }
}

/** Lets go of the database. */
export async function closeSession({ ending, queue, keeper, report, writer }: Session): Promise<void> {
  ending.close();
  queue.close();
  await keeper.run((database) => releaseLease(database, writer)).catch(() => {});
  await keeper.close();
  await report.close();
}

/** Lets messages gather, so that a transaction holds many; not for longer than the queue has room. */
async function gather({ clock }: Context, queue: Queue<SessionEvent>, over: AbortSignal): Promise<void> {
  const enough = new AbortController();
  const signal = AbortSignal.any([over, enough.signal]);
  await Promise.race([sleep(clock, GATHER_MS, signal).catch(() => {}), queue.filled()]);
  enough.abort(new Error('enough was gathered'));
}

/** Steps the machine through a batch and writes what came of it; one transaction. */
async function takeBatch(session: Session, batch: readonly SessionEvent[]): Promise<readonly WriterEffect[]> {
  const { context, ledger, counters, life } = session;
  const { clock } = context;
  const nowMs = clock.wallMs();
  for (const event of batch) if (event.type === 'open') life.set(event.topic, event.atMs);
  // What came up to here is in this batch, or was before it.
  const lifeMs = Math.min(...life.values());
  const { state, effects } = await stepThrough(session, batch);
  if (isHearing(state)) session.heardMs = Math.max(session.heardMs, lifeMs);
  // Lists alone were read: they show what was before the first of them was asked for.
  const isUpToDate = state.isWhole && state.gap === undefined;
  if (isUpToDate && effects.some(({ type }) => type === 'settled')) session.heardMs = state.startedAt.wallMs;
  await write(session, state, effects, nowMs);
  session.state = state;
  const first = batch.find((event) => event.type === 'message');
  counters.lagMs = first === undefined ? 0 : Math.max(0, clock.wallMs() - first.atMs);
  counters.found = ledger.found();
  counters.lastHeardWallMs = session.heardMs;
  return effects;
}

/** A part at a time: what was read of it is garbage before it grows old. */
async function stepThrough(session: Session, batch: readonly SessionEvent[]): Promise<WriterStep> {
  const { context, keeper, ledger, counters } = session;
  const effects: WriterEffect[] = [];
  let { state } = session;
  for (let from = 0; from < batch.length && effects.at(-1)?.type !== 'end'; from += PART_EVENTS) {
    const part = batch.slice(from, from + PART_EVENTS);
    const events = part.map((event) => (event.type === 'message' ? readMessage(event) : event));
    const now = momentOf(context.clock);
    const { uuids, latestMs } = needsOf(state, events, session.heardMs, now);
    await keeper.run((database) => ledger.load(database, uuids));
    if (latestMs !== undefined) await keeper.run((database) => ledger.loadLatest(database, latestMs));
    for (const event of events) {
      const step = writerState(state, event, now);
      if (state.gap === undefined && step.state.gap !== undefined) counters.gaps++;
      state = step.state;
      for (const effect of step.effects) effects.push(effect);
      count(counters, event);
      if (effects.at(-1)?.type === 'end') break;
    }
  }
  return { state, effects };
}

async function write(
  session: Session,
  state: WriterState,
  effects: readonly WriterEffect[],
  nowMs: number,
): Promise<void> {
  const { keeper, ledger, writer, counters } = session;
  const { clock } = session.context;
  const stored = effects.filter(isStored);
  const beats = clock.monotonicMs() - session.beatAtMs >= HEARTBEAT_MS;
  const rows: Commit = {
    batch: session.batch + 1,
    writes: ledger.take(),
    effects: stored,
    state,
    before: session.state,
    heardMs: session.heardMs,
    nowMs,
    beats,
  };
  if (isEmpty(rows) && !beats && effects.at(-1)?.type !== 'end') return;
  session.batch++;
  const gone = await keeper.run((database, isRetry) => commit(database, writer, rows, isRetry));
  ledger.setSize(ledger.size() - gone);
  // Also where the answer was lost: then nobody says how many.
  if (stored.some(({ type }) => type === 'mark-gone')) ledger.forget();
  if (beats) session.beatAtMs = clock.monotonicMs();
  counters.batches++;
  counters.changes += rows.writes.changes.length + gone;
  counters.gone += gone;
  counters.lastCommitWallMs = clock.wallMs();
}

/** Writes a page of alerts as `storeAlerts` does; resolves with whether there may be more behind it. */
export async function writeAlerts(
  { context, keeper, writer, counters }: Session,
  items: readonly Item<Alert>[],
  read: Iterable<string>,
): Promise<boolean> {
  let mayBeWritten = false;
  const changed = await keeper.run((database, isRetry) => {
    // Its answer was lost: what is there already may have come with it.
    mayBeWritten = isRetry;
    return storeAlerts(database, writer, items, read, context.clock.wallMs());
  });
  counters.alerts += changed;
  return changed > 0 || mayBeWritten;
}

// What came

/** A message as the machine takes it: read, its numbers as they were sent. */
function readMessage(event: Message): WriterEvent {
  const data = storableJson(event.data);
  // An event without data says nothing.
  if (data === '') return { type: 'heard', event, envelope: {}, uuid: undefined };
  try {
    const parsed = parseJson(data);
    const value = needsExactReading(data) ? readExact(data) : parsed;
    const envelope = isObject(value) ? (value as PushEnvelope) : {};
    return { type: 'heard', event, envelope, uuid: admittedUuid(envelope) };
  } catch (error) {
    return { type: 'unreadable', event, reason: error instanceof JsonError ? error.message : String(error) };
  }
}

/** What the catch-up asked for, as the mirror takes it. */
function admittedPage(event: Awaited<ReturnType<typeof read>>): typeof event {
  return event.type === 'page' ? { ...event, page: { ...event.page, items: admitted(event.page.items) } } : event;
}

function count(counters: Counters, event: WriterEvent): void {
  if (event.type === 'heard') counters.messages++;
  else if (event.type === 'unreadable') counters.unreadable++;
  else if (event.type === 'page' || event.type === 'whole-page') counters.pages++;
  else if (event.type === 'open' && event.isReturn) counters.reconnects++;
}

// What is to be done

async function perform(
  session: Session,
  client: Client,
  effects: readonly WriterEffect[],
  onSettled: () => void,
): Promise<void> {
  const { queue, keeper, report, ending, context, state } = session;
  // Before the first reading is whole no step is recorded that a list could overtake.
  const waits = isHearing(state) && state.isWhole;
  const later = (action: () => void) => void (waits ? context.clock.after(OVERTAKING_MS, action) : action());
  for (const effect of effects) {
    report.effect(effect);
    switch (effect.type) {
      case 'stream':
        report.stream(effect.event);
        break;
      case 'read-page':
        void read(client, effect, true).then((event) => later(() => queue.push(admittedPage(event))));
        break;
      case 'read-whole': {
        const { push, room } = queue;
        const emit: WholeOptions['emit'] = (event, size) => later(() => push(event, size));
        const { random } = context.clock;
        const { heard } = state.knowledge;
        void readWhole(client, effect, { signal: ending.over.signal, heard, emit, room, random });
        break;
      }
      case 'verify': {
        const { id } = effect;
        const meeting = await keeper.run((database) => verify(database, effect.pass, effect.started));
        queue.push({ type: 'whole-met', id, ...meeting });
        break;
      }
      case 'settled':
        onSettled();
        break;
      case 'unread':
        // Who reads once leaves another try to the next time.
        if (session.options.plan.topics.size === 0) ending.stop('failed', effect.error);
        break;
    }
  }
  await pruneSome(session);
}

/** Forgets a part of the history that is older than it is kept. */
async function pruneSome(session: Session): Promise<void> {
  const { keeper, writer, options, context } = session;
  const { keepMs } = options;
  const nowMs = context.clock.monotonicMs();
  if (keepMs === undefined || nowMs < session.pruneDueMs) return;
  const hasMore = await keeper.run((database) => prune(database, writer, context.clock.wallMs() - keepMs));
  session.pruneDueMs = nowMs + (hasMore ? TICK_MS : PRUNE_MS);
}
