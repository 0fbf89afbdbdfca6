// A small HTTP server that takes webhooks: strict to method, path, size, signature and pace, tolerant to what the JSON is.

import { createHmac, timingSafeEqual } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Clock } from '../../clock.js';
import type { AlertItem } from './known.js';
import { readPayload } from './payload.js';

export interface ServerOptions {
  host: string;
  /** 0 for any free one. */
  port: number;
  path: string;
  secret: string | undefined;
  signatureHeader: string;
  clock: Clock;
}

/** A webhook that was read and waits for its answer. */
export interface Webhook {
  readonly id: number;
  readonly items: readonly AlertItem[];
  readonly body: Buffer;
  readonly headers: IncomingMessage['headers'];
}

export interface WebhookTaker {
  /** Takes a webhook in; `false`: there is no room for more now. */
  take(webhook: Webhook): boolean;
  onRefusal(status: number, reason: string): void;
}

export interface WebhookServer {
  readonly url: string;
  /** From now on webhooks are taken; before, senders are asked to come again. */
  start(taker: WebhookTaker): void;
  /** A webhook that was not answered yet. */
  waiting(id: number): Webhook | undefined;
  /** Answers that it was taken. */
  accept(id: number): void;
  counts(): { received: number; refused: number };
  /** Answers what waits with 503, so that it is sent again, and closes. */
  close(): Promise<void>;
}

const BODY_LIMIT_BYTES = 1024 * 1024;
/** From the first byte of a head to its last 10 s, and of a request to its last 20 s. */
const LIMITS = {
  maxHeaderSize: 16 * 1024,
  headersTimeout: 10_000,
  requestTimeout: 20_000,
  keepAliveTimeout: 60_000,
  connectionsCheckingInterval: 1_000,
};
const CONNECTION_LIMIT = 1_000;
/** Webhooks that may wait for their answer, and bytes of them. */
const WAITING_LIMIT = 10_000;
const WAITING_LIMIT_BYTES = 32 * 1024 * 1024;
/** What is still read of a request that was refused, so that its sender hears why. */
const REST_LIMIT_MS = 1_000;
const CLOSE_LIMIT_MS = 500;

/** Starts the server; rejects with Node's error when it cannot listen. */
export async function openServer(options: ServerOptions): Promise<WebhookServer> {
  const waiting = new Map<number, { webhook: Webhook; response: ServerResponse }>();
  const counts = { received: 0, refused: 0 };
  let waitingBytes = 0;
  let taker: WebhookTaker = { take: () => false, onRefusal() {} };
  let ids = 0;
  let isClosing = false;

  const refuse = (response: ServerResponse, refusal: Refusal) => {
    if (refusal.status !== BUSY.status) counts.refused++;
    taker.onRefusal(refusal.status, refusal.reason);
    refuseAtOnce(response, refusal, options.clock);
  };
  const takeBody = (request: IncomingMessage, response: ServerResponse, body: Buffer | undefined) => {
    if (body === undefined) return refuse(response, TOO_LARGE);
    const isFull = waiting.size >= WAITING_LIMIT || waitingBytes + body.length > WAITING_LIMIT_BYTES;
    if (isClosing || isFull) return refuse(response, BUSY);
    const read = readWebhook(request, body, options);
    if ('status' in read) return refuse(response, read);
    const webhook = { id: ++ids, items: read.items, body, headers: request.headers };
    if (!taker.take(webhook)) return refuse(response, BUSY);
    counts.received++;
    waiting.set(webhook.id, { webhook, response });
    waitingBytes += body.length;
  };
  const server = createServer(LIMITS, (request, response) => {
    response.on('error', () => {});
    const early = isClosing ? BUSY : refusalOf(request, options);
    if (early === undefined) readBody(request, (body) => takeBody(request, response, body));
    else refuse(response, early);
  });
  server.maxConnections = CONNECTION_LIMIT;
  const url = await listen(server, options);
  return {
    url,
    start(given) {
      taker = given;
    },
    waiting: (id) => waiting.get(id)?.webhook,
    accept(id) {
      const { webhook, response } = waiting.get(id) ?? {};
      waiting.delete(id);
      waitingBytes -= webhook?.body.length ?? 0;
      response?.writeHead(204).end();
    },
    counts: () => counts,
    async close() {
      if (isClosing) return;
      isClosing = true;
      for (const { response } of waiting.values()) send(response, CLOSING);
      waiting.clear();
      await closeServer(server, options.clock);
    },
  };
}

