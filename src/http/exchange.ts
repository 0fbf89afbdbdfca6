// One HTTP exchange: request, answer, and whether the request had been sent when it failed.

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
  /** How long the answer's head may take, and how long its body may be silent; 0 is for ever. */
  timeoutMs: number;
  /** The most that is read of a success, unpacked; 64 MB when absent. */
  limitBytes?: number | undefined;
  /** Asked right before the bytes are written; with an error none are. */
  holdBack?: (() => Error | undefined) | undefined;
  signal: AbortSignal;
}

/** The time from the sending of a request to the last byte of its answer, whatever comes in between. */
export interface Deadline {
  clock: Clock;
  milliseconds: number;
}

export interface Head {
  status: number;
  headers: Headers;
}

export interface WireAnswer extends Head {
  /** Unpacked. Of an answer that is no success the beginning, as far as it came. */
  body: Buffer;
}

/** An exchange that brought no whole answer. `sent`: the request may have reached the service. */
export class ExchangeError extends Error {
  readonly sent: boolean;
  /** The head, when it had come before the body failed. */
  readonly head: Head | undefined;
  /** The code of Node or undici for what happened; '' for none. */
  readonly code: string;

  constructor(cause: unknown, sent: boolean, head?: Head) {
    super(cause instanceof Error ? cause.message : String(cause), { cause });
    this.name = 'ExchangeError';
    this.code = codeOf(cause);
    // What a proxy refuses does not reach the service.
    this.sent = sent && !this.code.startsWith('EPROXYREFUSED');
    this.head = head;
  }
}

/** The code of a request that was ended by its deadline. */
export const DEADLINE_CODE = 'EDEADLINE';

/** Errors in errors are looked through so deep. */
const DEEPEST_CAUSE = 8;

/** The code of an error, or else of what caused it; '' for none. */
function codeOf(error: unknown, depth = 1): string {
  if (!(error instanceof Error) || depth > DEEPEST_CAUSE) return '';
  // undici asserts a status of three digits.
  if (error.name === 'AssertionError') return 'HPE_INVALID_CONSTANT';
  // undici's own words for a plain request that the proxy answers so.
  if (error.message === 'Proxy Authentication Required (407)') return 'EPROXYREFUSEDLOGIN';
  const { code } = error as NodeJS.ErrnoException;
  if (typeof code === 'string' && code !== '') return code;
  // undici's parser says what it stumbled over, not always with a code.
  if (error.name === 'HTTPParserError') return 'HPE_INVALID_CONSTANT';
  const causes = error instanceof AggregateError ? [...error.errors, error.cause] : [error.cause];
  return causes.map((cause) => codeOf(cause, depth + 1)).find((found) => found !== '') ?? '';
}

/** An answer whose body is still on its way; until it is read the socket is held back, and destroying it ends the exchange. */
export interface OpenAnswer extends Head {
  body: Readable;
}

/** How many bytes may wait for a slow reader before the socket is asked to hold back. */
const BUFFER_BYTES = 64 * 1024;

/** Starts an exchange and resolves with its head. Rejects with an ExchangeError; a body that breaks off fails with one. */
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
        // Every body ends here: an error for each would cost a twentieth of a bulk run.
        if (!isOver) abort(error ?? new Error('the reader stopped'));
        done(error);
      },
    });
    // The reader of the body gets the error; without a reader nobody needs it.
    body.on('error', () => {});
    const cancelDeadline = deadline?.clock.after(deadline.milliseconds, () =>
      abort(lateError(deadline)),
    );
    if (request.signal.aborted) return onAbort();
    request.signal.addEventListener('abort', onAbort);
    dispatcher.dispatch(dispatchOptions(request), {
      // Called when the connection is made and the request is about to be written, not before.
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

/** Redirects that are followed before it is called a failure. */
const REDIRECT_LIMIT = 5;

/** Where the redirect number `hop` leads, counted from 0, if it is followed: the token goes to no other origin (cli.md section 4). */
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
 * Runs an exchange to the end of its body. An answer that is no success counts as whole when its body breaks off or is longer than what
 * is read of it: its status says enough. Rejects with an ExchangeError.
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
  // undici waits a turn of the event loop before it uses the connection again; a request sent sooner would open another.
  await new Promise(setImmediate);
  return { ...head, body: bytes };
}
