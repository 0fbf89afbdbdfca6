// Sends one HTTP request and reads its response. The error of a failed request states whether the
// request had been sent.

import { Readable } from 'node:stream';
import type { Clock } from '../system/clock.js';
import { ANSWER_LIMIT_BYTES, collectBody, ERROR_BODY_LIMIT_BYTES } from './body.js';
import type { Dispatcher } from './network.js';

export type Headers = Readonly<Record<string, string>>;

export interface WireRequest {
  method: string;
  url: URL;
  headers: Headers;
  body?: string | Uint8Array | undefined;
  /**
   * The time limit for the arrival of the response headers, and for each pause in the body. 0 means
   * no limit.
   */
  timeoutMs: number;
  /** The maximum size of a success response after decompression. Default: 64 MB. */
  limitBytes?: number | undefined;
  /** Called immediately before the bytes are written. If it returns an error, nothing is sent. */
  holdBack?: (() => Error | undefined) | undefined;
  signal: AbortSignal;
}

/** Limits the time from sending a request to the last byte of its response. */
export interface Deadline {
  clock: Clock;
  milliseconds: number;
}

export interface Head {
  status: number;
  headers: Headers;
}

export interface WireAnswer extends Head {
  /** The decompressed body. For an error response, this may be only its beginning. */
  body: Buffer;
}

/**
 * The error for a request that got no complete response. `sent` is true when the request may have
 * reached the service.
 */
export class ExchangeError extends Error {
  readonly sent: boolean;
  /** The status and headers of the response, if they arrived before the body failed. */
  readonly head: Head | undefined;
  /** The Node or undici error code, or '' when the error has no code. */
  readonly code: string;

  constructor(cause: unknown, sent: boolean, head?: Head) {
    super(cause instanceof Error ? cause.message : String(cause), { cause });
    this.name = 'ExchangeError';
    this.code = codeOf(cause);
    // A request that the proxy refuses does not reach the service.
    this.sent = sent && !this.code.startsWith('EPROXYREFUSED');
    this.head = head;
  }
}

/** The error code of a request that exceeded its deadline. */
export const DEADLINE_CODE = 'EDEADLINE';

/**
 * Returns the error code, or the first code among the causes of the error. Returns '' when none of
 * them has a code.
 */
function codeOf(error: unknown): string {
  if (!(error instanceof Error)) return '';
  // undici throws an assertion error when the status does not have three digits.
  if (error.name === 'AssertionError') return 'HPE_INVALID_CONSTANT';
  // undici uses this message when the proxy answers a plain http request with 407.
  if (error.message === 'Proxy Authentication Required (407)') return 'EPROXYREFUSEDLOGIN';
  const { code } = error as NodeJS.ErrnoException;
  if (typeof code === 'string' && code !== '') return code;
  // Some errors of undici's parser do not have a code.
  if (error.name === 'HTTPParserError') return 'HPE_INVALID_CONSTANT';
  const causes = error instanceof AggregateError ? [...error.errors, error.cause] : [error.cause];
  return causes.map((cause) => codeOf(cause)).find((found) => found !== '') ?? '';
}

/**
 * A response whose body is still arriving. The socket is paused until the body is read. Destroying
 * the body cancels the request.
 */
export interface OpenAnswer extends Head {
  body: Readable;
}

/** The number of bytes that are buffered for a slow reader before the socket is paused. */
const BUFFER_BYTES = 64 * 1024;

/**
 * Sends a request and resolves when the status and headers of the response arrive. Rejects with an
 * ExchangeError. When the body fails later, its stream emits an ExchangeError.
 */
