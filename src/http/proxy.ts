// The proxies of the environment: the whole of undici, loaded only where a proxy is set.

import { type Dispatcher, EnvHttpProxyAgent, Pool } from 'undici';
import { configError } from '../errors.js';

export interface Proxies {
  httpProxy: string;
  httpsProxy: string;
  noProxy: string;
}

/** The address of a proxy; without a scheme it is http, as curl reads it. It may hold a password, so no error shows it. */
function readProxy(variable: string, text: string): string {
  const address = text === '' || text.includes('://') ? text : `http://${text}`;
  if (address === '' || URL.canParse(address)) return address;
  throw configError(`${variable} is no address of a proxy`, 'write it like http://proxy.example.com:3128, or unset it');
}

/** Opens a dispatcher that asks the proxies, but for the hosts of `noProxy`. `timeoutMs` bounds the making of a connection. */
export function openProxies({ httpProxy, httpsProxy, noProxy }: Proxies, timeoutMs: number): Dispatcher {
  return new EnvHttpProxyAgent({
    httpProxy: readProxy('HTTP_PROXY', httpProxy),
    httpsProxy: readProxy('HTTPS_PROXY', httpsProxy),
    noProxy,
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
