// The loop of the mirror's writer. It collects events in batches, passes each batch to the
// follower, and writes the batch in one transaction.

import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import { BICYCLE, type Bicycle, bicycleUuid } from '../../api/bicycle.js';
import { organizationTopic, type PushEnvelope } from '../../api/push.js';
import { readOne } from '../../api/read-one.js';
import type { Context } from '../../context.js';
import { messageOf } from '../../errors.js';
import type { Stop } from '../../follow/ending.js';
import type {
  BatchHooks,
  CommonEffect,
  CommonEvent,
  Session as Following,
} from '../../follow/loop.js';
import { runLoop, withSession } from '../../follow/loop.js';
import { type AnswerSink, answer, isRequest } from '../../follow/requests.js';
import type { Form } from '../../follow/stderr.js';
import { beginFollowing } from '../../follow/token-command-retry.js';
import type { FollowerEvent, FollowerOutput } from '../../follower/events.js';
import { Follower } from '../../follower/follower.js';
import { type Change, compareTimes, latestOf, versionOf } from '../../follower/known-fleet.js';
import type { OpenGap } from '../../follower/open-gap.js';
import type { Client } from '../../http/client.js';
import type { Message, StreamEvent } from '../../http/stream/events.js';
import { exactValue } from '../../json/exact.js';
import { isObject, parseJson } from '../../json/parse.js';
import { chosenDatabase } from '../../list/offline.js';
import { requireOrganizations } from '../../list/organization.js';
import { Ledger } from '../../mirror/ledger.js';
import { openOwn } from '../../mirror/open.js';
import { storableItems, storableJson, storableUuid, utcOf } from '../../mirror/rows.js';
import { turnPartitions } from '../../mirror/schema.js';
import { type BatchIds, commit, type Found, prepare, prune, verify } from '../../mirror/write.js';
import { HEARTBEAT_MS, type Writer } from '../../mirror/writers.js';
import { requireBaseUrl } from '../../settings/resolve.js';
import { type Clock, every, type Moment, momentOf } from '../../system/clock.js';
import { readTime } from '../../terminal/time.js';
import type { WriterOptions } from './flags.js';
import { type Counters, type MirrorReport, openCounters, openMirrorReport } from './notices.js';
import { type Keeper, openKeeper } from './writer-database.js';

/** The events that wait to be written. */
type SessionEvent = StreamEvent | FollowerEvent | Stop;

interface Lateness {
  readonly lateMs: number;
  /** When the message arrived, on the monotonic clock. */
  readonly monotonicMs: number;
}

/** A parsed message. Its numbers keep their digits. `reason` says why a message cannot be read. */
interface ParsedMessage {
  readonly type: 'parsed';
  readonly event: Message;
  readonly envelope: PushEnvelope;
  readonly uuid?: string | undefined;
  readonly reason?: string;
}

type ReadEvent = Exclude<SessionEvent, Message> | ParsedMessage;

/** The state that the parts of the writer share. */
export interface MirrorSession extends Following<SessionEvent>, ReturnType<typeof openState> {
  readonly context: Context;
  readonly options: WriterOptions;
  readonly counters: Counters;
  readonly report: MirrorReport;
  readonly keeper: Keeper;
}

/**
 * How much data may wait to be written. Under load, a batch has this size, so that a page of an
 * index is written once for many messages.
 */
const QUEUE_LIMIT_CHARACTERS = 2 * 1024 * 1024;
/** How long messages are collected before they are written. */
const GATHER_MS = 100;
/** How many events of a batch are loaded together. Their bicycles are read with one query. */
const PART_EVENTS = 500;
const TICK_MS = 1_000;
/**
 * How long a page of the list waits before it is processed. Messages about the same changes should
 * be processed first.
 */
const OVERTAKING_MS = 500;
/** How often old history is deleted. */
const PRUNE_MS = 3_600_000;

