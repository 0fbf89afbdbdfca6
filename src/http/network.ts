// The connections of the process, with keep-alive and the proxies of the environment. Opened for
// the first request.

import type { Dispatcher } from 'undici';
import type { Secrets } from '../system/secrets.js';
import { openRoutes, secretsOfProxy } from './proxy.js';

export type { Dispatcher };

export type Network = Awaited<ReturnType<typeof openNetwork>>;

/**
 * Opens the dispatchers. `timeoutMs` limits each connection attempt, TLS included. The password of
 * each proxy that is used is added to `secrets`.
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
     * Returns the route to an address. Throws a FleetError of kind `config` if the proxy setting is
     * not valid.
     */
    routeTo,
    /** Returns the dispatcher for an address. Throws the same error as `routeTo`. */
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
    /** Closes every connection, so that the process can end. */
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

/**
 * The error code of requests that were in progress when the command ended and closed its
 * connections.
 */
export const COMMAND_OVER_CODE = 'ECOMMANDOVER';

/**
 * The error that closes connections. Its stack is empty: Node would read the stack, and V8 would
 * count the lines of each file to build it.
 */
function closingReason(): Error {
  return Object.assign(new Error('the command is over'), { code: COMMAND_OVER_CODE, stack: '' });
}
