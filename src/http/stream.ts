// Follows a live stream. Keeps one connection for each topic, and reports the events in order.
//
// This file opens the connections; stream/machine.ts decides when to reconnect.

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

/** A subscription to a topic. Its events contain the topic's name. */
export interface Subscription extends TopicTarget {
  /**
   * Returns the topics to which this token can subscribe in place of the requested one. When the
   * service refuses a topic with 403, fleet tries the next one.
   */
  targets?(token: string): readonly TopicTarget[];
}

export interface StreamOptions extends ConnectionContext {
  tokens: Tokens;
  subscriptions: readonly Subscription[];
  apiVersion: string;
  /** Aborting this signal ends all subscriptions. */
  signal: AbortSignal;
  /** Receives each event. `size` is its length in characters. */
  emit(event: StreamEvent, size?: number): void;
  /**
   * Called when data arrives on a topic, even if the data contains only comments. The events in the
   * data are emitted first.
   */
  onLife?: ((topic: string) => void) | undefined;
}

/**
 * Returns the headers of a subscription without the last event id. Without a token, the
 * subscription is anonymous. The Accept header contains the version (section 9), because section
 * 4.6 says that headers work as in ordinary requests. Assumed: the version applies to the stream
 * and to JSON, which is used for errors.
 */
export function streamHeaders(apiVersion: string, token: string | undefined): Headers {
  const accept = `text/event-stream; version=${apiVersion}, ${acceptJson(apiVersion)}`;
  const headers = { accept, 'cache-control': 'no-store' };
  return token === undefined ? headers : { ...headers, authorization: authorization(token) };
}

/**
 * Follows all subscriptions. Resolves when the signal is aborted or one subscription is closed
 * permanently.
 *
 * A subscription is closed permanently after 204, 401 with a renewed token, 403, 404 or another
 * 4xx. A permanent token failure at the start also closes it. There are two exceptions. Soon after
 * connections that lasted a minute in total, 401, 403 and 404 are retried. When the request
 * contained an old event id, a 4xx other than 401 is retried. Other failures are always retried:
 * the end of the stream, network errors, 408, 429, 5xx, a wrong content type, the idle limit, and a
 * temporary token failure. Each connection asks for the token again.
 */
export async function followStream(options: StreamOptions): Promise<void> {
  const { signal, subscriptions } = options;
  if (signal.aborted) return;
  const over = new AbortController();
  const end = () => over.abort(new FleetError('interrupted', 'the stream is over'));
  const ended = new Promise((resolve) => over.signal.addEventListener('abort', resolve));
  signal.addEventListener('abort', end, { once: true });
  // Each topic has its own signal, because Node warns about many listeners on one signal.
  const topics = subscriptions.map((each) =>
    followTopic({ ...options, signal: AbortSignal.any([over.signal]) }, each),
  );
  // When one topic is closed permanently, all topics are closed. Otherwise the user would not
  // notice that a requested topic is missing.
  await Promise.race([ended, ...topics]).finally(() => {
    signal.removeEventListener('abort', end);
    end();
  });
}

/** Keeps reconnecting to a topic until the topic is closed permanently or the signal is aborted. */
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
 * Connects with the current token. After a 401, connects once more if a newer token is available.
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
 * Connects to the first topic that the token may subscribe to. After a 403, tries the next topic.
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
