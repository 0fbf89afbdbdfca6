// Starts servers of Node on loopback, each on its own port.

import type { AddressInfo, Server, Socket } from 'node:net';

/** Resolves with the port on which the server listens: a free port by default. */
export async function listenOn(server: Server, port = 0): Promise<number> {
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  return (server.address() as AddressInfo).port;
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
