// Opens connections that can be closed at any time, and works around two faults of undici's parser.

import { lookup } from 'node:dns';
import { type LookupFunction, Socket } from 'node:net';
import type { buildConnector as Connectors } from 'undici';
// A private path of undici, like the one in agent.ts. The agent loads this file anyway.
import buildConnector from 'undici/lib/core/connect.js';
import { kParser } from 'undici/lib/core/symbols.js';

type Connector = Connectors.connector;

/** The maximum size of the headers of an answer: four times Node's default. */
export const MAX_HEADER_BYTES = 64 * 1024;

/** The open sockets and the number of name look-ups in progress. */
export type Sockets = ReturnType<typeof openSockets>;

/**
 * Tracks sockets from their creation. undici only closes established connections; a connection
 * attempt would keep the process alive until it fails.
 */
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

/** Wraps a connector so that it adds each socket to `sockets` when it creates the socket. */
export function withSockets(connect: Connector, sockets: Sockets): Connector {
  return (options, callback) => {
    // undici's connector returns the socket, but its types do not declare this.
    const socket: unknown = connect(options, callback);
    if (socket instanceof Socket) sockets.add(socket);
  };
}

/** Opens connections, TLS included. `timeoutMs` limits each connection attempt. */
export function openConnector(timeoutMs: number, sockets: Sockets): Connector {
  return withParserFixes(
    withSockets(buildConnector({ timeout: timeoutMs, lookup: sockets.lookUp }), sockets),
  );
}

/**
 * Wraps a connector so that a connection can end while its parser is paused, and so that responses
 * with the status 100 are ignored.
 */
export function withParserFixes(connect: Connector): Connector {
  return (options, callback) =>
    connect(options, (...result) => {
      if (result[0] === null && result[1] !== null) {
        unpauseAtEnd(result[1]);
        ignoreContinue(result[1]);
      }
      callback(...result);
    });
}

/**
 * Ignores an unrequested `100 Continue` (RFC 9110, 15.2). undici closes the connection then, but
 * passes on every other interim status, so 100 is reported to it as 102.
 */
function ignoreContinue(socket: Socket): void {
  let current: Parser | null = null;
  // undici sets the parser after the connector has returned.
  Object.defineProperty(socket, kParser, {
    get: () => current,
    set(parser: Parser | null) {
      current = parser;
      if (parser === null) return;
      const complete = parser.onHeadersComplete.bind(parser);
      parser.onHeadersComplete = (status, ...rest) =>
        complete(status === 100 ? 102 : status, ...rest);
    },
  });
}

/**
 * Resumes a paused parser when its connection ends. undici 7 asserts that the parser is not paused
 * then, and throws where the error cannot be caught (nodejs/undici#5360). undici 8 fixes this but
 * needs Node 22. Resuming is safe: the parser has received all bytes before the connection ends.
 */
function unpauseAtEnd(socket: Socket): void {
  const unpause = () => {
    const parser = (socket as { [kParser]?: Parser | null })[kParser];
    if (parser?.paused !== true) return;
    parser.llhttp.llhttp_resume(parser.ptr);
    parser.paused = false;
  };
  // undici adds its own listeners later, so these listeners run first.
  for (const event of ['end', 'error', 'close']) socket.on(event, unpause);
}

/** The members of undici's parser that are used here. */
interface Parser {
  paused: boolean;
  readonly ptr: number;
  readonly llhttp: { llhttp_resume(ptr: number): void };
  onHeadersComplete(status: number, upgrade: boolean, shouldKeepAlive: boolean): number;
}
