// Named behaviours of faulty HTTP servers for misbehaving.ts, which a client must handle.

import type { Socket } from 'node:net';
import type { Writable } from 'node:stream';
import { constants, createGzip, gzipSync } from 'node:zlib';
import { type Behaviour, type MisbehavingServer, startMisbehaving } from './misbehaving.js';

/** The parameters of a behaviour; each has a default. */
export interface HostileOptions {
  status?: number;
  /** The correct body, which the behaviour then damages. */
  body?: string;
  contentType?: string;
  /** The delay between two bytes of a slow answer. */
  everyMs?: number;
  /**
   * The size for the behaviour: of the unpacked body, of the header, or before the answer breaks.
   */
  bytes?: number;
  headers?: { [name: string]: string };
}

type Answer = Required<HostileOptions>;

/** An empty page (interface.md section 2.6), which every list command accepts. */
export const EMPTY_PAGE = '{"count":0,"next":null,"previous":null,"results":[]}';

const TRACE = {
  'X-Service-From': 'hostile',
  'X-Service-RequestId': 'request-1',
  'X-Service-Version': '1',
};

/** The bytes that a server writes at once. */
const CHUNK_BYTES = 64 * 1024;

function headOf(answer: Answer, headers: { [name: string]: string } = {}): string {
  const all = {
    'Content-Type': answer.contentType,
    Connection: 'close',
    ...TRACE,
    ...answer.headers,
    ...headers,
  };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
  return `HTTP/1.1 ${answer.status} Status\r\n${lines.join('')}\r\n`;
}

/**
 * Returns the response head with the length of the body, or with another length and more headers.
 */
function honestHead(answer: Answer, length = Buffer.byteLength(answer.body), headers = {}): string {
  return headOf(answer, { 'Content-Length': String(length), ...headers });
}

function sendEncoded(socket: Socket, answer: Answer, encoding: string, bytes: Uint8Array): void {
  socket.write(
    headOf(answer, { 'Content-Encoding': encoding, 'Content-Length': String(bytes.length) }),
  );
  socket.end(bytes);
}

/** Writes one byte every `everyMs` until the client disconnects. */
function dawdle(socket: Socket, text: string, everyMs: number): void {
  const bytes = Buffer.from(text);
  let sent = 0;
  const timer = setInterval(() => {
    if (socket.destroyed || sent >= bytes.length) {
      clearInterval(timer);
      socket.end();
    } else {
      socket.write(bytes.subarray(sent, sent + 1));
      sent += 1;
    }
  }, everyMs);
  socket.on('close', () => clearInterval(timer));
}

/** Writes this many bytes of white space as fast as the client reads, then the correct body. */
function sendPadded(socket: Socket, answer: Answer): void {
  socket.write(honestHead(answer, answer.bytes + Buffer.byteLength(answer.body)));
  pour(socket, answer);
}

function pour(to: Writable, { bytes, body }: Answer): void {
  const chunk = Buffer.alloc(CHUNK_BYTES, ' ');
  let left = bytes;
  const more = (): void => {
    while (left > 0 && !to.destroyed) {
      const part = chunk.subarray(0, Math.min(left, CHUNK_BYTES));
      left -= part.length;
      if (!to.write(part)) return void to.once('drain', more);
    }
    to.end(body);
  };
  more();
}

/**
 * A gzip stream of white space that unpacks to a thousand times its size, followed by the correct
 * body.
 */
function sendBomb(socket: Socket, answer: Answer): void {
  socket.write(headOf(answer, { 'Content-Encoding': 'gzip' }));
  const gzip = createGzip({ strategy: constants.Z_RLE });
  gzip.pipe(socket);
  socket.on('close', () => gzip.destroy());
  pour(gzip, answer);
}

/**
 * The table of behaviours. Each name says what goes wrong. Some behaviours use `bytes` and
 * `everyMs`. All of them close the connection afterwards, so that an answer never affects the next
 * one.
 */
