// The main loop of the process that writes a mirror. It collects events in batches, merges each
// batch into the known data, and writes the batch in one transaction.

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

/** The events that wait to be processed. */
type SessionEvent = StreamEvent | FollowerEvent | Stop;

interface Lateness {
  readonly lateMs: number;
  /** When the message arrived, on the monotonic clock. */
  readonly monotonicMs: number;
}

/**
 * A parsed message. Its numbers keep all digits. When the message is not valid, `reason` explains
 * the problem.
 */
interface ParsedMessage {
  readonly type: 'parsed';
  readonly event: Message;
  readonly envelope: PushEnvelope;
  readonly uuid?: string | undefined;
  readonly reason?: string;
}

type ReadEvent = Exclude<SessionEvent, Message> | ParsedMessage;

/** The state that is shared by all parts of the writer. */
export interface MirrorSession extends Following<SessionEvent>, ReturnType<typeof openState> {
  readonly context: Context;
  readonly options: WriterOptions;
  readonly counters: Counters;
  readonly report: MirrorReport;
  readonly keeper: Keeper;
}

/**
 * The maximum size of the data in the queue, and therefore of a batch. Under load, a large batch is
 * more efficient, because the database writes each page of an index only once for many messages.
 */
const QUEUE_LIMIT_CHARACTERS = 2 * 1024 * 1024;
/** How long messages are collected before the batch is written. */
const GATHER_MS = 100;
/** The maximum number of events whose bicycles are loaded from the database with one query. */
const PART_EVENTS = 500;
const TICK_MS = 1_000;
/**
 * How long fleet waits before it processes a page of the list. Meanwhile, messages about the same
 * changes can arrive and be processed first.
 */
const OVERTAKING_MS = 500;
/** The pause between two deletions of old history. */
const PRUNE_MS = 3_600_000;

/**
 * The maximum number of pages that are read to find the changes of one organization. If there are
 * more pages, fleet reads the whole list instead and requests several pages concurrently.
 */
const MOST_PAGES = 200;
/**
 * The maximum delay of a message whose change a list has already shown. A message with a longer
 * delay was replayed.
 */
const OVERTAKEN_MS = 60_000;
const LATE = 'messages came late: the list had shown newer changes';

/**
 * Opens the mirror for writing, and creates a client that reports its retries. Closes the database
 * after `use`. When `follows` is false, reads only lists and receives no messages.
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
    const keeper = await openKeeper(context.clock, signal, { report, counters }, open).catch(
      (error: unknown) => {
        // A signal that ended the wait for the database decides the exit code.
        context.signal.throwIfAborted();
        throw error;
      },
    );
    atEnd(keeper.close);
    await keeper.run((database) => prepare(database, baseUrl));
    const parts = { ...following, context, options, counters, report, keeper };
    const session = { ...parts, ...openState(context.clock, topics, organizations) };
    await use(session, await session.client(baseUrl, report.retry));
  });
}

/** Creates the state of the writer. The writer changes it in place. */
function openState(
  clock: Clock,
  topics: ReadonlyMap<string, string>,
  organizations: readonly string[],
) {
  const writer: Writer = { owner: randomUUID(), host: hostname(), pid: process.pid, organizations };
  const ledger = new Ledger();
  /** The follower's outputs that are not carried out yet. */
  const outputs: FollowerOutput[] = [];
  const startedAt = momentOf(clock);
  /** Whether the lists contain all bicycles. This depends on the token's claims. */
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
     * The state of the database when this process became the writer. It includes all data that the
     * previous writer received.
     */
    found: undefined as Found | undefined,
    /**
     * The time when the last message or comment arrived on each topic, according to the machine's
     * clock.
     */
    life: new Map<string, number>([...topics.keys()].map((topic) => [topic, 0])),
    /**
     * The service's time in its last response on the push channel, and when this response arrived.
     */
    serviceAt: undefined as
      | { readonly serviceMs: number; readonly monotonicMs: number }
      | undefined,
    /**
     * The delay of the last message: the difference between its own time and the time on the
     * service's clock. Undefined before the first message and after a gap.
     */
    lateness: undefined as Lateness | undefined,
    /**
     * Bicycles that must be read again, because a message did not contain a field that changed.
     * Maps each bicycle's UUID to its organization.
     */
    refresh: { outdated: new Map<string, string>(), isReading: false },
    /** The state of the mirror in the database after the last batch. */
    written: {
      /** The gap that was still open after the last batch. */
      gap: undefined as OpenGap | undefined,
      /** The ids of the last batch that was written, one for each organization. */
      batchIds: [] as BatchIds,
      /** When the last batch was written. */
      at: { monotonicMs: Number.NEGATIVE_INFINITY, wallMs: 0 } as Moment,
      /** The time of the next deletion of old history, on the monotonic clock. */
      pruneDueMs: clock.monotonicMs(),
      /**
       * Whether all lists were read completely since the last batch. Only used by runs that receive
       * no messages.
       */
      heardMs: 0,
      /**
       * Whether all lists were read completely since the last batch. Only set by `mirror once`,
       * which receives no messages.
       */
      isSettled: false,
    },
  };
}

/**
 * Runs the loop until it ends, and throws the error that ended it. If the session has no push
 * topics, it calls `onSettled` after it has read all lists.
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
          // The list has shown all changes up to now, so the mirror is not behind. The delay of
          // messages before this read is no longer relevant.
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
 * Returns the hooks that process a batch of events: they load the rows of its bicycles, and write
 * the batch in one transaction.
 */