/**
 * When a catch-up would need more pages of an organization, the whole list is read, several pages
 * at a time.
 */
const MOST_PAGES = 200;
/**
 * By how much a list can be ahead of messages that are on their way. A message that arrives much
 * later was sent again.
 */
const OVERTAKEN_MS = 60_000;
const LATE = 'messages came late: the list had shown newer changes';

/**
 * Opens the mirror as its only writer, and a client whose retries are reported. Closes the database
 * when `use` has ended. Without `follows`, only lists are read.
 */
export async function withMirrorSession(
  context: Context,
  options: WriterOptions,
  follows: boolean,
  use: (session: MirrorSession, client: Client) => Promise<void>,
): Promise<void> {
  const settings = await context.settings();
  const baseUrl = requireBaseUrl(settings);
  const address = await chosenDatabase(context, options.to);
  const patient = follows ? await beginFollowing(context) : context;
  const organizations = [
    ...new Set(await requireOrganizations(patient, options.organization ?? [])),
  ].sort();
  const topics = new Map(
    follows ? organizations.map((each) => [organizationTopic(each), each]) : [],
  );
  const form: Form = ['json', 'jsonl'].includes(settings.output.value) ? 'json' : 'lines';
  const follow = { form, topics: [...topics.keys()], limitCharacters: QUEUE_LIMIT_CHARACTERS };
  await withSession(context, follow, async (following: Following<SessionEvent>) => {
    const { stderr, signal, atEnd } = following;
    const counters = openCounters();
    const report = openMirrorReport(context, stderr, counters, follows);
    atEnd(report.close);
    const { env } = context.io;
    const open = (cut: AbortSignal) => openOwn(address, baseUrl, { signal: cut, env });
    const keeper = await openKeeper(context.clock, signal, { report, counters }, open);
    atEnd(keeper.close);
    await keeper.run((database) => prepare(database, baseUrl));
    const parts = { ...following, context, options, counters, report, keeper };
    const session = { ...parts, ...openState(context.clock, topics, organizations) };
    await use(session, await session.client(baseUrl, report.retry));
  });
}

/** Creates the state of the writer. The object is changed in place. */
function openState(
  clock: Clock,
  topics: ReadonlyMap<string, string>,
  organizations: readonly string[],
) {
  const writer: Writer = { owner: randomUUID(), host: hostname(), pid: process.pid, organizations };
  const ledger = new Ledger();
  /** The follower's outputs since the last check. */
  const outputs: FollowerOutput[] = [];
  const startedAt = momentOf(clock);
  /** Whether the lists show all bicycles, by the claims of the token. */
  const shown = { seesAll: true };
  const followed = {
    topics,
    organizations,
    bicycles: undefined,
    mostPages: MOST_PAGES,
    isWhole: true,
  };
  const openFollower = (start: Moment) =>
    new Follower({ ...followed, seesAll: () => shown.seesAll }, ledger, start, (output) =>
      outputs.push(output),
    );
  return {
    ...{
      topics,
      ledger,
      writer,
      follower: openFollower(startedAt),
      openFollower,
      startedAt,
      outputs,
      shown,
    },
    /**
     * The state of the database when this process became the writer. The previous writer had
     * written everything that it received.
     */
    found: undefined as Found | undefined,
    /** The time of the last message or comment on each topic, by the machine's clock. */
    life: new Map<string, number>([...topics.keys()].map((topic) => [topic, 0])),
    /** The service's time in its last answer on the push channel, and when this answer arrived. */
    serviceAt: undefined as
      | { readonly serviceMs: number; readonly monotonicMs: number }
      | undefined,
    /**
     * How late the last message was when it arrived, by the service's clock. Undefined until a
     * message arrives, and after a gap.
     */
    lateness: undefined as Lateness | undefined,
    /** Bicycles with changes that messages left out, with their organizations. */
    refresh: { outdated: new Map<string, string>(), isReading: false },
    /** The state of the database after the last batch. */
    written: {
      /** The gap that the last batch left open. */
      gap: undefined as OpenGap | undefined,
      /** The ids of the last batch of each organization. */
      batchIds: [] as BatchIds,
      /** When the last batch was written. */
      at: { monotonicMs: Number.NEGATIVE_INFINITY, wallMs: 0 } as Moment,
      /** When old history is deleted next, on the monotonic clock. */
      pruneDueMs: clock.monotonicMs(),
      /** All messages up to this time were received, by the machine's clock. */
      heardMs: 0,
      /** Whether no reading was pending after the last batch. */
      isSettled: false,
    },
  };
}

