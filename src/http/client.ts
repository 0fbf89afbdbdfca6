// The one HTTP client of a process: headers, token, timeouts, retries, redirects; it knows no bicycles.

import { type Clock, sleep } from '../clock.js';
import { FleetError, type Trace } from '../errors.js';
import type { Secrets } from '../secrets.js';
import { ExchangeError, type Headers, readWhole, type WireAnswer } from './exchange.js';
import { answerFailure, isPassing, networkFailure } from './failure.js';
import { acceptJson, authorization, traceOf } from './headers.js';
import type { Network } from './network.js';
import { followPages, type PageOptions, readPage } from './pages.js';
import { isPassingStatus, pauseBefore, RETRY_AFTER_LIMIT_MS, readRetryAfter } from './retry.js';
import type { HttpAnswer, HttpRequest, Page, RequestPreview, Tokens } from './types.js';

/** What the client tells while it works; the context prints it for --trace, --verbose and retries. */
export interface HttpLog {
  request(method: string, url: URL, headers: Headers, body: string | undefined): void;
  response(method: string, url: URL, status: number, headers: Headers, milliseconds: number): void;
  retry(reason: string, pauseMs: number, attempt: number, most: number): void;
}

export interface ClientOptions {
  baseUrl: URL;
  apiVersion: string;
  /** Connect, head and silence of the body, each in milliseconds. */
  timeoutMs: number;
  /** Extra tries of a safe request. */
  retries: number;
  network: Network;
  token: Tokens;
  log: HttpLog;
  /** What the service must not quote in an error. */
  secrets: Secrets;
  clock: Clock;
  signal: AbortSignal;
}

export interface Client {
  readonly baseUrl: URL;
  /**
   * Sends a request and resolves with its answer, whole. Throws a FleetError for any other status and for no answer.
   * A GET or HEAD is tried again as cli.md says; anything else only when the service provably did not take it: the
   * connection was never made, 401 with a token that can be renewed, 429 (promise 1).
   */
  send(request: HttpRequest): Promise<HttpAnswer>;
  /** The request as `send` would send it, the token hidden; nothing is sent. */
  preview(request: HttpRequest): RequestPreview;
  /** Reads a list page by page (section 2.6). Up to six pages are fetched ahead of the one in use. */
  pages<T = { [field: string]: unknown }>(
    request: HttpRequest,
    options?: Partial<PageOptions>,
  ): AsyncGenerator<Page<T>, void, undefined>;
}

/** Redirects within the own origin that a GET follows before it gives up. */
const REDIRECT_LIMIT = 5;

/** Pages on their way while one is printed: enough to hide 20 ms of latency, few enough to be polite. */
const PAGES_AHEAD = 6;

/** The URL of a request: the base's prefix and every trailing slash survive (`new URL('/x', base)` would drop a prefix). */
export function joinUrl(baseUrl: URL, path: string, query: HttpRequest['query'] = []): URL {
  const url = new URL(baseUrl.href.replace(/\/+$/, '') + path);
  for (const [name, value] of query) url.searchParams.append(name, value);
  return url;
}

function isSafe(method: string): boolean {
  return method === 'GET' || method === 'HEAD';
}

