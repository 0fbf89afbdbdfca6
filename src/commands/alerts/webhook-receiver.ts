// Takes webhooks over HTTP: strict to method, path, size, signature and pace, tolerant to what the JSON is.

import { createHmac, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { declaredCharset } from '../../http/charset.js';
import { decodeBytes } from '../../system/charset.js';
import { type OwnServerOptions, openHttpServer } from '../../system/http-server.js';
import type { AlertItem } from './known.js';
import { readPayload } from './webhook-payload.js';

export interface ReceiverOptions extends OwnServerOptions {
  path: string;
  secret: string | undefined;
  signatureHeader: string;
  /** Takes a webhook in; `false`: there is no room for more now. */
  take(webhook: Webhook): boolean;
  onRefusal(status: number, reason: string): void;
}

/** A webhook that was read and waits for its answer. */
export interface Webhook {
  readonly items: readonly AlertItem[];
  readonly body: Buffer;
  readonly headers: IncomingMessage['headers'];
  /** Answers that it was taken. */
  accept(): void;
}

const BODY_LIMIT_BYTES = 1024 * 1024;
/** Of webhooks that wait for their answer. */
const WAITING_LIMIT_BYTES = 32 * 1024 * 1024;
const CLOSE_LIMIT_MS = 500;

interface Refusal {
  status: number;
  reason: string;
  headers?: { readonly [name: string]: string };
}

const TOO_LARGE: Refusal = {
  status: 413,
  reason: 'more than 1 MB',
  headers: { connection: 'close' },
};
const BUSY: Refusal = { status: 503, reason: 'busy, retry later', headers: { 'retry-after': '1' } };

/** Starts to receive. Rejects with a FleetError of kind `usage` where the port cannot be had. */
export async function openReceiver(options: ReceiverOptions) {
  const waiting = new Set<ServerResponse>();
  const counts = { received: 0, refused: 0 };
  let waitingBytes = 0;
  let isClosing = false;

  const take = async (
    request: IncomingMessage,
    response: ServerResponse,
  ): Promise<Refusal | undefined> => {
    const body = (isClosing ? BUSY : refusalOf(request, options)) ?? (await readBody(request));
    if ('status' in body) return body;
    if (isClosing || waitingBytes + body.length > WAITING_LIMIT_BYTES) return BUSY;
    const items = readSigned(request, body, options);
    if ('status' in items) return items;
    const accept = () => {
      waitingBytes -= body.length;
      if (waiting.delete(response)) response.writeHead(204).end();
    };
    if (!options.take({ items, body, headers: request.headers, accept })) return BUSY;
    counts.received++;
    waiting.add(response);
    waitingBytes += body.length;
    return undefined;
  };
  const server = await openHttpServer(options, async (request, response) => {
    response.on('error', () => {});
    const refusal = await take(request, response);
    if (refusal === undefined) return;
    if (refusal !== BUSY) counts.refused++;
    options.onRefusal(refusal.status, refusal.reason);
    send(response, refusal);
    // The rest is read, for a cut connection would take the answer with it; the server has a limit for the whole request.
    request.resume();
  });
  return {
    url: server.origin + options.path,
    counts,
    /** Answers what waits with 503, so that it is sent again, and closes. */
    async close(): Promise<void> {
      isClosing = true;
      for (const response of waiting) send(response, BUSY);
      waiting.clear();
      await server.close(CLOSE_LIMIT_MS);
    },
  };
}

/** Why a request is refused by its head. */
function refusalOf(
  { url = '', method, headers }: IncomingMessage,
  options: ReceiverOptions,
): Refusal | undefined {
  if (url.split('?', 1)[0] !== options.path)
    return { status: 404, reason: 'no webhook has this path' };
  if (method !== 'POST')
    return { status: 405, reason: 'a webhook is a POST', headers: { allow: 'POST' } };
  // Without a secret anybody on this machine may send, but no web page that somebody looks at.
  const isOfPage = headers.origin !== undefined || headers['sec-fetch-site'] !== undefined;
  if (options.secret === undefined && isOfPage)
    return { status: 403, reason: 'it comes from a web page' };
  const encoding = headers['content-encoding'] ?? 'identity';
  if (encoding !== 'identity') return { status: 415, reason: 'its body is compressed' };
  return Number(headers['content-length'] ?? 0) > BODY_LIMIT_BYTES ? TOO_LARGE : undefined;
}

/** Resolves with the body; not at all when the sender leaves. */
function readBody(request: IncomingMessage): Promise<Buffer | Refusal> {
  return new Promise((resolve) => {
    const chunks: Buffer[] = [];
    let bytes = 0;
    request.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes <= BODY_LIMIT_BYTES) chunks.push(chunk);
      else resolve(TOO_LARGE);
    });
    request.on('end', () => resolve(Buffer.concat(chunks)));
    request.on('error', () => {});
  });
}

/** The signature first: what a stranger sends is not even parsed. */
function readSigned(
  { headers }: IncomingMessage,
  body: Buffer,
  { secret, signatureHeader }: ReceiverOptions,
): readonly AlertItem[] | Refusal {
  const given = headers[signatureHeader.toLowerCase()];
  if (secret !== undefined && !isSigned(secret, body, String(given)))
    return {
      status: 401,
      reason: given === undefined ? 'it has no signature' : 'its signature is wrong',
    };
  const decoded = decodeBytes(body, declaredCharset(headers['content-type']));
  if (decoded.problem !== undefined)
    return { status: 400, reason: `its body is not valid ${decoded.charset}` };
  const items = readPayload(decoded.text);
  return typeof items === 'string' ? { status: 400, reason: items } : items;
}

/** Whether the header holds `sha256=` and the HMAC-SHA256 of the body, compared in constant time. Assumed: section 6.2 shows none. */
function isSigned(secret: string, body: Buffer, header: string): boolean {
  const expected = createHmac('sha256', secret).update(body).digest();
  const given = Buffer.from(/^sha256=([0-9a-f]{64})$/i.exec(header.trim())?.[1] ?? '', 'hex');
  return given.length === expected.length && timingSafeEqual(given, expected);
}

function send(response: ServerResponse, { status, reason, headers }: Refusal): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers });
  response.end(JSON.stringify({ detail: reason }));
}
