// Tests that signals end a mirror command while PostgreSQL does not answer.

import { EventEmitter, once } from 'node:events';
import { createServer } from 'node:net';
import { expect, test } from 'vitest';
import { listenOn } from '../support/listen.js';
import { runFleet } from '../support/run.js';

const ORGANIZATION = '6f1c0b5e-2f0e-4c56-9d3a-0d6f3a1f7c11';
/** The answer to a login, and the message that the server is ready for a query. */
const LOGGED_IN = Buffer.from('5200000008000000005a0000000549', 'hex');

test.each([
  ['accepts no login', 'once', Buffer.alloc(0)],
  ['accepts no login', 'run', Buffer.alloc(0)],
  ['answers no query', 'once', LOGGED_IN],
  ['answers no query', 'run', LOGGED_IN],
])('SIGTERM ends a command when the database %s: `mirror %s`', async (_how, verb, answer) => {
  const server = createServer((socket) => {
    socket.on('error', () => {});
    socket.once('data', () => {
      // The first packet asks for TLS, which the server refuses. The second packet is the login.
      socket.write('N');
      socket.once('data', () => socket.write(answer));
    });
  });
  const port = await listenOn(server);
  const signals = new EventEmitter();
  const args = ['mirror', verb, '--organization', ORGANIZATION];
  const running = runFleet([...args, '--to', `postgres://ann@127.0.0.1:${port}/d`], {
    env: {
      FLEET_BASE_URL: 'http://127.0.0.1:9',
      FLEET_SSE_URL: 'http://127.0.0.1:9',
      FLEET_TOKEN: 't',
    },
    signals,
  });
  await once(server, 'connection');
  signals.emit('SIGTERM', 'SIGTERM');
  expect(await running).toMatchObject({ code: 143 });
  server.close();
});
