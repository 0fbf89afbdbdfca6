// The one place that loads undici: the process's dispatcher, with keep-alive and the proxies of the environment.

import type { Dispatcher } from 'undici';

export type { Dispatcher };

export interface Network {
  readonly dispatcher: Dispatcher;
  /** Lets go of every connection, so that the process can end. */
  close(): Promise<void>;
}

/**
 * Whether an address stays on this machine: never asked through a proxy, and the only kind reached by plain http without
 * leave. Assumed: names below localhost are this machine's, as RFC 6761 demands of resolvers. URL has already brought every
 * spelling of an IPv4 address to four numbers.
 */
export function isLoopback(url: URL): boolean {
  const host = url.hostname.toLowerCase().replace(/\.$/, '');
  return host === 'localhost' || host.endsWith('.localhost') || /^127\.\d+\.\d+\.\d+$/.test(host) || host === '[::1]';
}

function readVariable(env: NodeJS.ProcessEnv, name: string): string {
  return env[name.toLowerCase()] ?? env[name] ?? '';
}

/** Opens the dispatcher. `timeoutMs` bounds the making of a connection, TLS included. */
export async function openNetwork(env: NodeJS.ProcessEnv, timeoutMs: number): Promise<Network> {
  const { Agent, EnvHttpProxyAgent, Pool } = await import('undici');
  const options = { connect: { timeout: timeoutMs } };
  const httpProxy = readVariable(env, 'HTTP_PROXY');
  const httpsProxy = readVariable(env, 'HTTPS_PROXY');
  const direct = new Agent(options);
  if (httpProxy === '' && httpsProxy === '') return { dispatcher: direct, close: () => direct.destroy() };
  const proxied = new EnvHttpProxyAgent({
    httpProxy,
    httpsProxy,
    noProxy: readVariable(env, 'NO_PROXY'),
    // A tunnel (CONNECT) for https alone; plain http is asked of the proxy by its whole address, as curl does it.
    proxyTunnel: false,
    proxyTls: { timeout: timeoutMs },
    requestTls: { timeout: timeoutMs },
    clientFactory(origin, poolOptions) {
      const pool = new Pool(origin, poolOptions);
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
  // As curl and Go do it, this machine is never reached through a proxy: the sandbox would be out of reach.
  const dispatcher = direct.compose((dispatch) => (request, handler) => {
    return isLoopback(new URL(String(request.origin)))
      ? dispatch(request, handler)
      : proxied.dispatch(request, handler);
  });
  return {
    dispatcher,
    close: async () => {
      await Promise.all([direct.destroy(), proxied.destroy()]);
    },
  };
}
