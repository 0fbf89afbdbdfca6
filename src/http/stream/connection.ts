// One connection of an event stream, from its request to its end. Only this file loads
// `eventsource`.
//
// `new EventSource(url, { fetch })` is the library's extension point. The `fetch` of this file adds
// redirects, limits, the idle limit, decompression and back-pressure. Each connection has a new
// EventSource, which is closed at its first `error`. The state machine decides about the next
// connection.

import type { Readable } from 'node:stream';
import { FleetError, reasonOf } from '../../errors.js';
import type { Clock } from '../../system/clock.js';
import type { Secrets } from '../../system/secrets.js';
import { codingOf, ERROR_BODY_LIMIT_BYTES, readBeginning, unpack } from '../body.js';
import type { HttpLog } from '../client.js';
import {
  ExchangeError,
  type Head,
  type Headers,
  type OpenAnswer,
  openExchange,
  redirectTarget,
} from '../exchange.js';
import { answerFailure, networkFailure } from '../failure.js';
import { hideInHeaders } from '../headers.js';
import type { Network } from '../network.js';
import { htmlTitle } from '../server-text.js';
import type { Tokens } from '../types.js';
import type { Cause } from './events.js';
import { filterEvents, type StreamPosition } from './filter.js';

/** The settings that all connections of a stream share. */
export interface ConnectionContext {
  network: Network;
  /** The hint for a refused token. */
  tokens: Pick<Tokens, 'refusalHint'>;
  clock: Clock;
  /** Secrets that errors must not quote. */
  secrets: Secrets;
  /** The time limit for connecting and for the headers of the answer together. */
  timeoutMs: number;
  /** The maximum silence of a live connection. Comments end the silence. */
  idleMs: number;
  /**
   * Returns a promise while the consumer has not processed the earlier events. Nothing is read from
   * the socket until the promise settles.
   */
  room(): Promise<void> | undefined;
  log: Pick<HttpLog, 'request' | 'response'>;
}

export interface ConnectionOptions extends ConnectionContext {
  url: URL;
  /** All headers except `Last-Event-ID`. */
  headers: Headers;
  /** The last received id; empty without one. */
  lastEventId: string;
  /** Aborting this signal ends the connection. The reason of the signal becomes the error. */
  signal: AbortSignal;
  /** The name of the request in errors: `the service refused SUBJECT`. */
  subject: string;
  /** Called for a 200 with an event stream. */
  onOpen(headers: Headers): void;
  /** Called for every received chunk, because comments also show that the stream is alive. */
  onReceived(received: Received): void;
}

/** The messages of one chunk, and the position in the stream after the chunk. */
export interface Received extends StreamPosition {
  messages: readonly string[];
  /** The sizes of the skipped events above the limit. These events came before the messages. */
  tooBigBytes: readonly number[];
}

/** Why the connection ended, or why it could not be made. */
export interface ConnectionEnd {
  cause: Cause;
  error: FleetError;
  /** The headers of an answer that was not a 200 with a stream. */
  answer?: Head;
}

/** The error for an answer that is not an event stream. */
class RefusedError extends Error {
  readonly ending: ConnectionEnd;

  constructor(cause: Cause, error: FleetError, answer: Head) {
    super(error.message, { cause: error });
    this.name = 'RefusedError';
    this.ending = { cause, error, answer };
  }
}

/**
 * Larger events are skipped and reported. The data of a bicycle takes a few kilobytes, and a huge
 * event must not block the others.
 */
export const EVENT_LIMIT_BYTES = 1024 * 1024;

/** The time limit for reading the body of an error answer. */
const ERROR_BODY_LIMIT_MS = 5_000;

/** Matches a valid value of a header. An event id that does not match is not sent. */
const HEADER_VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;

/** The hint when the service refuses the subscription for every role of the token. */
const ROLE_HINT =
  'no role of this token may subscribe to it; choose one with --role, or name a topic with --topic; "fleet auth status" shows the roles';