/**
 * Writes until the end. Throws the error that ended it. When only lists are read, `onSettled` is
 * called after all readings are complete.
 */
export async function runSession(
  session: MirrorSession,
  client: Client,
  onSettled: () => void,
): Promise<void> {
  const { context, queue, signal, follower, report, outputs } = session;
  queue.push({ type: 'tick' });
  every(context.clock, TICK_MS, signal, () => queue.push({ type: 'tick' }));
  const { error } = await runLoop<ReadEvent, FollowerOutput, never>(context, session, {
    batch: openBatches(session, client),
    step(event, now) {
      const effects = take(session, event, now);
      for (const output of outputs) {
        if (output.type === 'gap-close') {
          session.ledger.add(output);
          // The list showed the changes up to now.
          session.lateness = undefined;
        }
        session.written.isSettled ||= output.type === 'settled';
      }
      return [...outputs.splice(0), ...effects];
    },
    perform: (output) => perform(session, client, onSettled, output),
    look: () => report.show(follower),
    deliver: async () => {},
    summarize: async () => {},
  });
  if (error !== undefined) throw error;
}

/**
 * Writes a batch of events in one transaction. The rows of its bicycles are merged in that
 * transaction.
 */
function openBatches(session: MirrorSession, client: Client): BatchHooks<ReadEvent> {
  const { keeper, ledger, counters, life, follower, written } = session;
  const { clock } = session.context;
  let lifeMs: number | undefined;
  /** When the first events of the batch were taken, on the monotonic clock. */
  let takenMs: number | undefined;
  return {
    mostLoaded: PART_EVENTS,
    gatherMs: GATHER_MS,
    async load(part) {
      takenMs ??= clock.monotonicMs();
      for (const event of part) {
        if (event.type !== 'open') continue;
        life.set(event.topic, event.atMs);
        const { serviceMs, monotonicMs } = event;
        session.serviceAt = serviceMs === undefined ? undefined : { serviceMs, monotonicMs };
      }
      // Messages that arrived before this time are in this batch or in an earlier one.
      lifeMs ??= Math.min(...life.values());
      const events = part.map((event) => (event.type === 'message' ? readMessage(event) : event));
      await keeper.run((database) => ledger.load(database, uuidsOf(events)));
      return events;
    },
    async commit(batch, isEnd) {
      let { heardMs } = written;
      if (follower.isConnected) heardMs = Math.max(heardMs, lifeMs ?? heardMs);
      lifeMs = undefined;
      // Only lists were read, so the data is as old as the first request.
      if (written.isSettled && follower.known.isWhole && follower.gap === undefined)
        heardMs = session.startedAt.wallMs;
      written.isSettled = false;
      // Later events wait for the next batch.
      const sinceTakenMs = takenMs === undefined ? 0 : clock.monotonicMs() - takenMs;
      takenMs = undefined;
      counters.lagMs = Math.max(behindOf(session, batch), sinceTakenMs);
      await write(session, heardMs, isEnd);
      written.heardMs = heardMs;
      if (isEnd) return;
      void refreshOne(session, client);
      await pruneSome(session);
    },
  };
}

