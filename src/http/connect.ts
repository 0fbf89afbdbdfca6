// Opens connections that can be closed at any time. undici's own connector is not suitable, for two
// reasons. It returns a socket only after the socket is connected, and importing it would load all
// of undici.

import { lookup } from 'node:dns';
import { connect, isIP, type LookupFunction, Socket } from 'node:net';
import { connect as connectTls, type TLSSocket } from 'node:tls';
import type { buildConnector } from 'undici';
import { wrapSocket } from './connection-stream.js';

type Connector = buildConnector.connector;
type Target = buildConnector.Options;

/** The maximum size of the headers of a response: four times Node's default. */
export const MAX_HEADER_BYTES = 64 * 1024;

/** The open sockets and the number of DNS lookups in progress. */
export type Sockets = ReturnType<typeof openSockets>;

/**
 * Tracks each socket from its creation, so that it can be closed while it is still connecting.
 * undici closes only established connections. A socket that is still connecting would keep the
 * process alive.
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

/** Wraps a connector so that each new socket is added to `sockets`. */
export function withSockets(connect: Connector, sockets: Sockets): Connector {
  return (options, callback) => {
    // undici's connector returns the socket, but its type declares no return value.
    const socket: unknown = connect(options, callback);
    if (socket instanceof Socket) sockets.add(socket);
  };
}

/** TCP keep-alive probes begin after this time. undici's own connector uses the same value. */
const KEEP_ALIVE_AFTER_MS = 60_000;
/**
 * The maximum number of TLS sessions that are kept. A kept session makes a later connection to the
 * same server faster. undici uses the same number.
 */
const MOST_SESSIONS = 100;

/**
 * Returns a connector that opens TCP connections, with TLS for https. A connection attempt fails
 * when no data arrives for `timeoutMs`.
 */
export function openConnector(timeoutMs: number, sockets: Sockets): Connector {
  // The timeout starts before the DNS lookup and ends after the TLS handshake, so it covers both.
  const common = { lookup: sockets.lookUp, timeout: timeoutMs };
  const openTls = openTlsConnector(common);
  return withStream((options, callback) => {
    const isTls = options.protocol === 'https:';
    const socket = isTls ? openTls(options) : openTcp(options, common);
    sockets.add(socket);
    socket.setKeepAlive(true, KEEP_ALIVE_AFTER_MS).setNoDelay(true);
    const fail = (error: Error) => callback(error, null);
    const late = () => socket.destroy(timeoutError(options, timeoutMs));
    socket.once('timeout', late).once('error', fail);
    socket.once(isTls ? 'secureConnect' : 'connect', () => {
      socket.off('timeout', late).off('error', fail);
      callback(null, socket);
    });
  });
}

/** Options for TCP and TLS sockets. */
interface CommonOptions {
  lookup: LookupFunction;
  timeout: number;
}

function openTcp({ hostname, port }: Target, common: CommonOptions): Socket {
  return connect({ ...common, host: hostname, port: Number(port || HTTP_PORT) });
}

function openTlsConnector(common: CommonOptions): (target: Target) => TLSSocket {
  const sessions = new Map<string, Buffer>();
  return ({ hostname, port, servername }) => {
    // RFC 6066 section 3 does not allow an IP address as the TLS server name.
    const name = servername || (isIP(withoutBrackets(hostname)) === 0 ? hostname : '');
    const session = sessions.get(name || hostname);
    const socket = connectTls({
      ...common,
      host: hostname,
      port: Number(port || HTTPS_PORT),
      servername: name,
      ALPNProtocols: ['http/1.1'],
      ...(session === undefined ? {} : { session }),
    });
    return socket.on('session', (latest) => {
      if (sessions.size >= MOST_SESSIONS) sessions.clear();
      sessions.set(name || hostname, latest);
    });
  };
}

const HTTP_PORT = 80;
const HTTPS_PORT = 443;

function withoutBrackets(host: string): string {
  return host.replace(/^\[(.*)\]$/, '$1');
}

function timeoutError({ hostname }: Target, timeoutMs: number): Error {
  return Object.assign(new Error(`no connection to ${hostname} within ${timeoutMs} ms`), {
    code: 'UND_ERR_CONNECT_TIMEOUT',
  });
}

/** Wraps a connector so that undici receives a ConnectionStream instead of the socket. */
export function withStream(connector: Connector): Connector {
  return (options, callback) =>
    connector(options, (...result) => {
      const [error, socket] = result;
      if (error !== null || socket === null) callback(...result);
      else callback(null, wrapSocket(socket));
    });
}