/** Answers a request that may not have come whole: its rest is read for a moment, for a cut connection would take the answer with it. */
function refuseAtOnce(response: ServerResponse, refusal: Refusal, clock: Clock): void {
  send(response, refusal);
  const { req: request } = response;
  if (request.complete) return;
  request.resume();
  request.once(
    'close',
    clock.after(REST_LIMIT_MS, () => request.destroy()),
  );
}

/** Resolves when the last connection is closed; those that go on are cut. */
function closeServer(server: Server, clock: Clock): Promise<void> {
  return new Promise((resolve) => {
    const cancel = clock.after(CLOSE_LIMIT_MS, () => server.closeAllConnections());
    server.close(() => {
      cancel();
      resolve();
    });
    server.closeIdleConnections();
  });
}

interface Refusal {
  status: number;
  reason: string;
  headers?: { readonly [name: string]: string };
}

const TOO_LARGE: Refusal = { status: 413, reason: 'more than 1 MB', headers: { connection: 'close' } };
const BUSY: Refusal = { status: 503, reason: 'busy, retry later', headers: { 'retry-after': '1' } };
const CLOSING: Refusal = { ...BUSY, headers: { ...BUSY.headers, connection: 'close' } };

/** Why a request is refused by its head. */
function refusalOf({ url = '', method, headers }: IncomingMessage, options: ServerOptions): Refusal | undefined {
  const [path] = url.split('?', 1);
  if (path !== options.path) return { status: 404, reason: 'no webhook has this path' };
  if (method !== 'POST') return { status: 405, reason: 'a webhook is a POST', headers: { allow: 'POST' } };
  // Without a secret anybody on this machine may send, but no web page that somebody looks at.
  const isOfPage = headers.origin !== undefined || headers['sec-fetch-site'] !== undefined;
  if (options.secret === undefined && isOfPage) return { status: 403, reason: 'it comes from a web page' };
  const encoding = headers['content-encoding'] ?? 'identity';
  if (encoding !== 'identity') return { status: 415, reason: 'its body is compressed' };
  return Number(headers['content-length'] ?? 0) > BODY_LIMIT_BYTES ? TOO_LARGE : undefined;
}

/** Hands over the body, undefined when it is too large; not at all when the sender leaves. */
function readBody(request: IncomingMessage, done: (body: Buffer | undefined) => void): void {
  const chunks: Buffer[] = [];
  let bytes = 0;
  const onData = (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes <= BODY_LIMIT_BYTES) return void chunks.push(chunk);
    request.off('data', onData);
    request.off('end', onEnd);
    done(undefined);
  };
  const onEnd = () => done(Buffer.concat(chunks));
  request.on('data', onData);
  request.on('end', onEnd);
  request.on('error', () => {});
}

/** The signature first: what a stranger sends is not even parsed. */
function readWebhook(
  { headers }: IncomingMessage,
  body: Buffer,
  { secret, signatureHeader }: ServerOptions,
): { items: readonly AlertItem[] } | Refusal {
  const given = headers[signatureHeader.toLowerCase()];
  if (secret !== undefined && !isSigned(secret, body, typeof given === 'string' ? given : undefined)) {
    return { status: 401, reason: given === undefined ? 'it has no signature' : 'its signature is wrong' };
  }
  const items = readPayload(body.toString('utf8'));
  return typeof items === 'string' ? { status: 400, reason: items } : { items };
}

/** Whether the header holds `sha256=` and the HMAC-SHA256 of the body, compared in constant time. Assumed: section 6.2 shows none. */
function isSigned(secret: string, body: Buffer, header: string | undefined): boolean {
  const expected = createHmac('sha256', secret).update(body).digest();
  const [, digits = ''] = /^sha256=([0-9a-f]{64})$/i.exec(header?.trim() ?? '') ?? [];
  const given = Buffer.from(digits, 'hex');
  return given.length === expected.length && timingSafeEqual(given, expected);
}

function send(response: ServerResponse, { status, reason, headers }: Refusal): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers });
  response.end(JSON.stringify({ detail: reason }));
}

function listen(server: Server, { host, port, path }: ServerOptions): Promise<string> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host.replace(/^\[(.*)\]$/, '$1'), () => {
      server.off('error', reject);
      const { address, port: bound, family } = server.address() as AddressInfo;
      resolve(`http://${family === 'IPv6' ? `[${address}]` : address}:${bound}${path}`);
    });
  });
}