function readMessage(event: Message): ParsedMessage {
  const data = storableJson(event.data);
  // An event without data is ignored.
  if (data === '') return { type: 'parsed', event, envelope: {} };
  try {
    const value = exactValue({ json: data, value: parseJson(data) });
    const envelope = isObject(value) ? (value as PushEnvelope) : {};
    return { type: 'parsed', event, envelope, uuid: storableUuid(envelope) };
  } catch (error) {
    return { type: 'parsed', event, envelope: {}, reason: messageOf(error) };
  }
}

/** Returns the bicycles whose rows must be loaded. */
function uuidsOf(events: readonly ReadEvent[]): string[] {
  return events.flatMap((event) => {
    if (event.type === 'parsed') return event.uuid ?? [];
    if (event.type === 'refreshed') return bicycleUuid(event.item.value) ?? [];
    const items =
      event.type === 'page' ? event.page.items : event.type === 'whole-page' ? event.items : [];
    return items.flatMap(({ value }) => bicycleUuid(value) ?? []);
  });
}

/**
 * When a batch has this many messages, they are waiting for the writer. A smaller batch may contain
 * a message about an old change.
 */
const MANY_MESSAGES = 50;

/**
 * Returns how far the written data is behind the service. When the writer is slow, messages wait in
 * the socket, so their own times are compared with the service's clock. The result is at least the
 * time since the arrival of the oldest message.
 */
function behindOf(
  { context, follower, serviceAt, lateness }: MirrorSession,
  batch: readonly { type: string }[],
): number {
  const { clock } = context;
  const messages = batch.filter((event): event is Message => event.type === 'message');
  const [first] = messages;
  const lateMs = lateOf(lateness, clock.monotonicMs());
  if (first === undefined) return lateMs;
  const waitedMs = lateMs + Math.max(0, clock.monotonicMs() - first.monotonicMs);
  const newestMs = follower.known.time.newestAt(clock.monotonicMs());
  if (messages.length < MANY_MESSAGES || serviceAt === undefined || newestMs === undefined)
    return waitedMs;
  const nowMs = serviceAt.serviceMs + clock.monotonicMs() - serviceAt.monotonicMs;
  return Math.max(waitedMs, nowMs - newestMs);
}

/** A late message is taken into account for at least this long. */
const LATE_FOR_MS = 30_000;

/**
 * Returns how late messages arrive. A late message is taken into account until a newer message has
 * another delay, or until nothing arrived for twice the delay, because then no earlier change is on
 * its way.
 */
function lateOf(lateness: Lateness | undefined, nowMs: number): number {
  if (lateness === undefined) return 0;
  const { lateMs, monotonicMs } = lateness;
  return nowMs - monotonicMs > Math.max(LATE_FOR_MS, 2 * lateMs) ? 0 : lateMs;
}

/**
 * Measures how late a message arrived, by its own time and the service's clock. Only new changes
 * are measured, not messages that the service sends again after a gap.
 */
function measureLateness(session: MirrorSession, event: Message, { before, after, kind }: Change) {
  const { serviceAt, follower } = session;
  const modifiedMs = latestOf(after.modified);
  const isMoved = (compareTimes(after.modified, before?.modified) ?? 0) > 0;
  if (serviceAt === undefined || modifiedMs === undefined || !isMoved) return;
  if (kind !== 'update' || follower.gap !== undefined) return;
  const { monotonicMs } = event;
  const arrivedMs = serviceAt.serviceMs + monotonicMs - serviceAt.monotonicMs;
  session.lateness = { lateMs: Math.max(0, arrivedMs - modifiedMs), monotonicMs };
}

/**
 * How many bicycles may wait to be read at their URLs. Further bicycles are read within five
 * minutes.
 */
const MOST_OUTDATED = 1_000;

/**
 * Whether a message left out a change. Messages have no links: of a new model they contain only the
 * name, and of a new lock only a new version.
 */
