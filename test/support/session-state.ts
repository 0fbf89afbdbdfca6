// A proxy in front of PostgreSQL that checks what a client leaves behind on its connection.

import { createServer, connect as openSocket, type Socket } from 'node:net';
import { onTestFinished } from 'vitest';
import { listenOn } from './listen.js';

/** Lists the settings, statements, tables and locks of a session that outlive a transaction. */
const LEFTOVERS = `select 'setting ' || name from pg_settings where source = 'session'
  union all select 'statement ' || name from pg_prepared_statements
  union all select 'table ' || relname from pg_class where relpersistence = 't' and relnamespace = pg_my_temp_schema()
  union all select 'cursor ' || name from pg_cursors where name <> ''
  union all select 'lock' from pg_locks where locktype = 'advisory' and pid = pg_backend_pid()`;

const TYPE_BYTES = 1;
const HEADER_BYTES = 5;

/** Splits a stream of PostgreSQL messages. `first` is true for a client: its first message lacks the type. */
function openSplitter(first: boolean, take: (message: Buffer, type: string) => void) {
  let isFirst = first;
  let pending = Buffer.alloc(0);
  return (chunk: Buffer) => {
    pending = Buffer.concat([pending, chunk]);
    for (;;) {
      const lengthAt = isFirst ? 0 : TYPE_BYTES;
      if (pending.length < lengthAt + 4) return;
      const size = lengthAt + pending.readInt32BE(lengthAt);
      if (pending.length < size) return;
      const message = pending.subarray(0, size);
      pending = pending.subarray(size);
      const type = isFirst ? 'startup' : String.fromCharCode(message[0] ?? 0);
      isFirst = false;
      take(message, type);
    }
  };
}

function simpleQuery(sql: string): Buffer {
  const text = Buffer.from(`${sql}\0`);
  const header = Buffer.alloc(HEADER_BYTES);
  header.write('Q');
  header.writeInt32BE(text.length + 4, TYPE_BYTES);
  return Buffer.concat([header, text]);
}

/** Returns the text of the first column of a row, or the text of an error. */
function textOf(message: Buffer, type: string): string {
  if (type === 'E') return message.toString('latin1', HEADER_BYTES);
  const textAt = HEADER_BYTES + 2 + 4;
  return message.toString('utf8', textAt);
}

/**
 * Starts a proxy in front of the server of this address until the end of the test. When a client
 * says goodbye, the proxy asks the server for everything that the client left on the connection.
 */
export async function openStateProxy(address: string) {
  const { hostname, port } = new URL(address);
  const leftovers: string[] = [];
  const counts = { sessions: 0, inspected: 0 };
  const sockets = new Set<Socket>();
  const server = createServer((client) => {
    counts.sessions += 1;
    const upstream = openSocket(Number(port), hostname);
    let isInspected = false;
    const readServer = openSplitter(false, (message, type) => {
      if (type === 'D' || type === 'E') leftovers.push(textOf(message, type));
      if (type !== 'Z') return;
      // I: the connection is not in a transaction.
      if (message[HEADER_BYTES] !== 'I'.charCodeAt(0)) leftovers.push('an open transaction');
      counts.inspected += 1;
      client.end();
      upstream.end();
    });
    const readClient = openSplitter(true, (message, type) => {
      if (type !== 'X') return void upstream.write(message);
      isInspected = true;
      upstream.write(simpleQuery(LEFTOVERS));
    });
    client.on('data', readClient);
    upstream.on('data', (chunk: Buffer) => {
      if (isInspected) readServer(chunk);
      else client.write(chunk);
    });
    for (const [own, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(own);
      own.on('error', () => other.destroy());
      own.on('close', () => {
        sockets.delete(own);
        if (!isInspected) other.destroy();
      });
    }
  });
  const ownPort = await listenOn(server);
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  const proxied = new URL(address);
  proxied.hostname = '127.0.0.1';
  proxied.port = String(ownPort);
  proxied.searchParams.set('sslmode', 'disable');
  return { address: proxied.href, leftovers, counts };
}
