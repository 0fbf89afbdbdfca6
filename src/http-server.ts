// An HTTP server of this program's own: what it takes from a connection is bounded, and it ends when it is told to.

import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type Clock, systemClock } from './clock.js';

export interface OwnServer {
  /** `http://127.0.0.1:4020`, without a path. */
  readonly origin: string;
  /** Takes nothing more; resolves when the last connection is closed, those that go on are cut after so many milliseconds. */
  close(afterMs?: number): Promise<void>;
}

export interface OwnServerOptions {
  host: string;
  /** 0 for any free one. */
  port: number;
  clock?: Clock;
}

/** From the first byte of a head to its last 10 s, and of a request to its last 20 s. */
const LIMITS = {
  maxHeaderSize: 16 * 1024,
  headersTimeout: 10_000,
  requestTimeout: 20_000,
  keepAliveTimeout: 60_000,
  connectionsCheckingInterval: 1_000,
};
const CONNECTION_LIMIT = 1_000;

/** Starts to listen. Rejects with Node's own error, EADDRINUSE for instance. */
export async function openHttpServer(options: OwnServerOptions, listener: RequestListener): Promise<OwnServer> {
  const { host, port, clock = systemClock() } = options;
  const server = createServer(LIMITS, listener);
  server.maxConnections = CONNECTION_LIMIT;
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host.replace(/^\[(.*)\]$/, '$1'), () => {
      server.off('error', reject);
      server.on('error', () => {});
      resolve();
    });
  });
  const { address, port: bound, family } = server.address() as AddressInfo;
  return {
    origin: `http://${family === 'IPv6' ? `[${address}]` : address}:${bound}`,
    close: (afterMs = 0) =>
      new Promise((resolve) => {
        const cancel = clock.after(afterMs, () => server.closeAllConnections());
        server.close(() => {
          cancel();
          resolve();
        });
        server.closeIdleConnections();
      }),
  };
}
