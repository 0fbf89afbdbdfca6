// `fleet watch`: follows topics, shows what comes, says what was missed and finds out what changed meanwhile.

import { ALERTS_PATH, type Alert } from '../../api/alert.js';
import type { Bicycle } from '../../api/bicycle.js';
import { type PushEnvelope, subscribePath } from '../../api/push.js';
import type { Clock } from '../../clock.js';
import type { Context } from '../../context.js';
import { asFleetError, FleetError } from '../../errors.js';
import { type Client, joinUrl } from '../../http/client.js';
import type { Gap, Lost, Message, Resync, StreamEvent } from '../../http/stream/events.js';
import { openQueue } from '../../http/stream/queue.js';
import { followStream } from '../../http/stream.js';
import type { Query } from '../../http/types.js';
import { requireBaseUrl } from '../../settings/resolve.js';
import type { Sight } from '../../views/change.js';
import { openHttpLog } from '../../views/exchange.js';
import type { WatchEnd, WatchSummary } from '../../views/stream.js';
import { matches } from '../list/where.js';
import { beginReading, fetchPage, type Reading, type ReadPage, takePage } from './catch-up.js';
import { type Change, changedFields, type Mark, openKnowledge, uuidOfMessage } from './knowledge.js';
import { makePlan, type Plan, type WatchOptions } from './plan.js';
import { openShow } from './show.js';
import { openVoice } from './voice.js';

/** Everything that can happen in a watch, in order of arrival. */
type WatchEvent =
  | StreamEvent
  | ({ type: 'page'; reading: Reading } & ReadPage)
  | { type: 'unread'; reading: Reading; error: FleetError }
  | { type: 'alerts'; alerts: readonly Alert[] }
  | { type: 'tick' }
  | { type: 'end'; end: WatchEnd; error?: FleetError };

/** Two readings of the list are at least this far apart: a connection that comes and goes must not become a crawl. */
const READING_PAUSE_MS = 10_000;
/** After a list that could not be read, the next try waits longer than the client's own tries took. */
const UNREAD_PAUSE_MS = 30_000;
/** How often the board reads the newest alerts: the interface shows no topic that pushes them (section 6.1). */
const ALERTS_PAUSE_MS = 30_000;
/** How many gaps are kept for the summary; all are counted. */
const KEPT_GAPS = 1_000;

/** Runs `fleet watch`. Throws a FleetError for every end but the wanted ones (cli.md section 3). */
export async function watch(context: Context, organization: string | undefined, options: WatchOptions): Promise<void> {
  const plan = await makePlan(context, organization, options);
  await runWatch(context, plan, context.clock);
}

