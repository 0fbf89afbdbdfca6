// One connection of an event stream, from its request to its end. Only this file loads the library
// `eventsource`.
//
// The library calls the `fetch` that is passed to `new EventSource(url, { fetch })`. The `fetch` of
// this file adds redirects, size limits, an idle limit, decompression and back-pressure. Each
// connection uses a new EventSource and closes it at the first `error`. The state machine decides
// when to connect again.

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
  /** The source of the token. Its hint is added to the error when the service refuses the token. */
  tokens: Pick<Tokens, 'refusalHint'>;
  clock: Clock;
  /** Secrets that errors must not quote. */
  secrets: Secrets;
  /** The total time limit for connecting and receiving the response headers. */
  timeoutMs: number;
  /**
   * A connection without data for this time is closed. Comments in the stream are treated as data.
   */
  idleMs: number;
  /**
   * Returns a promise while too many events wait for the consumer. No more data is read from the
   * socket until this promise settles.
   */
  room(): Promise<void> | undefined;
  log: Pick<HttpLog, 'request' | 'response'>;
}

export interface ConnectionOptions extends ConnectionContext {
  url: URL;
  /** All headers except `Last-Event-ID`. */
  headers: Headers;
  /** The id of the last received event, or '' when there is none. */
  lastEventId: string;
  /** Ends the connection when aborted. The signal's reason is then reported as the error. */
  signal: AbortSignal;
  /** The name of the request in errors: `the service refused SUBJECT`. */
  subject: string;
  /** Called when the service answers with 200 and an event stream. */
  onOpen(headers: Headers): void;
  /**
   * Called for every chunk, even for a chunk without events. Comments in the stream also show that
   * the stream is alive.
   */
  onReceived(received: Received): void;
}

/**
 * The messages in one chunk of the stream, and the position in the stream at the end of the chunk.
 */
export interface Received extends StreamPosition {
  messages: readonly string[];
  /**
   * The sizes of the events that exceeded the limit and were skipped. The service sent these events
   * before the events in `messages`.
   */
  tooBigBytes: readonly number[];
}

/** Why a connection ended or could not be opened. */
export interface ConnectionEnd {
  cause: Cause;
  error: FleetError;
  /** The status and headers of a response that is not an event stream. */
  answer?: Head;
}

/** Thrown when a response is not an event stream. */
class RefusedError extends Error {
  readonly ending: ConnectionEnd;

  constructor(cause: Cause, error: FleetError, answer: Head) {
    super(error.message, { cause: error });
    this.name = 'RefusedError';
    this.ending = { cause, error, answer };
  }
}

/**
 * An event that is larger than this is skipped and reported, because a huge event must not delay
 * the others. The data of a bicycle takes only a few kilobytes.
 */
export const EVENT_LIMIT_BYTES = 1024 * 1024;

/** The time limit for reading the body of an error response. */
const ERROR_BODY_LIMIT_MS = 5_000;

/** Matches a value that is allowed in a header. An event id that does not match is not sent. */
const HEADER_VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;

/** The hint when no role of the token may subscribe. */
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
     * The error that this file's `fetch` threw. It is kept here, because the library's `error`
     * event contains only the message of the error.
     */
    let failure: unknown;
    const messages: string[] = [];

    const end = (ending: ConnectionEnd) => {
      cancelTimeout();
      silence.close();
      signal.removeEventListener('abort', onAbort);
      // The library starts a reconnect timer right after its `error` event. Closing the EventSource
      // only after the event also stops this timer.
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
        // The library accepts only this exact content type, so it is set here. `openStream` has
        // already checked the content type that the service sent.
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
 * Yields the data lines of complete events. Reads further bytes only when the library has processed
 * the previous bytes and the consumer can accept more events (back-pressure).
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
 * Returns a timer that calls `onLimit` when no data arrives for `limitMs`. The timer is stopped
 * while the consumer is busy, because fleet reads no data during this time. After `close` it never
 * starts again, because a pending timer keeps the process running.
 */
function openSilence(clock: Clock, limitMs: number, onLimit: () => void) {
  let cancel = () => {};
  let isClosed = false;
  return {
    end: () => cancel(),
    begin() {
      cancel();
      if (!isClosed) cancel = clock.after(limitMs, onLimit);
    },
    close() {
      isClosed = true;
      cancel();
    },
  };
}

/**
 * Sends the request, follows redirects within the same origin, and checks the response. Throws a
 * RefusedError when the response is not an event stream.
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
    // There is no timeout here. The caller limits the time until the headers arrive. The body of a
    // stream may take any amount of time.
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
    return new FleetError(
      'service',
      `the service closed ${subject} and asked fleet not to reconnect`,
      {
        status,
      },
    );
  }
  const failure = answerFailure(status, headers, text, subject, tokens);
  if (failure.kind === 'not-found') return failure.with({ hint: TOPIC_HINT });
  if (status === 403) return failure.with({ hint: ROLE_HINT });
  return status < 300 || status >= 400 ? failure : failure.with({ hint: MOVED_HINT });
}

/**
 * Returns the decompressed body of an event stream. Throws a RefusedError when the content type or
 * the compression is wrong.
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

/** Returns the beginning of an error body as text. Stops at the size limit and the time limit. */
async function readText(body: Readable, { clock, secrets }: ConnectionOptions): Promise<string> {
  const cancel = clock.after(ERROR_BODY_LIMIT_MS, () => body.destroy());
  const bytes = await readBeginning(body, ERROR_BODY_LIMIT_BYTES);
  cancel();
  return secrets.hide(bytes.toString('utf8'));
}

/**
 * Returns why a connection ended. `thrown` is the error that ended it, or undefined when the
 * service closed the connection.
 */
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
