// An HTTP server for webhooks, metrics and the served page. It limits the size of request headers
// and the duration of requests, and can be closed at any time.

import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { asFleetError, usageError } from '../errors.js';
import { type Clock, systemClock } from './clock.js';

export type OwnServer = Awaited<ReturnType<typeof openHttpServer>>;

export interface OwnServerOptions {
  host: string;
  /** 0 chooses any free port. */
  port: number;
  /** The flag with which the user chooses another port. Error messages suggest it. */
  flag: string;
  clock?: Clock;
  /** A connection without traffic is closed after this time. By default, it stays open. */
  idleMs?: number;
}

/** A client must send the head of a request within 10 s, and the whole request within 20 s. */
const LIMITS = {
  maxHeaderSize: 16 * 1024,
  headersTimeout: 10_000,
  requestTimeout: 20_000,
  keepAliveTimeout: 60_000,
  connectionsCheckingInterval: 1_000,
};
const CONNECTION_LIMIT = 1_000;

/**
 * Starts the server. Rejects with a FleetError of kind `usage` when the address and port cannot be
 * used.
 */
export async function openHttpServer(options: OwnServerOptions, listener: RequestListener) {
  const { host, port, clock = systemClock(), idleMs = 0 } = options;
  const server = createServer(LIMITS, listener);
  server.maxConnections = CONNECTION_LIMIT;
  server.timeout = idleMs;
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error) => reject(notListening(error, options)));
    server.listen(port, host.replace(/^\[(.*)\]$/, '$1'), () => {
      server.removeAllListeners('error').on('error', () => {});
      resolve();
    });
  });
  const { address, port: bound, family } = server.address() as AddressInfo;
  return {
    /** `http://127.0.0.1:4020`, without a path. */
    origin: `http://${family === 'IPv6' ? `[${address}]` : address}:${bound}`,
    /**
     * Accepts no more connections, and resolves when the last one is closed. Connections that are
     * still open after `afterMs` are closed forcibly.
     */
    close: (afterMs = 0) =>
      new Promise<void>((resolve) => {
        const cancel = clock.after(afterMs, () => server.closeAllConnections());
        server.close(() => {
          cancel();
          resolve();
        });
        server.closeIdleConnections();
      }),
  };
}

function notListening(error: NodeJS.ErrnoException, { host, port, flag }: OwnServerOptions): Error {
  if (error.code === 'EADDRINUSE') {
    const hint = `stop the program that uses this port, or pass another port to ${flag} (0 selects a free port)`;
    return usageError(`port ${port} of ${host} is in use`, hint);
  }
  if (error.code === 'EACCES')
    return usageError(
      `this user is not allowed to listen on port ${port} of ${host}`,
      `pass a ${flag} of 1024 or above`,
    );
  if (error.code === 'EADDRNOTAVAIL' || error.code === 'ENOTFOUND')
    return usageError(`${host} is not an address of this machine`, 'pass --host 127.0.0.1');
  return asFleetError(error);
}