function hidesChange({ kind, before, after, fields }: Change): boolean {
  if (before === undefined || kind === 'late') return false;
  if (fields.includes('bicycle_model_name')) return true;
  const [old, version] = [versionOf(before), versionOf(after)];
  return fields.length === 0 && old !== undefined && version !== undefined && version > old;
}

/** Reads the next outdated bicycle at its URL, at most one for each batch. Never rejects. */
async function refreshOne(session: MirrorSession, client: Client): Promise<void> {
  const { refresh, follower, signal, queue } = session;
  const [next] = refresh.outdated;
  if (next === undefined || refresh.isReading || signal.aborted) return;
  const [uuid, followed] = next;
  refresh.outdated.delete(uuid);
  refresh.isReading = true;
  const askedAt = follower.known.merged;
  try {
    const [item] = storableItems([await readOne<Bicycle>(client, BICYCLE, uuid)]);
    if (item !== undefined && bicycleUuid(item.value) === uuid)
      queue.push({ type: 'refreshed', item, followed, askedAt });
  } catch {
    // The next comparison reads it again.
  }
  refresh.isReading = false;
}

/** Passes an event to the follower. Returns the effects for the loop. */
function take(session: MirrorSession, event: ReadEvent | CommonEvent, now: Moment): CommonEffect[] {
  const { counters, follower } = session;
  const { gap } = follower;
  if (event.type === 'stop') return [{ ...event, type: 'end' }];
  if (event.type === 'message') return [];
  if (event.type === 'parsed') mergeMessage(session, event, now);
  else follower.take(event, now);
  if (event.type === 'page' || event.type === 'whole-page') counters.pages++;
  else if (event.type === 'open' && event.isReturn) counters.reconnects++;
  if (gap === undefined && follower.gap !== undefined) counters.gaps++;
  if (!('topic' in event)) return [];
  const shown: CommonEffect = { type: 'stream', event };
  return event.type === 'closed'
    ? [shown, { type: 'end', end: 'failed', error: event.error }]
    : [shown];
}

/** Merges a message. */
function mergeMessage(
  session: MirrorSession,
  { event, envelope, uuid, reason }: ParsedMessage,
  now: Moment,
): void {
  const { follower, ledger, counters } = session;
  const { sender, message } = envelope;
  if (reason !== undefined) {
    const what = `a message of ${event.data.length} characters cannot be read: ${reason}`;
    counters.unreadable++;
    session.report.print(true, 'unreadable', what);
    follower.takeUnreadable(event, what, now);
    return;
  }
  counters.messages++;
  if (!isObject(message) || uuid === undefined) return;
  if (sender === 'bicycle_leaving_state') {
    const serviceMs = follower.known.time.at(event.monotonicMs);
    ledger.leave(uuid, message['state'], event.atMs, serviceMs);
  }
  if (sender !== 'bicycle') return;
  const change = follower.merge(uuid, message as Bicycle, event);
  const { kind, before } = change;
  measureLateness(session, event, change);
  if (hidesChange(change)) {
    const { outdated } = session.refresh;
    if (outdated.size < MOST_OUTDATED) outdated.set(uuid, session.topics.get(event.topic) ?? '');
  }
  // When the message was repeated or late, the bicycle left that state earlier.
  if (kind !== 'update') ledger.settle(uuid);
  if (kind !== 'late' || !follower.known.isWhole) return;
  // A list already showed a later change. The steps between this message and the list are not
  // recorded.
  const startedMs = readTime(utcOf(String(message['modified']))) ?? event.atMs;
  const untilMs = Math.min(readTime(before?.modified) ?? startedMs, startedMs + OVERTAKEN_MS);
  ledger.add({
    type: 'gap-moment',
    startedMs,
    endedMs: Math.max(startedMs, untilMs),
    reason: LATE,
    found: 0,
  });
}

