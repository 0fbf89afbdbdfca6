// One connection of an event stream, from its request to its end: the only file that loads `eventsource`.
//
// `eventsource` parses; everything it leaves to its `fetch` is done here: headers, back-pressure, redirects, compression
// and the judgement of the answer. One EventSource is one connection: it never gets to reconnect by itself.

import { FleetError } from '../../errors.js';
import { ExchangeError, type Headers, readStream } from '../exchange.js';
import { answerFailure, networkFailure } from '../failure.js';
import type { Dispatcher } from '../network.js';
import { cutEvents, type EventCutter } from './bytes.js';
import type { Cause } from './events.js';

export interface ConnectionOptions {
  dispatcher: Dispatcher;
  url: URL;
  /** All headers but `Last-Event-ID`. */
  headers: Headers;
  /** The last id that was received; '' for none. */
  lastEventId: string;
  /** Ends this connection; the reason is the error it ends with. */
  signal: AbortSignal;
  /** What was asked for, as in `the service refused SUBJECT`. */
  subject: string;
  /** A promise while the one who prints has enough to do: nothing is read from the socket until then. */
  room(): Promise<void> | undefined;
  onRequest(url: URL, headers: Headers): void;
  onAnswer(url: URL, status: number, headers: Headers): void;
  /** The answer is a 200 with an event stream. */
  onOpen(headers: Headers): void;
  /** Bytes came, comments included: "comments count as life" (cli.md, watch). */
  onLife(): void;
  /** True: nothing is read from now on, because there is no room. */
  onHold(isHeld: boolean): void;
  onMessage(data: string, name: string): void;
  onTooBig(bytes: number): void;
}

/** How a connection ended. */
export interface Ending {
  cause: Cause | 'aborted';
  error: FleetError;
  /** The answer's head, when it was not a 200 with a stream. */
  answer?: { status: number; headers: Headers };
  lastEventId: string;
  /** What `retry:` said, in milliseconds. */
  retryMs: number | undefined;
}

/** Above this an event is passed over and reported: a single bicycle has a few kilobytes, and memory must stay bounded. */
export const EVENT_LIMIT_BYTES = 16 * 1024 * 1024;

/** How much of an error's body is read: enough for its words. */
const ERROR_BODY_LIMIT_BYTES = 64 * 1024;

/** Redirects within the own origin that are followed before it is called a failure. */
const REDIRECT_LIMIT = 5;

/** What a header value may consist of; an id that cannot be sent is not sent. */
const HEADER_VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;

/** `eventsource` takes an error of this name for its own closing and does nothing more. */
function quietEnd(): Error {
  return Object.assign(new Error('closed'), { name: 'AbortError' });
}

/** Opens a connection and resolves when it has ended, whatever the reason; never rejects. */
export async function connectOnce(options: ConnectionOptions): Promise<Ending> {
  const { EventSource } = await import('eventsource');
  const cutter = cutEvents(options.lastEventId, EVENT_LIMIT_BYTES, options.onTooBig);
  return new Promise((resolve) => {
    const finish = (ending: Pick<Ending, 'cause' | 'error' | 'answer'>) => {
      source.close();
      resolve({ ...ending, lastEventId: cutter.lastEventId, retryMs: cutter.retryMs });
    };
    const source = new EventSource(options.url, {
      fetch: async () => {
        const opened = await openBody(options);
        if ('ending' in opened) {
          finish(opened.ending);
          throw quietEnd();
        }
        const { url } = opened;
        const reader = readEvents(options, cutter, url, opened.body, finish);
        const headers = { get: () => 'text/event-stream' };
        return { status: 200, url: url.href, redirected: false, headers, body: { getReader: () => reader } };
      },
    });
    // "If the event has a name, dispatch it under that name": whoever listens by name misses the names he does not know.
    source.dispatchEvent = (event) => {
      if (event instanceof MessageEvent) options.onMessage(String(event.data), event.type);
      return true;
    };
  });
}

type OpenedBody =
  | { url: URL; body: ReadableStream<Uint8Array> }
  | { ending: Pick<Ending, 'cause' | 'error' | 'answer'> };

/** Sends the request, follows redirects within the origin, and judges the answer. */
async function openBody(options: ConnectionOptions): Promise<OpenedBody> {
  const { dispatcher, signal, subject } = options;
  const id = Buffer.from(options.lastEventId, 'utf8').toString('latin1');
  const headers: Headers = {
    ...options.headers,
    ...(id !== '' && HEADER_VALUE.test(id) ? { 'last-event-id': id } : {}),
  };
  let url = options.url;
  for (let hop = 0; ; hop++) {
    options.onRequest(url, headers);
    let answer: Awaited<ReturnType<typeof readStream>>;
    try {
      // The time for the answer's head is up to the one who holds the signal; a stream's body has no limit at all.
      answer = await readStream(dispatcher, {
        method: 'GET',
        url,
        headers,
        headersTimeoutMs: 0,
        bodyTimeoutMs: 0,
        signal,
      });
    } catch (error) {
      return { ending: endingOf(error, url, signal) };
    }
    const { status } = answer;
    options.onAnswer(url, status, answer.headers);
    const target = redirectTarget(status, answer.headers, url);
    // "The token goes only to the origins of base_url and sse_url: not along a redirect" (cli.md section 4).
    if (target !== undefined && target.origin === url.origin && hop < REDIRECT_LIMIT) {
      await answer.body.cancel().catch(() => {});
      url = target;
      continue;
    }
    const head = { status, headers: answer.headers };
    if (status !== 200) {
      const text = status === 204 ? '' : await readBeginning(answer.body);
      return { ending: { cause: 'status', error: statusFailure(status, answer.headers, text, subject), answer: head } };
    }
    const stream = await eventStreamOf(answer);
    if (stream instanceof FleetError) return { ending: { cause: 'no-stream', error: stream, answer: head } };
    options.onOpen(answer.headers);
    return { url, body: stream };
  }
}