export const HOSTILE = {
  /** A correct answer. */
  honest: (socket, answer) => socket.end(honestHead(answer) + answer.body),
  /** Declares gzip and sends plain text. */
  gzipLie: (socket, answer) => sendEncoded(socket, answer, 'gzip', Buffer.from(answer.body)),
  /** The gzip stream is truncated, although Content-Length is correct. */
  gzipCut: (socket, answer) =>
    sendEncoded(socket, answer, 'gzip', gzipSync(answer.body).subarray(0, -9)),
  unknownEncoding: (socket, answer) =>
    sendEncoded(socket, answer, 'rot13', Buffer.from(answer.body)),
  /** `bytes` of white space, compressed to a thousandth. */
  bomb: sendBomb,
  /** `bytes` of white space, unpacked. */
  large: sendPadded,
  /** Sends the headers at once and then one byte of the body every `everyMs`. */
  slowBody: (socket, answer) => {
    socket.write(honestHead(answer));
    dawdle(socket, answer.body, answer.everyMs);
  },
  /** Sends one byte every `everyMs`, starting with the status line. */
  slowHead: (socket, answer) => dawdle(socket, honestHead(answer) + answer.body, answer.everyMs),
  /** Reads the request and never answers. */
  silent: () => {},
  /** Sends the headers but no body. */
  silentBody: (socket, answer) => void socket.write(honestHead(answer)),
  /** Content-Length is larger than the body by `bytes`. */
  lengthTooLong: (socket, answer) =>
    socket.end(honestHead(answer, Buffer.byteLength(answer.body) + answer.bytes) + answer.body),
  /** Content-Length is half of the body's length. */
  lengthTooShort: (socket, answer) =>
    socket.end(honestHead(answer, Math.floor(Buffer.byteLength(answer.body) / 2)) + answer.body),
  /** The connection breaks after half of the body. */
  breakOff: (socket, answer) => {
    const half = answer.body.slice(0, Math.floor(answer.body.length / 2));
    socket.write(honestHead(answer) + half, () => socket.destroy());
  },
  /** Sends an unexpected `100 Continue` first. */
  continueFirst: (socket, answer) =>
    socket.end(`HTTP/1.1 100 Continue\r\n\r\n${honestHead(answer)}${answer.body}`),
  /** Sends two interim answers first: processing, and early hints. */
  interimFirst: (socket, answer) =>
    socket.end(
      `HTTP/1.1 102 Processing\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n${honestHead(answer)}${answer.body}`,
    ),
  /** One header of `bytes`. */
  bigHeader: (socket, answer) =>
    socket.end(honestHead(answer, undefined, { 'X-Big': 'x'.repeat(answer.bytes) }) + answer.body),
  /** `bytes` opening and closing brackets. */
  nested: (socket, answer) => {
    const deep = { ...answer, body: '['.repeat(answer.bytes) + ']'.repeat(answer.bytes) };
    socket.end(honestHead(deep) + deep.body);
  },
} satisfies { [name: string]: (socket: Socket, answer: Answer) => unknown };

export type HostileName = keyof typeof HOSTILE;

/**
 * Returns one behaviour of the table for misbehaving.ts:
 * `startMisbehaving(inTurn(hostile('breakOff'), hostile('honest')))`.
 */
export function hostile(name: HostileName, options: HostileOptions = {}): Behaviour {
  const answer: Answer = {
    status: 200,
    body: EMPTY_PAGE,
    contentType: 'application/json',
    everyMs: 10,
    bytes: 20_000,
    headers: {},
    ...options,
  };
  return (socket) => void HOSTILE[name](socket, answer);
}

/** Runs a test with a server that is closed afterwards. */
export async function withHostile<Result>(
  behaviour: Behaviour,
  use: (server: MisbehavingServer) => Promise<Result>,
): Promise<Result> {
  const server = await startMisbehaving(behaviour);
  try {
    return await use(server);
  } finally {
    await server.close();
  }
}
