// Tests the server of `fleet map --serve`: allowed requests, events for a tab, and slow or
// returning tabs.

import { randomBytes } from 'node:crypto';
import { EventEmitter, once } from 'node:events';
import { statSync } from 'node:fs';
import { type IncomingMessage, request } from 'node:http';
import { connect } from 'node:net';
import { join } from 'node:path';
import { PassThrough, Readable, Writable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { afterEach, describe, expect, test } from 'vitest';
import type { Bicycle } from '../../src/api/bicycle.js';
import { TabFeed } from '../../src/commands/map/feed.js';
import { openPageServer, type PageServer } from '../../src/commands/map/page-server.js';
import { KnownFleet } from '../../src/follower/known-fleet.js';
import { MemoryStore } from '../../src/follower/memory-store.js';
import { ServiceTime } from '../../src/follower/service-time.js';
import { main } from '../../src/main.js';
import type { Payload, Update } from '../../src/page/payload.js';
import { systemClock } from '../../src/system/clock.js';
import { openTimeZone } from '../../src/system/time-zone.js';
import { readPage } from '../support/chaos-page.js';
import { environmentOf } from '../support/environment.js';
import { newFolder } from '../support/folder.js';
import { freePort } from '../support/listen.js';
import { makeMirror, organizationOf } from '../support/made-mirror.js';
import { runFleet } from '../support/run.js';
import { eventually, startFleet } from '../support/running.js';
import { openSandbox, useSandbox } from '../support/sandbox.js';
import { openServer, sendJson } from '../support/server.js';

const sandbox = useSandbox({ bicycles: 20 });
const SOON = { timeout: 90_000 };

function update(sequence: number, characters = 0): Update {
  const link = { state: 'open', sinceMs: 0, message: null, gaps: 0, total: null } as const;
  return {
    sequence,
    atMs: 0,
    note: null,
    rows: [],
    gone: ['x'.repeat(characters)],
    alerts: null,
    events: [],
    link,
  };
}

/** The fleet after an update. */
function payload(sequence: number): Payload {
  return {
    ...update(sequence),
    title: 'a fleet',
    timeZone: null,
    tiles: null,
    zones: [],
    pastFromMs: null,
  };
}

const TEMPLATE =
  '<meta http-equiv="Content-Security-Policy" content="default-src x{{fleet:elsewhere}}">{{fleet:data}}';

let server: PageServer | undefined;
afterEach(() => server?.close());

async function environment(): Promise<NodeJS.ProcessEnv> {
  return { ...(await environmentOf(sandbox())), FLEET_ORGANIZATION: organizationOf(sandbox()) };
}

async function start(
  more: { idleMs?: number; payload?: Partial<Payload> } = {},
): Promise<PageServer> {
  let last = 0;
  const options = {
    ...more,
    port: 0,
    key: 'k'.repeat(24),
    template: TEMPLATE,
    fields: () => undefined,
    past: undefined,
  };
  const opened = await openPageServer({
    ...options,
    payload: () => ({ ...payload(last), ...more.payload }),
  });
  server = {
    ...opened,
    send(news) {
      last = news.sequence;
      opened.send(news);
    },
  };
  return server;
}

/** Uses node:http, because fetch sets these headers itself. */
async function ask(url: string, headers: Record<string, string> = {}, method = 'GET') {
  const [answer] = (await once(request(url, { method, headers }).end(), 'response')) as [
    IncomingMessage,
  ];
  return { status: answer.statusCode, headers: answer.headers, body: await text(answer) };
}

/** Receives the events of a tab as text until it is stopped. */
function listen(url: string, after: number) {
  const heard = { text: '', isOver: false };
  const sent = request(`${url}events?after=${after}`, (response) => {
    response.on('data', (chunk) => {
      heard.text += chunk;
    });
    response.on('close', () => {
      heard.isOver = true;
    });
  });
  sent.on('error', () => {});
  sent.end();
  return Object.assign(heard, { stop: () => sent.destroy() });
}

/** Reads the packed fleet. */
async function readFleet(url: string): Promise<Payload> {
  return (await (await fetch(`${url}fleet`)).json()) as Payload;
}

/** Counts the connections of this process, including both ends. */
function connections(): number {
  return process.getActiveResourcesInfo().filter((name) => /^TCP(?:Socket|Server)?Wrap$/.test(name))
    .length;
}

test('`map --serve` refuses requests with another host, origin, path or method', async () => {
  const { url } = await start();
  const { port } = new URL(url);
  const asked: readonly (readonly [
    status: number,
    headers: Record<string, string>,
    method?: string,
  ])[] = [
    [200, {}],
    [200, { Host: `localhost:${port}`, Origin: `http://localhost:${port}` }],
    [421, { Host: 'evil.example' }],
    [421, { Host: `evil.example:${port}` }],
    [403, { Origin: 'http://evil.example' }],
    [403, { 'Sec-Fetch-Site': 'cross-site' }],
    [405, {}, 'POST'],
  ];
  for (const [status, headers, method] of asked)
    expect((await ask(url, headers, method)).status).toBe(status);
  expect((await ask(`http://127.0.0.1:${port}/`)).status).toBe(404);
  expect((await ask(`http://127.0.0.1:${port}/${'a'.repeat(24)}/events?after=0`)).status).toBe(404);
  const { headers, body } = await ask(url);
  expect(headers['access-control-allow-origin']).toBeUndefined();
  // The policy allows only the page itself, and no other page may frame it.
  expect(headers['content-security-policy']).toBe("frame-ancestors 'none'");
  expect(headers['referrer-policy']).toBe('no-referrer');
  expect(body).toContain(`content="default-src x 'self'"`);
  expect(body).toContain('"title":"a fleet"');
});

/** Returns the names of the events of a tab and their updates. */
function eventsOf(text: string): string[] {
  return Array.from(
    text.matchAll(/^event: (\w+)\ndata: {"sequence":(\d+)/gm),
    ([, name, sequence]) => `${name} ${sequence}`,
  );
}

test('sends only newer events to a tab that already has the fleet', async () => {
  const { url, send } = await start();
  send(update(1));
  const current = listen(url, 1);
  const others = [-1, 9].map((after) => listen(url, after));
  await eventually(
    () => current.text.includes('retry') && others.every(({ text }) => text.includes('fleet')),
  );
  send(update(2));
  send(update(3));
  await eventually(() =>
    [current, ...others].every(({ text }) => eventsOf(text).includes('update 3')),
  );
  expect(eventsOf(current.text)).toEqual(['update 2', 'update 3']);
  for (const { text } of others)
    expect(eventsOf(text)).toEqual(['fleet 1', 'update 2', 'update 3']);
  for (const tab of [current, ...others]) tab.stop();
});

test('a reconnecting tab gets every event since the tab loaded the fleet', async () => {
  const { url, send } = await start();
  send(update(1));
  expect(await readFleet(url)).toMatchObject({ sequence: 1, title: 'a fleet' });
  send(update(2));
  send(update(3));
  expect(await readFleet(url)).toMatchObject({ sequence: 1 });
  const tab = listen(url, 1);
  await eventually(() => eventsOf(tab.text).length === 2);
  expect(eventsOf(tab.text)).toEqual(['update 2', 'update 3']);
  tab.stop();
  // The fleet is packed again after many updates.
  for (let sequence = 4; sequence < 10; sequence++) send(update(sequence, 1_000_000));
  expect(await readFleet(url)).toMatchObject({ sequence: 9 });
});

test('closes stalled tabs while other tabs stay open', async () => {
  // Incompressible data, so that separate copies would need 10 MB per tab.
  const rows = randomBytes(8e6).toString('base64');
  const { url, send } = await start({ idleMs: 15_000, payload: { title: rows } });
  const { port, pathname } = new URL(url);
  const quick = listen(url, 0);
  // Tabs that read must not time out on a slow machine.
  const beating = setInterval(() => server?.beat(), 200);
  await eventually(() => quick.text.includes('retry'));
  const used = () => process.memoryUsage().rss / 1e6;
  const before = used();
  const ends = connections();
  const deaf = Array.from({ length: 60 }, (_, index) => {
    const socket = connect(Number(port), '127.0.0.1');
    const path = index % 2 === 0 ? 'fleet' : 'events?after=0';
    // An answer that the operating system accepted completely closes its connection.
    socket.write(
      `GET ${pathname}${path} HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nConnection: close\r\n\r\n`,
    );
    return socket.on('error', () => {});
  });
  // Each connection is answered but then stops reading.
  await Promise.all(deaf.map((socket) => once(socket, 'readable')));
  expect(connections()).toBeGreaterThan(ends + deaf.length);
  let most = 0;
  for (let sequence = 1; sequence <= 30; sequence++) {
    send(update(sequence, 500_000));
    await eventually(
      () => quick.text.includes(`{"sequence":${sequence},`) && quick.text.endsWith('\n\n'),
    );
    quick.text = '';
    most = Math.max(most, used() - before);
  }
  expect(most).toBeLessThan(300);
  let woken = '';
  deaf[1]?.on('data', (chunk) => {
    woken += chunk;
  });
  deaf[1]?.resume();
  await eventually(() => woken.includes('{"sequence":30'));
  deaf[1]?.destroy();
  await eventually(() => connections() <= ends + deaf.length);
  clearInterval(beating);
  for (const socket of deaf) socket.destroy();
  expect(quick.isOver).toBe(false);
  quick.stop();
});

test('`map --serve` keeps its URL across runs and tells open pages about missed events', async () => {
  const folder = newFolder();
  const env = { ...(await environment()), XDG_STATE_HOME: folder };
  const port = String(await freePort());
  const run = async () => {
    const served = startFleet(['map', '--serve', port], { env });
    await served.until(() => served.stdout().includes('\n'));
    return { served, url: served.stdout().trim() };
  };
  const first = await run();
  const { sequence } = await readFleet(first.url);
  await first.served.stop();
  expect(statSync(join(folder, 'fleet', 'page.key')).mode & 0o777).toBe(0o600);
  const second = await run();
  expect(second.url).toBe(first.url);
  const tab = listen(second.url, sequence);
  await eventually(() => tab.text.includes('event: fleet'));
  tab.stop();
  await second.served.stop();
});

test('--serve rejects a busy port, --zone and invalid tile server URLs', async () => {
  const { url } = await start();
  const { port } = new URL(url);
  const env = await environment();
  const run = async (...args: string[]) => runFleet(['map', ...args], { env });
  expect(await run('--serve', port)).toMatchObject({ code: 2, stdout: '' });
  const zone = sandbox().zones[0]?.uuid ?? '';
  expect((await run('--serve', '0', '--zone', zone)).stderr).toContain(
    '--serve cannot follow a zone',
  );
  for (const tiles of [
    'tiles',
    'ftp://x/{z}/{x}/{y}',
    'https://x.example/{z}/{x}.png',
    'https://me:you@x.example/{z}/{x}/{y}',
  ])
    expect(await run('-o', 'html', '--tiles', tiles)).toMatchObject({ code: 2, stdout: '' });
});

function openFeed(keep: (bicycle: Bicycle) => boolean): TabFeed {
  return new TabFeed({
    title: 'a fleet',
    tiles: null,
    zones: [],
    zone: openTimeZone('UTC'),
    pastFromMs: null,
    startMs: 0,
    keep,
  });
}

test('sends only bicycles that changed since the last read', () => {
  const feed = openFeed(({ state }) => state !== 'retired');
  const now = { monotonicMs: 0, wallMs: 0 };
  const store = new MemoryStore(2);
  const known = new KnownFleet(store, new ServiceTime(now));
  const watched = { known, total: undefined, store, doubt: undefined };
  const flush = () => {
    feed.take([], watched);
    const news = feed.flush(0);
    return news && [news.rows.map(({ uuid }) => uuid), news.gone];
  };
  known.learn({ uuid: 'a', state: 'lost' }, now);
  known.learn({ uuid: 'b', state: 'retired' }, now);
  expect(flush()).toEqual([['a'], []]);
  expect(flush()).toBeUndefined();
  known.learn({ uuid: 'a', state: 'lost', modified: '2026-03-01T12:00:00Z' }, now);
  expect(flush()).toBeUndefined();
  known.merge('b', { uuid: 'b', state: 'lost' }, now);
  expect(flush()).toEqual([['b'], []]);
  // The store has room for two bicycles and evicts the one with the oldest update.
  known.learn({ uuid: 'c', state: 'lost' }, now);
  expect(flush()).toEqual([['c'], ['a']]);
  expect(feed.payload(0)).toMatchObject({ sequence: 3, rows: [{ uuid: 'b' }, { uuid: 'c' }] });
});

test('tells the page that a fleet is too large to follow', () => {
  const feed = openFeed(() => true);
  const size = (count: number) => {
    const store = Object.assign(new MemoryStore(), { size: () => count });
    const known = new KnownFleet(store, new ServiceTime({ monotonicMs: 0, wallMs: 0 }));
    return { known, total: 120_000, store, doubt: undefined };
  };
  feed.take([], size(99_999));
  expect(feed.flush(0)).toMatchObject({ note: null, link: { total: 120_000 } });
  feed.take([], size(100_000));
  expect(feed.flush(0)).toMatchObject({
    note: expect.stringContaining('120,000'),
    link: { total: null },
  });
});

test('reports unreadable alerts only once', async () => {
  const answer = (response: Parameters<typeof sendJson>[0], { path }: { path: string }) =>
    sendJson(response, path.startsWith('/alerts') ? 503 : 200, []);
  const { url } = await openServer(answer);
  const env = { ...(await environment()), FLEET_BASE_URL: url };
  const served = startFleet(['map', '--serve', '0'], { env });
  await served.until(() => served.stderr().includes('alerts are left out'));
  expect(served.stderr()).not.toContain('trying again');
  await served.stop();
});

test('ends without serving when stdout is closed before the URL is printed', async () => {
  let url = '';
  const stdout = new Writable({
    write(chunk, _encoding, done) {
      url = String(chunk).trim();
      done(Object.assign(new Error('write EPIPE'), { code: 'EPIPE' }));
    },
  });
  const env = await environment();
  const signals = new EventEmitter();
  const streams = { stdin: Readable.from([]), stdout, stderr: new PassThrough().resume() };
  expect(
    await main(['map', '--serve', '0'], { ...streams, env, signals, clock: systemClock() }),
  ).toBe(0);
  await expect(fetch(url)).rejects.toThrow();
});

describe('`map --serve` with live updates of a sandbox', () => {
  const folder = newFolder();

  async function serve(...args: string[]) {
    const env = { ...(await environment()), FLEET_CONFIG_DIR: folder };
    const served = startFleet(['map', '--serve', '0', ...args], { env });
    await served.until(() => served.stdout().includes('\n'));
    const url = served.stdout().trim();
    const read = () => readPage(url);
    return { served, url, read };
  }
  const stateOf = ({ rows }: Payload, uuid: string) => rows.find((row) => row.uuid === uuid)?.state;
  const uuidsOf = ({ rows }: Payload) => rows.map(({ uuid }) => uuid);

  test('applies the filters to updates', async () => {
    const { served, read } = await serve('--state', 'lost');
    await served.until(() => served.stderr().includes('watching'));
    const own = sandbox().bicycles(organizationOf(sandbox()));
    const uuidsIn = (state: string) =>
      own.flatMap((bicycle) => (bicycle.state === state ? [bicycle.uuid] : [])).sort();
    const soon = (value: (page: Payload) => unknown) =>
      expect.poll(async () => value(await read()));
    await soon((page) => uuidsOf(page).sort()).toEqual(uuidsIn('lost'));
    // Wait for the requests that were in flight.
    let sequence = -1;
    await expect
      .poll(
        async () => {
          const before = sequence;
          ({ sequence } = await read());
          return sequence === before;
        },
        { interval: 600 },
      )
      .toBe(true);

    const [uuid = ''] = uuidsIn('available');
    sandbox().act(uuid, 'declare_lost');
    await soon((page) => stateOf(page, uuid)).toBe('lost');
    sandbox().changeBicycle(uuid, { state: 'available' });
    await soon(uuidsOf).not.toContain(uuid);
    expect((await served.stop()).code).toBe(130);
  });

  test('the page reports an incomplete comparison after a gap', async () => {
    const from = await openSandbox({ bicycles: 20, faults: [{ kind: 'noreplay' }] });
    const env = { ...(await environmentOf(from)), FLEET_ORGANIZATION: organizationOf(from) };
    const served = startFleet(['map', '--serve', '0'], { env });
    await served.until(() => served.stderr().includes('watching'));
    const url = served.stdout().trim();
    await expect.poll(async () => (await readPage(url)).rows, SOON).not.toEqual([]);
    expect((await readPage(url)).note).toBeNull();
    from.dropStreams();
    await expect
      .poll(async () => (await readPage(url)).note, SOON)
      .toMatch(/^The comparison after the last gap is not complete: being checked /);
    await served.stop();
  });

  test('the page shows the past states of a mirror', async () => {
    const [bicycle] = sandbox().bicycles(organizationOf(sandbox()));
    const uuid = bicycle?.uuid ?? '';
    const changes = [
      {
        at: '2026-03-01T12:00:00.000000Z',
        bicycle: uuid,
        field: 'state',
        old: 'lost',
        new: 'rented',
      },
      {
        at: '2026-03-01T13:00:00.000000Z',
        bicycle: uuid,
        field: 'state',
        old: 'rented',
        new: bicycle?.state,
      },
    ];
    await makeMirror(`sqlite:${join(folder, 'state', 'default.db')}`, {
      sandbox: sandbox(),
      isAlive: false,
      changes,
    });
    const { served, url, read } = await serve();
    expect((await read()).pastFromMs).toBe(Date.parse('2026-03-01T12:00:00Z'));
    const at = async (time: string) =>
      stateOf(JSON.parse((await ask(`${url}past?at=${Date.parse(time)}`)).body), uuid);
    expect(await at('2026-03-01T12:00:00Z')).toBe('lost');
    expect(await at('2026-03-01T12:30:00Z')).toBe('rented');
    expect(await at('2026-03-01T13:30:00Z')).toBe(bicycle?.state);
    expect((await ask(`${url}past?at=x`)).status).toBe(404);
    await served.stop();
    const without = await serve('--no-mirror');
    expect((await without.read()).pastFromMs).toBeNull();
    await without.served.stop();
  });
});