function redirectTarget(status: number, headers: Headers, url: URL): URL | undefined {
  const location = headers['location'];
  if (status < 300 || status >= 400 || location === undefined || !URL.canParse(location, url)) return undefined;
  return new URL(location, url);
}

function statusFailure(status: number, headers: Headers, text: string, subject: string): FleetError {
  if (status === 204) {
    // HTML standard 9.2.3: "a client can be told to stop reconnecting using the HTTP 204 No Content response code".
    return new FleetError('service', `the service ended ${subject} for good`, { status });
  }
  const failure = answerFailure(status, headers, text, subject);
  if (failure.kind === 'not-found') {
    return new FleetError(failure.kind, failure.message, {
      status,
      detail: failure.detail,
      trace: failure.trace,
      hint: 'check the topic, and that sse_url has the right prefix ("fleet config get sse_url")',
    });
  }
  if (status < 300 || status >= 400) return failure;
  return new FleetError('service', failure.message, {
    status,
    trace: failure.trace,
    hint: 'the token goes to no other address; if the push channel moved, set the new one with "fleet config set sse_url URL"',
  });
}

/** The body as bytes of an event stream, decompressed; an error when it is something else. */
async function eventStreamOf(answer: {
  headers: Headers;
  body: ReadableStream<Uint8Array>;
}): Promise<ReadableStream<Uint8Array> | FleetError> {
  const { headers, body } = answer;
  const type = (headers['content-type'] ?? '').split(';')[0]?.trim().toLowerCase() ?? '';
  const coding = (headers['content-encoding'] ?? 'identity').trim().toLowerCase();
  const refuse = (what: string, text: string) => {
    const failure = answerFailure(200, headers, text, 'the subscription');
    return new FleetError('service', `the push channel did not answer with an event stream: ${what}`, {
      status: 200,
      detail: failure.detail,
      trace: failure.trace,
      hint: 'check sse_url; a proxy, or the login page of a Wi-Fi, may have answered in its place',
    });
  };
  if (type !== 'text/event-stream') {
    const text = coding === 'identity' ? await readBeginning(body) : '';
    const title = /<title[^>]*>([^<]*)/i.exec(text)?.[1]?.trim();
    return refuse(`${type === '' ? 'no content type' : type}${title === undefined ? '' : ` "${title}"`}`, text);
  }
  if (coding === 'identity') return body;
  if (coding === 'gzip' || coding === 'x-gzip') return decompress(body, 'gzip');
  if (coding === 'deflate') return decompress(body, 'deflate');
  await body.cancel().catch(() => {});
  return refuse(`it is compressed as "${coding}", which was not asked for`, '');
}

function decompress(body: ReadableStream<Uint8Array>, format: 'gzip' | 'deflate'): ReadableStream<Uint8Array> {
  // The library's types of the two halves differ in the kind of buffer behind the bytes, which does not matter here.
  return body.pipeThrough(new DecompressionStream(format) as ReadableWritablePair<Uint8Array, Uint8Array>);
}

/** The first bytes of a body as text, as far as they come; the rest is let go. */
async function readBeginning(body: ReadableStream<Uint8Array>): Promise<string> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  const reader = body.getReader();
  try {
    while (length < ERROR_BODY_LIMIT_BYTES) {
      const { done, value } = await reader.read();
      if (done) break;
      chunks.push(value);
      length += value.length;
    }
    if (length >= ERROR_BODY_LIMIT_BYTES) await reader.cancel();
  } catch {
    // What came until then has to do.
  }
  return Buffer.concat(chunks).toString('utf8');
}

/** The reader that `eventsource` parses from: whole events, read only while there is room, every byte a sign of life. */
function readEvents(
  options: ConnectionOptions,
  cutter: EventCutter,
  url: URL,
  body: ReadableStream<Uint8Array>,
  finish: (ending: Pick<Ending, 'cause' | 'error'>) => void,
) {
  const reader = body.getReader();
  const whenAborted = aborted(options.signal);
  const end = (ending: Pick<Ending, 'cause' | 'error'>) => {
    const cutOffBytes = ending.cause === 'aborted' ? 0 : cutter.end();
    finish(
      cutOffBytes === 0
        ? ending
        : {
            cause: 'cut-off',
            error: new FleetError(
              'network',
              `the connection ended in the middle of an event, after ${cutOffBytes} bytes of it`,
            ),
          },
    );
    return { done: true as const };
  };
  return {
    async read(): Promise<{ done: false; value: Uint8Array } | { done: true }> {
      try {
        for (;;) {
          const room = options.room();
          if (room !== undefined) {
            options.onHold(true);
            await Promise.race([room, whenAborted]);
            options.onHold(false);
          }
          const { done, value } = await reader.read();
          if (done)
            return end({ cause: 'ended', error: new FleetError('network', 'the service closed the connection') });
          options.onLife();
          const events = cutter.take(value);
          if (events.length > 0) return { done: false, value: events };
        }
      } catch (error) {
        return end(endingOf(error, url, options.signal));
      }
    },
    cancel: () => reader.cancel(),
  };
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
}

function endingOf(error: unknown, url: URL, signal: AbortSignal): Pick<Ending, 'cause' | 'error'> {
  if (signal.aborted && signal.reason instanceof FleetError) return { cause: 'aborted', error: signal.reason };
  if (error instanceof ExchangeError && error.head === undefined) {
    return { cause: 'network', error: networkFailure(error, url) };
  }
  const message = error instanceof Error ? error.message : String(error);
  return { cause: 'network', error: new FleetError('network', `the connection broke: ${message}`, { cause: error }) };
}