export function openExchange(
  dispatcher: Dispatcher,
  request: WireRequest,
  deadline?: Deadline,
): Promise<OpenAnswer> {
  return new Promise((resolve, reject) => {
    let controller: Dispatcher.DispatchController | undefined;
    let head: Head | undefined;
    let sent = false;
    let isOver = false;

    const finish = (error?: unknown) => {
      if (isOver) return;
      isOver = true;
      cancelDeadline?.();
      request.signal.removeEventListener('abort', onAbort);
      if (error === undefined) return void body.push(null);
      const failure = new ExchangeError(error, sent, head);
      if (head === undefined) reject(failure);
      else body.destroy(failure);
    };
    const abort = (reason: Error) => {
      if (isOver) return;
      finish(reason);
      controller?.abort(reason);
    };
    const onAbort = () => abort(request.signal.reason);
    const body = new Readable({
      highWaterMark: BUFFER_BYTES,
      read: () => controller?.resume(),
      destroy(error, done) {
        // `destroy` is also called at the normal end of the body. No error is created in that case,
        // because creating the errors would take 5 % of a bulk run's time.
        if (!isOver) abort(error ?? new Error('the reader stopped'));
        done(error);
      },
    });
    // The code that reads the body receives this error. When no code reads the body, this listener
    // prevents an uncaught error.
    body.on('error', () => {});
    const cancelDeadline = deadline?.clock.after(deadline.milliseconds, () =>
      abort(lateError(deadline)),
    );
    if (request.signal.aborted) return onAbort();
    request.signal.addEventListener('abort', onAbort);
    dispatcher.dispatch(dispatchOptions(request), {
      // undici calls this when the connection is established, just before it writes the request.
      onRequestStart(started) {
        controller = started;
        const reason = isOver ? new Error('given up while connecting') : request.holdBack?.();
        if (reason === undefined) sent = true;
        else {
          finish(reason);
          started.abort(reason);
        }
      },
      onResponseStart(_, status, headers) {
        if (status < 200 || isOver) return;
        head = { status, headers: flatten(headers) };
        resolve({ ...head, body });
      },
      onResponseData(_, chunk) {
        if (!isOver && !body.push(chunk)) controller?.pause();
      },
      onResponseEnd: () => finish(),
      onResponseError: (_, error) => finish(error),
    });
  });
}

function lateError({ milliseconds }: Deadline): Error {
  return Object.assign(new Error(`not done within ${milliseconds / 1000} s`), {
    code: DEADLINE_CODE,
  });
}

function dispatchOptions(request: WireRequest): Dispatcher.DispatchOptions {
  return {
    origin: request.url.origin,
    path: request.url.pathname + request.url.search,
    method: request.method as Dispatcher.HttpMethod,
    headers: request.headers,
    body: request.body ?? null,
    headersTimeout: request.timeoutMs,
    bodyTimeout: request.timeoutMs,
  };
}

/** Follows at most this many redirects. */
const REDIRECT_LIMIT = 5;

/**
 * Returns the target of a redirect, or undefined when fleet must not follow it. Another origin must
 * never receive the token (cli.md section 4). `hop` counts the redirects from 0.
 */
export function redirectTarget({ status, headers }: Head, url: URL, hop: number): URL | undefined {
  const location = headers['location'];
  if (status < 300 || status >= 400 || location === undefined || !URL.canParse(location, url))
    return undefined;
  const target = new URL(location, url);
  return target.origin === url.origin && hop < REDIRECT_LIMIT ? target : undefined;
}

function flatten(headers: Record<string, string | string[] | undefined>): Headers {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name, [value].flat().join(', ')]),
  );
}

/**
 * Sends a request and reads the whole response. Rejects with an ExchangeError. Resolves even when
 * the body of an error response is incomplete or oversized, because the status of such a response
 * is sufficient.
 */
export async function readWhole(
  dispatcher: Dispatcher,
  request: WireRequest,
  deadline: Deadline,
): Promise<WireAnswer> {
  const { body, ...head } = await openExchange(dispatcher, request, deadline);
  const isWanted = head.status >= 200 && head.status < 300;
  const limitBytes = isWanted ? (request.limitBytes ?? ANSWER_LIMIT_BYTES) : ERROR_BODY_LIMIT_BYTES;
  const { bytes, error } = await collectBody(body, head.headers, limitBytes);
  if (error !== undefined && (isWanted || request.signal.aborted))
    throw error instanceof ExchangeError ? error : new ExchangeError(error, true, head);
  // undici needs one turn of the event loop before it can reuse the connection. Without this wait,
  // the next request would open another connection.
  await new Promise(setImmediate);
  return { ...head, body: bytes };
}

/**
 * Sends a request and returns only the status and headers. Ignores a body that is incomplete, too
 * large or damaged. Rejects with an ExchangeError when no response arrives.
 */
export async function readHead(
  dispatcher: Dispatcher,
  request: WireRequest,
  deadline: Deadline,
): Promise<Head> {
  const { body, ...head } = await openExchange(dispatcher, request, deadline);
  // The connection can be reused only after the body was read to its end.
  await collectBody(body, head.headers, ERROR_BODY_LIMIT_BYTES);
  return head;
}
