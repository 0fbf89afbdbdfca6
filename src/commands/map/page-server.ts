// The HTTP server of `--serve`. It listens on loopback, and its address contains a secret. Browser
// tabs receive updates as server-sent events.

import type { IncomingMessage, ServerResponse } from 'node:http';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import type { FieldTexts, Payload, Update } from '../../page/payload.js';
import { openHttpServer } from '../../system/http-server.js';
import { drawPage, NO_DATA } from './html.js';

export interface PageServerOptions {
  /** The port to listen on; 0 means any free port. */
  port: number;
  /** The secret part of the server's address. */
  key: string;
  template: string;
  payload(): Payload;
  fields(uuid: string): FieldTexts | undefined;
  /** Returns the fleet at a time in the past. Undefined without a mirror. */
  past: ((atMs: number) => Promise<Payload>) | undefined;
  /** Returns a tile of the archive. Undefined without an archive. */
  readTile?: ((z: number, x: number, y: number) => Promise<Buffer | undefined>) | undefined;
  /** A tab is disconnected when it receives no data for this long. */
  idleMs?: number;
}

const HOST = '127.0.0.1';
/**
 * The maximum total size of the updates that are kept in memory for slow tabs. Above this size, old
 * updates are dropped, and a new tab gets a new copy of the whole fleet instead.
 */
const LOG_LIMIT_BYTES = 4 * 1024 * 1024;
const ROWS_A_PIECE = 500;
const IDLE_LIMIT_MS = 30_000;
const MOST_TABS = 64;
const MOST_ZOOM = 26;

/** Starts the server. Rejects with a FleetError of kind `usage` when the port cannot be used. */
export async function openPageServer(options: PageServerOptions) {
  const { port, key, template, payload, fields, past, readTile, idleMs = IDLE_LIMIT_MS } = options;
  const fleet = openFleetCopy(payload);
  /** The connected tabs, each with the number of the last update that was sent to it. */
  const tabs = new Map<ServerResponse, number>();
  // The page does not contain the bicycles. It requests them after it has loaded, so the same page
  // can be sent to all tabs.
  const page = Buffer.from([...drawPage(template, { ...payload(), events: [] }, NO_DATA)].join(''));

  /** Sends the updates that a tab has missed. Skips a tab whose connection is blocked. */
  const catchUp = (tab: ServerResponse) => {
    if (tab.writableNeedDrain) return;
    const { events, sequence } = fleet.since(tabs.get(tab) ?? 0);
    tabs.set(tab, sequence);
    for (const event of events) tab.write(event);
  };
  const openTab = (tab: ServerResponse, after: number) => {
    tabs.set(tab, after);
    for (const end of ['close', 'error']) tab.on(end, () => tabs.delete(tab));
    tab.on('drain', () => catchUp(tab));
    tab.writeHead(200, { ...HEADERS, 'Content-Type': 'text/event-stream' });
    tab.write('retry: 1000\n\n');
    catchUp(tab);
  };
  const answer = async (
    { path, query }: { path: string; query: URLSearchParams },
    response: ServerResponse,
  ) => {
    if (path === '')
      return send(response, 200, page, {
        ...PAGE_HEADERS,
        'Content-Type': 'text/html; charset=utf-8',
      });
    if (path === 'fleet')
      return send(response, 200, await fleet.packed(), {
        ...JSON_HEADERS,
        'Content-Encoding': 'gzip',
      });
    if (path === 'events') {
      // After a reconnect, the browser sends the number of the last received update in a header.
      // The number in the URL is outdated at that point, so the header is used.
      const after = Number(
        response.req.headers['last-event-id'] ?? query.get('after') ?? Number.NaN,
      );
      if (!Number.isSafeInteger(after)) return refuse(response, 400, 'which update?');
      return tabs.size < MOST_TABS
        ? openTab(response, after)
        : refuse(response, 503, 'too many tabs');
    }
    const tile = /^tiles\/(\d{1,2})\/(\d{1,8})\/(\d{1,8})$/.exec(path);
    if (tile !== null && readTile !== undefined) {
      const [z = 0, x = 0, y = 0] = tile.slice(1).map(Number);
      // A tile whose coordinates are outside the range of the zoom level does not exist.
      if (z > MOST_ZOOM || x >= 2 ** z || y >= 2 ** z) return refuse(response, 404, 'not found');
      const bytes = (await readTile(z, x, y)) ?? Buffer.alloc(0);
      return send(response, 200, bytes, TILE_HEADERS);
    }
    const atMs = Number(query.get('at') ?? Number.NaN);
    if (path === 'past' && past !== undefined && Number.isSafeInteger(atMs))
      return send(response, 200, JSON.stringify(await past(atMs)), JSON_HEADERS);
    const uuid = /^bicycles\/([^/]+)$/.exec(path)?.[1];
    const found = uuid === undefined ? undefined : fields(decodeURIComponent(uuid).toLowerCase());
    return found === undefined
      ? refuse(response, 404, 'not found')
      : send(response, 200, JSON.stringify(found), JSON_HEADERS);
  };

  // A browser tab that does not read its updates is disconnected after `idleMs`, because the
  // updates cannot be kept forever.
  const server = await openHttpServer(
    { host: HOST, port, flag: '--serve', idleMs },
    (request, response) => {
      const refusal = refusalOf(request);
      const target = targetOf(request, key);
      if (refusal !== undefined) return refuse(response, refusal.status, refusal.reason);
      if (target === undefined) return refuse(response, 404, 'not found');
      answer(target, response).catch(() => refuse(response, 500, 'the page could not be made'));
    },
  );
  return {
    url: `${server.origin}/${key}/`,
    /** Sends an update to every tab. */
    send(update: Update) {
      fleet.add(update);
      for (const tab of tabs.keys()) catchUp(tab);
    },
    /** Sends a heartbeat to every tab, because proxies close idle connections. */
    beat() {
      for (const tab of tabs.keys()) if (tab.writableLength === 0) tab.write(':\n\n');
    },
    close(): Promise<void> {
      for (const tab of tabs.keys()) tab.end();
      return server.close();
    },
  };
}

