// Opens connections: names below localhost stay on this machine, and odd bytes that undici cannot handle are kept from it.

import { type LookupAddress, type LookupOptions, lookup } from 'node:dns';
import { Socket } from 'node:net';
import type { buildConnector as Connectors } from 'undici';
// A private path of undici, as that in agent.ts: the agent loads it anyway.
import buildConnector from 'undici/lib/core/connect.js';
import { kParser } from 'undici/lib/core/symbols.js';
import { isOwnName } from './loopback.js';

type Connector = Connectors.connector;
type LookupCallback = (error: NodeJS.ErrnoException | null, address: string | LookupAddress[], family?: number) => void;

const OWN_ADDRESSES: LookupAddress[] = [
  { address: '127.0.0.1', family: 4 },
  { address: '::1', family: 6 },
];

/** The most that the headers of an answer may take: four times what Node takes by itself. */
export const MAX_HEADER_BYTES = 64 * 1024;

/** Looks a host up as `dns.lookup` does; this machine's own names are not asked of a resolver, which may send them elsewhere. */
export function lookUp(host: string, options: LookupOptions, callback: LookupCallback): void {
  if (!isOwnName(host)) {
    lookup(host, options as LookupOptions & { all: true }, callback);
    return;
  }
  const fitting = OWN_ADDRESSES.filter(
    ({ family }) => options.family === undefined || options.family === 0 || options.family === family,
  );
  const [first] = fitting;
  if (options.all === true) process.nextTick(callback, null, fitting);
  else process.nextTick(callback, null, first?.address ?? '127.0.0.1', first?.family ?? 4);
}

/** Sockets until they are closed, and the names that are looked up for them. */
export interface Sockets {
  add(socket: Socket): void;
  destroy(): void;
  lookUp: typeof lookUp;
  isLookingUp(): boolean;
}

/** undici lets go of connections that stand; one that is still being made would keep the process for as long as that may take. */
export function openSockets(): Sockets {
  const sockets = new Set<Socket>();
  let lookUps = 0;
  return {
    lookUp(host, options, callback) {
      lookUps += 1;
      lookUp(host, options, (...result) => {
        lookUps -= 1;
        callback(...result);
      });
    },
    isLookingUp: () => lookUps > 0,
    add(socket) {
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
  return withWorkarounds(withSockets(buildConnector({ timeout: timeoutMs, lookup: sockets.lookUp as never }), sockets));
}

/**
 * The same, without the interim answer `100 Continue`, which undici takes for the end of the connection, and with a parser that
 * outlives a connection that ends while it is paused.
 */
export function withWorkarounds(connect: Connector): Connector {
  return (options, callback) =>
    connect(options, (...result) => {
      if (result[0] === null && result[1] !== null) {
        skipContinue(result[1]);
        unpauseAtEnd(result[1]);
      }
      callback(...result);
    });
}

const CONTINUE = 'HTTP/1.1 100';
/** An interim answer with more than this is no interim answer. */
const CONTINUE_LIMIT_BYTES = 16 * 1024;

/**
 * RFC 9110 section 15.2: "A client MUST be able to parse one or more 1xx responses received prior to a final response, even if the
 * client does not expect one." Looks at the first bytes behind each request alone; nothing else that is read changes.
 */
function skipContinue(socket: Socket): void {
  const read = socket.read.bind(socket);
  const write = socket.write.bind(socket) as (...input: unknown[]) => boolean;
  let isAnswerAwaited = false;
  let held: Buffer = Buffer.alloc(0);
  socket.write = ((...input: unknown[]) => {
    isAnswerAwaited = true;
    return write(...input);
  }) as typeof socket.write;
  socket.read = (size?: number) => {
    const chunk: Buffer | null = read(size);
    if (!isAnswerAwaited || chunk === null) return chunk;
    held = held.length === 0 ? chunk : Buffer.concat([held, chunk]);
    // Interim answers are taken off; as long as it may be one, nothing is passed on.
    while (mayBeContinue(held)) {
      const end = held.length < CONTINUE.length ? -1 : held.indexOf('\r\n\r\n');
      if (end === -1 && held.length < CONTINUE_LIMIT_BYTES) return null;
      if (end === -1) break;
      held = held.subarray(end + 4);
    }
    isAnswerAwaited = false;
    const passed = held;
    held = Buffer.alloc(0);
    return passed.length === 0 ? null : passed;
  };
}

function mayBeContinue(bytes: Buffer): boolean {
  return CONTINUE.startsWith(bytes.toString('latin1', 0, CONTINUE.length).replace(/^HTTP\/1\.0/, 'HTTP/1.1'));
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
