// The process's dispatcher, with keep-alive and the proxies of the environment; made when the first request needs it.

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
  const { openAgent } = await import('./agent.js');
  const direct = openAgent({ connect: { timeout: timeoutMs } });
  const proxies = {
    httpProxy: readVariable(env, 'HTTP_PROXY'),
    httpsProxy: readVariable(env, 'HTTPS_PROXY'),
    noProxy: readVariable(env, 'NO_PROXY'),
  };
  if (proxies.httpProxy === '' && proxies.httpsProxy === '')
    return { dispatcher: direct, close: () => direct.destroy() };
  const { openProxies } = await import('./proxy.js');
  const proxied = openProxies(proxies, timeoutMs);
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
