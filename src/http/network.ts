// Opens the HTTP connections of the process, with keep-alive and the proxies from the environment.
// This module is loaded at the first request.

import type { Dispatcher } from 'undici';
import type { Secrets } from '../system/secrets.js';
import { openRoutes, secretsOfProxy } from './proxy.js';

export type { Dispatcher };

export type Network = Awaited<ReturnType<typeof openNetwork>>;

/**
 * Opens the network. `timeoutMs` limits each connection attempt including TLS. Adds the passwords
 * of the used proxies to `secrets`.
 */
export async function openNetwork(
  env: NodeJS.ProcessEnv,
  timeoutMs: number,
  secrets: Pick<Secrets, 'add'>,
) {
  const { routeTo, hasProxy } = openRoutes(env);
  const { openAgent } = await import('./agent.js');
  const { MAX_HEADER_BYTES, openConnector, openSockets } = await import('./connect.js');
  const sockets = openSockets();
  const direct = openAgent({
    connect: openConnector(timeoutMs, sockets),
    maxHeaderSize: MAX_HEADER_BYTES,
  });
  const openProxyAgent = hasProxy ? (await import('./proxy-agent.js')).openProxyAgent : undefined;
  const agents = new Map<string, Dispatcher>();
  return {
    /**
     * Returns the route to an address: direct or through a proxy. Throws a FleetError of kind
     * `config` when the proxy setting is invalid.
     */
    routeTo,
    /** Returns the undici dispatcher for an address. Throws like `routeTo`. */
    dispatcherTo(url: URL): Dispatcher {
      const { proxy } = routeTo(url);
      if (proxy === undefined || openProxyAgent === undefined) return direct;
      const known = agents.get(proxy.href);
      if (known !== undefined) return known;
      for (const secret of secretsOfProxy(proxy)) secrets.add(secret, true);
      const agent = openProxyAgent(proxy, timeoutMs, sockets);
      agents.set(proxy.href, agent);
      return agent;
    },
    /** Closes all connections, so that the process can exit. */
    async close() {
      await Promise.all(
        [direct, ...agents.values()].map((agent) => agent.destroy(closingReason())),
      );
      sockets.destroy();
    },
    /** Whether a DNS look-up is in progress. It cannot be cancelled. */
    isLookingUp: sockets.isLookingUp,
  };
}

/** The error code of requests that are cancelled because the command has ended. */
export const COMMAND_OVER_CODE = 'ECOMMANDOVER';

/**
 * Returns the error that closes the connections. The error has an empty stack, because building a
 * stack takes time.
 */
function closingReason(): Error {
  return Object.assign(new Error('the command is over'), { code: COMMAND_OVER_CODE, stack: '' });
}