/** Runs a plan to its end; the clock is an input, so that a test can let it run fast. */
export async function runWatch(context: Context, plan: Plan, clock: Clock): Promise<void> {
  const [settings, tokens, network] = await Promise.all([context.settings(), context.token(), context.network()]);
  const baseUrl = plan.organizations.length === 0 ? plan.sseUrl : requireBaseUrl(settings);
  const subscriptions = plan.topics.map((topic) => ({ topic, url: joinUrl(plan.sseUrl, subscribePath(topic)) }));
  if (context.signal.aborted) throw context.signal.reason;
  const queue = openQueue<WatchEvent>();
  const ending = withResolvers();
  const stop = new AbortController();
  const offsetMinutes = -new Date(clock.wallMs()).getTimezoneOffset();
  const voice = openVoice(context, plan, offsetMinutes);
  const show = await openShow(context, plan, offsetMinutes, clock, () => queue.push({ type: 'tick' }));
  const log = openHttpLog(
    { ...context.flags, isJson: context.io.isJson },
    (line) => void (show.isFullScreen || context.io.stderr.write(`${line}\n`)),
  );
  // A client of its own: what it says has to fit the watch's stderr, and its requests end with the watch.
  const client = await context.client({
    baseUrl,
    log: { ...log, retry: (reason, pauseMs) => voice.readAgain(reason, pauseMs, clock.wallMs()) },
    clock,
    signal: stop.signal,
  });
  const session = openSession({ client, plan, clock, voice, show, push: queue.push, stop: stop.signal });

  const finish = (end: WatchEnd, error?: FleetError) => {
    context.io.beginEnd();
    queue.push({ type: 'end', end, ...(error === undefined ? {} : { error }) });
    ending.resolve();
  };
  const onInterrupt = () => finish('interrupted', asFleetError(context.signal.reason));
  context.signal.addEventListener('abort', onInterrupt, { once: true });
  const callOffEnd = plan.forMs === undefined ? () => {} : clock.after(plan.forMs, () => finish('for', timeIsUp(plan)));

  const following = followStream({
    subscriptions,
    apiVersion: settings.apiVersion.value,
    timeoutMs: settings.timeoutMs.value,
    idleMs: plan.idleMs,
    ...(plan.giveUpAfterMs === undefined ? {} : { giveUpAfterMs: plan.giveUpAfterMs }),
    network,
    tokens,
    secrets: context.io.secrets,
    clock,
    signal: stop.signal,
    emit: queue.push,
    room: queue.room,
    onRequest: (url, headers) => log.request('GET', url, headers, undefined),
    onAnswer: (url, status, headers, milliseconds) => log.response('GET', url, status, headers, milliseconds),
  });
  // A mistake of ours in there must end the watch, not leave it waiting for ever.
  following.catch((thrown) => finish('failed', asFleetError(thrown)));

  let end: { end: WatchEnd; error?: FleetError } = { end: 'failed' };
  try {
    for await (const batch of queue.batches()) {
      const text: string[] = [];
      const reached = session.take(batch, text);
      // Whoever reads the output may have stopped reading: then the end does not wait for him.
      await Promise.race([show.write(text.join('')), ending.promise]);
      if (reached !== undefined) {
        end = reached;
        break;
      }
    }
  } finally {
    callOffEnd();
    context.signal.removeEventListener('abort', onInterrupt);
    queue.close();
    stop.abort(new FleetError('interrupted', 'the watch ended'));
    await show.close();
    await following.catch(() => {});
  }
  await voice.summary(session.summary(end.end));
  if (end.error !== undefined) throw end.error;
}

/** The end of `--for`: alone it is what was asked for, with `--until` it is a failure. */
function timeIsUp(plan: Plan): FleetError | undefined {
  if (plan.until === undefined) return undefined;
  const wanted = plan.until.map(({ text }) => text).join(' and ');
  return new FleetError('timeout', `${wanted} was not met within ${(plan.forMs ?? 0) / 1000} s`);
}

/** A message as the session sees it. */
interface Read {
  sight(): Sight;
  value(): { [field: string]: unknown };
  kind?: Change['kind'];
}

const REFUSED = { isWanted: false, isMet: false };
const WANTED = { isWanted: true, isMet: false };

interface SessionParts {
  client: Client;
  plan: Plan;
  clock: Clock;
  voice: ReturnType<typeof openVoice>;
  show: Awaited<ReturnType<typeof openShow>>;
  push(event: WatchEvent): void;
  /** Aborted when the watch is over. */
  stop: AbortSignal;
}