export type PageServer = Awaited<ReturnType<typeof openPageServer>>;

/**
 * Keeps one compressed copy of the fleet and the latest updates in memory. All tabs get the same
 * bytes.
 */
function openFleetCopy(payload: () => Payload) {
  let { sequence } = payload();
  let copy: { sequence: number; bytes: Promise<Buffer> } | undefined;
  const log: { sequence: number; event: Buffer }[] = [];
  let logBytes = 0;
  /** Whether the log still contains all updates after this number. */
  const isLogged = (known: number) =>
    known <= sequence && known + 1 >= (log[0]?.sequence ?? sequence + 1);
  return {
    packed(): Promise<Buffer> {
      if (copy === undefined || !isLogged(copy.sequence))
        copy = { sequence, bytes: packPayload(payload()) };
      return copy.bytes;
    },
    add(update: Update) {
      sequence = update.sequence;
      const event = eventOf('update', update);
      log.push({ sequence, event });
      logBytes += event.length;
      while (logBytes > LOG_LIMIT_BYTES) logBytes -= log.shift()?.event.length ?? 0;
    },
    /**
     * Returns the updates that a tab has missed. If the log no longer contains all of these
     * updates, returns the event `fleet` instead. It tells the tab to request the whole fleet
     * again.
     */
    since(known: number): { events: Buffer[]; sequence: number } {
      const missed = log.flatMap((entry) => (entry.sequence > known ? [entry.event] : []));
      return { events: isLogged(known) ? missed : [eventOf('fleet', { sequence })], sequence };
    },
  };
}

/**
 * Compresses the fleet in pieces, because a single string with the whole fleet would need more
 * memory than all other data.
 */
async function packPayload({ rows, ...head }: Payload): Promise<Buffer> {
  const pieces = function* () {
    yield `${JSON.stringify(head).slice(0, -1)},"rows":[`;
    for (let from = 0; from < rows.length; from += ROWS_A_PIECE)
      yield `${from === 0 ? '' : ','}${JSON.stringify(rows.slice(from, from + ROWS_A_PIECE)).slice(1, -1)}`;
    yield ']}';
  };
  const packed: Buffer[] = [];
  await pipeline(pieces, createGzip({ level: 1 }), async (source) => {
    for await (const piece of source) packed.push(piece);
  });
  return Buffer.concat(packed);
}

function eventOf(name: 'fleet' | 'update', data: { readonly sequence: number }): Buffer {
  return Buffer.from(`id: ${data.sequence}\nevent: ${name}\ndata: ${JSON.stringify(data)}\n\n`);
}

/**
 * Splits the URL of a request. Returns the part of the path that follows the secret key, and the
 * query. Returns undefined when the key is wrong.
 */
function targetOf({ url = '' }: IncomingMessage, key: string) {
  const [path = '', query = ''] = url.split(/\?(.*)/s);
  const own = `/${key}/`;
  return path.startsWith(own)
    ? { path: path.slice(own.length), query: new URLSearchParams(query) }
    : undefined;
}

function send(
  response: ServerResponse,
  status: number,
  body: string | Buffer,
  headers: Record<string, string>,
): void {
  response.writeHead(status, { ...headers, 'Content-Length': Buffer.byteLength(body) }).end(body);
}

function refuse(response: ServerResponse, status: number, reason: string): void {
  if (!response.headersSent)
    send(response, status, `${reason}\n`, { ...HEADERS, 'Content-Type': 'text/plain' });
}

/**
 * Returns why a request is refused, or undefined when fleet's own page may have sent it.
 *
 * Another website could send requests from its own host name, or through a host name that resolves
 * to loopback.
 */
function refusalOf({
  headers,
  method,
  socket,
}: IncomingMessage): { status: number; reason: string } | undefined {
  const port = socket.localPort ?? 0;
  const host = (headers.host ?? '').toLowerCase();
  const own = [`${HOST}:${port}`, `localhost:${port}`, ...(port === 80 ? [HOST, 'localhost'] : [])];
  if (!own.includes(host))
    return { status: 421, reason: `this server only answers to ${HOST}:${port}` };
  const site = headers['sec-fetch-site'];
  const isForeign = headers.origin !== undefined && headers.origin !== `http://${host}`;
  if (isForeign || site === 'cross-site' || site === 'same-site')
    return { status: 403, reason: 'other pages are not answered' };
  return method === 'GET' ? undefined : { status: 405, reason: 'only GET' };
}

const PAGE_HEADERS = {
  'Content-Security-Policy': "frame-ancestors 'none'",
  'Cache-Control': 'no-store',
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Resource-Policy': 'same-origin',
  'Referrer-Policy': 'no-referrer',
  'X-Content-Type-Options': 'nosniff',
};
const HEADERS = {
  ...PAGE_HEADERS,
  'Content-Security-Policy': "default-src 'none'; frame-ancestors 'none'",
};
const TILE_HEADERS = { ...HEADERS, 'Content-Type': 'application/octet-stream' };
const JSON_HEADERS = { ...HEADERS, 'Content-Type': 'application/json' };
