// The process's connections, with keep-alive and the proxies of the environment; opened when the first request needs them.

import type { Dispatcher } from 'undici';
import { openRoutes } from './proxy.js';

export type { Dispatcher };

export type Network = Awaited<ReturnType<typeof openNetwork>>;

/** Opens the dispatchers. `timeoutMs` bounds the making of a connection, TLS included. */
export async function openNetwork(env: NodeJS.ProcessEnv, timeoutMs: number) {
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
    /** The way an address is asked. Throws a FleetError of kind `config` where that is a proxy that is none. */
    routeTo,
    /** What sends to an address, on that way. Throws the same. */
    dispatcherTo(url: URL): Dispatcher {
      const { proxy } = routeTo(url);
      if (proxy === undefined || openProxyAgent === undefined) return direct;
      const agent = agents.get(proxy.href) ?? openProxyAgent(proxy, timeoutMs, sockets);
      agents.set(proxy.href, agent);
      return agent;
    },
    /** Lets go of every connection, so that the process can end. */
    async close() {
      await Promise.all(
        [direct, ...agents.values()].map((agent) => agent.destroy(closingReason())),
      );
      sockets.destroy();
    },
    /** Whether a name is being looked up, which nothing can stop. */
    isLookingUp: sockets.isLookingUp,
  };
}

/** The code of requests that were in flight when the command ended and its connections were closed. */
export const COMMAND_OVER_CODE = 'ECOMMANDOVER';

/** What connections are closed with. Node asks it for its stack, and V8 would count the lines of each file to draw that. */
function closingReason(): Error {
  return Object.assign(new Error('the command is over'), { code: COMMAND_OVER_CODE, stack: '' });
}
