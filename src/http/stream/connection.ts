// One connection of an event stream, from its request to its end: the only file that loads `eventsource-parser`.
//
// The parser is that of `eventsource`. The rest of `eventsource` is not used: it gives each event to those who know its name,
// has no back-pressure, and wants an error faked where a connection ends for good; its documented options leave no way round.

import type { Readable } from 'node:stream';
import type { Clock } from '../../clock.js';
import { FleetError, reasonOf } from '../../errors.js';
import type { Secrets } from '../../secrets.js';
import { codingOf, ERROR_BODY_LIMIT_BYTES, readBeginning, unpack } from '../body.js';
import type { HttpLog } from '../client.js';
import { ExchangeError, type Head, type Headers, type OpenAnswer, openExchange, redirectTarget } from '../exchange.js';
import { answerFailure, networkFailure, withHint } from '../failure.js';
import { htmlTitle } from '../foreign.js';
import { hideInHeaders } from '../headers.js';
import type { Network } from '../network.js';
import type { Tokens } from '../types.js';
import { cutEvents, type Known } from './bytes.js';
import type { Cause } from './events.js';

/** What all connections of a stream share. */
export interface ConnectionContext {
  network: Network;
  /** What to do when the service refuses the token. */
  tokens: Pick<Tokens, 'refusalHint'>;
  clock: Clock;
  /** What the push channel must not quote in an error. */
  secrets: Secrets;
  /** A promise while the one who takes the events is behind: nothing is read from the socket until then. */
  room(): Promise<void> | undefined;
  log: Pick<HttpLog, 'request' | 'response'>;
}

export interface ConnectionOptions extends ConnectionContext {
  url: URL;
  /** All headers but `Last-Event-ID`. */
  headers: Headers;
  /** The last id that was received; '' for none. */
  lastEventId: string;
  /** Ends this connection; the reason is the error it ends with. */
  signal: AbortSignal;
  /** What was asked for, as in `the service refused SUBJECT`. */
  subject: string;
  /** The answer is a 200 with an event stream. */
  onOpen(headers: Headers): void;
  /** Bytes came, whatever they hold: "comments count as life" (cli.md, watch). */
  onReceived(received: Received): void;
  /** True: nothing is read from now on, because there is no room. */
  onHold(isHeld: boolean): void;
}

/** What came together, and where the connection stands after it. */
export interface Received extends Known {
  messages: readonly { data: string; name: string }[];
  /** The sizes of events above the limit, which were passed over before the messages came. */
  tooBigBytes: readonly number[];
  /** How many bytes have come of an event whose end has not. */
  partialBytes: number;
}

/** How a connection ended. */
export interface Ending {
  cause: Extract<Cause, 'ended' | 'network' | 'status' | 'no-stream'> | 'aborted';
  error: FleetError;
  /** The answer's head, when it was not a 200 with a stream. */
  answer?: { status: number; headers: Headers };
}

/** Above this an event is passed over and reported: a bicycle has a few kilobytes, and nothing may block the rest. */
export const EVENT_LIMIT_BYTES = 1024 * 1024;

/** How long the body of an error may take once its head has come: enough for its words. */
const ERROR_BODY_LIMIT_MS = 5_000;

/** What a header value may consist of; an id that cannot be sent is not sent. */
const HEADER_VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;

/** Opens a connection and resolves when it has ended, whatever the reason; never rejects. */
export async function connectOnce(options: ConnectionOptions): Promise<Ending> {
  const { createParser } = await import('eventsource-parser');
  const opened = await openBody(options);
  if ('cause' in opened) return opened;
  try {
    await readEvents(options, opened.body, createParser);
    return { cause: 'ended', error: new FleetError('network', 'the service closed the connection') };
  } catch (error) {
    return endingOf(error, opened.url, options.signal);
  }
}

/** Reads events until the body ends. Throws what breaks it off, and the signal's reason. */
async function readEvents(
  { signal, lastEventId, room: roomOf, onHold, onReceived }: ConnectionOptions,
  body: Readable,
  createParser: typeof import('eventsource-parser').createParser,
): Promise<void> {
  let messages: { data: string; name: string }[] = [];
  let tooBigBytes: number[] = [];
  const parser = createParser({ onEvent: ({ data, event }) => messages.push({ data, name: event ?? 'message' }) });
  const cutter = cutEvents(lastEventId, EVENT_LIMIT_BYTES, (bytes) => tooBigBytes.push(bytes));
  const waitForRoom = async () => {
    const room = roomOf();
    if (room === undefined) return;
    onHold(true);
    await settled(room, signal);
    if (signal.aborted) throw signal.reason;
    onHold(false);
  };
  await waitForRoom();
  for await (const chunk of body as AsyncIterable<Buffer>) {
    parser.feed(cutter.take(chunk));
    onReceived({ messages, tooBigBytes, ...cutter.known, partialBytes: cutter.partialBytes });
    messages = [];
    tooBigBytes = [];
    await waitForRoom();
  }
}

