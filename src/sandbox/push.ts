// The push port: subscriptions, replay and heartbeats as Server-Sent Events (interface.md sections
// 4.6 and 6.1).
import type { ServerResponse } from 'node:http';
import { checkAccept, STREAM_MEDIA_TYPES } from './accept.js';
import type { Faults } from './faults.js';
import { hasOrganization, type Publication, type ServedFleet } from './fleet.js';
import { answerOf, refuseMethod, refuseRole, refuseUnknown } from './problem.js';
import { type Exchange, sendAnswer } from './server.js';
import type { TokenService, Viewer } from './token.js';

/**
 * The maximum amount of data that a subscriber may leave unread. A subscriber that exceeds this
 * limit is disconnected, because unread data uses the sandbox's memory.
 */
const MOST_UNREAD_BYTES = 16 * 1024 * 1024;

/**
 * The longest timer that Node supports. If a token is valid for longer than this, the sandbox does
 * not end its subscription.
 */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

/** A pushed event, for tests. */
export type PushLine = Publication & { id: number };

interface Connection {
  asked: Topic;
  viewer: Viewer;
  outgoing: ServerResponse;
  /**
   * When the connection was opened, on the monotonic clock. On this clock, a change of the system
   * time does not affect the faults `drop` and `stall`.
   */
  openedAt: number;
  /** Whether the connection is stalled: it stays open but gets no data. */
  stalled: boolean;
  timers: NodeJS.Timeout[];
  /** The timers of events that the fault `late` delays. */
  late: NodeJS.Timeout[];
}

export interface PushOptions {
  fleet: ServedFleet;
  tokens: TokenService;
  faults: Faults;
  /** The number of events that can be resent for a Last-Event-ID. */
  replay: number;
  heartbeatMs: number;
  log: PushLine[];
  /** Appends an event to the log, and drops the oldest event when the log is full. */
  keep: (line: PushLine) => void;
}

/** The push port with its subscriptions. */
export class PushChannel {
  readonly #options: PushOptions;
  readonly #connections = new Set<Connection>();
  readonly #heartbeat: NodeJS.Timeout;

