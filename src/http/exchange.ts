// One HTTP exchange on the wire: a request, its answer's head and body, and whether the request had left when it failed.

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
  signal: AbortSignal;
}

export interface WireAnswer {
  status: number;
  headers: Headers;
  body: Buffer;
}

/** An exchange that brought no whole answer. `sent`: the request may have reached the service. */
export class ExchangeError extends Error {
  readonly sent: boolean;
  /** The head, when it had come before the body failed. */
  readonly head: { status: number; headers: Headers } | undefined;

  constructor(cause: unknown, sent: boolean, head?: { status: number; headers: Headers }) {
    super(cause instanceof Error ? cause.message : String(cause), { cause });
    this.name = 'ExchangeError';
    this.sent = sent;
    this.head = head;
  }
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
  let head: { status: number; headers: Headers } | undefined;
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
  const flat: Record<string, string> = {};
  for (const [name, value] of Object.entries(headers)) {
    if (value !== undefined) flat[name] = Array.isArray(value) ? value.join(', ') : value;
  }
  return flat;
}

/** Runs an exchange to the end of its body. Rejects with an ExchangeError. */
export function readWhole(dispatcher: Dispatcher, request: WireRequest): Promise<WireAnswer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let status = 0;
    let headers: Headers = {};
    startExchange(dispatcher, request, {
      head(answerStatus, answerHeaders) {
        status = answerStatus;
        headers = answerHeaders;
      },
      data: (chunk) => chunks.push(chunk),
      // undici waits a turn of the event loop before it uses the connection again; a request sent sooner would open another.
      end: () => setImmediate(() => setImmediate(resolve, { status, headers, body: Buffer.concat(chunks) })),
      fail: reject,
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
): Promise<{ status: number; headers: Headers; body: ReadableStream<Uint8Array> }> {
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
