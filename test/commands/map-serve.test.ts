// The server of `fleet map --serve`: who may ask, what a tab is sent, and what is kept for one that is slow or comes back.

import { mkdtempSync, rmSync } from 'node:fs';
import { request } from 'node:http';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, describe, expect, test } from 'vitest';
import { openPageServer, type PageServer } from '../../src/commands/map/server.js';
import type { Payload, Update } from '../../src/page/payload.js';
import { environmentOf } from '../support/environment.js';
import { makeMirror, organizationOf } from '../support/made-mirror.js';
import { runFleet } from '../support/run.js';
import { eventually, startFleet } from '../support/running.js';
import { useSandbox } from '../support/sandbox.js';

const sandbox = useSandbox({ bicycles: 20 });

const PAYLOAD: Payload = {
  title: 'a fleet',
  atMs: 0,
  note: null,
  groups: { state: [], charge: [], silence: [] },
  columns: {
    uuid: [],
    name: [],
    state: [],
    charge: [],
    silence: [],
    percent: [],
    longitude: [],
    latitude: [],
    seenMs: [],
  },
  alerts: { rows: [], byType: [], note: null },
  tiles: null,
  live: {
    sequence: 0,
    link: { state: 'open', sinceMs: 0, message: null },
    events: [],
    total: null,
    gaps: 0,
    pastFromMs: null,
  },
};
const TEMPLATE = '<meta http-equiv="Content-Security-Policy" content="default-src x{{fleet:elsewhere}}">{{fleet:data}}';

let server: PageServer | undefined;
afterEach(() => server?.close());

async function start(): Promise<PageServer> {
  const options = { port: 0, template: TEMPLATE, payload: () => PAYLOAD, fields: () => undefined, past: undefined };
  server = await openPageServer(options);
  return server;
}

interface Answer {
  status: number;
  headers: NodeJS.Dict<string | string[]>;
  body: string;
}

function ask(url: string, headers: Record<string, string> = {}, method = 'GET'): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const sent = request(url, { method, headers }, (response) => {
      let body = '';
      response.on('data', (chunk) => {
        body += chunk;
      });
      response.on('end', () => resolve({ status: response.statusCode ?? 0, headers: response.headers, body }));
    });
    sent.on('error', reject);
    sent.end();
  });
}

function update(sequence: number, characters = 0): Update {
  return { sequence, atMs: 0, gone: ['x'.repeat(characters)] };
}

