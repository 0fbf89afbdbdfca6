// A live stream: keeps one connection for each topic and reports its events in order.
//
// stream/machine.ts decides the next step of a connection. This file makes the connections.

import { asFleetError, FleetError } from '../errors.js';
import { sleep } from '../system/clock.js';
import type { Headers } from './exchange.js';
import { acceptJson, authorization } from './headers.js';
import { type ConnectionContext, type ConnectionEnd, connectOnce } from './stream/connection.js';
import type { StreamEvent } from './stream/events.js';
import { TopicMachine } from './stream/machine.js';
import type { Tokens } from './types.js';

export interface TopicTarget {
  topic: string;
  url: URL;
}

/** Events carry the name of this topic. */
export interface Subscription extends TopicTarget {
  /**
   * Returns the topics that this token may subscribe to in place of the requested one. When the
   * service answers 403, the next topic is tried.
   */
  targets?(token: string): readonly TopicTarget[];
}

export interface StreamOptions extends ConnectionContext {
  tokens: Tokens;
  subscriptions: readonly Subscription[];
  apiVersion: string;
  /** Ends all subscriptions. */
  signal: AbortSignal;
  /** Receives each event. `size` is its size in characters. */
  emit(event: StreamEvent, size?: number): void;
  /** Called when data arrived on a topic, comments included, after its events. */
  onLife?: ((topic: string) => void) | undefined;
}

/**
 * Returns the headers of a subscription without the last event id. Without a token the subscription
 * is anonymous. Section 4.6 says that headers work as for ordinary requests, so the version is in
 * the Accept header (section 9). Assumed: it applies to the stream's media type and to JSON, the
 * type of error answers.
 */
export function streamHeaders(apiVersion: string, token: string | undefined): Headers {
  const accept = `text/event-stream; version=${apiVersion}, ${acceptJson(apiVersion)}`;
  const headers = { accept, 'cache-control': 'no-store' };
  return token === undefined ? headers : { ...headers, authorization: authorization(token) };
}

/**
 * Follows all subscriptions until the signal is aborted or one subscription is closed permanently.
 * Then it resolves at once. Permanent reasons are 204, 401 with a renewed token, 403, 404, other
 * 4xx, and a permanent token failure at the start. The machine makes two exceptions for a 4xx:
 * right after a connection that worked for a minute, and with an old event id. Other failures are
 * retried: end of stream, reset, refused, DNS, TLS, 408, 429, 5xx, a wrong content type, silence
 * beyond the idle limit, a temporary token failure. Every connection asks for the token again.
 */
export async function followStream(options: StreamOptions): Promise<void> {
  const { signal, subscriptions } = options;
  if (signal.aborted) return;
  const over = new AbortController();
  const end = () => over.abort(new FleetError('interrupted', 'the stream is over'));
  const ended = new Promise((resolve) => over.signal.addEventListener('abort', resolve));
  signal.addEventListener('abort', end, { once: true });
  // Each topic has its own signal, because Node warns when one signal has many listeners.
  const topics = subscriptions.map((each) =>
    followTopic({ ...options, signal: AbortSignal.any([over.signal]) }, each),
  );
  // When one topic is closed permanently, all topics end. Otherwise the watch would silently miss a
  // part of the requested topics.
  await Promise.race([ended, ...topics]).finally(() => {
    signal.removeEventListener('abort', end);
    end();
  });
}

/** Connects a topic again and again until it is closed permanently or the signal is aborted. */
function followTopic(options: StreamOptions, subscription: Subscription): Promise<void> {
  const { clock, emit, signal } = options;
  const { topic } = subscription;
  return new Promise((resolve, reject) => {
    const machine = new TopicMachine(topic, clock, (event) => {
      if (signal.aborted) return;
      emit(event, event.type === 'message' ? event.data.length : 0);
      if (event.type === 'closed') resolve();
    });
    signal.addEventListener('abort', () => machine.stop());
    const follow = async () => {
      for (let lastEventId = ''; ; ) {
        const ending = await attempt(options, subscription, machine, lastEventId);
        const next = signal.aborted ? undefined : machine.ended(lastEventId, ending);
        if (next === undefined) return;
        await sleep(clock, next.inMs, signal).catch(() => {});
        if (signal.aborted) return;
        lastEventId = next.lastEventId;
      }
    };
    follow().catch(reject);
  });
}

/**
 * Connects with the current token. After a 401 it connects once more with a newer token, if the
 * token source has one.
 */
async function attempt(
  options: StreamOptions,
  subscription: Subscription,
  machine: TopicMachine,
  lastEventId: string,
): Promise<ConnectionEnd> {
  const { signal, tokens } = options;
  try {
    const token = await tokens.get();
    const ending = await connect(options, subscription, machine, { token, lastEventId });
    if (ending.answer?.status !== 401 || signal.aborted) return ending;
    const newer = await tokens.renew(token);
    return newer === undefined
      ? ending
      : await connect(options, subscription, machine, { token: newer, lastEventId });
  } catch (thrown) {
    return { cause: 'token', error: asFleetError(thrown) };
  }
}

/**
 * Connects to the first topic that the token may subscribe to. After a 403 it tries the next one.
 */
async function connect(
  options: StreamOptions,
  { topic, url, targets }: Subscription,
  machine: TopicMachine,
  { token, lastEventId }: { token: string; lastEventId: string },
): Promise<ConnectionEnd> {
  const { signal } = options;
  const headers = streamHeaders(options.apiVersion, token);
  const open = (target: TopicTarget) =>
    connectOnce({
      ...{ ...options, headers, lastEventId, url: target.url },
      subject: `the subscription to ${target.topic}`,
      onOpen: (answered) =>
        machine.opened(lastEventId, answered, target.topic === topic ? undefined : target.topic),
      onReceived(received) {
        machine.received(received);
        options.onLife?.(topic);
      },
    });
  const [first = { topic, url }, ...others] = targets?.(token) ?? [];
  let ending = await open(first);
  for (const target of others)
    if (ending.answer?.status === 403 && !signal.aborted) ending = await open(target);
  return ending;
}
