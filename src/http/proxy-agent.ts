// Opens connections through a proxy. Loads all of undici, so it is only imported when a proxy is
// used.

import { isIP, type Socket } from 'node:net';
import { type buildConnector, type Dispatcher, Pool, ProxyAgent } from 'undici';
import { MAX_HEADER_BYTES, type Sockets, withSockets, withStream } from './connect.js';
import { proxyToken } from './proxy.js';

/** Error codes which mean that the proxy cannot be reached. */
const UNREACHED =
  /^(?:ECONNREFUSED|ENOTFOUND|EAI_AGAIN|ETIMEDOUT|EHOSTUNREACH|ENETUNREACH|UND_ERR_CONNECT_TIMEOUT)$/;

/**
 * Opens a dispatcher for one proxy. `timeoutMs` limits connecting to the proxy and connecting to
 * the service. `sockets` tracks the connections.
 */
export function openProxyAgent(proxy: URL, timeoutMs: number, sockets: Sockets): Dispatcher {
  const token = proxyToken(proxy);
  return new ProxyAgent({
    // undici refuses a proxy URL with a path. The password is already in `token`.
    uri: proxy.origin,
    ...(token === undefined ? {} : { token }),
    // Only https uses a tunnel (CONNECT). Plain http sends the full URL to the proxy, like curl.
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
      // RFC 6066 section 3 does not allow an IP address as server name. undici sends one, and Bun
      // refuses it.
      const dialProxy: buildConnector.connector = (asked, callback) =>
        dialOwn(
          isIP(asked.servername ?? '') === 0 ? asked : { ...asked, servername: '' },
          callback,
        );
      const pool = new Pool(origin, { ...options, connect: dialProxy });
      const connect = pool.connect.bind(pool) as (
        options: Dispatcher.ConnectOptions,
      ) => Promise<Dispatcher.ConnectData>;
      // When a proxy closes the connection on CONNECT, undici would reconnect at once and
      // endlessly. A different error code prevents this.
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

/** undici reports the status that the proxy answered only in its message. */
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
