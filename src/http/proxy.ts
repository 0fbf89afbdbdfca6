// The proxies of the environment: the whole of undici, loaded only where a proxy is set.

import { type Dispatcher, EnvHttpProxyAgent, Pool } from 'undici';

export interface Proxies {
  httpProxy: string;
  httpsProxy: string;
  noProxy: string;
}

/** Opens a dispatcher that asks the proxies, but for the hosts of `noProxy`. `timeoutMs` bounds the making of a connection. */
export function openProxies(proxies: Proxies, timeoutMs: number): Dispatcher {
  return new EnvHttpProxyAgent({
    ...proxies,
    // A tunnel (CONNECT) for https alone; plain http is asked of the proxy by its whole address, as curl does it.
    proxyTunnel: false,
    proxyTls: { timeout: timeoutMs },
    requestTls: { timeout: timeoutMs },
    clientFactory(origin, options) {
      const pool = new Pool(origin, options);
      const connect = pool.connect.bind(pool) as (
        options: Dispatcher.ConnectOptions,
      ) => Promise<Dispatcher.ConnectData>;
      // A proxy that hangs up on CONNECT gives undici's own socket error, upon which undici would dial again at once, for ever.
      const dial = (connectOptions: Dispatcher.ConnectOptions) =>
        connect(connectOptions).catch((error: unknown) => {
          throw Object.assign(new Error(`the proxy ${origin.origin} hung up`, { cause: error }), { code: 'EPROXY' });
        });
      return Object.assign(pool, { connect: dial as typeof pool.connect });
    },
  });
}
