// A push server that misbehaves on request, over bare sockets: what it says is what stands on the wire.

import { type AddressInfo, createServer, type Socket } from 'node:net';

/** A request as it came. */
export interface PushRequest {
  path: string;
  /** Names in lower case. */
  headers: { [name: string]: string };
  /** 0 for the first request, then 1, 2 … */
  number: number;
}

export type Behaviour = (socket: Socket, request: PushRequest) => void;

export interface MisbehavingServer {
  url: string;
  requests: PushRequest[];
  /** Sockets that are open now. */
  sockets: ReadonlySet<Socket>;
  close(): Promise<void>;
}

/** Starts a server on loopback; each request is answered by the behaviour, which writes to the socket itself. */
export async function startMisbehaving(behave: Behaviour): Promise<MisbehavingServer> {
  const requests: PushRequest[] = [];
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
    socket.on('error', () => {});
    let head = '';
    socket.on('data', (chunk: Buffer) => {
      head += chunk.toString('latin1');
      const end = head.indexOf('\r\n\r\n');
      if (end === -1) return;
      const [first = '', ...lines] = head.slice(0, end).split('\r\n');
      head = head.slice(end + 4);
      const headers: { [name: string]: string } = {};
      for (const line of lines) {
        const colon = line.indexOf(':');
        headers[line.slice(0, colon).toLowerCase()] = line.slice(colon + 1).trim();
      }
      const request = { path: first.split(' ')[1] ?? '', headers, number: requests.length };
      requests.push(request);
      behave(socket, request);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    sockets,
    close: () =>
      new Promise((resolve) => {
        for (const socket of sockets) socket.destroy();
        server.close(() => resolve());
      }),
  };
}

/** The head of a good answer; the body goes on until the connection ends. */
export const STREAM_HEAD = 'HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n';

/** Answers with a stream of these bytes and leaves the connection open. */
export function sendStream(socket: Socket, body: string | Uint8Array): void {
  socket.write(STREAM_HEAD);
  socket.write(body);
}

/** Answers with a status and ends the connection. */
export function sendStatus(socket: Socket, status: number, headers: { [name: string]: string } = {}, body = ''): void {
  const lines = Object.entries({ 'Content-Length': String(Buffer.byteLength(body)), Connection: 'close', ...headers });
  socket.end(
    `HTTP/1.1 ${status} Status\r\n${lines.map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n${body}`,
  );
}

/** The first requests meet these behaviours, one after the other; all later ones the last. */
export function inTurn(...behaviours: readonly Behaviour[]): Behaviour {
  return (socket, request) => behaviours[Math.min(request.number, behaviours.length - 1)]?.(socket, request);
}
