// The push side: subscriptions, replay and heartbeats as Server-Sent Events (interface.md sections 4.6 and 6.1).
import type { ServerResponse } from 'node:http';
import { checkAccept, STREAM_MEDIA_TYPES } from './accept.js';
import type { Faults } from './faults.js';
import { hasOrganization, type Publication, type ServedFleet } from './fleet.js';
import { answerOf, refuseMethod, refuseRole, refuseUnknown } from './problem.js';
import { type Exchange, sendAnswer } from './server.js';
import type { TokenService, Viewer } from './token.js';

/** What a subscriber may leave unread before it is cut: a slow reader must not fill the memory of the sandbox. */
const MOST_UNREAD_BYTES = 16 * 1024 * 1024;

/** Node's timers take no more; a token that lives longer is not watched. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

/** One event as it was pushed, for tests. */
export interface PushLine {
  id: number;
  sender: string;
  topics: string[];
  /** The `message` of the envelope as JSON text. */
  message: string;
  /** The topic that the envelope names; the one that was subscribed to when absent. */
  envelopeTopic?: string;
}

interface Connection {
  role: string;
  viewer: Viewer;
  outgoing: ServerResponse;
  /** On the monotonic clock: a step of the date neither drops nor stalls anything. */
  openedAt: number;
  /** A stalled connection stays open and gets nothing. */
  stalled: boolean;
  timers: NodeJS.Timeout[];
}

/** Makes the handler of the push port. */
export function createPush(options: {
  /** Made after the port is known; no request comes before. */
  fleet: () => ServedFleet;
  tokens: TokenService;
  faults: Faults;
  now: () => number;
  /** How many events are kept for Last-Event-ID. */
  replay: number;
  heartbeatMs: number;
  log: (line: PushLine) => void;
}) {
  const connections = new Set<Connection>();
  const subscribers = new Map<string, Set<Connection>>();
  const kept: PushLine[] = [];
  let lastId = 0;

  // Assumed: a comment, which is not an event, is what shows life while there is nothing to tell.
  const heartbeat = setInterval(() => {
    for (const connection of connections) write(connection, ': heartbeat\n\n');
  }, options.heartbeatMs);

  function write(connection: Connection, text: string): void {
    const { outgoing, stalled } = connection;
    if (stalled || outgoing.destroyed || outgoing.writableEnded) return;
    outgoing.write(text);
    if (outgoing.writableLength > MOST_UNREAD_BYTES) outgoing.destroy();
  }

  function publish(publication: Publication): number {
    lastId += 1;
    const { topics } = publication;
    const line = { id: lastId, ...publication };
    options.log(line);
    kept.push(line);
    // Cutting in batches keeps this cheap.
    if (kept.length > 2 * options.replay + 100) kept.splice(0, kept.length - options.replay);
    for (const topic of topics) {
      const audience = subscribers.get(topic);
      if (audience === undefined) continue;
      const text = eventText(line, topic);
      for (const connection of audience) write(connection, asRole(text, connection.role));
    }
    return lastId;
  }

  function open(exchange: Exchange, { topic, role }: Topic, viewer: Viewer): void {
    const { incoming, outgoing } = exchange;
    const connection: Connection = { role, viewer, outgoing, openedAt: performance.now(), stalled: false, timers: [] };
    connections.add(connection);
    const audience = subscribers.get(topic) ?? new Set();
    subscribers.set(topic, audience.add(connection));
    outgoing.on('close', () => {
      connections.delete(connection);
      audience.delete(connection);
      if (audience.size === 0 && subscribers.get(topic) === audience) subscribers.delete(topic);
      for (const timer of connection.timers) clearTimeout(timer);
    });
    exchange.answered(200);
    outgoing.writeHead(200, { 'Content-Type': 'text/event-stream', 'Cache-Control': 'no-store' });
    // The comment makes the client see at once that the subscription stands.
    write(connection, `: open\n\n${missedEvents({ topic, role }, incoming.headers['last-event-id'])}`);
    setTimers(connection);
  }

  /** Assumed: ids are whole numbers; after one that is no longer kept, or never was given out, it just goes on live. */
  function missedEvents({ topic, role }: Topic, lastEventId: string | string[] | undefined): string {
    if (!options.faults.replays() || typeof lastEventId !== 'string' || !/^\d{1,15}$/.test(lastEventId)) return '';
    const seen = Number(lastEventId);
    if (seen >= lastId || seen < lastId - Math.min(options.replay, kept.length)) return '';
    const missed = kept.filter((line) => line.id > seen && line.topics.includes(topic));
    return missed.map((line) => asRole(eventText(line, topic), role)).join('');
  }

  function setTimers(connection: Connection): void {
    for (const timer of connection.timers) clearTimeout(timer);
    connection.timers = [];
    connection.stalled = false;
    const at = (moment: number | undefined, now: number, action: () => void) => {
      if (moment === undefined) return;
      const delay = Math.max(0, moment - now);
      if (delay <= LONGEST_TIMER_MS) connection.timers.push(setTimeout(action, delay));
    };
    const afterOpening = (kind: 'drop' | 'stall') => {
      const duration = options.faults.durationMs(kind);
      return duration === undefined ? undefined : connection.openedAt + duration;
    };
    at(afterOpening('drop'), performance.now(), () => connection.outgoing.destroy());
    at(afterOpening('stall'), performance.now(), () => {
      connection.stalled = true;
    });
    // Assumed: a subscription ends with the token it was opened with.
    at(options.tokens.endOf(connection.viewer), options.now(), () => connection.outgoing.end());
  }

  async function answer(exchange: Exchange): Promise<void> {
    const { incoming } = exchange;
    const topic = topicOfPath((incoming.url ?? '').split('?', 1)[0] ?? '');
    if (topic === undefined) throw refuseUnknown('Not found. Subscribe at /subscribe/<encoded topic>/.');
    checkAccept(incoming.headers.accept, STREAM_MEDIA_TYPES, options.fleet().isObserved);
    const viewer = await options.tokens.check(incoming.headers.authorization);
    if (incoming.method !== 'GET') throw refuseMethod(incoming.method ?? '', 'GET');
    const asked = roleOfTopic(topic, options.fleet().isObserved);
    const organization = organizationOfTopic(options.fleet(), asked.topic);
    if (organization === undefined) throw refuseUnknown('There is no such topic.');
    if (viewer.role === 'renter') throw refuseRole();
    const roles = viewer.affiliations[organization];
    if (roles !== undefined && !roles.includes(asked.role)) throw refuseRole();
    if (viewer.organization !== undefined && viewer.organization !== organization) throw refuseRole();
    if (exchange.cut) sendAnswer(exchange, { status: 0 });
    else if (!exchange.outgoing.destroyed) open(exchange, asked, viewer);
  }

  return {
    publish,
    handle: (exchange: Exchange) => {
      answer(exchange).catch((thrown) => sendAnswer(exchange, answerOf(thrown, options.fleet().isObserved)));
    },
    dropStreams: () => {
      for (const connection of connections) connection.outgoing.destroy();
    },
    streamCount: () => connections.size,
    obeyFaults: () => {
      for (const connection of connections) setTimers(connection);
    },
    close: () => {
      clearInterval(heartbeat);
      for (const connection of connections) {
        for (const timer of connection.timers) clearTimeout(timer);
      }
    },
  };
}