  constructor(options: PushOptions) {
    this.#options = options;
    // Assumed: on a quiet connection, the heartbeat is a comment and not an event.
    this.#heartbeat = setInterval(() => {
      for (const connection of this.#connections) write(connection, ': heartbeat\n\n');
    }, options.heartbeatMs);
  }

  get #lastId(): number {
    return this.#options.log.at(-1)?.id ?? 0;
  }

  /** Publishes an event and returns its id. */
  readonly publish = (publication: Publication): number => {
    if (isRented(publication) && this.#options.faults.has('norented')) return this.#lastId;
    const line = { id: this.#lastId + 1, ...publication };
    this.#options.keep(line);
    for (const connection of this.#connections) {
      if (line.topics.includes(connection.asked.topic))
        this.#send(connection, eventText(line, connection.asked));
    }
    return line.id;
  };

  /** Sends an event. With the `late` fault, sends it only after the fault's delay. */
  #send(connection: Connection, text: string): void {
    const lateMs = this.#options.faults.durationMs('late');
    if (lateMs === undefined) write(connection, text);
    else connection.late.push(setTimeout(() => write(connection, text), lateMs));
  }

  readonly handle = (exchange: Exchange): void => {
    this.#answer(exchange).catch((thrown) => sendAnswer(exchange, answerOf(thrown)));
  };

  readonly dropStreams = (): void => {
    for (const { outgoing } of this.#connections) outgoing.destroy();
  };

  readonly streamCount = (): number => this.#connections.size;

  obeyFaults(): void {
    for (const connection of this.#connections) this.#setTimers(connection);
  }

  close(): void {
    clearInterval(this.#heartbeat);
    for (const connection of this.#connections) endTimers(connection);
  }

  async #answer(exchange: Exchange): Promise<void> {
    const { incoming } = exchange;
    const { fleet, tokens } = this.#options;
    const topic = topicOfPath((incoming.url ?? '').split('?', 1)[0] ?? '');
    if (topic === undefined)
      throw refuseUnknown('Not found. Subscribe at /subscribe/<encoded topic>/.');
    checkAccept(incoming.headers.accept, STREAM_MEDIA_TYPES, fleet.isObserved);
    const viewer = await tokens.check(incoming.headers.authorization);
    if (incoming.method !== 'GET') throw refuseMethod(incoming.method ?? '', 'GET');
    const asked = roleOfTopic(topic);
    const organization = organizationOfTopic(fleet, asked.topic);
    if (organization === undefined) throw refuseUnknown('There is no such topic.');
    if (viewer.role === 'renter') throw refuseRole();
    const roles = viewer.affiliations[organization];
    if (roles !== undefined && !roles.includes(asked.role)) throw refuseRole();
    if (viewer.organization !== undefined && viewer.organization !== organization)
      throw refuseRole();
    if (exchange.cut) sendAnswer(exchange, { status: 0 });
    else if (!exchange.outgoing.destroyed) this.#open(exchange, asked, viewer);
  }

  #open(exchange: Exchange, asked: Topic, viewer: Viewer): void {
    const { incoming, outgoing } = exchange;
    const connection: Connection = {
      ...{ asked, viewer, outgoing },
      ...{ openedAt: performance.now(), stalled: false, timers: [], late: [] },
    };
    this.#connections.add(connection);
    outgoing.on('close', () => {
      this.#connections.delete(connection);
      endTimers(connection);
      for (const timer of connection.late) clearTimeout(timer);
    });
    exchange.answered(200);
    outgoing.writeHead(200, { 'Content-Type': 'text/event-stream', 'Cache-Control': 'no-store' });
    // This comment shows the client immediately that the subscription is open.
    write(connection, `: open\n\n${this.#missedEvents(asked, incoming.headers['last-event-id'])}`);
    this.#setTimers(connection);
  }

  /**
   * Returns the missed events. Assumed: ids are whole numbers. If the event with the given id is
   * unknown or no longer stored, only new events are sent.
   */
  #missedEvents(asked: Topic, lastEventId: string | string[] | undefined): string {
    const { faults, replay, log } = this.#options;
    if (
      faults.has('noreplay') ||
      typeof lastEventId !== 'string' ||
      !/^\d{1,15}$/.test(lastEventId)
    )
      return '';
    const oldest = this.#lastId - Math.min(replay, log.length);
    const seen = faults.has('resend') ? oldest : Number(lastEventId);
    if (seen >= this.#lastId || seen < oldest) return '';
    const missed = log.filter((line) => line.id > seen && line.topics.includes(asked.topic));
    return missed.map((line) => eventText(line, asked)).join('');
  }

  #setTimers(connection: Connection): void {
    const { faults, tokens, fleet } = this.#options;
    endTimers(connection);
    connection.stalled = false;
    const after = (delay: number | undefined, action: () => void) => {
      if (delay === undefined || delay > LONGEST_TIMER_MS) return;
      connection.timers.push(setTimeout(action, Math.max(0, delay)));
    };
    const sinceOpening = performance.now() - connection.openedAt;
    const left = (kind: 'drop' | 'stall') => {
      const duration = faults.durationMs(kind);
      return duration === undefined ? undefined : duration - sinceOpening;
    };
    after(left('drop'), () => connection.outgoing.destroy());
    after(left('stall'), () => {
      connection.stalled = true;
    });
    // Assumed: a subscription ends when its token expires.
    after(tokens.endOf(connection.viewer) - fleet.now(), () => connection.outgoing.end());
  }
}

function write({ outgoing, stalled }: Connection, text: string): void {
  if (stalled || outgoing.destroyed || outgoing.writableEnded) return;
  outgoing.write(text);
  if (outgoing.writableLength > MOST_UNREAD_BYTES) outgoing.destroy();
}

function endTimers(connection: Connection): void {
  for (const timer of connection.timers) clearTimeout(timer);
  connection.timers = [];
}

function isRented({ sender, message }: Publication): boolean {
  return sender === 'bicycle' && /"state":\s*"rented"/.test(message);
}

/**
 * Returns an event with the envelope of section 2.5. Observed: the envelope always contains the
 * bicycle's own topic.
 */
function eventText(line: PushLine, { topic, role }: Topic): string {
  const named = (line.envelopeTopic ?? topic).replace('/admin/bicycles/', `/${role}/bicycles/`);
  const envelope = `{"topic":${JSON.stringify(named)},"sender":${JSON.stringify(line.sender)},"message":${line.message}}`;
  return `id: ${line.id}\ndata: ${envelope}\n\n`;
}

/**
 * Returns the topic of a raw path, or undefined when it is not encoded exactly as follows: "{topic}
 * is the topic string URL-encoded with no safe characters. Slashes inside the topic are encoded
 * too, and so is the asterisk. The trailing slash after the encoded topic is required." (section
 * 4.6).
 */
function topicOfPath(rawPath: string): string | undefined {
  const [, encoded] = /^\/subscribe\/([^/]+)\/$/.exec(rawPath) ?? [];
  if (encoded === undefined) return undefined;
  try {
    const topic = decodeURIComponent(encoded);
    return encodeTopic(topic) === encoded ? topic : undefined;
  } catch {
    return undefined;
  }
}

/** Encodes every byte except letters, digits and `_ . - ~` as `%` and two upper-case digits. */
function encodeTopic(topic: string): string {
  return encodeURIComponent(topic).replace(
    /[!'()*]/g,
    (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}

/** A topic below `admin`, and the role that was requested. */
interface Topic {
  topic: string;
  role: string;
}

/** Observed: each bicycle is published under three roles with the same content. */
function roleOfTopic(topic: string): Topic {
  const [, role] = /^\/[^/]+(?:\/\*)?\/(fleet_operator|mechanic)\/bicycles\//.exec(topic) ?? [];
  if (role === undefined) return { topic, role: 'admin' };
  return { topic: topic.replace(`/${role}/`, '/admin/'), role };
}

/**
 * Returns the organization of a topic, or undefined when the topic does not exist (section 6.1).
 * Observed: all child organizations of an organization share a topic. There is no topic for alerts.
 */
function organizationOfTopic(fleet: ServedFleet, topic: string): string | undefined {
  const [, parent = ''] = /^\/([^/]+)\/\*\/admin\/bicycles\/\*$/.exec(topic) ?? [];
  if (hasOrganization(fleet, parent)) return parent;
  const [, organization = '', kind = '', rest = ''] =
    /^\/([^/]+)\/admin\/(bicycles|alerts)\/(.+)$/.exec(topic) ?? [];
  if (!hasOrganization(fleet, organization) || (fleet.isObserved && kind === 'alerts'))
    return undefined;
  if (rest === '*') return organization;
  const row =
    kind === 'bicycles' && rest.endsWith('/')
      ? fleet.bicyclesByUuid.get(rest.slice(0, -1))
      : undefined;
  return row?.organization === organization ? organization : undefined;
}
