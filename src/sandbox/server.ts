// A loopback HTTP server as both ports need it: trace headers, a record of every request, latency and error faults.
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Faults, FaultTarget } from './faults.js';
import type { ServedFleet } from './fleet.js';
import { refusalOf } from './guard.js';
import { answerOf, refuse, refuseThrottled, type ServedAnswer } from './problem.js';

/** Loopback only: the sandbox is nobody else's business. */
const HOST = '127.0.0.1';

/** Longer than any client keeps an idle connection, so that the server never closes one just as it is used again. */
const KEEP_ALIVE_MS = 120_000;

/** One request as it came, and how it was answered. */
export interface RecordedRequest {
  server: 'api' | 'push';
  method: string;
  /** The raw request target as it stood in the request line, query included. */
  url: string;
  /** By lower-case name. */
  headers: { [name: string]: string | string[] | undefined };
  /** The body as text; empty when there was none, or when an error fault refused the request unread. */
  body: string;
  /** Milliseconds since the epoch. */
  at: number;
  /** The X-Service-RequestId of the answer. */
  requestId: string;
  /** 0 while there is no answer, and for good when the connection was cut before one. */
  status: number;
}

/** One line of the log that `fleet sandbox` prints; never the headers, since one of them is the token. */
export type RequestLine = Pick<RecordedRequest, 'method' | 'url' | 'status'>;

/** A request on its way through the sandbox. */
export interface Exchange {
  incoming: IncomingMessage;
  outgoing: ServerResponse;
  record: RecordedRequest;
  /** Whether a cut fault wants the socket dead instead of an answer. */
  cut: boolean;
  /** Reports the status, once, just before the answer leaves; 0 for none. */
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

/** Answers what comes to a server that listens. */
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
  outgoing.sendDate = !options.faults.has('nodate');
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
  // Whoever gives up waiting is in the log too.
  outgoing.once('close', () => answered(outgoing.headersSent ? outgoing.statusCode : 0));
  return { incoming, outgoing, record, cut: false, answered };
}

/** Answers and ends the exchange, or cuts the connection where a fault wants that. */
export function sendAnswer(exchange: Exchange, { status, body = '', headers }: ServedAnswer): void {
  const { incoming, outgoing } = exchange;
  exchange.answered(exchange.cut ? 0 : status);
  if (exchange.cut) return void incoming.socket.destroy();
  const length = status === 204 ? {} : { 'Content-Length': Buffer.byteLength(body) };
  const type = body.length === 0 ? {} : { 'Content-Type': 'application/json' };
  outgoing.writeHead(status, { ...type, ...length, ...headers });
  outgoing.end(body);
}

/** A server that listens on loopback; 0 is any free port. Rejects with Node's own error, EADDRINUSE for instance. */
export async function listen(port = 0): Promise<{ server: Server; url: string }> {
  const server = createServer({ keepAliveTimeout: KEEP_ALIVE_MS }).listen(port, HOST);
  await once(server, 'listening');
  return { server, url: `http://${HOST}:${(server.address() as AddressInfo).port}` };
}

/** Stops listening and cuts whatever is open. */
export function closeServer(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
    server.closeAllConnections();
  });
}
