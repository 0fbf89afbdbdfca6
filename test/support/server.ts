// A small HTTP server on loopback with scripted answers, which records its requests.

import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { onTestFinished } from 'vitest';
import { keepSockets, listenOn } from './listen.js';

export interface Asked {
  method: string;
  /** Path and query exactly as received. */
  path: string;
  /** Returns the number of the requested page of a list. */
  page: number;
  headers: IncomingMessage['headers'];
  body: string;
}

export interface TestServer {
  url: string;
  /** The environment that makes fleet use this server. */
  env: { FLEET_BASE_URL: string; FLEET_TOKEN: string };
  asked: Asked[];
  /** The number of accepted connections. */
  connections(): number;
  close(): Promise<void>;
}

export type Answer = (
  response: ServerResponse,
  asked: Asked,
  socket: Socket,
) => void | Promise<void>;

/** Starts a server; `answer` is called for each request after its body arrived. */
export async function startServer(answer: Answer, port = 0): Promise<TestServer> {
  const asked: Asked[] = [];
  let connections = 0;
  const server: Server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const { method = '', url: path = '', headers } = request;
      const one: Asked = {
        ...{ method, path, headers },
        page: Number(new URL(path, 'http://x').searchParams.get('page') ?? 1),
        body: Buffer.concat(chunks).toString(),
      };
      asked.push(one);
      void answer(response, one, request.socket);
    });
  });
  server.on('connection', () => connections++);
  const { close } = keepSockets(server);
  const url = `http://127.0.0.1:${await listenOn(server, port)}`;
  return {
    url,
    env: { FLEET_BASE_URL: url, FLEET_TOKEN: 'token-of-the-test' },
    asked,
    connections: () => connections,
    close,
  };
}

/** Starts the server until the end of the test. */
export async function openServer(answer: Answer, port?: number): Promise<TestServer> {
  const server = await startServer(answer, port);
  onTestFinished(server.close);
  return server;
}

/** Runs a test with a server that is closed afterwards. */
export async function withServer<T>(
  answer: Answer,
  use: (server: TestServer) => Promise<T>,
): Promise<T> {
  const server = await startServer(answer);
  try {
    return await use(server);
  } finally {
    await server.close();
  }
}

/** Answers with JSON and the three trace headers of interface.md section 9. */
export function sendJson(
  response: ServerResponse,
  status: number,
  body: unknown,
  headers: Record<string, string> = {},
): void {
  response.writeHead(status, { 'content-type': 'application/json', ...TRACE_HEADERS, ...headers });
  response.end(typeof body === 'string' ? body : JSON.stringify(body));
}

/** Answers with a page of a list (section 2.6). Default: the only page. */
export function sendPage(
  response: ServerResponse,
  results: object[],
  more: { count?: number; next?: string } = {},
) {
  sendJson(response, 200, { count: results.length, next: null, previous: null, results, ...more });
}

/** Answers with the requested page of a list in pages of this size. */
export function sendPart(
  response: ServerResponse,
  { page }: Asked,
  all: readonly object[],
  size: number,
  more: { count?: number } = {},
) {
  const next = page * size < all.length ? { next: `http://x/?page=${page + 1}` } : {};
  sendPage(response, all.slice((page - 1) * size, page * size), {
    count: all.length,
    ...next,
    ...more,
  });
}

export const TRACE_HEADERS = {
  'X-Service-From': 'eu-west',
  'X-Service-RequestId': 'request-1',
  'X-Service-Version': '2026.11',
};