/** Opens a connection and resolves when it ends for any reason. Never rejects. */
export async function connectOnce(options: ConnectionOptions): Promise<ConnectionEnd> {
  const { url, signal, clock, timeoutMs, idleMs } = options;
  const { EventSource } = await import('eventsource');
  return new Promise((resolve) => {
    if (signal.aborted) return resolve(endingOf(signal.reason, options));
    let answer: OpenAnswer | undefined;
    /**
     * The error that the `fetch` of this file threw. The library's `error` event only has the
     * message of the error.
     */
    let failure: unknown;
    const messages: string[] = [];

    const end = (ending: ConnectionEnd) => {
      cancelTimeout();
      silence.end();
      signal.removeEventListener('abort', onAbort);
      // The library starts its reconnect timer after its `error` event, so fleet closes it after
      // that event.
      queueMicrotask(() => source.close());
      resolve(ending);
    };
    const fail = (cause: Cause, message: string, hint?: string) =>
      end({ cause, error: new FleetError('network', message, { hint }) });
    const onAbort = () => end(endingOf(signal.reason, options));
    const cancelTimeout = clock.after(timeoutMs, () =>
      fail(
        'timeout',
        `no answer from ${url.origin} within ${timeoutMs / 1000} s`,
        'raise --timeout',
      ),
    );
    const silence = openSilence(clock, idleMs, () =>
      fail('idle', `nothing came for ${Math.round(idleMs / 1000)} s`),
    );
    const noteFailure = (thrown: unknown): never => {
      failure = thrown;
      throw thrown;
    };

    const source = new EventSource(url, {
      async fetch(_url, { signal: closed }) {
        answer = await openStream(options, closed, cancelTimeout).catch(noteFailure);
        const events = readEvents(answer.body, closed, { ...options, silence }, () =>
          messages.splice(0),
        );
        const read = () => events.next().catch(noteFailure);
        const cancel = async () => void (await events.return());
        // The library only accepts this exact content type. `openStream` has already checked the
        // real one.
        const head = {
          status: 200,
          url: url.href,
          redirected: false,
          headers: { get: () => 'text/event-stream' },
        };
        return { ...head, body: { getReader: () => ({ read, cancel }) } };
      },
    });
    source.onopen = () => options.onOpen(answer?.headers ?? {});
    source.onmessage = ({ data }) => messages.push(options.secrets.hideInData(data));
    source.onerror = () => end(endingOf(failure, options));
    signal.addEventListener('abort', onAbort);
  });
}

/**
 * Yields the data lines of complete events. Applies back-pressure: reads from the socket only after
 * `eventsource` has taken the lines and the consumer has room.
 */
async function* readEvents(
  body: Readable,
  closed: AbortSignal,
  {
    lastEventId,
    room,
    silence,
    onReceived,
  }: ConnectionOptions & { silence: ReturnType<typeof openSilence> },
  takeMessages: () => Received['messages'],
): AsyncGenerator<Uint8Array, void> {
  const tooBigBytes: number[] = [];
  const filter = filterEvents(lastEventId, EVENT_LIMIT_BYTES, (bytes) => tooBigBytes.push(bytes));
  await room();
  silence.begin();
  for await (const chunk of body as AsyncIterable<Buffer>) {
    silence.end();
    const events = filter.take(chunk);
    if (events !== '') yield Buffer.from(events, 'latin1');
    if (closed.aborted) return;
    onReceived({ messages: takeMessages(), tooBigBytes: tooBigBytes.splice(0), ...filter.known() });
    await room();
    silence.begin();
  }
}

/**
 * Calls `onLimit` when nothing arrives for the limit. Time in which the consumer is busy does not
 * count, because nothing is read then.
 */
function openSilence(clock: Clock, limitMs: number, onLimit: () => void) {
  let cancel = () => {};
  return {
    end: () => cancel(),
    begin() {
      cancel();
      cancel = clock.after(limitMs, onLimit);
    },
  };
}

/**
 * Sends the request, follows redirects within the origin, and checks the answer. Throws a
 * RefusedError for an answer that is not a stream.
 */
async function openStream(
  options: ConnectionOptions,
  signal: AbortSignal,
  onHead: () => void,
): Promise<OpenAnswer> {
  const { network, secrets, clock, log, lastEventId: id } = options;
  const headers: Headers = {
    ...options.headers,
    ...(id !== '' && HEADER_VALUE.test(id) ? { 'last-event-id': id } : {}),
  };
  let url = options.url;
  for (let hop = 0; ; hop++) {
    const startedMs = clock.monotonicMs();
    log.request('GET', url, headers, undefined);
    // The caller limits the time until the headers arrive. The time for the body of a stream is not
    // limited.
    const answer = await openExchange(network.dispatcherTo(url), {
      method: 'GET',
      url,
      headers,
      timeoutMs: 0,
      signal,
    });
    const { status } = answer;
    log.response('GET', url, status, answer.headers, Math.round(clock.monotonicMs() - startedMs));
    const target = redirectTarget(answer, url, hop);
    if (target === undefined) {
      onHead();
      const head = { status, headers: hideInHeaders(answer.headers, secrets) };
      if (status === 200) return { ...head, body: await eventStreamOf(head, answer.body, options) };
      const text = status === 204 ? '' : await readText(answer.body, options);
      throw new RefusedError('status', statusFailure(head, text, options), head);
    }
    answer.body.destroy();
    url = target;
  }
}

