// The HTTP client: headers, token, timeouts, retries, redirects; knows nothing of bicycles.

import { FleetError } from '../errors.js';
import { type Clock, sleep } from '../system/clock.js';
import { HIDDEN, type Secrets } from '../system/secrets.js';
import { declaredCharset, decodeAnswer } from './charset.js';
import {
  ExchangeError,
  type Headers,
  readWhole,
  redirectTarget,
  type WireAnswer,
} from './exchange.js';
import { type Asked, answerFailure, networkFailure, withHint } from './failure.js';
import { acceptJson, authorization, hideInHeaders, traceOf } from './headers.js';
import { isSafe } from './methods.js';
import type { Network } from './network.js';
import { openPageSizer } from './page-size.js';
import { followPages, type ListPage, type PageOptions, readPage } from './pages.js';
import { decide, type TryEnd } from './retry.js';
import type { HttpAnswer, HttpRequest, Page, RequestPreview, Tokens } from './types.js';

/** What the client reports while it works; the context prints it for --trace, --verbose and retries. */
export interface HttpLog {
  request(method: string, url: URL, headers: Headers, body: string | undefined): void;
  response(method: string, url: URL, status: number, headers: Headers, milliseconds: number): void;
  retry(reason: string, pauseMs: number, attempt: number, most: number): void;
  /** A line for `--verbose`. */
  detail?(text: string): void;
}

/** How long, how often and how much a client asks. */
export interface ClientLimits {
  /** Connect, head and silence of the body, each in milliseconds. */
  timeoutMs: number;
  /** From the sending of a request to the last byte of its answer, in milliseconds; each try has its own. Ten times `timeoutMs` when absent. */
  deadlineMs?: number | undefined;
  /** Items on a page (`--page-size`); see openPageSizer. */
  pageSize?: number | undefined;
  /** Extra tries of a safe request. */
  retries: number;
}

export interface ClientOptions extends ClientLimits {
  baseUrl: URL;
  apiVersion: string;
  network: Network;
  token: Tokens;
  log: HttpLog;
  /** What the service must not quote in an error. */
  secrets: Secrets;
  clock: Clock;
  signal: AbortSignal;
  /** The error for every request that changes something; undefined when changes are allowed. */
  readOnlyFailure?: FleetError | undefined;
}

export interface Client {
  readonly baseUrl: URL;
  /**
   * Sends a request and resolves with its answer, whole. Throws a FleetError for any other status and for no answer.
   * What is tried again is up to `retry.ts`.
   */
  send(request: HttpRequest): Promise<HttpAnswer>;
  /** One try: the answer whatever its status. Throws a FleetError when there is none, or none that can be read. */
  probe(request: HttpRequest): Promise<HttpAnswer>;
  /** The request as `send` would send it, the token hidden; nothing is sent. */
  preview(request: HttpRequest): RequestPreview;
  /** Reads a list page by page (section 2.6). Up to eight pages are fetched ahead of the one in use. */
  pages<T = { [field: string]: unknown }>(
    request: HttpRequest,
    options?: Partial<PageOptions>,
  ): AsyncGenerator<ListPage<T>, void, undefined>;
}

/** The deadline of a request that is given none, in timeouts. */
const DEADLINE_TIMEOUTS = 10;

/** Pages on their way while one is printed: enough to hide 20 ms of latency, few enough to be polite. */
const PAGES_AHEAD = 8;

/** The URL of a request: the base's prefix and every trailing slash survive (`new URL('/x', base)` would drop a prefix). */
export function joinUrl(baseUrl: URL, path: string, query: HttpRequest['query'] = []): URL {
  const url = new URL(baseUrl.href.replace(/\/+$/, '') + path);
  // Set at once: with each parameter that is appended the whole address is written anew.
  if (query.length > 0) {
    const before = url.search === '' ? [] : [...url.searchParams];
    url.search = String(
      new URLSearchParams([...before, ...query.map(([name, value]) => [name, value])]),
    );
  }
  return url;
}

/** How one try ended: with an answer, and unless that is a success with what went wrong in words. */
type Try =
  | { answer: HttpAnswer; failure?: undefined }
  | { answer?: HttpAnswer; failure: FleetError; end: TryEnd };

