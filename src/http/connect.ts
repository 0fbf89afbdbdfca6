// Opens connections, which can be let go of at any time; a parser that is paused at the end of one does no harm.

import { lookup } from 'node:dns';
import { type LookupFunction, Socket } from 'node:net';
import type { buildConnector as Connectors } from 'undici';
// A private path of undici, as that in agent.ts: the agent loads it anyway.
import buildConnector from 'undici/lib/core/connect.js';
import { kParser } from 'undici/lib/core/symbols.js';

type Connector = Connectors.connector;

/** The most that the headers of an answer may take: four times what Node takes by itself. */
export const MAX_HEADER_BYTES = 64 * 1024;

/** Sockets until they are closed, and the names that are looked up for them. */
export type Sockets = ReturnType<typeof openSockets>;

/** undici lets go of connections that stand; one that is still being made would keep the process for as long as that may take. */
export function openSockets() {
  const sockets = new Set<Socket>();
  let lookUps = 0;
  const lookUp: LookupFunction = (host, options, callback) => {
    lookUps += 1;
    lookup(host, options, (...result) => {
      lookUps -= 1;
      callback(...result);
    });
  };
  return {
    lookUp,
    isLookingUp: () => lookUps > 0,
    add(socket: Socket) {
      sockets.add(socket);
      socket.once('close', () => sockets.delete(socket));
    },
    destroy() {
      for (const socket of sockets) socket.destroy();
    },
  };
}

/** The same connector, whose sockets are kept from the moment they are made. */
export function withSockets(connect: Connector, sockets: Sockets): Connector {
  return (options, callback) => {
    // undici's own returns the socket, which its types do not say.
    const socket: unknown = connect(options, callback);
    if (socket instanceof Socket) sockets.add(socket);
  };
}

/** Opens connections, TLS included, each in so many milliseconds. */
export function openConnector(timeoutMs: number, sockets: Sockets): Connector {
  return withUnpausedEnd(
    withSockets(buildConnector({ timeout: timeoutMs, lookup: sockets.lookUp }), sockets),
  );
}

/** The same, with a parser that outlives a connection that ends while it is paused. */
export function withUnpausedEnd(connect: Connector): Connector {
  return (options, callback) =>
    connect(options, (...result) => {
      if (result[0] === null && result[1] !== null) unpauseAtEnd(result[1]);
      callback(...result);
    });
}

/**
 * When a connection ends, undici 7 asserts that its parser is not paused, and throws where nobody can catch it: nodejs/undici#5360,
 * fixed in undici 8, which needs Node 22. A paused parser holds nothing back then: an end comes after all bytes were taken.
 */
function unpauseAtEnd(socket: Socket): void {
  const unpause = () => {
    const parser = (socket as { [kParser]?: Parser | null })[kParser];
    if (parser?.paused !== true) return;
    parser.llhttp.llhttp_resume(parser.ptr);
    parser.paused = false;
  };
  // undici adds its own listeners later, so ours run first.
  for (const event of ['end', 'error', 'close']) socket.on(event, unpause);
}

/** What is touched of undici's parser. */
interface Parser {
  paused: boolean;
  readonly ptr: number;
  readonly llhttp: { llhttp_resume(ptr: number): void };
}