/** Makes the client of a process. */
export function openClient(options: ClientOptions): Client {
  const { baseUrl, clock, token, log, network, timeoutMs } = options;

  function urlOf({ path, query, isFromOrigin }: HttpRequest): URL {
    return joinUrl(isFromOrigin === true ? new URL(baseUrl.origin) : baseUrl, path, query);
  }

  function headersOf(request: HttpRequest, secret: string): Record<string, string> {
    return {
      accept: acceptJson(options.apiVersion),
      'accept-encoding': 'gzip, br',
      ...(request.body === undefined ? {} : { 'content-type': 'application/json' }),
      ...request.headers,
      authorization: authorization(secret),
    };
  }

  /** One try: from the token to the body, redirects of a GET within the origin included. */
  async function exchangeOnce(
    request: HttpRequest,
    method: string,
    secret: string,
    signal: AbortSignal,
  ): Promise<WireAnswer> {
    let url = urlOf(request);
    for (let hop = 0; ; hop++) {
      const headers = headersOf(request, secret);
      log.request(method, url, headers, request.body);
      const startedAt = clock.monotonicMs();
      let answer: WireAnswer;
      try {
        answer = await readWhole(network.dispatcher, {
          method,
          url,
          headers,
          ...(request.body === undefined ? {} : { body: request.body }),
          headersTimeoutMs: timeoutMs,
          bodyTimeoutMs: timeoutMs,
          signal,
        });
      } catch (error) {
        if (error instanceof ExchangeError && error.head !== undefined) {
          log.response(method, url, error.head.status, error.head.headers, clock.monotonicMs() - startedAt);
        }
        throw error instanceof ExchangeError ? networkFailure(error, url, !isSafe(method)) : error;
      }
      log.response(method, url, answer.status, answer.headers, clock.monotonicMs() - startedAt);
      const target = redirectTarget(answer, url);
      if (target === undefined || !isSafe(method) || target.origin !== url.origin || hop >= REDIRECT_LIMIT)
        return answer;
      url = target;
    }
  }

  async function send(request: HttpRequest): Promise<HttpAnswer> {
    const method = request.method ?? 'GET';
    const signal = request.signal === undefined ? options.signal : AbortSignal.any([options.signal, request.signal]);
    const retries = request.retries ?? options.retries;
    const startedAt = clock.monotonicMs();
    let attempt = 0;
    let isRenewed = false;
    let secret = await token.get();
    for (;;) {
      if (signal.aborted) throw signal.reason;
      let failure: FleetError;
      let mayTryAgain: boolean;
      let askedPauseMs: number | undefined;
      try {
        const answer = await exchangeOnce(request, method, secret, signal);
        const bytes = await readBytes(answer);
        const text = readText(bytes);
        const { status, headers } = answer;
        const whole = {
          status,
          headers,
          text,
          bytes,
          trace: traceOf(headers),
          milliseconds: clock.monotonicMs() - startedAt,
        };
        if (status >= 200 && status < 300) return whole;
        request.onRefusal?.(whole);
        failure = answerFailure(
          status,
          hideInHeaders(headers, options.secrets),
          options.secrets.hide(text),
          request.subject,
        );
        if (answer.status === 401 && !isRenewed) {
          isRenewed = true;
          const renewed = await token.renew(secret);
          if (renewed !== undefined) {
            secret = renewed;
            continue;
          }
        }
        askedPauseMs = readRetryAfter(answer.headers['retry-after'], clock.wallMs());
        mayTryAgain = isSafe(method) ? isPassingStatus(answer.status) : answer.status === 429;
      } catch (error) {
        if (signal.aborted) throw signal.reason;
        if (!(error instanceof FleetError) || error.kind !== 'network') throw error;
        failure = error;
        const wasSent = !(error.cause instanceof ExchangeError) || error.cause.sent;
        mayTryAgain = isPassing(error) && (isSafe(method) || !wasSent);
      }
      if (!mayTryAgain || attempt >= retries) throw failure;
      if (askedPauseMs !== undefined && askedPauseMs > RETRY_AFTER_LIMIT_MS) throw askedToWait(failure, askedPauseMs);
      attempt++;
      const pauseMs = Math.max(askedPauseMs ?? 0, pauseBefore(attempt, clock.random));
      if (request.pause === undefined) {
        log.retry(failure.message, pauseMs, attempt, retries);
        await sleep(clock, pauseMs, signal);
      } else await request.pause(pauseMs, failure);
      secret = await token.get();
    }
  }

  return {
    baseUrl,
    send,
    preview: (request) => ({
      method: request.method ?? 'GET',
      url: urlOf(request).href,
      headers: headersOf(request, '[hidden]'),
      body: request.body,
    }),
    pages: <T>(request: HttpRequest, pageOptions: Partial<PageOptions> = {}) =>
      followPages<T>(request, async (pageRequest): Promise<Page<T>> => readPage<T>(await send(pageRequest)), {
        ahead: PAGES_AHEAD,
        ...pageOptions,
      }),
  };
}

function askedToWait(failure: FleetError, pauseMs: number): FleetError {
  return new FleetError(failure.kind, failure.message, {
    ...(failure.status === undefined ? {} : { status: failure.status }),
    detail: failure.detail,
    trace: failure.trace,
    cause: failure,
    hint: `the service asks to wait ${Math.ceil(pauseMs / 1000)} s, longer than fleet waits by itself; try again then`,
  });
}

function redirectTarget(answer: WireAnswer, url: URL): URL | undefined {
  const location = answer.headers['location'];
  if (answer.status < 300 || answer.status >= 400 || location === undefined || !URL.canParse(location, url))
    return undefined;
  return new URL(location, url);
}

/** The body, whatever coding it came in. Throws a FleetError of kind `service` when it cannot be read. */
async function readBytes(answer: WireAnswer): Promise<Buffer> {
  const coding = (answer.headers['content-encoding'] ?? 'identity').trim().toLowerCase();
  return coding === 'identity' || answer.body.length === 0 ? answer.body : decompress(answer, coding);
}

function readText(bytes: Buffer): string {
  // A byte order mark is no part of the text (RFC 8259 section 8.1 lets readers ignore it).
  const text = bytes.toString('utf8');
  return text.startsWith('\uFEFF') ? text.slice(1) : text;
}

async function decompress(answer: WireAnswer, coding: string): Promise<Buffer> {
  // Loaded only when needed, and without import(), which code from a code cache does not have.
  const zlib = process.getBuiltinModule('node:zlib');
  const { promisify } = process.getBuiltinModule('node:util');
  const read: Record<string, (bytes: Buffer) => Promise<Buffer>> = {
    gzip: promisify(zlib.gunzip),
    'x-gzip': promisify(zlib.gunzip),
    deflate: promisify(zlib.inflate),
    br: promisify(zlib.brotliDecompress),
  };
  const trace: Trace = traceOf(answer.headers);
  const decode = read[coding];
  if (decode === undefined) {
    throw new FleetError(
      'service',
      `the answer is not what the interface says: it is compressed as "${coding}", which was not asked for`,
      {
        status: answer.status,
        trace,
        hint: 'a proxy between you and the service may do that',
      },
    );
  }
  try {
    return await decode(answer.body);
  } catch (error) {
    throw new FleetError(
      'service',
      `the answer is not what the interface says: its ${coding} compression is broken or breaks off`,
      {
        status: answer.status,
        trace,
        cause: error,
        hint: 'try again; if it stays, a proxy damages answers',
      },
    );
  }
}

function hideInHeaders(headers: Headers, secrets: Secrets): Headers {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, secrets.hide(value)]));
}
