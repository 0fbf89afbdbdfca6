// Connections through a proxy; loads the whole of undici, only where a proxy is used.

import { isIP, type Socket } from 'node:net';
import { type buildConnector, type Dispatcher, Pool, ProxyAgent } from 'undici';
import { MAX_HEADER_BYTES, type Sockets, withSockets, withUnpausedEnd } from './connect.js';
import { proxyToken } from './proxy.js';

/** What a proxy gives that no connection could be made to. */
const UNREACHED =
  /^(?:ECONNREFUSED|ENOTFOUND|EAI_AGAIN|ETIMEDOUT|EHOSTUNREACH|ENETUNREACH|UND_ERR_CONNECT_TIMEOUT)$/;

/** Opens a dispatcher that asks one proxy. `timeoutMs` bounds the making of a connection, with the proxy and behind it; `sockets` holds them. */
export function openProxyAgent(proxy: URL, timeoutMs: number, sockets: Sockets): Dispatcher {
  const token = proxyToken(proxy);
  return new ProxyAgent({
    // Without a path, which undici refuses and a proxy has no use for, and without the password, which is in the token.
    uri: proxy.origin,
    ...(token === undefined ? {} : { token }),
    // A tunnel (CONNECT) for https alone; plain http is asked of the proxy by its whole address, as curl does it.
    proxyTunnel: false,
    proxyTls: { timeout: timeoutMs, lookup: sockets.lookUp },
    requestTls: { timeout: timeoutMs },
    factory: (origin, options: Pool.Options) =>
      new Pool(origin, {
        ...options,
        maxHeaderSize: MAX_HEADER_BYTES,
        connect: withUnpausedEnd(
          explainRefusals(withSockets(options.connect as buildConnector.connector, sockets)),
        ),
      }),
    clientFactory(origin, options: Pool.Options) {
      const dialOwn = withSockets(options.connect as buildConnector.connector, sockets);
      // RFC 6066 section 3: an IP address is no server name; Bun refuses one, and undici names it.
      const dialProxy: buildConnector.connector = (asked, callback) =>
        dialOwn(
          isIP(asked.servername ?? '') === 0 ? asked : { ...asked, servername: '' },
          callback,
        );
      const pool = new Pool(origin, { ...options, connect: dialProxy });
      const connect = pool.connect.bind(pool) as (
        options: Dispatcher.ConnectOptions,
      ) => Promise<Dispatcher.ConnectData>;
      // A proxy that hangs up on CONNECT gives undici's own socket error, upon which undici would dial again at once, for ever.
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

/** undici tells a status other than 200 from the proxy in its message alone. */
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