/** Makes the client of a process. */
export function openClient(options: ClientOptions): Client {
  const { token, clock, log } = options;
  const sizer = openPageSizer(options.pageSize);

  async function send(request: HttpRequest): Promise<HttpAnswer> {
    refuseChange(options, request);
    const signal = request.signal ?? options.signal;
    const most = request.retries ?? options.retries;
    const startedAt = clock.monotonicMs();
    let secret = await token.get();
    let repetitions = 0;
    let mayRenew = true;
    for (;;) {
      if (signal.aborted) throw signal.reason;
      const tried = await tryOnce(options, request, { secret, signal, startedAt });
      if (tried.failure === undefined) return tried.answer;
      const { answer, failure, end } = tried;
      if (answer !== undefined) request.onRefusal?.(answer);
      const state = { isSafe: isSafe(request.method ?? 'GET'), repetitions, most, mayRenew };
      const decision = decide(end, state, clock.wallMs(), clock.random);
      if (decision.next === 'give-up') throw askedToWait(failure, decision.askedMs);
      if (decision.next === 'renew') {
        mayRenew = false;
        const renewed = await token.renew(secret);
        if (renewed === undefined) throw failure;
        secret = renewed;
        continue;
      }
      repetitions++;
      if (request.pause === undefined) {
        log.retry(failure.message, decision.pauseMs, repetitions, most);
        await sleep(clock, decision.pauseMs, signal);
      } else await request.pause(decision.pauseMs, failure);
      secret = await token.get();
    }
  }

  return {
    baseUrl: options.baseUrl,
    send,
    async probe(request) {
      refuseChange(options, request);
      const startedAt = clock.monotonicMs();
      const secret = await token.get();
      const tried = await tryOnce(options, request, { secret, signal: options.signal, startedAt });
      if (tried.answer === undefined) throw tried.failure;
      return tried.answer;
    },
    preview: (request) => ({
      method: request.method ?? 'GET',
      url: urlOf(options, request).href,
      headers: headersOf(options, request, HIDDEN),
      body: request.body,
    }),
    pages<T>(request: HttpRequest, pageOptions: Partial<PageOptions> = {}) {
      const reading = { signal: options.signal, ahead: PAGES_AHEAD, ...pageOptions };
      const fetchPage = async (one: HttpRequest): Promise<Page<T>> =>
        readPage<T>(await sizer.send(one, send));
      return followPages<T>(sizer.size(request, reading), fetchPage, reading);
    },
  };
}

/** Throws for a request that changes something when the settings allow no change. */
function refuseChange({ readOnlyFailure }: ClientOptions, request: HttpRequest): void {
  const { method = 'GET', changesNothing = false } = request;
  if (readOnlyFailure !== undefined && !isSafe(method) && !changesNothing) throw readOnlyFailure;
}

function urlOf({ baseUrl }: ClientOptions, { path, query, isFromOrigin }: HttpRequest): URL {
  return joinUrl(isFromOrigin === true ? new URL(baseUrl.origin) : baseUrl, path, query);
}

function headersOf(
  options: ClientOptions,
  request: HttpRequest,
  secret: string,
): Record<string, string> {
  return {
    accept: acceptJson(options.apiVersion),
    'accept-encoding': 'gzip, br',
    // A cache must ask the service whether its copy is current (RFC 9111, section 5.2.1.4).
    'cache-control': 'no-cache',
    ...(request.body === undefined ? {} : { 'content-type': 'application/json' }),
    ...request.headers,
    ...(secret === '' ? {} : { authorization: authorization(secret) }),
  };
}

