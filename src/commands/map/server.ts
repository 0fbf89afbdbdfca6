// The HTTP server of `--serve`: on loopback alone, below a path that nobody can guess; tabs hear updates as server-sent events.

import { randomBytes } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { getRequestListener, type HttpBindings } from '@hono/node-server';
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response';
import { Hono } from 'hono';
import type { Fields, Payload, Update } from '../../page/payload.js';
import { drawPage, policyOf } from './html.js';

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
  /** Sends an update to every tab; undefined: they read everything again. */
  send(sequence: number, update: Update | undefined): void;
  /** A sign of life, for what closes silent connections. */
  beat(): void;
  close(): Promise<void>;
}

const HOST = '127.0.0.1';
const TOKEN_BYTES = 18;
/** What a tab may be behind before it waits, and updates that are kept for tabs that come back. */
const UNREAD_LIMIT_BYTES = 1024 * 1024;
const KEPT_UPDATES = 1_000;
const KEPT_CHARACTERS = 8 * 1024 * 1024;
const MOST_TABS = 64;
const LIMITS = {
  maxHeaderSize: 16 * 1024,
  headersTimeout: 10_000,
  requestTimeout: 20_000,
  connectionsCheckingInterval: 1_000,
};

interface Tab {
  readonly response: ServerResponse;
  /** The number of the last update that it was sent. */
  sent: number;
}

/** Starts to listen. Rejects with Node's own error, EADDRINUSE for instance. */
export async function openPageServer({
  port,
  template,
  payload,
  fields,
  past,
}: PageServerOptions): Promise<PageServer> {
  const token = randomBytes(TOKEN_BYTES).toString('base64url');
  const tabs = new Set<Tab>();
  const kept = openKept();

  /** Sends what a tab has not had yet, as long as it takes it. */
  const pump = (tab: Tab) => {
    while (tab.response.writableLength < UNREAD_LIMIT_BYTES) {
      const next = kept.after(tab.sent);
      if (next === undefined) return;
      if (next === 'lost') {
        tab.response.end('event: reset\ndata: 0\n\n');
        return void tabs.delete(tab);
      }
      tab.sent = next.sequence;
      tab.response.write(next.text);
    }
  };
  const openTab = (request: IncomingMessage, response: ServerResponse, after: number) => {
    const tab: Tab = { response, sent: after };
    tabs.add(tab);
    response.on('close', () => tabs.delete(tab));
    response.on('error', () => tabs.delete(tab));
    response.on('drain', () => pump(tab));
    request.socket.setNoDelay(true);
    response.writeHead(200, { ...headersOf(undefined), 'Content-Type': 'text/event-stream' });
    response.write('retry: 1000\n\n');
    pump(tab);
  };

  const app = new Hono<{ Bindings: HttpBindings }>();
  app.use('*', async (context, next) => {
    const refusal = refusalOf(context.env.incoming);
    if (refusal !== undefined) return context.text(`${refusal.reason}\n`, refusal.status, headersOf(undefined));
    await next();
  });
  app.get(`/${token}/`, (context) => {
    const now = payload();
    const page = drawPage(template, now, undefined).join('');
    return context.html(page, 200, headersOf(policyOf(template, now)));
  });
  app.get(`/${token}/fleet.json`, (context) => context.json(payload(), 200, headersOf(undefined)));
  app.get(`/${token}/bicycles/:uuid`, (context) => {
    const found = fields(context.req.param('uuid').toLowerCase());
    return context.json(found ?? [], found === undefined ? 404 : 200, headersOf(undefined));
  });
  app.get(`/${token}/past`, async (context) => {
    const atMs = Number(context.req.query('at') ?? Number.NaN);
    if (past === undefined || !Number.isSafeInteger(atMs)) return context.text('no past\n', 404, headersOf(undefined));
    return context.json(await past(atMs), 200, headersOf(undefined));
  });
  app.get(`/${token}/events`, (context) => {
    const after = Number(context.req.header('Last-Event-ID') ?? context.req.query('after') ?? Number.NaN);
    if (!Number.isSafeInteger(after)) return context.text('which update?\n', 400, headersOf(undefined));
    if (tabs.size >= MOST_TABS) return context.text('too many tabs\n', 503, headersOf(undefined));
    openTab(context.env.incoming, context.env.outgoing, after);
    return RESPONSE_ALREADY_SENT;
  });
  app.notFound((context) => context.text('not found\n', 404, headersOf(undefined)));
  app.onError((_error, context) => context.text('the page could not be made\n', 500, headersOf(undefined)));

  const listener = getRequestListener((request, env) => app.fetch(request, env as HttpBindings), {
    overrideGlobalObjects: false,
  });
  const server = createServer(LIMITS, (request, response) => void listener(request, response));
  const address = await listen(server, port);
  return {
    url: `http://${HOST}:${address}/${token}/`,
    send(sequence, update) {
      kept.add(sequence, update);
      for (const tab of tabs) pump(tab);
    },
    beat() {
      for (const { response } of tabs) if (response.writableLength === 0) response.write(':\n\n');
    },
    close: () =>
      new Promise((resolve) => {
        for (const { response } of tabs) response.end();
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

interface Kept {
  readonly sequence: number;
  readonly text: string;
}

/** The last updates, as they are sent. */
function openKept() {
  let first = 1;
  let updates: Kept[] = [];
  let characters = 0;
  return {
    add(sequence: number, update: Update | undefined): void {
      if (update === undefined) {
        updates = [];
        characters = 0;
        first = sequence + 1;
        return;
      }
      const text = `event: update\nid: ${sequence}\ndata: ${JSON.stringify(update)}\n\n`;
      updates.push({ sequence, text });
      characters += text.length;
      while (updates.length > KEPT_UPDATES || characters > KEPT_CHARACTERS) {
        characters -= updates.shift()?.text.length ?? 0;
        first++;
      }
    },
    /** The update after one, `lost` when it is kept no longer, undefined when there is none yet. */
    after(sequence: number): Kept | 'lost' | undefined {
      if (sequence + 1 < first) return 'lost';
      return updates[sequence + 1 - first];
    },
  };
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

function headersOf(policy: string | undefined): Record<string, string> {
  return {
    'Content-Security-Policy':
      policy === undefined ? "default-src 'none'; frame-ancestors 'none'" : `${policy}; frame-ancestors 'none'`,
    'Cache-Control': 'no-store',
    'Cross-Origin-Opener-Policy': 'same-origin',
    'Cross-Origin-Resource-Policy': 'same-origin',
    'Referrer-Policy': 'no-referrer',
    'X-Content-Type-Options': 'nosniff',
  };
}

function listen(server: Server, port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, HOST, () => {
      server.off('error', reject);
      server.on('error', () => {});
      resolve((server.address() as AddressInfo).port);
    });
  });
}