/** Resolves when the promise does or the signal is aborted, and leaves nothing behind at either. */
function settled(promise: Promise<void>, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const end = () => {
      signal.removeEventListener('abort', end);
      resolve();
    };
    if (signal.aborted) return resolve();
    signal.addEventListener('abort', end, { once: true });
    promise.then(end, end);
  });
}

/** Sends the request, follows redirects within the origin, and judges the answer. */
async function openBody(options: ConnectionOptions): Promise<{ url: URL; body: Readable } | Ending> {
  const { network, signal, secrets, clock, log } = options;
  const id = Buffer.from(options.lastEventId, 'utf8').toString('latin1');
  const headers: Headers = {
    ...options.headers,
    ...(id !== '' && HEADER_VALUE.test(id) ? { 'last-event-id': id } : {}),
  };
  let url = options.url;
  for (let hop = 0; ; hop++) {
    const startedMs = clock.monotonicMs();
    log.request('GET', url, headers, undefined);
    let answer: OpenAnswer;
    try {
      // The time for the answer's head is up to the one who holds the signal; a stream's body has no limit at all.
      answer = await openExchange(network.dispatcherTo(url), {
        method: 'GET',
        url,
        headers,
        timeoutMs: 0,
        signal,
      });
    } catch (error) {
      return endingOf(error, url, signal);
    }
    const { status } = answer;
    log.response('GET', url, status, answer.headers, Math.round(clock.monotonicMs() - startedMs));
    const target = redirectTarget(answer, url, hop);
    if (target !== undefined) {
      answer.body.destroy();
      url = target;
      continue;
    }
    const head = { status, headers: hideInHeaders(answer.headers, secrets) };
    if (status !== 200) {
      const text = status === 204 ? '' : await readText(answer.body, options);
      return { cause: 'status', error: statusFailure(head, text, options), answer: head };
    }
    const stream = await eventStreamOf({ headers: head.headers, body: answer.body }, options);
    if (stream instanceof FleetError) return { cause: 'no-stream', error: stream, answer: head };
    if (signal.aborted) return endingOf(signal.reason, url, signal);
    options.onOpen(answer.headers);
    return { url, body: stream };
  }
}

function statusFailure(
  { status, headers }: Head,
  text: string,
  { subject, tokens }: Pick<ConnectionOptions, 'subject' | 'tokens'>,
): FleetError {
  if (status === 204) {
    // HTML standard 9.2.3: "a client can be told to stop reconnecting using the HTTP 204 No Content response code".
    return new FleetError('service', `the service ended ${subject} for good`, { status });
  }
  const failure = answerFailure(status, headers, text, subject, tokens);
  if (failure.kind === 'not-found')
    return withHint(failure, 'check the topic, and that sse_url has the right prefix ("fleet config get sse_url")');
  if (status < 300 || status >= 400) return failure;
  return withHint(
    failure,
    'the token goes to no other address; if the push channel moved, set the new one with "fleet config set sse_url URL"',
  );
}

/** The body as bytes of an event stream, unpacked; an error when it is something else. */
async function eventStreamOf(
  { headers, body }: Pick<OpenAnswer, 'headers' | 'body'>,
  options: ConnectionOptions,
): Promise<Readable | FleetError> {
  const type = (headers['content-type'] ?? '').split(';')[0]?.trim().toLowerCase() ?? '';
  const coding = codingOf(headers['content-encoding']);
  const isStream = type === 'text/event-stream';
  if (isStream && ['identity', 'gzip', 'x-gzip', 'deflate'].includes(coding)) return unpack(body, coding);
  const text = coding === 'identity' ? await readText(body, options) : '';
  body.destroy();
  const title = htmlTitle(text);
  const what = isStream
    ? `it is compressed as "${coding}", which was not asked for`
    : `${type === '' ? 'no content type' : type}${title === undefined ? '' : ` "${title}"`}`;
  const { detail, trace } = answerFailure(200, headers, text, 'the subscription');
  return new FleetError('service', `the push channel did not answer with an event stream: ${what}`, {
    status: 200,
    detail,
    trace,
    hint: 'check sse_url; a proxy, or the login page of a Wi-Fi, may have answered in its place',
  });
}

/** The first bytes of a body as text, as far as they come in time; the rest is let go. */
async function readText(body: Readable, { clock, secrets }: ConnectionOptions): Promise<string> {
  const cancel = clock.after(ERROR_BODY_LIMIT_MS, () => body.destroy());
  const bytes = await readBeginning(body, ERROR_BODY_LIMIT_BYTES);
  cancel();
  return secrets.hide(bytes.toString('utf8'));
}

function endingOf(error: unknown, url: URL, signal: AbortSignal): Ending {
  if (signal.aborted && signal.reason instanceof FleetError) return { cause: 'aborted', error: signal.reason };
  if (error instanceof ExchangeError && error.head === undefined) {
    return { cause: 'network', error: networkFailure(error, url) };
  }
  const message = reasonOf(error);
  return { cause: 'network', error: new FleetError('network', `the connection broke: ${message}`, { cause: error }) };
}