/** One try, from the head of the request to the end of the body; redirects of a safe request within the origin included. */
async function tryOnce(
  options: ClientOptions,
  request: HttpRequest,
  { secret, signal, startedAt }: { secret: string; signal: AbortSignal; startedAt: number },
): Promise<Try> {
  let url = urlOf(options, request);
  const method = request.method ?? 'GET';
  const headers = headersOf(options, request, secret);
  try {
    for (let hop = 0; ; hop++) {
      const answer = await exchange(options, request, { method, url, headers, signal });
      const target = isSafe(method) ? redirectTarget(answer, url, hop) : undefined;
      const milliseconds = options.clock.monotonicMs() - startedAt;
      if (target === undefined)
        return judge(options, request, toAnswer(answer, options.secrets, milliseconds));
      url = target;
    }
  } catch (error) {
    if (signal.aborted) throw signal.reason;
    if (!(error instanceof ExchangeError)) throw error;
    // It was held back, not lost.
    if (error.cause instanceof FleetError) throw error.cause;
    const end = { code: error.code, wasSent: error.sent };
    return { failure: networkFailure(error, askedBy(request, url)), end };
  }
}

/** One exchange in the log. */
async function exchange(
  {
    network,
    timeoutMs,
    deadlineMs = DEADLINE_TIMEOUTS * timeoutMs,
    clock,
    log,
    secrets,
  }: ClientOptions,
  { body, isSecret, limitBytes, holdBack }: HttpRequest,
  line: { method: string; url: URL; headers: Headers; signal: AbortSignal },
): Promise<WireAnswer> {
  const { method, url } = line;
  log.request(method, url, line.headers, isSecret === true ? HIDDEN : body);
  const startedAt = clock.monotonicMs();
  const tell = ({ status, headers }: Pick<WireAnswer, 'status' | 'headers'>) =>
    log.response(method, url, status, headers, Math.round(clock.monotonicMs() - startedAt));
  try {
    const answer = await readWhole(
      network.dispatcherTo(url),
      { ...line, body, limitBytes, holdBack, timeoutMs },
      { clock, milliseconds: deadlineMs },
    );
    tell(answer);
    return answer;
  } catch (error) {
    if (!(error instanceof ExchangeError) || error.head === undefined) throw error;
    tell(error.head);
    // As those of an answer, they end up in results.
    throw Object.assign(error, {
      head: { ...error.head, headers: hideInHeaders(error.head.headers, secrets) },
    });
  }
}

/** The answer as the client's users get it; the body is decoded for those who read its text. */
function toAnswer(
  { status, headers: sent, body }: WireAnswer,
  secrets: Secrets,
  milliseconds: number,
): HttpAnswer {
  // They are quoted in results, reports and errors; the body is what was asked for.
  const headers = hideInHeaders(sent, secrets);
  const trace = traceOf(headers);
  let bytes: Buffer | undefined = body;
  let text: string | undefined;
  return {
    status,
    headers,
    trace,
    get bytes() {
      return bytes ?? Buffer.from(text ?? '');
    },
    get text() {
      text ??= decodeAnswer(bytes ?? Buffer.alloc(0), { status, headers, trace });
      // The bytes of a large JSON answer would double its memory; `bytes` encodes the text again.
      if (isUtf8Json(sent['content-type'])) bytes = undefined;
      return text;
    },
    milliseconds: Math.round(milliseconds),
  };
}

function askedBy({ method = 'GET', shownBy }: HttpRequest, url: URL): Asked {
  return { url, isChange: !isSafe(method), shownBy };
}

/** What the service quotes of our secrets is hidden first of all: before the text is parsed, cut or quoted. */
function judge(options: ClientOptions, request: HttpRequest, answer: HttpAnswer): Try {
  const { status, headers } = answer;
  if (status >= 200 && status < 300) return { answer };
  const more = {
    ...askedBy(request, urlOf(options, request)),
    refusalHint: options.token.refusalHint,
    isSecret: request.isSecret,
  };
  const failure = answerFailure(
    status,
    headers,
    options.secrets.hide(answer.text),
    request.subject,
    more,
  );
  return { answer, failure, end: { status, retryAfter: headers['retry-after'] } };
}

function isUtf8Json(contentType = ''): boolean {
  const charset = declaredCharset(contentType) ?? 'utf-8';
  return /\bjson\b/i.test(contentType) && /^utf-?8$/i.test(charset);
}

function askedToWait(failure: FleetError, pauseMs: number | undefined): FleetError {
  if (pauseMs === undefined) return failure;
  const seconds = Math.ceil(pauseMs / 1000);
  return withHint(
    failure,
    `the service asks to wait ${seconds} s, longer than fleet waits by itself; try again then`,
  );
}