/** The state of a watch and what each event does to it. */
function openSession({ client, plan, clock, voice, show, push, stop }: SessionParts) {
  const knowledge = openKnowledge();
  const startedAt = clock.wallMs();
  const startedMonotonicMs = clock.monotonicMs();
  const tally = { messages: 0, shown: 0, reconnects: 0, gapCount: 0, blindMs: 0, dropped: 0, caughtUp: 0 };
  const gaps: Gap[] = [];
  /** The topics that are blind now, and since when. */
  const blind = new Map<string, Gap>();

  /** Where things stood when the blindness began that no reading has made up for yet. */
  let blindMark: Mark | undefined;
  let reading: Reading | undefined;
  let wanted: Resync | undefined;
  let lastReadingAt = Number.NEGATIVE_INFINITY;
  let callOffReading = () => {};
  let callOffAlerts = () => {};
  const callOffAll = () => {
    callOffReading();
    callOffAlerts();
  };
  stop.addEventListener('abort', callOffAll, { once: true });

  /** Whether anything asks what a bicycle was before: not where messages go on as they came, and no list is read after a gap. */
  const isRemembering =
    plan.form !== 'json' || plan.resyncPages > 0 || plan.where.length > 0 || plan.until !== undefined;

  /** Whether a value is to be shown, and whether it is what was waited for. */
  const judge = (value: () => { [field: string]: unknown }, sender: string | undefined) => {
    if (plan.senders !== undefined && (sender === undefined || !plan.senders.has(sender))) return REFUSED;
    if (plan.where.length === 0 && plan.until === undefined) return WANTED;
    const now = clock.wallMs();
    const found = value();
    if (!plan.where.every((condition) => matches(condition, found, now))) return REFUSED;
    return { isWanted: true, isMet: plan.until?.every((condition) => matches(condition, found, now)) === true };
  };

  const takeMessage = (event: Message, text: string[]): WatchEnd | undefined => {
    if (event.data === '') {
      voice.detail(`an event without data came${event.name === 'message' ? '' : ` (${event.name})`}`);
      return undefined;
    }
    let parsed: unknown;
    try {
      parsed = JSON.parse(event.data);
    } catch {
      takeGap(brokenEvent(event), text);
      const { topic, atMs, monotonicMs } = event;
      push({ type: 'resync', topic, atMs, monotonicMs, sinceWallMs: atMs, sinceMs: 0, replayed: false });
      return undefined;
    }
    tally.messages++;
    show.heard(event.atMs);
    const envelope = isObject(parsed) ? (parsed as PushEnvelope) : undefined;
    const { sight, value, kind } = readMessage(envelope, event.data);
    const { isWanted, isMet } = judge(value, envelope?.sender ?? undefined);
    if (!isWanted) return undefined;
    if (kind !== 'repeat' || plan.form === 'json') {
      tally.shown++;
      text.push(show.message(sight, event.atMs, event.data));
    }
    if (isMet && kind !== 'late') return 'until';
    return tally.shown === plan.maxEvents ? 'max-events' : undefined;
  };

  /** What a message is about, and the value that conditions look at; both made only where they are needed. */
  const readMessage = (envelope: PushEnvelope | undefined, data: string): Read => {
    const message = isObject(envelope?.message) ? envelope.message : undefined;
    const frame = () => ({ sender: envelope?.sender, topic: envelope?.topic, message });
    if (envelope === undefined || message === undefined) {
      return { sight: () => ({ type: 'other', envelope, text: data }), value: () => ({ ...frame(), ...envelope }) };
    }
    if (envelope.sender === 'bicycle' && isRemembering) {
      const change = knowledge.hear(uuidOfMessage(envelope), message as Bicycle);
      return { sight: () => sightOf(change), value: () => ({ ...frame(), ...change.after }), kind: change.kind };
    }
    if (envelope.sender === 'bicycle_leaving_state') {
      const uuid = uuidOfMessage(envelope);
      const bicycle = knowledge.get(uuid);
      return {
        sight: () => ({ type: 'leaving', uuid, state: message['state'], bicycle }),
        value: () => ({ ...frame(), ...bicycle }),
      };
    }
    const sight = (): Sight =>
      envelope.sender === 'alert'
        ? { type: 'alert', alert: message as Alert }
        : { type: 'other', envelope, text: JSON.stringify(message) };
    return { sight, value: () => ({ ...frame(), ...message }) };
  };

  const countGap = (gap: Gap) => {
    tally.gapCount++;
    tally.blindMs += gap.durationMs;
    tally.dropped += gap.droppedEvents;
    if (gaps.length < KEPT_GAPS) gaps.push(gap);
  };

  const takeGap = (gap: Gap, text: string[]) => {
    blindMark ??= knowledge.mark();
    countGap(gap);
    voice.tell(gap);
    text.push(show.stream(gap));
  };

  /** Begins a reading of the list, now or when the last one is long enough ago; one at a time. */
  const askForReading = (event: Resync) => {
    if (plan.resyncPages === 0 || plan.organizations.length === 0) return;
    const since = wanted?.sinceWallMs ?? event.sinceWallMs;
    wanted = { ...event, sinceWallMs: since === undefined ? since : Math.min(since, event.sinceWallMs ?? since) };
    if (reading !== undefined) return;
    callOffReading();
    callOffReading = clock.after(Math.max(0, lastReadingAt + READING_PAUSE_MS - clock.wallMs()), beginWanted);
  };
  const beginWanted = () => {
    if (wanted === undefined) return;
    reading = beginReading(wanted.sinceWallMs, blindMark ?? knowledge.mark(), plan.organizations, plan.bicycles);
    if (wanted.sinceWallMs !== undefined) {
      blindMark = undefined;
      lastReadingAt = clock.wallMs();
    }
    wanted = undefined;
    fetchNext(reading, undefined);
  };
  const fetchNext = (current: Reading, next: Query | undefined) => {
    const [organization = ''] = current.organizations;
    const heardBefore = knowledge.mark().heard;
    fetchPage(client, organization, next).then(
      (page) => push({ type: 'page', reading: current, page, heardBefore }),
      (thrown) => push({ type: 'unread', reading: current, error: asFleetError(thrown) }),
    );
  };

  /** Reads one page of the newest alerts again and again, for the board alone. */
  const readAlerts = async () => {
    const [organization] = plan.organizations;
    if (organization === undefined || stop.aborted) return;
    const query: Query = [
      ['ordering', '-created'],
      ['organization', organization],
    ];
    try {
      const answer = client.pages<Alert>(
        { path: ALERTS_PATH, query, subject: 'the list of alerts' },
        { ahead: 0, limit: 1 },
      );
      for await (const { items } of answer) push({ type: 'alerts', alerts: items.map(({ value }) => value) });
    } catch {
      // The board shows the connection's troubles; alerts that are a little old are no other trouble.
    }
    if (!stop.aborted) callOffAlerts = clock.after(ALERTS_PAUSE_MS, () => void readAlerts());
  };
  if (plan.form === 'board') void readAlerts();

  const takeReadPage = (event: WatchEvent & { type: 'page' }, text: string[]): WatchEnd | undefined => {
    const current = event.reading;
    show.listed(event.page.count);
    const { changes, next } = takePage(current, knowledge, event, plan.resyncPages);
    let met: WatchEnd | undefined;
    if (current.since === undefined) {
      // "--until looks at the baseline too, so that a condition already true ends at once."
      for (const { value } of event.page.items) {
        const uuid = typeof value.uuid === 'string' ? value.uuid.toLowerCase() : undefined;
        const isFollowed = plan.bicycles === undefined || (uuid !== undefined && plan.bicycles.has(uuid));
        const bicycle = knowledge.get(uuid) ?? value;
        if (isFollowed && judge(() => ({ sender: 'bicycle', ...bicycle }), 'bicycle').isMet) met = 'until';
      }
    }
    for (const change of changes) {
      const { isWanted, isMet } = judge(() => ({ sender: 'bicycle', ...change.after }), 'bicycle');
      if (!isWanted) continue;
      tally.caughtUp++;
      voice.caughtUp(change, clock.wallMs());
      text.push(show.caughtUp(sightOf(change), clock.wallMs()));
      if (isMet) met = 'until';
    }
    if (next !== undefined) fetchNext(current, next);
    else {
      current.organizations.shift();
      current.pagesHere = 0;
      if (current.organizations.length > 0) fetchNext(current, undefined);
      else endReading(current);
    }
    return met;
  };
  const endReading = (done: Reading) => {
    reading = undefined;
    voice.read(done, clock.wallMs());
    if (wanted !== undefined) askForReading(wanted);
  };

  /** A list that cannot be read is no end of the watch, but what was missed stays missed: it is tried again later. */
  const takeUnread = ({ reading: failed, error }: WatchEvent & { type: 'unread' }) => {
    if (stop.aborted) return;
    reading = undefined;
    if (failed.since !== undefined) blindMark = failed.mark;
    const isWorthAnotherTry = error.kind === 'network' || error.kind === 'service';
    const what = failed.since === undefined ? 'what is known at the start' : 'what changed meanwhile';
    voice.trouble(`the list could not be read to learn ${what}: ${error.message}`, error, clock.wallMs());
    if (!isWorthAnotherTry) return;
    wanted ??= {
      type: 'resync',
      topic: plan.topics[0] ?? '',
      atMs: clock.wallMs(),
      monotonicMs: clock.monotonicMs(),
      sinceWallMs: failed.since,
      sinceMs: 0,
      replayed: false,
    };
    lastReadingAt = clock.wallMs() + UNREAD_PAUSE_MS - READING_PAUSE_MS;
    askForReading(wanted);
  };

  const takeOne = (event: WatchEvent, text: string[]): { end: WatchEnd; error?: FleetError } | undefined => {
    switch (event.type) {
      case 'message': {
        const end = takeMessage(event, text);
        return end === undefined ? undefined : { end };
      }
      case 'page': {
        const end = takeReadPage(event, text);
        return end === undefined ? undefined : { end };
      }
      case 'unread':
        takeUnread(event);
        return undefined;
      case 'open':
        if (event.isReturn) tally.reconnects++;
        blind.delete(event.topic);
        voice.tell(event);
        text.push(show.stream(event));
        return undefined;
      case 'lost':
        if (event.lastLifeWallMs !== undefined) blindMark ??= knowledge.mark();
        if (!blind.has(event.topic)) blind.set(event.topic, gapOfLoss(event, startedMonotonicMs));
        voice.tell(event);
        text.push(show.stream(event));
        return undefined;
      case 'gap':
        takeGap(event, text);
        return undefined;
      case 'resync':
        askForReading(event);
        return undefined;
      case 'alerts':
        show.alerts(event.alerts);
        return undefined;
      case 'tick':
        text.push(show.draw(knowledge));
        return undefined;
      case 'closed':
        voice.tell(event);
        return { end: 'failed', error: event.error };
      case 'end':
        return event;
    }
  };

  return {
    /** Takes events in their order until one of them is the end; adds what goes to stdout to `text`. */
    take(events: readonly WatchEvent[], text: string[]): { end: WatchEnd; error?: FleetError } | undefined {
      for (const event of events) {
        const end = takeOne(event, text);
        if (end !== undefined) return end;
      }
      return undefined;
    },
    summary(end: WatchEnd): WatchSummary {
      const endedAt = clock.wallMs();
      // Whoever is blind at the end has a gap that goes on to it.
      for (const gap of blind.values()) {
        const monotonicMs = clock.monotonicMs();
        const durationMs = gap.durationMs + monotonicMs - gap.monotonicMs;
        countGap({ ...gap, atMs: endedAt, monotonicMs, durationMs, fromWallMs: endedAt - durationMs });
      }
      blind.clear();
      return {
        end,
        startedAt,
        endedAt,
        gaps,
        // A gap whose end came too late for the list: what changed in it is not known.
        isUnread: plan.resyncPages > 0 && gaps.length > 0 && (blindMark !== undefined || reading?.since !== undefined),
        ...tally,
      };
    },
  };
}

