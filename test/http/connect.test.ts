// Tests that a connection may end while the reader of a body has paused it.

import { once } from 'node:events';
import { createServer, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { Agent } from 'undici';
import { expect, onTestFinished, test } from 'vitest';
import { openConnector, openSockets } from '../../src/http/connect.js';
import { openExchange } from '../../src/http/exchange.js';
import { listenOn } from '../support/listen.js';

const HEAD = 'HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n';
/** More than the reader buffers before it pauses the connection. */
const PART = Buffer.alloc(70_000, 'x');

/** Sends a body in two parts, so that the first one is read and pauses the connection. */
async function openBody(end: (socket: Socket) => void) {
  let setEnded = () => {};
  const ended = new Promise<void>((resolve) => {
    setEnded = resolve;
  });
  const server = createServer((socket) => {
    socket.on('error', () => {});
    socket.once('data', async () => {
      socket.write(HEAD);
      socket.write(PART);
      await sleep(200);
      end(socket);
      await sleep(200);
      setEnded();
    });
  });
  onTestFinished(() => void server.close());
  const port = await listenOn(server, 0);
  const sockets = openSockets();
  const agent = new Agent({ connect: openConnector(5_000, sockets) });
  onTestFinished(() => agent.destroy());
  const { body } = await openExchange(agent, {
    url: new URL(`http://127.0.0.1:${port}/`),
    method: 'GET',
    headers: {},
    timeoutMs: 10_000,
    signal: new AbortController().signal,
  });
  // Nobody reads the body until the connection has ended.
  await ended;
  return body;
}

test('delivers the whole body when the connection ends while reading is paused', async () => {
  const body = await openBody((socket) => socket.end());
  expect((await body.toArray()).reduce((sum, part) => sum + part.length, 0)).toBe(PART.length);
});

test('reports a body error when the connection is reset while reading is paused', async () => {
  const body = await openBody((socket) => socket.resetAndDestroy());
  body.resume();
  const [error] = await once(body, 'error').catch((thrown) => [thrown]);
  expect(error).toMatchObject({ sent: true });
});
