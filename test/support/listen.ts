// Servers of Node on loopback, each on a port of its own.

import type { AddressInfo, Server } from 'node:net';

/** Resolves with the port on which the server listens: a free one, unless one is asked for. */
export async function listenOn(server: Server, port = 0): Promise<number> {
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  return (server.address() as AddressInfo).port;
}