function openBatches(session: MirrorSession, client: Client): BatchHooks<ReadEvent> {
  const { keeper, ledger, counters, life, follower, written } = session;
  const { clock } = session.context;
  let lifeMs: number | undefined;
  /** When the first event of the batch was taken from the queue, on the monotonic clock. */
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
      // Every message that arrived before this time is in this batch or in an earlier one.
      lifeMs ??= Math.min(...life.values());
      const events = part.map((event) => (event.type === 'message' ? readMessage(event) : event));
      await keeper.run((database) => ledger.load(database, uuidsOf(events)));
      return events;
    },
    async commit(batch, isEnd) {
      let { heardMs } = written;
      if (follower.isConnected) heardMs = Math.max(heardMs, lifeMs ?? heardMs);
      lifeMs = undefined;
      // Without messages, the data is certain only up to the start of the run. A bicycle can change
      // after its page of the list was read.
      if (written.isSettled && follower.known.isWhole && follower.gap === undefined)
        heardMs = session.startedAt.wallMs;
      written.isSettled = false;
      // The time since the first event of this batch was taken from the queue. Later events belong
      // to the next batch.
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
  // A message without data is ignored.
  if (data === '') return { type: 'parsed', event, envelope: {} };
  try {
    const value = exactValue({ json: data, value: parseJson(data) });
    const envelope = isObject(value) ? (value as PushEnvelope) : {};
    return { type: 'parsed', event, envelope, uuid: storableUuid(envelope) };
  } catch (error) {
    return { type: 'parsed', event, envelope: {}, reason: messageOf(error) };
  }
}

/** Returns the UUIDs of the bicycles whose rows must be loaded. */
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
 * If a batch has at least this many messages, the writer is slower than the service. The age of the
 * newest change then shows how far the writer is behind. In a smaller batch, an old change time may
 * only mean that the change happened long ago.
 */
const MANY_MESSAGES = 50;

/**
 * Returns how far the written data is behind the service. When the writer is slow, messages wait
 * unread in the socket. The times in the messages are therefore compared with the service's clock.
 * The result is at least the time since the oldest message of the batch arrived.
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

/** When a late message arrives, its delay counts as the current delay for at least this long. */
const LATE_FOR_MS = 30_000;

/**
 * Returns the current delay of messages, which is the delay of the last message. When no message
 * has arrived for twice that delay, the result is 0. An older change can then no longer be in
 * transit.
 */
function lateOf(lateness: Lateness | undefined, nowMs: number): number {
  if (lateness === undefined) return 0;
  const { lateMs, monotonicMs } = lateness;
  return nowMs - monotonicMs > Math.max(LATE_FOR_MS, 2 * lateMs) ? 0 : lateMs;
}

/**
 * Measures how late a message arrived, by comparing the time in the message with the service's
 * clock. Ignores messages that the service replays after a gap, and messages without a new change.
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
 * The maximum number of bicycles that wait to be read at their own URLs. If more bicycles have
 * changes to read, the comparison with the list finds these changes. It happens every five minutes.
 */
const MOST_OUTDATED = 1_000;

/**
 * Whether the bicycle has a change whose new value is not in the message. Messages contain no
 * links. After a model change, a message contains only the model's name. After a lock change, it
 * contains only a new version.
 */
function hidesChange({ kind, before, after, fields }: Change): boolean {
  if (before === undefined || kind === 'late') return false;
  if (fields.includes('bicycle_model_name')) return true;
  const [old, version] = [versionOf(before), versionOf(after)];
  return fields.length === 0 && old !== undefined && version !== undefined && version > old;
}

/**
 * Reads one bicycle at its URL, because a message reported a change without the new value. Called
 * once for each batch. Never rejects.
 */
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
    // A failure is ignored, because the next comparison with the list finds the change.
  }
  refresh.isReading = false;
}

/** Passes an event to the follower. Returns effects that the loop carries out. */
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

/** Merges a message into the known data. */
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
  // A repeated or late message shows that the bicycle has already reached a new state. fleet
  // therefore stops waiting for that state.
  if (kind !== 'update') ledger.settle(uuid);
  if (kind !== 'late' || !follower.known.isWhole) return;
  // This message is late: a list already showed a later change to the bicycle. The changes in
  // between are unknown, so a gap is recorded.
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
  // This step may have changed any row, so all cached rows are dropped. The number of changed rows
  // does not show whether it did, because the database's response may have been lost.
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
    // The table determines the number of known bicycles, because the ledger misses some changes to
    // this number. For example, a bicycle can move from an organization of this writer to an
    // organization of another writer.
    ledger.setSize(meeting.known);
    session.queue.push({ type: 'whole-met', id: step.reading.id, ...meeting });
  }
}

/**
 * Carries out an output of the follower. Called after the batch that contains this output was
 * written.
 */
function perform(
  session: MirrorSession,
  client: Client,
  onSettled: () => void,
  output: FollowerOutput,
): undefined {
  const { queue, report, ending, signal, context, follower } = session;
  if (signal.aborted) return;
  const { clock } = context;
  // Delays each page of the list, so that messages about the same changes are processed first. The
  // delay is needed only when fleet receives messages and has already read the whole list. Before
  // the first complete read, individual changes are not recorded, so their order does not matter.
  const waits = follower.isConnected && follower.known.isWhole;
  const emit: AnswerSink['emit'] = (event, size) =>
    void (waits
      ? clock.after(OVERTAKING_MS, () => queue.push(event, size))
      : queue.push(event, size));
  report.effect(output);
  if (isRequest(output))
    void answer(client, output, { emit, room: queue.room, signal, follower, admit: storableItems });
  else if (output.type === 'settled') onSettled();
  // `mirror once` does not retry; its next run reads the list again.
  else if (output.type === 'unread' && session.topics.size === 0)
    ending.stop('failed', output.error);
}

/** Deletes part of the history that is older than `keep`. The next call continues the deletion. */
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
