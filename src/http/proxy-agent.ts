// Opens connections through a proxy. This module loads all of undici, so it is imported only when a
// proxy is used.

import { isIP, type Socket } from 'node:net';
import { type buildConnector, type Dispatcher, Pool, ProxyAgent } from 'undici';
import { MAX_HEADER_BYTES, type Sockets, withSockets, withStream } from './connect.js';
import { proxyToken } from './proxy.js';

/** Error codes which mean that the proxy cannot be reached. */
const UNREACHED =
  /^(?:ECONNREFUSED|ENOTFOUND|EAI_AGAIN|ETIMEDOUT|EHOSTUNREACH|ENETUNREACH|UND_ERR_CONNECT_TIMEOUT)$/;

/**
 * Opens a dispatcher for a proxy. `timeoutMs` applies to connecting to the proxy and, separately,
 * to the service. `sockets` tracks the connections.
 */
export function openProxyAgent(proxy: URL, timeoutMs: number, sockets: Sockets): Dispatcher {
  const token = proxyToken(proxy);
  return new ProxyAgent({
    // The path is removed, because undici refuses a proxy URL with a path. `token` contains the
    // password.
    uri: proxy.origin,
    ...(token === undefined ? {} : { token }),
    // Only https uses a tunnel (CONNECT). For plain http, the proxy receives the full URL, as with
    // curl.
    proxyTunnel: false,
    proxyTls: { timeout: timeoutMs, lookup: sockets.lookUp },
    requestTls: { timeout: timeoutMs },
    factory: (origin, options: Pool.Options) =>
      new Pool(origin, {
        ...options,
        maxHeaderSize: MAX_HEADER_BYTES,
        connect: withStream(
          explainRefusals(withSockets(options.connect as buildConnector.connector, sockets)),
        ),
      }),
    clientFactory(origin, options: Pool.Options) {
      const dialOwn = withSockets(options.connect as buildConnector.connector, sockets);
      // undici sends an IP address as the TLS server name. RFC 6066 section 3 does not allow this,
      // and Bun refuses it.
      const dialProxy: buildConnector.connector = (asked, callback) =>
        dialOwn(
          isIP(asked.servername ?? '') === 0 ? asked : { ...asked, servername: '' },
          callback,
        );
      const pool = new Pool(origin, { ...options, connect: dialProxy });
      const connect = pool.connect.bind(pool) as (
        options: Dispatcher.ConnectOptions,
      ) => Promise<Dispatcher.ConnectData>;
      // When a proxy closes the connection on CONNECT, undici reconnects immediately and endlessly.
      // A different error code prevents this.
      const dial = (connectOptions: Dispatcher.ConnectOptions) =>
        connect(connectOptions).then(
          (tunnel) => {
            sockets.add(tunnel.socket as Socket);
            return tunnel;
          },
          (error: unknown) => {
            const isUnreached = UNREACHED.test(String((error as NodeJS.ErrnoException).code));
            throw isUnreached
              ? withCode(`the proxy ${origin.origin} cannot be reached`, 'EPROXYUNREACHED', error)
              : withCode(`the proxy ${origin.origin} hung up`, 'EPROXY', error);
          },
        );
      return Object.assign(pool, { connect: dial as typeof pool.connect });
    },
  });
}

/**
 * Wraps a connector so that its errors have a code that depends on the proxy's status. undici
 * reports this status only in the error message.
 */
function explainRefusals(connect: buildConnector.connector): buildConnector.connector {
  return (options, callback) =>
    connect(options, (...result) => {
      const [error] = result;
      const status =
        error === null ? undefined : /^Proxy response \((\d+)\)/.exec(error.message)?.[1];
      if (status === undefined) return callback(...result);
      callback(
        withCode(
          `the proxy answered ${status}`,
          status === '407' ? 'EPROXYREFUSEDLOGIN' : 'EPROXYREFUSED',
          error,
        ),
        null,
      );
    });
}

function withCode(message: string, code: string, cause: unknown): Error {
  return Object.assign(new Error(message, { cause }), { code });
}
