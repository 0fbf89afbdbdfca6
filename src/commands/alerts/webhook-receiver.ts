// Receives webhooks over HTTP. The server checks method, path, size, signature and timing strictly,
// but not the JSON content.

import { createHmac, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AlertItem } from '../../follower/known-alerts.js';
import { declaredCharset } from '../../http/charset.js';
import { decodeBytes } from '../../system/charset.js';
import { type OwnServerOptions, openHttpServer } from '../../system/http-server.js';
import { readPayload } from './webhook-payload.js';

export interface ReceiverOptions extends OwnServerOptions {
  path: string;
  secret: string | undefined;
  signatureHeader: string;
  /** Hides all secrets in text from a webhook, and returns the result. */
  hide(text: string): string;
  /** Processes a webhook. Returns false when the queue is full. */
  take(webhook: Webhook): boolean;
  onRefusal(status: number, reason: string): void;
}

/** A webhook that was received and has not been answered yet. */
export interface Webhook {
  readonly items: readonly AlertItem[];
  /**
   * The received body. A body that contains secrets is replaced with UTF-8 text in which the
   * secrets are hidden.
   */
  readonly body: Buffer;
  /**
   * The headers of the body. When secrets in the body were hidden, the headers are adapted to the
   * new body.
   */
  readonly headers: IncomingMessage['headers'];
  /** Answers the webhook with success. */
  accept(): void;
}

const BODY_LIMIT_BYTES = 1024 * 1024;
/** The maximum total size of the webhooks that are waiting for an answer. */
const WAITING_LIMIT_BYTES = 32 * 1024 * 1024;
/** The maximum total size of the bodies that are not complete yet. */
const UNFINISHED_LIMIT_BYTES = 16 * 1024 * 1024;
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

/**
 * Starts to receive webhooks. Rejects with a FleetError of kind `usage` when the port cannot be
 * used.
 */
export async function openReceiver(options: ReceiverOptions) {
  const waiting = new Set<ServerResponse>();
  const readBody = openBodyReader();
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
    const content = readSigned(request, body, options);
    if ('status' in content) return content;
    const accept = () => {
      waitingBytes -= body.length;
      if (waiting.delete(response)) response.writeHead(204).end();
    };
    if (!options.take({ ...content, accept })) return BUSY;
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
    // The server reads the rest of a refused body, because closing the connection early could lose
    // the answer. The time limit of the request still applies.
    request.resume();
  });
  return {
    url: server.origin + options.path,
    counts,
    /** Answers waiting webhooks with 503, so that their senders retry, and closes the server. */
    async close(): Promise<void> {
      isClosing = true;
      for (const response of waiting) send(response, BUSY);
      waiting.clear();
      await server.close(CLOSE_LIMIT_MS);
    },
  };
}

/** Returns the reason to reject a request's headers, or undefined when they are accepted. */
function refusalOf(
  { url = '', method, headers }: IncomingMessage,
  options: ReceiverOptions,
): Refusal | undefined {
  if (url.split('?', 1)[0] !== options.path)
    return { status: 404, reason: 'no webhook has this path' };
  if (method !== 'POST')
    return { status: 405, reason: 'a webhook is a POST', headers: { allow: 'POST' } };
  // Without a secret, programs on this machine may send webhooks, but web pages in a browser may
  // not.
  const isOfPage = headers.origin !== undefined || headers['sec-fetch-site'] !== undefined;
  if (options.secret === undefined && isOfPage)
    return { status: 403, reason: 'it comes from a web page' };
  const encoding = headers['content-encoding'] ?? 'identity';
  if (encoding !== 'identity') return { status: 415, reason: 'its body is compressed' };
  return Number(headers['content-length'] ?? 0) > BODY_LIMIT_BYTES ? TOO_LARGE : undefined;
}

/**
 * Returns a function that reads the body of a request.
 *
 * All unfinished bodies share one limit. When the bodies exceed it, the oldest unfinished body is
 * refused. A complete webhook arrives within milliseconds, so this body is probably not from a
 * working sender.
 */
function openBodyReader() {
  /** Callbacks that refuse bodies which have not arrived completely, oldest body first. */
  const unfinished = new Set<() => void>();
  let allBytes = 0;

  /** Resolves with the body. Never resolves if the sender disconnects. */
  return (request: IncomingMessage): Promise<Buffer | Refusal> =>
    new Promise((resolve) => {
      let chunks: Buffer[] = [];
      let bytes = 0;
      const settle = (result?: Buffer | Refusal) => {
        if (!unfinished.delete(refuse)) return;
        allBytes -= bytes;
        chunks = [];
        if (result !== undefined) resolve(result);
      };
      const refuse = () => settle(BUSY);
      unfinished.add(refuse);
      request.on('data', (chunk: Buffer) => {
        if (!unfinished.has(refuse)) return;
        bytes += chunk.length;
        allBytes += chunk.length;
        chunks.push(chunk);
        if (bytes > BODY_LIMIT_BYTES) settle(TOO_LARGE);
        for (const refuseOldest of unfinished) {
          if (allBytes <= UNFINISHED_LIMIT_BYTES) break;
          refuseOldest();
        }
      });
      request.on('end', () => settle(Buffer.concat(chunks)));
      request.on('close', () => settle());
      request.on('error', () => {});
    });
}

/**
 * The signature is checked before the body is parsed. A body from an unknown sender is therefore
 * never parsed.
 */
function readSigned(
  { headers }: IncomingMessage,
  body: Buffer,
  options: ReceiverOptions,
): Omit<Webhook, 'accept'> | Refusal {
  const { secret, signatureHeader, hide } = options;
  const given = headers[signatureHeader.toLowerCase()];
  if (secret !== undefined && !isSigned(secret, body, String(given)))
    return {
      status: 401,
      reason: given === undefined ? 'it has no signature' : 'its signature is wrong',
    };
  const decoded = decodeBytes(body, declaredCharset(headers['content-type']));
  if (decoded.problem !== undefined)
    return { status: 400, reason: `its body is not valid ${decoded.charset}` };
  const text = hide(decoded.text);
  const items = readPayload(text);
  if (typeof items === 'string') return { status: 400, reason: items };
  if (text === decoded.text) return { items, body, headers };
  const hidden = Buffer.from(text);
  return { items, body: hidden, headers: headersOfHidden(headers, hidden, options) };
}

/**
 * Returns the headers for a body in which secrets were hidden. The body gets a new signature,
 * because the original signature no longer matches.
 */
function headersOfHidden(
  headers: IncomingMessage['headers'],
  body: Buffer,
  { secret, signatureHeader }: ReceiverOptions,
): IncomingMessage['headers'] {
  const signature = secret && `sha256=${signatureOf(secret, body).toString('hex')}`;
  return {
    ...headers,
    'content-type': 'application/json',
    [signatureHeader.toLowerCase()]: signature,
  };
}

/**
 * Returns whether the header contains `sha256=` and the HMAC-SHA256 of the body. Compares in
 * constant time. Assumed: section 6.2 does not describe signatures.
 */
function isSigned(secret: string, body: Buffer, header: string): boolean {
  const expected = signatureOf(secret, body);
  const given = Buffer.from(/^sha256=([0-9a-f]{64})$/i.exec(header.trim())?.[1] ?? '', 'hex');
  return given.length === expected.length && timingSafeEqual(given, expected);
}

function signatureOf(secret: string, body: Buffer): Buffer {
  return createHmac('sha256', secret).update(body).digest();
}

function send(response: ServerResponse, { status, reason, headers }: Refusal): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers });
  response.end(JSON.stringify({ detail: reason }));
}
