// The HTTP client. Adds headers and the token, and handles timeouts, retries and redirects. It
// knows nothing about bicycles.

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
import { type Asked, answerFailure, networkFailure } from './failure.js';
import { acceptJson, authorization, hideInHeaders, traceOf } from './headers.js';
import { isSafe } from './methods.js';
import type { Network } from './network.js';
import { openPageSizer } from './page-size.js';
import { followPages, type ListPage, PAGES_AHEAD, type PageOptions } from './pages.js';
import { decide, type TryEnd } from './retry.js';
import type { HttpAnswer, HttpRequest, RequestPreview, Tokens } from './types.js';

/**
 * Receives reports about each request. The context prints them for --trace, --verbose and retries.
 */
export interface HttpLog {
  request(method: string, url: URL, headers: Headers, body: string | undefined): void;
  response(method: string, url: URL, status: number, headers: Headers, milliseconds: number): void;
  retry(reason: string, pauseMs: number, attempt: number, most: number): void;
  /** Prints a line for `--verbose`. */
  detail?(text: string): void;
}

/** The timeouts, retries and page size of a client. */
export interface ClientLimits {
  /**
   * The time limit in milliseconds for each of three waits. Fleet waits for the connection, for the
   * response headers, and for further data of the body.
   */
  timeoutMs: number;
  /**
   * The time limit in milliseconds from sending a request to the last byte of its response. It
   * applies to each try separately. Default: ten times `timeoutMs`.
   */
  deadlineMs?: number | undefined;
  /**
   * The number of items per page (`--page-size`). It is added only to list requests; see
   * `openPageSizer`.
   */
  pageSize?: number | undefined;
  /** The maximum number of retries of a request. */
  retries: number;
}

export interface ClientOptions extends ClientLimits {
  baseUrl: URL;
  apiVersion: string;
  network: Network;
  token: Tokens;
  log: HttpLog;
  /** Secrets that must be hidden when the service repeats them. */
  secrets: Secrets;
  clock: Clock;
  signal: AbortSignal;
  /**
   * The error that is thrown for a request that would change something. Undefined when changes are
   * allowed.
   */
  readOnlyFailure?: FleetError | undefined;
}

export interface Client {
  readonly baseUrl: URL;
  /**
   * Sends a request and returns the complete response. Throws a FleetError when the status is not
   * 2xx or no response arrives. `retry.ts` decides whether a failed request is sent again.
   */
  send(request: HttpRequest): Promise<HttpAnswer>;
  /**
   * Sends a request once and returns the response with any status. Throws a FleetError when no
   * readable response arrives.
   */
  probe(request: HttpRequest): Promise<HttpAnswer>;
  /** Returns the request that `send` would send, with the token hidden. Sends nothing. */
  preview(request: HttpRequest): RequestPreview;
  /**
   * Reads a list page by page (section 2.6). Requests up to ten pages ahead of the current one.
   */
  pages<T = { [field: string]: unknown }>(
    request: HttpRequest,
    options?: Partial<PageOptions>,
  ): AsyncGenerator<ListPage<T>, void, undefined>;
}

/** The default deadline of a request, as a multiple of its timeout. */
const DEADLINE_TIMEOUTS = 10;

/**
 * Returns a request's URL. Keeps the path prefix of the base URL, which `new URL('/x', base)` would
 * drop, and keeps trailing slashes.
 */
export function joinUrl(baseUrl: URL, path: string, query: HttpRequest['query'] = []): URL {
  const url = new URL(baseUrl.href.replace(/\/+$/, '') + path);
  // All parameters are set at once, because each append would serialize the whole URL again.
  if (query.length > 0) {
    const before = url.search === '' ? [] : [...url.searchParams];
    url.search = String(
      new URLSearchParams([...before, ...query.map(([name, value]) => [name, value])]),
    );
  }
  return url;
}

/** The outcome of one try: a success response, or a failure with the response if one arrived. */
type Try =
  | { answer: HttpAnswer; failure?: undefined }
  | { answer?: HttpAnswer; failure: FleetError; end: TryEnd };

/** Opens an HTTP client. */
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
      const reading = { signal: options.signal, ahead: PAGES_AHEAD, clock, ...pageOptions };
      const sendSized = (one: HttpRequest) => sizer.send(one, send);
      return followPages<T>(sizer.size(request, reading), sendSized, reading);
    },
  };
}

/**
 * Throws the configured error when the request would change something and the profile is read-only.
 */
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
    // Makes caches ask the service whether their copy is current (RFC 9111, section 5.2.1.4).
    'cache-control': 'no-cache',
    ...(request.body === undefined ? {} : { 'content-type': 'application/json' }),
    ...request.headers,
    ...(secret === '' ? {} : { authorization: authorization(secret) }),
  };
}

/**
 * Sends a request once and reads the whole response. Follows redirects within the same origin for
 * GET and HEAD requests.
 */
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
        return judge(options, request, toAnswer(answer, request, options, milliseconds));
      url = target;
    }
  } catch (error) {
    if (signal.aborted) throw signal.reason;
    if (!(error instanceof ExchangeError)) throw error;
    // The hook `holdBack` stopped the request before any of its bytes were sent.
    if (error.cause instanceof FleetError) throw error.cause;
    const end = { code: error.code, wasSent: error.sent };
    const { hide } = options.secrets;
    return { failure: networkFailure(error, askedBy(request, url), hide), end };
  }
}

