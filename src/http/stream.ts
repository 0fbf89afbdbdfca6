// A live stream: keeps one connection per topic up, and reports what happens to them in order.
//
// What a connection does next is decided in stream/machine.ts; this is the loop around it, which makes them.

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

/** The topic is the one that is named in the events. */
export interface Subscription extends TopicTarget {
  /** What is subscribed to in its place with this token: the next one where the service answers 403. */
  targets?(token: string): readonly TopicTarget[];
}

export interface StreamOptions extends ConnectionContext {
  tokens: Tokens;
  subscriptions: readonly Subscription[];
  apiVersion: string;
  /** Ends everything. */
  signal: AbortSignal;
  /** Takes each event; `size` is its weight in characters. */
  emit(event: StreamEvent, size?: number): void;
  /** Called when anything came on a topic, a comment included, after its events. */
  onLife?: ((topic: string) => void) | undefined;
}

/**
 * The headers of a subscription, but for the last event id; without a token it is anonymous. Section 4.6: "Authentication and headers
 * work as for ordinary requests", so the version is named as section 9 says. Assumed: for the stream's own media type as well as for
 * JSON, which errors come in.
 */
export function streamHeaders(apiVersion: string, token: string | undefined): Headers {
  const accept = `text/event-stream; version=${apiVersion}, ${acceptJson(apiVersion)}`;
  const headers = { accept, 'cache-control': 'no-store' };
  return token === undefined ? headers : { ...headers, authorization: authorization(token) };
}

/**
 * Follows all subscriptions until the signal is aborted or one of them is closed for good, and resolves then, at once: nothing
 * is waited for. Final are 204, 401 with a renewed token, 403, 404 and other 4xx (but see the machine: not right after a healthy
 * minute, nor with an old event id), and at the start a token that can never be had; everything else is tried again: end of
 * stream, reset, refused, DNS, TLS, 408, 429, 5xx, a wrong content type, silence beyond the idle limit, a token that cannot be
 * had. Every connection asks for the token anew.
 */
export async function followStream(options: StreamOptions): Promise<void> {
  const { signal, subscriptions } = options;
  if (signal.aborted) return;
  const over = new AbortController();
  const end = () => over.abort(new FleetError('interrupted', 'the stream is over'));
  const ended = new Promise((resolve) => over.signal.addEventListener('abort', resolve));
  signal.addEventListener('abort', end, { once: true });
  // A signal for each topic: of many listeners on one Node would warn.
  const topics = subscriptions.map((each) =>
    followTopic({ ...options, signal: AbortSignal.any([over.signal]) }, each),
  );
  // One topic that is gone for good ends them all: a watch on half of what was asked for would be silent on the rest.
  await Promise.race([ended, ...topics]).finally(() => {
    signal.removeEventListener('abort', end);
    end();
  });
}

/** Makes one connection of the topic after the other, until it is closed for good or the signal is aborted. */
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

/** A connection with the token of the moment; after a 401 with a newer one, once, where the source has one. */
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

/** A connection to what the token may subscribe to: the next of it after a 403. */
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
