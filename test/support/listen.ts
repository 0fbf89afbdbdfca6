// Starts servers of Node on loopback, each on its own port.

import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';

/**
 * Resolves with the port on which the server listens: a free port by default. Rejects when the port
 * is in use.
 */
export async function listenOn(server: Server, port = 0): Promise<number> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, '127.0.0.1', () => {
      server.off('error', reject);
      resolve();
    });
  });
  return (server.address() as AddressInfo).port;
}

/**
 * The ports for servers that start later. Systems give other ports to connections and to servers
 * that accept any port, so no other test gets one of these ports by chance. Linux gives ports from
 * 32768.
 */
const FIRST_RESERVED_PORT = 12_000;
const RESERVED_PORTS = 18_000;

/** Resolves with a port on which nothing listens, for a server that starts later. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = FIRST_RESERVED_PORT + Math.floor(Math.random() * RESERVED_PORTS);
    const probe = createServer();
    const isFree = await listenOn(probe, port).then(
      () => true,
      () => false,
    );
    if (!isFree) continue;
    await new Promise((resolve) => probe.close(resolve));
    return port;
  }
}

/** Keeps the sockets of a server and ignores their errors; `close` ends them with the server. */
export function keepSockets(server: Server): {
  sockets: ReadonlySet<Socket>;
  close(): Promise<void>;
} {
  const sockets = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
    socket.on('error', () => {});
  });
  return {
    sockets,
    close: () =>
      new Promise((resolve) => {
        for (const socket of sockets) socket.destroy();
        server.close(() => resolve());
      }),
  };
}