/** Hears a tab's events as text until told to stop. */
function listen(url: string, after: number, headers: Record<string, string> = {}) {
  const heard = { text: '', isOver: false };
  const sent = request(`${url}events?after=${after}`, { headers }, (response) => {
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

test('answers its own name, its own pages and its own path alone', async () => {
  const { url } = await start();
  const { port } = new URL(url);
  expect((await ask(url)).status).toBe(200);
  expect((await ask(url, { Host: `localhost:${port}`, Origin: `http://localhost:${port}` })).status).toBe(200);
  expect((await ask(url, { Host: 'evil.example' })).status).toBe(421);
  expect((await ask(url, { Host: `evil.example:${port}` })).status).toBe(421);
  expect((await ask(url, { Origin: 'http://evil.example' })).status).toBe(403);
  expect((await ask(url, { 'Sec-Fetch-Site': 'cross-site' })).status).toBe(403);
  expect((await ask(url, {}, 'POST')).status).toBe(405);
  expect((await ask(`http://127.0.0.1:${port}/`)).status).toBe(404);
  expect((await ask(`http://127.0.0.1:${port}/${'a'.repeat(24)}/fleet.json`)).status).toBe(404);
  const { headers } = await ask(`${url}fleet.json`);
  expect(headers['access-control-allow-origin']).toBeUndefined();
});

test('sends the policy as a header as well, opened for itself alone', async () => {
  const { url } = await start();
  const { headers, body } = await ask(url);
  expect(headers['content-security-policy']).toBe("default-src x 'self'; frame-ancestors 'none'");
  expect(headers['referrer-policy']).toBe('no-referrer');
  expect(body).toContain('"title":"a fleet"');
});

test('a tab hears what came after what it has, in order, also when it comes back', async () => {
  const { url, send } = await start();
  for (const sequence of [1, 2, 3]) send(sequence, update(sequence));
  const first = listen(url, 1);
  await eventually(() => first.text.includes('id: 3'));
  expect(first.text.match(/^id: \d+$/gm)).toEqual(['id: 2', 'id: 3']);
  first.stop();
  send(4, update(4));
  const again = listen(url, 1, { 'Last-Event-ID': '3' });
  await eventually(() => again.text.includes('id: 4'));
  expect(again.text.match(/^id: \d+$/gm)).toEqual(['id: 4']);
  again.stop();
});

test('what is kept no longer is read again as a whole', async () => {
  const { url, send } = await start();
  for (let sequence = 1; sequence <= 1_500; sequence++) send(sequence, update(sequence));
  const late = listen(url, 1);
  await eventually(() => late.isOver);
  expect(late.text).toContain('event: reset');
  const current = listen(url, 1_499);
  await eventually(() => current.text.includes('id: 1500'));
  send(1_501, undefined);
  await eventually(() => current.isOver);
  expect(current.text).toContain('event: reset');
});

test('a tab that reads nothing is not waited for, and what it is behind stays bounded', async () => {
  const { url, send } = await start();
  const { port, pathname } = new URL(url);
  const slow = connect(Number(port), '127.0.0.1');
  slow.pause();
  slow.write(`GET ${pathname}events?after=0 HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\n\r\n`);
  const quick = listen(url, 0);
  await eventually(() => quick.text.includes('retry'));
  // 60 MB in all, of which 8 MB are kept.
  for (let sequence = 1; sequence <= 60; sequence++) {
    send(sequence, update(sequence, 1_000_000));
    await eventually(() => quick.text.includes(`id: ${sequence}\n`));
    quick.text = quick.text.slice(-100);
  }
  // It gets what was on its way, and is told to read everything again.
  let characters = 0;
  let end = '';
  slow.on('data', (chunk) => {
    characters += chunk.length;
    end = (end + chunk).slice(-200);
  });
  slow.resume();
  await eventually(() => end.includes('event: reset'));
  expect(characters).toBeLessThan(30e6);
  slow.destroy();
  quick.stop();
});

test('a port in use, a zone and a bad tile server are refused before anything is served', async () => {
  const { url } = await start();
  const { port } = new URL(url);
  const env = { ...(await environmentOf(sandbox())), FLEET_ORGANIZATION: sandbox().organizations[0]?.uuid };
  const run = async (...args: string[]) => runFleet(['map', ...args], { env });
  expect(await run('--serve', port)).toMatchObject({ code: 2, stdout: '' });
  const zone = sandbox().zones[0]?.uuid ?? '';
  expect((await run('--serve', '0', '--zone', zone)).stderr).toContain('--serve cannot tell what comes into a zone');
  for (const tiles of [
    'tiles',
    'ftp://x/{z}/{x}/{y}',
    'https://x.example/{z}/{x}.png',
    'https://me:you@x.example/{z}/{x}/{y}',
  ])
    expect(await run('-o', 'html', '--tiles', tiles)).toMatchObject({ code: 2, stdout: '' });
});

describe('with a sandbox behind it', () => {
  const folder = mkdtempSync(join(tmpdir(), 'fleet-map-serve-'));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  async function serve(...args: string[]) {
    const env = { ...(await environmentOf(sandbox())), FLEET_ORGANIZATION: organizationOf(sandbox()) };
    const served = startFleet(['map', '--serve', '0', ...args], { env: { ...env, FLEET_CONFIG_DIR: folder } });
    await served.until(() => served.stdout().includes('\n'));
    const url = served.stdout().trim();
    const read = async (path: string): Promise<Payload> => JSON.parse((await ask(`${url}${path}`)).body);
    return { served, url, read };
  }
  /** The words of a group of one bicycle. */
  const stateOf = ({ columns, groups }: Payload, uuid: string) =>
    groups.state[columns.state[columns.uuid.indexOf(uuid)] ?? -1];

  test('filters hold for what is pushed, and nothing is sent while nothing changes', async () => {
    const { served, read } = await serve('--state', 'lost');
    const lost = () =>
      sandbox()
        .bicycles(organizationOf(sandbox()))
        .filter(({ state }) => state === 'lost');
    let now = await read('fleet.json');
    await served.until(() => served.stderr().includes('watching'));
    const readUntil = async (holds: () => boolean) => {
      for (const startedAt = performance.now(); !holds() && performance.now() - startedAt < 20_000; )
        now = await read('fleet.json');
    };
    await readUntil(() => now.columns.uuid.length >= lost().length);
    expect([...now.columns.uuid].sort()).toEqual(
      lost()
        .map(({ uuid }) => uuid)
        .sort(),
    );
    // What was on its way at first is read before.
    let before600ms: number | undefined;
    for (let tries = 0; tries < 20 && (now.live?.sequence ?? -1) !== before600ms; tries++) {
      before600ms = now.live?.sequence ?? -1;
      await new Promise((resolve) => setTimeout(resolve, 600));
      now = await read('fleet.json');
    }
    expect(now.live?.sequence).toBe(before600ms);

    const before =
      sandbox()
        .bicycles(organizationOf(sandbox()))
        .find(({ state }) => state === 'available')?.uuid ?? '';
    sandbox().act(before, 'declare_lost');
    await readUntil(() => now.columns.uuid.includes(before));
    expect(stateOf(now, before)).toBe('lost');
    sandbox().changeBicycle(before, { state: 'available' });
    await readUntil(() => !now.columns.uuid.includes(before));
    expect(now.columns.uuid).not.toContain(before);
    expect((await served.stop()).code).toBe(130);
  });

  test('a mirror gives the page its past', async () => {
    const [bicycle] = sandbox().bicycles(organizationOf(sandbox()));
    const uuid = bicycle?.uuid ?? '';
    const changes = [
      { at: '2026-03-01T12:00:00.000000Z', bicycle: uuid, field: 'state', old: 'lost', new: 'rented' },
      { at: '2026-03-01T13:00:00.000000Z', bicycle: uuid, field: 'state', old: 'rented', new: bicycle?.state },
    ];
    await makeMirror(`sqlite:${join(folder, 'state', 'default.db')}`, { sandbox: sandbox(), isAlive: false, changes });
    const { served, url, read } = await serve();
    expect((await read('fleet.json')).live?.pastFromMs).toBe(Date.parse('2026-03-01T12:00:00Z'));
    const at = async (time: string) => stateOf(await read(`past?at=${Date.parse(time)}`), uuid);
    expect(await at('2026-03-01T12:00:00Z')).toBe('lost');
    expect(await at('2026-03-01T12:30:00Z')).toBe('rented');
    expect(await at('2026-03-01T13:30:00Z')).toBe(bicycle?.state);
    expect((await ask(`${url}past?at=x`)).status).toBe(404);
    await served.stop();
    const without = await serve('--no-mirror');
    expect((await without.read('fleet.json')).live?.pastFromMs).toBeNull();
    await without.served.stop();
  });
});
