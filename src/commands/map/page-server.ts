// The HTTP server of `--serve`: on loopback, below a path that nobody can guess; tabs get updates as server-sent events.

import type { IncomingMessage, ServerResponse } from 'node:http';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import type { FieldTexts, Payload, Update } from '../../page/payload.js';
import { openHttpServer } from '../../system/http-server.js';
import { drawPage } from './html.js';

export interface PageServerOptions {
  /** 0: any free one. */
  port: number;
  /** The part of the address that nobody can guess. */
  key: string;
  template: string;
  payload(): Payload;
  fields(uuid: string): FieldTexts | undefined;
  /** The fleet at a moment of the past; undefined where no mirror keeps it. */
  past: ((atMs: number) => Promise<Payload>) | undefined;
  /** A tab that takes nothing for so long is closed. */
  idleMs?: number;
}

const HOST = '127.0.0.1';
/** Updates that are kept for tabs that are behind; when those since the packed fleet are more, it is packed anew for the next tab. */
const LOG_LIMIT_BYTES = 4 * 1024 * 1024;
const ROWS_A_PIECE = 500;
const IDLE_LIMIT_MS = 30_000;
const MOST_TABS = 64;

/** Starts to listen. Rejects with a FleetError of kind `usage` where the port cannot be had. */
export async function openPageServer(options: PageServerOptions) {
  const { port, key, template, payload, fields, past, idleMs = IDLE_LIMIT_MS } = options;
  const fleet = openFleetCopy(payload);
  /** Each with the last update that it was handed. */
  const tabs = new Map<ServerResponse, number>();
  // The page has no bicycles in it: it asks for the fleet, so that one text does for all.
  const page = Buffer.from(drawPage(template, { ...payload(), rows: [], events: [] }, []).join(''));

  /** A tab that does not read is handed nothing more: when it reads again, it is handed what it missed. */
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
      // A browser that connects again by itself asks as it did at first, and names the last update that it received.
      const after = Number(
        response.req.headers['last-event-id'] ?? query.get('after') ?? Number.NaN,
      );
      if (!Number.isSafeInteger(after)) return refuse(response, 400, 'which update?');
      return tabs.size < MOST_TABS
        ? openTab(response, after)
        : refuse(response, 503, 'too many tabs');
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

  // Slow tabs are closed: nothing is kept forever.
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
    /** A sign of life, for what closes silent connections. */
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

/** One packed copy of the fleet for all tabs, and the last updates. Every tab is handed the same bytes, which are no memory of its own. */
function openFleetCopy(payload: () => Payload) {
  let { sequence } = payload();
  let copy: { sequence: number; bytes: Promise<Buffer> } | undefined;
  const log: { sequence: number; event: Buffer }[] = [];
  let logBytes = 0;
  /** Whether the log has all that came after an update. */
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
    /** The updates that a tab at this update is missing; `fleet`: it has to ask for everything. */
    since(known: number): { events: Buffer[]; sequence: number } {
      const missed = log.flatMap((entry) => (entry.sequence > known ? [entry.event] : []));
      return { events: isLogged(known) ? missed : [eventOf('fleet', { sequence })], sequence };
    },
  };
}

/** A piece at a time: the text of a large fleet is longer than everything else that fleet keeps of it. */
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

/** The part of an address below the key, and its query. */
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

/** Who is not this page in a browser on this machine: another site by its own name, or by one that resolves to loopback. */
function refusalOf({
  headers,
  method,
  socket,
}: IncomingMessage): { status: number; reason: string } | undefined {
  const port = socket.localPort ?? 0;
  const host = (headers.host ?? '').toLowerCase();
  const own = [`${HOST}:${port}`, `localhost:${port}`, ...(port === 80 ? [HOST, 'localhost'] : [])];
  if (!own.includes(host)) return { status: 421, reason: `this is ${HOST}:${port} alone` };
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
const JSON_HEADERS = { ...HEADERS, 'Content-Type': 'application/json' };