async function write(session: MirrorSession, heardMs: number, isEnd: boolean): Promise<void> {
  const { keeper, ledger, writer, counters, follower, written } = session;
  const { clock } = session.context;
  ledger.recordLeft(clock.wallMs());
  const { gap, proven, known, comparedToMs } = follower;
  const [isSameGap, writes] = [gap === written.gap, ledger.take()];
  const isDue = clock.monotonicMs() - written.at.monotonicMs >= HEARTBEAT_MS;
  const isNews =
    writes.bicycles.length + writes.changes.length + writes.steps.length > 0 || !isSameGap;
  if (!isNews && !isDue && !isEnd) return;
  const { owner, organizations } = writer;
  const position = { heardMs, checkedMs: comparedToMs, behindMs: Math.round(counters.lagMs) };
  const { seesAll } = session.shown;
  const lists = { isWhole: known.isWhole, proven, seesAll, leaving: ledger.leaving() };
  const batchId = randomUUID();
  const state = { ...position, ...lists, owner, organizations, batch: ++counters.batches, batchId };
  const previousBatchIds = written.batchIds;
  const startedMs = clock.monotonicMs();
  const waitedMs = () => clock.monotonicMs() - startedMs;
  const rows = { writes, gap, isSameGap, state, previousBatchIds, nowMs: clock.wallMs(), waitedMs };
  const gone = await keeper.run((database) => commit(database, writer, rows));
  ledger.setSize(ledger.size() - gone);
  // This is also possible when the answer of the database was lost. The number is then not known.
  if (writes.steps.some(({ type }) => type === 'mark-gone')) ledger.forget();
  const batchIds = organizations.map(() => batchId);
  Object.assign(written, { gap, batchIds, at: momentOf(clock) });
  counters.changes += writes.changes.length + gone;
  counters.gone += gone;
  for (const step of writes.steps) {
    if (step.type === 'mark-gone')
      session.report.print(true, 'gone', 'bicycles that left the list are marked as gone');
    if (step.type !== 'verify') continue;
    const meeting = await keeper.run((database) => verify(database, writer, step.reading));
    // Bicycles may have moved to organizations of another writer, or from there to this writer.
    ledger.setSize(meeting.known);
    session.queue.push({ type: 'whole-met', id: step.reading.id, ...meeting });
  }
}

/** Carries out an output of the follower after its batch was written. */
function perform(
  session: MirrorSession,
  client: Client,
  onSettled: () => void,
  output: FollowerOutput,
): undefined {
  const { queue, report, ending, signal, context, follower } = session;
  if (signal.aborted) return;
  const { clock } = context;
  // Before the first complete reading, steps are not recorded, so a list cannot be ahead of them.
  const waits = follower.isConnected && follower.known.isWhole;
  const emit: AnswerSink['emit'] = (event, size) =>
    void (waits
      ? clock.after(OVERTAKING_MS, () => queue.push(event, size))
      : queue.push(event, size));
  report.effect(output);
  if (isRequest(output))
    void answer(client, output, { emit, room: queue.room, signal, follower, admit: storableItems });
  else if (output.type === 'settled') onSettled();
  // `mirror once` does not try again; its next run does.
  else if (output.type === 'unread' && session.topics.size === 0)
    ending.stop('failed', output.error);
}

/** Deletes a part of the history that is older than `keep`. */
async function pruneSome(session: MirrorSession): Promise<void> {
  const { keeper, writer, context, written } = session;
  const { keep: keepMs } = session.options;
  const [nowMs, wallMs] = [context.clock.monotonicMs(), context.clock.wallMs()];
  if (nowMs < written.pruneDueMs) return;
  const beforeMs = keepMs === undefined ? undefined : wallMs - keepMs;
  await keeper.run((database) => turnPartitions(database, wallMs, beforeMs));
  const hasMore =
    beforeMs !== undefined && (await keeper.run((database) => prune(database, writer, beforeMs)));
  written.pruneDueMs = nowMs + (hasMore ? TICK_MS : PRUNE_MS);
}
