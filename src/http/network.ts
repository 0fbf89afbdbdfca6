// The process's dispatcher, with keep-alive and the proxies of the environment; made when the first request needs it.

import type { Dispatcher } from 'undici';
import { openRoutes, type Route } from './proxy.js';

export { isLoopback } from './loopback.js';

export type { Dispatcher };

export interface Network {
  readonly dispatcher: Dispatcher;
  /** The way an address is asked, by the decision that requests follow. */
  routeTo(url: URL): Route;
  /** Lets go of every connection, so that the process can end. */
  close(): Promise<void>;
  /** Whether a name is being looked up, which nothing can stop. */
  isLookingUp(): boolean;
}

/**
 * Opens the dispatcher. `timeoutMs` bounds the making of a connection, TLS included. Throws a FleetError of kind `config` for a proxy
 * that is none.
 */
export async function openNetwork(env: NodeJS.ProcessEnv, timeoutMs: number): Promise<Network> {
  const { routeTo, hasProxy } = openRoutes(env);
  const { openAgent } = await import('./agent.js');
  const { MAX_HEADER_BYTES, openConnector, openSockets } = await import('./dial.js');
  const sockets = openSockets();
  const direct = openAgent({ connect: openConnector(timeoutMs, sockets), maxHeaderSize: MAX_HEADER_BYTES });
  const close = async (agents: readonly Dispatcher[]) => {
    await Promise.all(agents.map((agent) => agent.destroy(closingReason())));
    sockets.destroy();
  };
  const { isLookingUp } = sockets;
  if (!hasProxy) return { dispatcher: direct, routeTo, close: () => close([direct]), isLookingUp };
  const { openProxyAgent } = await import('./proxy-agent.js');
  const agents = new Map<string, Dispatcher>();
  const agentOf = (proxy: URL) => {
    const agent = agents.get(proxy.href) ?? openProxyAgent(proxy, timeoutMs, sockets);
    agents.set(proxy.href, agent);
    return agent;
  };
  const dispatcher = direct.compose((dispatch) => (request, handler) => {
    const { proxy } = routeTo(new URL(String(request.origin)));
    return proxy === undefined ? dispatch(request, handler) : agentOf(proxy).dispatch(request, handler);
  });
  return { dispatcher, routeTo, close: () => close([direct, ...agents.values()]), isLookingUp };
}

/** What connections are closed with. Node asks it for its stack, and V8 would count the lines of each file to draw that. */
function closingReason(): Error {
  return Object.assign(new Error('the command is over'), { stack: '' });
}