/** Sends one request and reads its response. Logs both. */
async function exchange(
  {
    network,
    timeoutMs,
    deadlineMs = DEADLINE_TIMEOUTS * timeoutMs,
    clock,
    log,
    secrets,
  }: ClientOptions,
  { body, isSecret, answersToken, limitBytes, holdBack }: HttpRequest,
  line: { method: string; url: URL; headers: Headers; signal: AbortSignal },
): Promise<WireAnswer> {
  const { method, url } = line;
  log.request(method, url, line.headers, isSecret === true ? HIDDEN : body);
  const startedAt = clock.monotonicMs();
  const tell = ({ status, headers }: Pick<WireAnswer, 'status' | 'headers'>) =>
    log.response(
      method,
      url,
      status,
      isSecret === true ? withoutValues(headers) : headers,
      Math.round(clock.monotonicMs() - startedAt),
    );
  try {
    const answer = await readWhole(
      network.dispatcherTo(url),
      { ...line, body, limitBytes, holdBack, timeoutMs },
      { clock, milliseconds: deadlineMs },
    );
    tell(answer);
    const isQuoted = isSecret === true && (answersToken === true || !isSuccess(answer.status));
    return isQuoted ? { ...answer, headers: harmlessHeaders(answer.headers) } : answer;
  } catch (error) {
    if (!(error instanceof ExchangeError) || error.head === undefined) throw error;
    tell(error.head);
    const { headers } = error.head;
    // The secrets in a failed response's headers are hidden too, because these headers also appear
    // in results.
    throw Object.assign(error, {
      head: {
        ...error.head,
        headers: isSecret === true ? harmlessHeaders(headers) : hideInHeaders(headers, secrets),
      },
    });
  }
}

/**
 * The only headers that are shown when the request contained a secret. Any other response header
 * may repeat the secret, even in an altered form that `hide` does not find.
 */
const HARMLESS: readonly (readonly [name: RegExp, value: RegExp])[] = [
  [/^content-type$/, /^[\w.+-]{1,40}\/[\w.+-]{1,40}(?:; ?charset=[\w-]{1,20})?$/],
  [/^content-length$/, /^\d{1,15}$/],
  [/^retry-after$/, /^\d{1,9}$/],
  [/^date$/, /^[A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d GMT$/],
  [/^x-.+-requestid$/, /^[0-9a-f-]{1,64}$/i],
];

function isHarmless(name: string, value: string): boolean {
  return HARMLESS.some(([names, values]) => names.test(name) && values.test(value));
}

/** Returns the response headers that are safe to show, because they cannot contain a secret. */
function harmlessHeaders(headers: Headers): Headers {
  return Object.fromEntries(
    Object.entries(headers).filter(([name, value]) => isHarmless(name, value)),
  );
}

/**
 * Hides the values of all headers that may contain a secret. Known tokens are hidden anyway, but
 * the response may contain a new token that fleet does not know yet.
 */
function withoutValues(headers: Headers): Headers {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [
      name,
      isHarmless(name, value) ? value : HIDDEN,
    ]),
  );
}

/**
 * Converts a response for the caller and hides the tokens that the response repeats. Decodes the
 * body only when the caller reads its text.
 */
function toAnswer(
  { status, headers: sent, body }: WireAnswer,
  { answersToken }: HttpRequest,
  { secrets }: ClientOptions,
  milliseconds: number,
): HttpAnswer {
  const headers = hideInHeaders(sent, secrets);
  const trace = traceOf(headers);
  let bytes: Buffer | undefined = body;
  let text: string | undefined;
  const hideIn = (decoded: string) => {
    if (!isSuccess(status)) return secrets.hide(decoded);
    return answersToken === true ? decoded : secrets.hideInData(decoded);
  };
  const readText = () => {
    if (text !== undefined) return text;
    const decoded = decodeAnswer(bytes ?? Buffer.alloc(0), { status, headers, trace });
    text = hideIn(decoded);
    // Drops the bytes of a JSON response after decoding, because keeping bytes and text needs twice
    // the memory. Also drops bytes that contain a secret. After that, the getter `bytes` encodes
    // the text again when a caller needs bytes.
    if (isUtf8Json(sent['content-type']) || text !== decoded) bytes = undefined;
    return text;
  };
  return {
    status,
    headers,
    trace,
    get bytes() {
      // An error response may repeat a token in any encoding. Its text is decoded first, so that
      // `hide` finds the token.
      if (!isSuccess(status)) readText();
      if (bytes === undefined) return Buffer.from(text ?? '');
      return answersToken === true ? bytes : secrets.hideInBytes(bytes);
    },
    get text() {
      return readText();
    },
    milliseconds: Math.round(milliseconds),
    hide: secrets.hide,
  };
}

function isSuccess(status: number): boolean {
  return status >= 200 && status < 300;
}

function askedBy({ method = 'GET', shownBy }: HttpRequest, url: URL): Asked {
  return { url, isChange: !isSafe(method), shownBy };
}

/**
 * Turns a response into a success or a failure by its status. Secrets in `answer.text` are already
 * hidden, so the failure can quote and truncate the text.
 */
function judge(options: ClientOptions, request: HttpRequest, answer: HttpAnswer): Try {
  const { status, headers } = answer;
  if (isSuccess(status)) return { answer };
  const more = {
    ...askedBy(request, urlOf(options, request)),
    refusalHint: options.token.refusalHint,
    isSecret: request.isSecret,
  };
  const failure = answerFailure(status, headers, answer.text, request.subject, more);
  return { answer, failure, end: { status, retryAfter: headers['retry-after'] } };
}

function isUtf8Json(contentType = ''): boolean {
  const charset = declaredCharset(contentType) ?? 'utf-8';
  return /\bjson\b/i.test(contentType) && /^utf-?8$/i.test(charset);
}

function askedToWait(failure: FleetError, pauseMs: number | undefined): FleetError {
  if (pauseMs === undefined) return failure;
  const seconds = Math.ceil(pauseMs / 1000);
  return failure.with({
    hint: `the service asks to wait ${seconds} s, longer than fleet waits automatically; try again then`,
  });
}
