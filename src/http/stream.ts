// A live stream: keeps one connection per topic up, and reports what happens to them in order.
//
// What a connection does next is decided in stream/machine.ts; this is the loop around it, which carries it out.

import { openTimer } from '../clock.js';
import { asFleetError, FleetError } from '../errors.js';
import type { Headers } from './exchange.js';
import { acceptJson, authorization } from './headers.js';
import { type ConnectionContext, type ConnectionEnd, connectOnce } from './stream/connection.js';
import type { StreamEvent } from './stream/events.js';
import { type ConnectionEffect, type ConnectionEvent, TopicMachine } from './stream/machine.js';
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
  /** How long the stream may be down before it is given up; undefined is for ever. */
  giveUpAfterMs?: number | undefined;
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
 * had. Every connection asks for the token anew. Rejects only for a mistake in this program.
 */
export function followStream(options: StreamOptions): Promise<void> {
  const { signal, subscriptions } = options;
  return new Promise((resolve, reject) => {
    const stops: (() => void)[] = [];
    const end = (mistake?: { thrown: unknown }) => {
      signal.removeEventListener('abort', onAbort);
      for (const stop of stops.splice(0)) stop();
      if (mistake === undefined) resolve();
      else reject(mistake.thrown);
    };
    // One listener for all topics: with one each Node would warn of a leak from the eleventh on.
    const onAbort = () => end();
    if (signal.aborted) return resolve();
    signal.addEventListener('abort', onAbort, { once: true });
    // One topic that is gone for good ends them all: a watch on half of what was asked for would be silent on the rest.
    for (const subscription of subscriptions) stops.push(follow(options, subscription, end));
  });
}

/** Keeps one topic's connection up, from the next turn of the event loop on. Returns what stops it for good, at once. */
function follow(
  options: StreamOptions,
  subscription: Subscription,
  onEnd: (mistake?: { thrown: unknown }) => void,
): () => void {
  const { clock, emit, giveUpAfterMs = Number.POSITIVE_INFINITY } = options;
  let present = new AbortController();
  let isStopped = false;
  const ticker = openTimer(clock, () => step({ type: 'tick' }));
  const stop = () => {
    isStopped = true;
    ticker.cancel();
    present.abort(new FleetError('interrupted', 'the stream is over'));
  };
  const carryOut = (effect: ConnectionEffect) => {
    if (effect.type !== 'try') return emit(effect, effect.type === 'message' ? effect.data.length : 0);
    const { run } = effect;
    present = new AbortController();
    const ended = attempt(options, subscription, { ...effect, signal: present.signal, report: step });
    void ended.then((ending) => step({ type: 'ended', run, ending }));
  };
  const settings = { topic: subscription.topic, origin: subscription.url.origin, giveUpAfterMs };
  const machine = new TopicMachine(settings, carryOut);
  const step = (event: ConnectionEvent) => {
    if (isStopped) return;
    const now = { wallMs: clock.wallMs(), monotonicMs: clock.monotonicMs(), random: clock.random() };
    try {
      machine.take(event, now);
    } catch (thrown) {
      stop();
      return onEnd({ thrown });
    }
    if (!machine.isClosed) return ticker.want(machine.nextTickInMs(now.monotonicMs));
    stop();
    onEnd();
  };
  queueMicrotask(() => step({ type: 'start' }));
  return stop;
}

/** One try of the machine's: ended by its signal, and reported as it goes. */
interface Try {
  run: number;
  lastEventId: string;
  signal: AbortSignal;
  report(event: ConnectionEvent): void;
}

/** A connection with the token of the moment; after a 401 with a newer one, once, where the source has one. */
async function attempt(options: StreamOptions, subscription: Subscription, one: Try): Promise<ConnectionEnd> {
  const { signal } = one;
  try {
    const token = await options.tokens.get();
    const ending = await connect(options, subscription, one, token);
    if (ending.answer?.status !== 401 || signal.aborted) return ending;
    const newer = await options.tokens.renew(token);
    return newer === undefined ? ending : await connect(options, subscription, one, newer);
  } catch (thrown) {
    return { cause: 'token', error: asFleetError(thrown) };
  }
}

/** A connection to what the token may subscribe to: the next of it after a 403. */
async function connect(
  options: StreamOptions,
  subscription: Subscription,
  { run, lastEventId, signal, report }: Try,
  token: string,
): Promise<ConnectionEnd> {
  const headers = streamHeaders(options.apiVersion, token);
  const open = (target: TopicTarget) =>
    connectOnce({
      ...{ ...options, headers, lastEventId, signal, url: target.url },
      subject: `the subscription to ${target.topic}`,
      onOpen(answered) {
        const other = target.topic === subscription.topic ? {} : { as: target.topic };
        report({ type: 'opened', run, headers: answered, ...other });
      },
      onReceived(received) {
        report({ type: 'received', run, received });
        options.onLife?.(subscription.topic);
      },
    });
  const [first = subscription, ...others] = subscription.targets?.(token) ?? [];
  let ending = await open(first);
  for (const target of others) if (ending.answer?.status === 403 && !signal.aborted) ending = await open(target);
  return ending;
}