const TOPIC_HINT =
  'check the topic (its bicycle or organization may be gone), and that sse_url has the right prefix ("fleet config get sse_url")';
const MOVED_HINT =
  'the token goes to no other address; if the push channel moved, set the new one with "fleet config set sse_url URL"';

function statusFailure(
  { status, headers }: Head,
  text: string,
  { subject, tokens }: ConnectionOptions,
): FleetError {
  if (status === 204) {
    // HTML standard 9.2.3: "a client can be told to stop reconnecting using the HTTP 204 No Content response code".
    return new FleetError('service', `the service closed ${subject} and asks not to reconnect`, {
      status,
    });
  }
  const failure = answerFailure(status, headers, text, subject, tokens);
  if (failure.kind === 'not-found') return failure.with({ hint: TOPIC_HINT });
  if (status === 403) return failure.with({ hint: ROLE_HINT });
  return status < 300 || status >= 400 ? failure : failure.with({ hint: MOVED_HINT });
}

/**
 * Returns the decompressed bytes of an event stream. Throws a RefusedError for another content
 * type.
 */
async function eventStreamOf(
  head: Head,
  body: Readable,
  options: ConnectionOptions,
): Promise<Readable> {
  const { headers } = head;
  const type = (headers['content-type'] ?? '').split(';')[0]?.trim().toLowerCase() ?? '';
  const coding = codingOf(headers['content-encoding']);
  const isStream = type === 'text/event-stream';
  if (isStream && ['identity', 'gzip', 'x-gzip', 'deflate'].includes(coding))
    return unpack(body, coding);
  const text = coding === 'identity' ? await readText(body, options) : '';
  body.destroy();
  const title = htmlTitle(text);
  const what = isStream
    ? `it is compressed as "${coding}", which was not asked for`
    : `${type === '' ? 'no content type' : type}${title === undefined ? '' : ` "${title}"`}`;
  const { detail, trace } = answerFailure(200, headers, text, 'the subscription');
  const message = `the push channel did not answer with an event stream: ${what}`;
  const hint =
    'check sse_url; a proxy, or the login page of a Wi-Fi, may have answered in its place';
  throw new RefusedError(
    'no-stream',
    new FleetError('service', message, { status: 200, detail, trace, hint }),
    head,
  );
}

/** Reads the beginning of a body as text within the time limit. Drops the rest. */
async function readText(body: Readable, { clock, secrets }: ConnectionOptions): Promise<string> {
  const cancel = clock.after(ERROR_BODY_LIMIT_MS, () => body.destroy());
  const bytes = await readBeginning(body, ERROR_BODY_LIMIT_BYTES);
  cancel();
  return secrets.hide(bytes.toString('utf8'));
}

/** Turns a thrown error into the end of a connection. Without an error the service ended it. */
function endingOf(thrown: unknown, { url, secrets }: ConnectionOptions): ConnectionEnd {
  if (thrown === undefined)
    return {
      cause: 'ended',
      error: new FleetError('network', 'the service closed the connection'),
    };
  if (thrown instanceof RefusedError) return thrown.ending;
  if (thrown instanceof FleetError) return { cause: 'network', error: thrown };
  if (thrown instanceof ExchangeError && thrown.head === undefined) {
    const asked = { url, whom: 'the push channel' };
    return { cause: 'network', error: networkFailure(thrown, asked, secrets.hide) };
  }
  const isCut = thrown instanceof ExchangeError && thrown.code === 'UND_ERR_SOCKET';
  const message = isCut
    ? 'the connection was cut'
    : `the connection broke: ${secrets.hide(reasonOf(thrown))}`;
  return { cause: 'network', error: new FleetError('network', message, { cause: thrown }) };
}