/** The gap that a loss begins, as long as it was at that moment. */
function gapOfLoss(event: Lost, startedMonotonicMs: number): Gap {
  const { topic, atMs, monotonicMs, cause, error, lastLifeWallMs } = event;
  const durationMs = lastLifeWallMs === undefined ? monotonicMs - startedMonotonicMs : event.blindMs;
  const fromWallMs = atMs - durationMs;
  const lost = { cause, message: error.message, fromWallMs, durationMs, replayed: false, droppedEvents: 0 };
  return { type: 'gap', topic, atMs, monotonicMs, ...lost };
}

function brokenEvent({ topic, atMs, monotonicMs, data }: Message): Gap {
  const message = `an event of ${data.length} characters is not the JSON it should be`;
  return {
    type: 'gap',
    topic,
    atMs,
    monotonicMs,
    cause: 'broken',
    message,
    fromWallMs: atMs,
    durationMs: 0,
    replayed: false,
    droppedEvents: 1,
    text: data.slice(0, 1000),
  };
}

function sightOf({ kind, uuid, before, after }: Change): Sight {
  const fields = before === undefined ? [] : changedFields(before, after);
  return { type: 'bicycle', kind: kind === 'repeat' ? 'update' : kind, uuid, before, after, fields };
}

function isObject(value: unknown): value is { [field: string]: unknown } {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Promise.withResolvers, which Node 20 does not have. */
function withResolvers(): { promise: Promise<void>; resolve: () => void } {
  let resolve = () => {};
  const promise = new Promise<void>((settle) => {
    resolve = settle;
  });
  return { promise, resolve };
}
