// One HTTP exchange on the wire: a request, its answer's head and body, and whether the request had left when it failed.

import type { Clock } from '../clock.js';
import { ANSWER_LIMIT_BYTES, type Body, type BodyError, ERROR_BODY_LIMIT_BYTES, openBody } from './body.js';
import type { Dispatcher } from './network.js';

export type Headers = Readonly<Record<string, string>>;

export interface WireRequest {
  method: string;
  url: URL;
  headers: Headers;
  body?: string | Uint8Array;
  /** How long the answer's head may take, and how long its body may be silent; 0 is for ever. */
  headersTimeoutMs: number;
  bodyTimeoutMs: number;
  /** The most that is read of a success, unpacked; 64 MB when absent. */
  limitBytes?: number | undefined;
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

function codeOf(error: unknown): string {
  for (let at = error, depth = 0; at instanceof Error && depth < 5; at = at.cause, depth++) {
    // undici's own words for a plain request that the proxy answers so.
    if (at.message === 'Proxy Authentication Required (407)') return 'EPROXYREFUSEDLOGIN';
    const code = (at as NodeJS.ErrnoException).code;
    if (typeof code === 'string') return code;
    // undici's parser says what it stumbled over, not always with a code.
    if (at.name === 'HTTPParserError') return 'HPE_INVALID_CONSTANT';
    if (at instanceof AggregateError && at.errors.length > 0) return codeOf(at.errors[0]);
  }
  return '';
}

export interface Receiver {
  head(status: number, headers: Headers): void;
  data(chunk: Buffer): void;
  end(): void;
  fail(error: ExchangeError): void;
}

export interface Flow {
  pause(): void;
  resume(): void;
  abort(reason: Error): void;
}

/** Starts an exchange; everything that happens is told to the receiver, an end or a failure last and once. */
export function startExchange(dispatcher: Dispatcher, request: WireRequest, receiver: Receiver): Flow {
  let controller: Dispatcher.DispatchController | undefined;
  let head: Head | undefined;
  let sent = false;
  let isOver = false;

  const finish = (tell: () => void) => {
    if (isOver) return;
    isOver = true;
    request.signal.removeEventListener('abort', onAbort);
    tell();
  };
  const abort = (reason: Error) => {
    finish(() => receiver.fail(new ExchangeError(reason, sent, head)));
    controller?.abort(reason);
  };
  const onAbort = () => abort(request.signal.reason);

  if (request.signal.aborted) {
    queueMicrotask(onAbort);
    return { pause() {}, resume() {}, abort };
  }
  request.signal.addEventListener('abort', onAbort);
  dispatcher.dispatch(
    {
      origin: request.url.origin,
      path: request.url.pathname + request.url.search,
      method: request.method as Dispatcher.HttpMethod,
      headers: request.headers,
      body: request.body ?? null,
      headersTimeout: request.headersTimeoutMs,
      bodyTimeout: request.bodyTimeoutMs,
    },
    {
      // Called when a connection stands and the request is about to be written on it, not before.
      onRequestStart(started) {
        controller = started;
        if (isOver) started.abort(new Error('given up while connecting'));
        else sent = true;
      },
      onResponseStart(_, status, headers) {
        if (status < 200 || isOver) return;
        head = { status, headers: flatten(headers) };
        receiver.head(status, head.headers);
      },
      onResponseData(_, chunk) {
        if (!isOver) receiver.data(chunk);
      },
      onResponseEnd() {
        finish(() => receiver.end());
      },
      onResponseError(_, error) {
        finish(() => receiver.fail(new ExchangeError(error, sent, head)));
      },
    },
  );
  return { pause: () => controller?.pause(), resume: () => controller?.resume(), abort };
}

function flatten(headers: Record<string, string | string[] | undefined>): Headers {
  return Object.fromEntries(
    Object.entries(headers).flatMap(([name, value]) =>
      value === undefined ? [] : [[name, Array.isArray(value) ? value.join(', ') : value]],
    ),
  );
}

/**
 * Runs an exchange to the end of its body. An answer that is no success counts as whole when its body breaks off or is longer than what
 * is read of it: its status says enough. Rejects with a BodyError for a success that cannot be unpacked or is too large, with an
 * ExchangeError for everything else.
 */
export function readWhole(dispatcher: Dispatcher, request: WireRequest, deadline?: Deadline): Promise<WireAnswer> {
  return new Promise((resolve, reject) => {
    let head: Head | undefined;
    let body: Body | undefined;
    let flow: Flow | undefined;
    const cancelDeadline = deadline?.clock.after(deadline.milliseconds, () => {
      const seconds = deadline.milliseconds / 1000;
      flow?.abort(Object.assign(new Error(`not done within ${seconds} s`), { code: DEADLINE_CODE }));
    });
    const settle = (settled: () => void) => {
      cancelDeadline?.();
      settled();
    };
    const isSuccess = () => head !== undefined && head.status >= 200 && head.status < 300;
    /** With what came of the body. */
    const resolveAsFarAsItCame = ({ status, headers }: Head) =>
      settle(() => resolve({ status, headers, body: body?.soFar() ?? Buffer.alloc(0) }));
    const onUnreadable = (error: BodyError) => {
      const { status, headers } = head ?? { status: 0, headers: {} };
      if (isSuccess()) settle(() => reject(Object.assign(error, { head: { status, headers } })));
      else resolveAsFarAsItCame({ status, headers });
      flow?.abort(error);
    };
    flow = startExchange(dispatcher, request, {
      head(status, headers) {
        head = { status, headers };
        body = openBody(
          headers['content-encoding'],
          isSuccess() ? (request.limitBytes ?? ANSWER_LIMIT_BYTES) : ERROR_BODY_LIMIT_BYTES,
          {
            hasRoom: () => flow?.resume(),
            // undici waits a turn of the event loop before it uses the connection again; a request sent sooner would open another.
            isWhole: (bytes) =>
              settle(() => setImmediate(() => setImmediate(resolve, { status, headers, body: bytes }))),
            isUnreadable: onUnreadable,
          },
        );
      },
      data(chunk) {
        if (body?.take(chunk) === false) flow?.pause();
      },
      end: () => body?.end(),
      fail(error) {
        if (head !== undefined && !isSuccess() && !request.signal.aborted) resolveAsFarAsItCame(head);
        else settle(() => reject(error));
      },
    });
  });
}

/** How many bytes may wait for a slow reader before the socket is asked to hold back. */
const STREAM_BUFFER_BYTES = 64 * 1024;

/**
 * Runs an exchange and resolves with its head; the body is a web stream that holds the socket back while nobody reads.
 * A body that breaks off errors the stream with an ExchangeError.
 */
export function readStream(
  dispatcher: Dispatcher,
  request: WireRequest,
): Promise<Head & { body: ReadableStream<Uint8Array> }> {
  return new Promise((resolve, reject) => {
    let source: ReadableStreamDefaultController<Uint8Array>;
    const body = new ReadableStream<Uint8Array>(
      {
        start(controller) {
          source = controller;
        },
        pull: () => flow?.resume(),
        cancel: (reason) => flow?.abort(reason instanceof Error ? reason : new Error('the reader stopped')),
      },
      { highWaterMark: STREAM_BUFFER_BYTES, size: (chunk) => chunk.byteLength },
    );
    let flow: Flow | undefined;
    flow = startExchange(dispatcher, request, {
      head: (status, headers) => resolve({ status, headers, body }),
      data(chunk) {
        source.enqueue(chunk);
        if ((source.desiredSize ?? 0) <= 0) flow?.pause();
      },
      end: () => source.close(),
      fail(error) {
        if (error.head === undefined) reject(error);
        else source.error(error);
      },
    });
  });
}
