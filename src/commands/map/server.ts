// The HTTP server of `--serve`: on loopback alone, below a path that nobody can guess; tabs hear updates as server-sent events.

import { randomBytes } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { getRequestListener, type HttpBindings } from '@hono/node-server';
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response';
import { Hono } from 'hono';
import { openHttpServer } from '../../http-server.js';
import type { Fields, Payload, Update } from '../../page/payload.js';
import { drawPage } from './html.js';

export interface PageServerOptions {
  /** 0: any free one. */
  port: number;
  template: string;
  payload(): Payload;
  fields(uuid: string): Fields | undefined;
  /** The fleet at a moment of the past; undefined where no mirror keeps it. */
  past: ((atMs: number) => Promise<Payload>) | undefined;
}

export interface PageServer {
  readonly url: string;
  /** Sends an update to every tab. */
  send(update: Update): void;
  /** A sign of life, for what closes silent connections. */
  beat(): void;
  close(): Promise<void>;
}

const HOST = '127.0.0.1';
const TOKEN_BYTES = 18;
/** A tab that is further behind gets the whole fleet, when it has read what it was sent. */
const UNREAD_LIMIT_BYTES = 1024 * 1024;
const MOST_TABS = 64;

/** Starts to listen. Rejects with a FleetError of kind `usage` where the port cannot be had. */
export async function openPageServer({
  port,
  template,
  payload,
  fields,
  past,
}: PageServerOptions): Promise<PageServer> {
  const token = randomBytes(TOKEN_BYTES).toString('base64url');
  const tabs = new Set<ServerResponse>();
  const behind = new Set<ServerResponse>();
  let sequence = 0;

  const sendFleet = (tab: ServerResponse) => tab.write(eventOf('fleet', payload()));
  /** `after`: the last update that the tab has had. */
  const openTab = ({ socket }: IncomingMessage, tab: ServerResponse, after: number) => {
    tabs.add(tab);
    for (const end of ['close', 'error'])
      tab.on(end, () => {
        tabs.delete(tab);
        behind.delete(tab);
      });
    tab.on('drain', () => {
      if (behind.delete(tab)) sendFleet(tab);
    });
    socket.setNoDelay(true);
    tab.writeHead(200, { ...HEADERS, 'Content-Type': 'text/event-stream' });
    tab.write('retry: 1000\n\n');
    if (after !== sequence) sendFleet(tab);
  };

  const app = new Hono<{ Bindings: HttpBindings }>();
  app.use('*', async (context, next) => {
    const refusal = refusalOf(context.env.incoming);
    if (refusal !== undefined) return context.text(`${refusal.reason}\n`, refusal.status, HEADERS);
    await next();
  });
  app.get(`/${token}/`, (context) =>
    // What the page may load it says itself.
    context.html(drawPage(template, payload(), []).join(''), 200, PAGE_HEADERS),
  );
  app.get(`/${token}/bicycles/:uuid`, (context) => {
    const found = fields(context.req.param('uuid').toLowerCase());
    return context.json(found ?? [], found === undefined ? 404 : 200, HEADERS);
  });
  app.get(`/${token}/past`, async (context) => {
    const atMs = Number(context.req.query('at') ?? Number.NaN);
    if (past === undefined || !Number.isSafeInteger(atMs)) return context.text('no past\n', 404, HEADERS);
    return context.json(await past(atMs), 200, HEADERS);
  });
  app.get(`/${token}/events`, (context) => {
    const after = Number(context.req.query('after') ?? Number.NaN);
    if (!Number.isSafeInteger(after)) return context.text('which update?\n', 400, HEADERS);
    if (tabs.size >= MOST_TABS) return context.text('too many tabs\n', 503, HEADERS);
    openTab(context.env.incoming, context.env.outgoing, after);
    return RESPONSE_ALREADY_SENT;
  });
  app.notFound((context) => context.text('not found\n', 404, HEADERS));
  app.onError((_error, context) => context.text('the page could not be made\n', 500, HEADERS));

  const listener = getRequestListener((request, env) => app.fetch(request, env as HttpBindings), {
    overrideGlobalObjects: false,
  });
  const server = await openHttpServer(
    { host: HOST, port, flag: '--serve' },
    (request, response) => void listener(request, response),
  );
  return {
    url: `${server.origin}/${token}/`,
    send(update) {
      sequence = update.sequence;
      const text = eventOf('update', update);
      for (const tab of tabs) {
        if (tab.writableLength > UNREAD_LIMIT_BYTES) behind.add(tab);
        else tab.write(text);
      }
    },
    beat() {
      for (const tab of tabs) if (tab.writableLength === 0) tab.write(':\n\n');
    },
    close() {
      for (const tab of tabs) tab.end();
      return server.close();
    },
  };
}

function eventOf(name: 'fleet' | 'update', data: Update): string {
  return `event: ${name}\ndata: ${JSON.stringify(data)}\n\n`;
}

/** Who is not this page in a browser on this machine: another site by its own name, or by one that resolves to loopback. */
function refusalOf({
  headers,
  method,
  socket,
}: IncomingMessage): { status: 403 | 405 | 421; reason: string } | undefined {
  const port = socket.localPort ?? 0;
  const host = (headers.host ?? '').toLowerCase();
  const own = [`${HOST}:${port}`, `localhost:${port}`, ...(port === 80 ? [HOST, 'localhost'] : [])];
  if (!own.includes(host)) return { status: 421, reason: `this is ${HOST}:${port} alone` };
  if (headers.origin !== undefined && headers.origin !== `http://${host}`)
    return { status: 403, reason: 'other pages are not answered' };
  const site = headers['sec-fetch-site'];
  if (site === 'cross-site' || site === 'same-site') return { status: 403, reason: 'other pages are not answered' };
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
const HEADERS = { ...PAGE_HEADERS, 'Content-Security-Policy': "default-src 'none'; frame-ancestors 'none'" };
