// The loopback HTTP server of both ports. It adds trace headers, records every request, and applies
// latency and error faults.
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Faults, FaultTarget } from './faults.js';
import type { ServedFleet } from './fleet.js';
import { refusalOf } from './guard.js';
import { answerOf, refuse, refuseThrottled, type ServedAnswer } from './problem.js';

/** The server listens only on loopback, so that other machines cannot connect. */
const HOST = '127.0.0.1';

/**
 * How long an idle connection stays open. Clients close idle connections earlier than this, so the
 * server never closes a connection that a client is about to use.
 */
const KEEP_ALIVE_MS = 120_000;

/** A request and its response status. */
export interface RecordedRequest {
  server: 'api' | 'push';
  method: string;
  /** The unchanged request target, including the query. */
  url: string;
  /** The headers by name, in lower case. */
  headers: { [name: string]: string | string[] | undefined };
  /**
   * The body as text. It is empty when there is no body, or when a fault refused the request before
   * the body was read.
   */
  body: string;
  /** When the request arrived, in milliseconds since the epoch. */
  at: number;
  /** The `X-Service-RequestId` header of the response. */
  requestId: string;
  /**
   * The response status. It is 0 until the response is sent, and stays 0 when the connection is
   * closed without a response.
   */
  status: number;
}

/**
 * A line of the log that `fleet sandbox` prints. It has no headers, because they contain the token.
 */
export type RequestLine = Pick<RecordedRequest, 'method' | 'url' | 'status'>;

/** A request that is being processed. */
export interface Exchange {
  incoming: IncomingMessage;
  outgoing: ServerResponse;
  record: RecordedRequest;
  /** Whether a fault closes the connection before the response is sent. */
  cut: boolean;
  /**
   * Called once with the status, right before the response is sent. The status is 0 when the
   * connection is closed without a response.
   */
  answered: (status: number) => void;
}

export interface ServerOptions {
  name: 'api' | 'push';
  faults: Faults;
  fleet: ServedFleet;
  remember: (record: RecordedRequest) => void;
  onRequest: ((line: RequestLine) => void) | undefined;
  handle: (exchange: Exchange) => void;
}

/** Section 9: "Every response carries these trace headers". */
function traceHeaders({ name }: ServerOptions) {
  return {
    'X-Service-From': `sandbox-${name}`,
    'X-Service-RequestId': randomUUID(),
    'X-Service-Version': 'sandbox-1.0.0',
  };
}

/** Handles the requests that a server receives. */
export function serve(server: Server, options: ServerOptions): void {
  const waiting = new Set<NodeJS.Timeout>();
  server.on('request', (incoming, outgoing) => {
    const exchange = openExchange(options, incoming, outgoing);
    const refusal = refusalOf(incoming.headers, incoming.socket.localPort ?? 0);
    if (refusal !== undefined) return sendAnswer(exchange, answerOf(refusal));
    const target: FaultTarget = {
      server: options.name,
      method: exchange.record.method,
      path: exchange.record.url,
    };
    const latencyMs = options.faults.latencyMs(target);
    const perform = () => {
      const status = options.faults.errorStatus(target);
      exchange.cut = status === undefined && options.faults.cuts(target);
      if (status === undefined) return options.handle(exchange);
      const problem =
        status === 429
          ? refuseThrottled(1)
          : refuse(status, `Fault on request: ${status}.`, 'fault');
      sendAnswer(exchange, answerOf(problem));
    };
    if (latencyMs <= 0) return perform();
    const timer = setTimeout(() => {
      waiting.delete(timer);
      perform();
    }, latencyMs);
    waiting.add(timer);
  });
  server.on('close', () => {
    for (const timer of waiting) clearTimeout(timer);
  });
}

function openExchange(
  options: ServerOptions,
  incoming: IncomingMessage,
  outgoing: ServerResponse,
): Exchange {
  const trace = traceHeaders(options);
  for (const [header, value] of Object.entries(trace)) outgoing.setHeader(header, value);
  outgoing.sendDate = false;
  if (!options.faults.has('nodate'))
    outgoing.setHeader('Date', new Date(options.fleet.now()).toUTCString());
  const record: RecordedRequest = {
    server: options.name,
    method: incoming.method ?? '',
    url: incoming.url ?? '',
    headers: incoming.headers,
    requestId: trace['X-Service-RequestId'],
    at: options.fleet.now(),
    ...{ body: '', status: 0 },
  };
  options.remember(record);
  let reported = false;
  const answered = (status: number) => {
    if (reported) return;
    reported = true;
    record.status = status;
    options.onRequest?.({ method: record.method, url: record.url, status });
  };
  // Requests whose client closed the connection early are also logged.
  outgoing.once('close', () => answered(outgoing.headersSent ? outgoing.statusCode : 0));
  return { incoming, outgoing, record, cut: false, answered };
}

/** Sends the response, or closes the connection when a fault requires it. */
export function sendAnswer(exchange: Exchange, { status, body = '', headers }: ServedAnswer): void {
  const { incoming, outgoing } = exchange;
  exchange.answered(exchange.cut ? 0 : status);
  if (exchange.cut) return void incoming.socket.destroy();
  const length = status === 204 ? {} : { 'Content-Length': Buffer.byteLength(body) };
  const type = body.length === 0 ? {} : { 'Content-Type': 'application/json' };
  outgoing.writeHead(status, { ...type, ...length, ...headers });
  outgoing.end(body);
}

/**
 * Starts a server on loopback. With port 0, the system chooses a free port. Rejects with Node's
 * errors, such as EADDRINUSE.
 */
export async function listen(port = 0): Promise<{ server: Server; url: string }> {
  const server = createServer({ keepAliveTimeout: KEEP_ALIVE_MS }).listen(port, HOST);
  await once(server, 'listening');
  return { server, url: `http://${HOST}:${(server.address() as AddressInfo).port}` };
}

/** Stops listening and closes all connections. */
export function closeServer(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
    server.closeAllConnections();
  });
}
