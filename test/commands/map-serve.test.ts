// The server of `fleet map --serve`: who may ask, what a tab is sent, and what is kept for one that is slow or comes back.

import { request } from 'node:http';
import { connect } from 'node:net';
import { afterEach, expect, test } from 'vitest';
import { openPageServer, type PageServer } from '../../src/commands/map/server.js';
import type { Payload, Update } from '../../src/page/payload.js';
import { environmentOf } from '../support/environment.js';
import { runFleet } from '../support/run.js';
import { eventually } from '../support/running.js';
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