/** An event with the envelope of section 2.5. Assumed: the topic in it is the one that was subscribed to; observed: always the bicycle's own. */
function eventText(line: PushLine, topic: string): string {
  const envelope = `{"topic":${JSON.stringify(line.envelopeTopic ?? topic)},"sender":${JSON.stringify(line.sender)},"message":${line.message}}`;
  return `id: ${line.id}\ndata: ${envelope}\n\n`;
}

/**
 * The topic of a raw path, or undefined when it is not written exactly so: "{topic} is the topic string URL-encoded with
 * no safe characters. Slashes inside the topic are encoded too, and so is the asterisk. The trailing slash after the
 * encoded topic is required." (section 4.6).
 */
export function topicOfPath(rawPath: string): string | undefined {
  const [, encoded] = /^\/subscribe\/([^/]+)\/$/.exec(rawPath) ?? [];
  if (encoded === undefined) return undefined;
  try {
    const topic = decodeURIComponent(encoded);
    return encodeTopic(topic) === encoded ? topic : undefined;
  } catch {
    return undefined;
  }
}

/** Each byte but letters, digits and `_ . - ~` as `%` and two upper-case digits. */
function encodeTopic(topic: string): string {
  return encodeURIComponent(topic).replace(/[!'()*]/g, (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`);
}

/** A topic below `admin`, and the role that it was asked for as. */
interface Topic {
  topic: string;
  role: string;
}

/** Observed: each bicycle is published under three roles, the same to all of them. */
function roleOfTopic(topic: string, isObserved: boolean): Topic {
  const [, role] = /^\/[^/]+(?:\/\*)?\/(fleet_operator|mechanic)\/bicycles\//.exec(topic) ?? [];
  if (role === undefined || !isObserved) return { topic, role: 'admin' };
  return { topic: topic.replace(`/${role}/`, '/admin/'), role };
}

/** An event whose envelope names the topic of the role: it comes first. */
function asRole(text: string, role: string): string {
  return role === 'admin' ? text : text.replace('/admin/bicycles/', `/${role}/bicycles/`);
}

/** The organization whose topic it is, or undefined when there is no such topic (section 6.1). Observed: the children of an organization have one of their own, alerts have none. */
function organizationOfTopic(fleet: ServedFleet, topic: string): string | undefined {
  const [, parent = ''] = /^\/([^/]+)\/\*\/admin\/bicycles\/\*$/.exec(topic) ?? [];
  if (fleet.isObserved && hasOrganization(fleet, parent)) return parent;
  const [, organization = '', kind = '', rest = ''] = /^\/([^/]+)\/admin\/(bicycles|alerts)\/(.+)$/.exec(topic) ?? [];
  if (!hasOrganization(fleet, organization) || (fleet.isObserved && kind === 'alerts')) return undefined;
  if (rest === '*') return organization;
  const row = kind === 'bicycles' && rest.endsWith('/') ? fleet.bicyclesByUuid.get(rest.slice(0, -1)) : undefined;
  return row?.organization === organization ? organization : undefined;
}
