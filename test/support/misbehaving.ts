// A server over bare sockets that sends exactly the bytes of a behaviour. The table of behaviours
// is in hostile.ts.

import { createServer, type Socket } from 'node:net';
import { onTestFinished } from 'vitest';
import { keepSockets, listenOn } from './listen.js';

/** A received request. */
export interface PushRequest {
  method: string;
  path: string;
  /** Header names are in lower case. */
  headers: { [name: string]: string };
  /** The body with the length of Content-Length; empty without that header. */
  body: string;
  /** 0 for the first request, then 1, 2 … */
  number: number;
}

export type Behaviour = (socket: Socket, request: PushRequest) => void;

export interface MisbehavingServer {
  url: string;
  /** The environment that makes fleet use this server. */
  env: { FLEET_BASE_URL: string; FLEET_TOKEN: string };
  requests: PushRequest[];
  /** Open sockets. */
  sockets: ReadonlySet<Socket>;
  close(): Promise<void>;
}

/** Starts a server on loopback; each request is answered by the behaviour, which writes to the socket itself. */
export async function startMisbehaving(behave: Behaviour): Promise<MisbehavingServer> {
  const requests: PushRequest[] = [];
  const server = createServer((socket) => {
    let rest = '';
    socket.on('data', (chunk: Buffer) => {
      rest += chunk.toString('latin1');
      for (let request = takeRequest(); request !== undefined; request = takeRequest()) {
        requests.push(request);
        behave(socket, request);
      }
    });

    function takeRequest(): PushRequest | undefined {
      const end = rest.indexOf('\r\n\r\n');
      if (end === -1) return undefined;
      const [first = '', ...lines] = rest.slice(0, end).split('\r\n');
      const headers: { [name: string]: string } = {};
      for (const line of lines) {
        const colon = line.indexOf(':');
        headers[line.slice(0, colon).toLowerCase()] = line.slice(colon + 1).trim();
      }
      const bodyEnd = end + 4 + Number(headers['content-length'] ?? 0);
      if (rest.length < bodyEnd) return undefined;
      const body = Buffer.from(rest.slice(end + 4, bodyEnd), 'latin1').toString();
      rest = rest.slice(bodyEnd);
      const [method = '', path = ''] = first.split(' ');
      return { method, path, headers, body, number: requests.length };
    }
  });
  const url = `http://127.0.0.1:${await listenOn(server)}`;
  return {
    url,
    env: { FLEET_BASE_URL: url, FLEET_TOKEN: 'token-of-the-test' },
    requests,
    ...keepSockets(server),
  };
}

/** Starts the server until the end of the test. */
export async function openMisbehaving(behave: Behaviour): Promise<MisbehavingServer> {
  const server = await startMisbehaving(behave);
  onTestFinished(server.close);
  return server;
}

/** The head of a correct answer without a length. The body continues until the connection ends. */
export const STREAM_HEAD =
  'HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n';

/** Sends a stream with these bytes and leaves the connection open. */
export function sendStream(socket: Socket, body: string | Uint8Array): void {
  socket.write(STREAM_HEAD);
  socket.write(body);
}

/** Sends a status and ends the connection. */
export function sendStatus(
  socket: Socket,
  status: number,
  headers: { [name: string]: string } = {},
  body = '',
): void {
  const lines = Object.entries({
    'Content-Length': String(Buffer.byteLength(body)),
    Connection: 'close',
    ...headers,
  });
  socket.end(
    `HTTP/1.1 ${status} Status\r\n${lines.map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n${body}`,
  );
}

/** Uses these behaviours for the first requests and the last one for all later requests. */
export function inTurn(...behaviours: readonly Behaviour[]): Behaviour {
  return (socket, request) =>
    behaviours[Math.min(request.number, behaviours.length - 1)]?.(socket, request);
}
