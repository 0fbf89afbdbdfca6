// Which proxy an address is asked through, and what a proxy's refusals look like; this machine is never asked through one.

import { createServer, type Server } from 'node:net';
import { afterEach, describe, expect, test } from 'vitest';
import type { FleetError } from '../../src/errors.js';
import { lookUp } from '../../src/http/dial.js';
import { isLoopback } from '../../src/http/loopback.js';
import { openRoutes } from '../../src/http/proxy.js';
import { openTestClient } from '../support/client.js';
import { runFleet } from '../support/run.js';
import { sendJson, startServer } from '../support/server.js';

const closers: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0)) await close();
});

const HTTPS = 'https://api.example.com/api';
const HTTP = 'http://api.example.com/api';

test.each<[env: NodeJS.ProcessEnv, url: string, proxy: string | undefined, because: string]>([
  [{}, HTTPS, undefined, 'no proxy is set'],
  [{ HTTPS_PROXY: 'http://p:1' }, HTTPS, 'http://p:1', 'HTTPS_PROXY'],
  [{ https_proxy: 'p:1', HTTPS_PROXY: 'http://q:2' }, HTTPS, 'http://p:1', 'https_proxy'],
  [{ https_proxy: '', HTTPS_PROXY: 'http://q:2' }, HTTPS, undefined, 'no proxy is set'],
  [{ HTTPS_PROXY: 'p:3128' }, HTTPS, 'http://p:3128', 'HTTPS_PROXY'],
  [{ HTTPS_PROXY: 'https://user:pass%20word@p' }, HTTPS, 'https://p', 'HTTPS_PROXY'],
  [{ HTTP_PROXY: 'http://p:1' }, HTTPS, 'http://p:1', 'HTTP_PROXY'],
  [{ HTTPS_PROXY: 'http://p:1' }, HTTP, undefined, 'no proxy is set'],
  [{ HTTP_PROXY: 'http://p:1', NO_PROXY: 'example.com' }, HTTP, undefined, 'NO_PROXY excludes it'],
  [{ HTTP_PROXY: 'http://p:1', no_proxy: 'other, .example.com' }, HTTP, undefined, 'no_proxy excludes it'],
  [{ HTTP_PROXY: 'http://p:1', NO_PROXY: '*' }, HTTP, undefined, 'NO_PROXY excludes it'],
  [{ HTTP_PROXY: 'http://p:1', NO_PROXY: 'api.example.com:80' }, HTTP, undefined, 'NO_PROXY excludes it'],
  [{ HTTP_PROXY: 'http://p:1', NO_PROXY: 'api.example.com:8080 ample.com' }, HTTP, 'http://p:1', 'HTTP_PROXY'],
  [{ HTTP_PROXY: 'http://p:1' }, 'http://sandbox.localhost:4010', undefined, 'HTTP_PROXY is not used for this machine'],
])('%j, %s', (env, url, proxy, because) => {
  const route = openRoutes(env).routeTo(new URL(url));
  expect({ proxy: route.proxy?.origin, because: route.because }).toEqual({ proxy, because });
});

test.each([
  ['socks5://user:s3cr3tpw@p:1', 'scheme "socks5"'],
  ['ftp://user:s3cr3tpw@p', 'scheme "ftp"'],
  ['http://us%er:s3cr3tpw@p', '% that is not part of an escape'],
  ['http://user:s3cr3tpw%zz@p', '% that is not part of an escape'],
  ['http://user:s3cr3tpw@bad host:1', 'not a proxy address'],
  ['nonsense with blanks', 'not a proxy address'],
  ['://', 'not a proxy address'],
])('the proxy %s is a line and exit 3, and no password', async (proxy, words) => {
  for (const variable of ['HTTPS_PROXY', 'http_proxy']) {
    const env = { FLEET_BASE_URL: 'https://fleet.invalid', FLEET_TOKEN: 'some-token', [variable]: proxy };
    const { code, stderr } = await runFleet(['bicycles', 'list'], { env });
    expect(code).toBe(3);
    expect(stderr).toContain(variable);
    expect(stderr).toContain(words);
    expect(stderr).not.toContain('s3cr3tpw');
  }
});

test('a proxy that is none stops nothing that would not be asked through it', async () => {
  const service = await startServer((response) => sendJson(response, 200, []));
  closers.push(service.close);
  const env = { FLEET_BASE_URL: service.url, FLEET_TOKEN: 'some-token', HTTP_PROXY: 'socks5://127.0.0.1:1' };
  expect(await runFleet(['bicycles', 'list', '--json'], { env })).toMatchObject({ code: 0, stdout: '[]\n' });
  const watch = ['watch', '0f8fad5b-d9cb-469f-a165-70867728950e', '--resync-pages', '0', '--for', '1s'];
  const run = await runFleet(watch, { env: { ...env, FLEET_SSE_URL: 'https://push.invalid' } });
  expect(run).toMatchObject({ code: 3, stderr: expect.stringContaining('HTTP_PROXY names a proxy of the scheme') });
});

/** A proxy that answers everything with a status, and what it was asked. */
async function startProxy(status: string): Promise<{ url: string; heads: string[] }> {
  const heads: string[] = [];
  const server: Server = createServer((socket) => {
    socket.on('error', () => {});
    socket.on('data', (chunk) => {
      heads.push(chunk.toString());
      socket.end(`HTTP/1.1 ${status}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n`);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  closers.push(() => new Promise((resolve) => server.close(() => resolve())));
  return { url: `http://127.0.0.1:${(server.address() as { port: number }).port}`, heads };
}

async function refusal(baseUrl: string, proxy: string): Promise<FleetError> {
  const { client, close } = await openTestClient(baseUrl, {}, { HTTP_PROXY: proxy });
  closers.push(close);
  return client.send({ path: '/x/', method: 'POST', body: '{}' }).then(
    () => expect.fail('no error'),
    (error: FleetError) => error,
  );
}

describe('407', () => {
  test.each(['http://fleet.invalid', 'https://fleet.invalid'])('says what to do, for %s', async (baseUrl) => {
    const proxy = await startProxy('407 Proxy Authentication Required');
    const error = await refusal(baseUrl, proxy.url);
    expect(error.message).toContain('proxy');
    expect(error.message).toContain('password');
    expect(error.hint).toContain('http://USER:PASSWORD@HOST:PORT');
    expect(proxy.heads).toHaveLength(1);
  });

  test('user and password of the address are sent to it', async () => {
    const proxy = await startProxy('407 No');
    await refusal('https://fleet.invalid', proxy.url.replace('//', '//user:pass%20word@'));
    expect(proxy.heads[0]).toContain(`Basic ${Buffer.from('user:pass word').toString('base64')}`);
    expect(proxy.heads[0]).not.toContain('secret-token');
  });
});

test.each(['/', '/path?query', '#part'])('what stands behind the host of a proxy has no meaning: %s', async (rest) => {
  const proxy = await startProxy('403 Forbidden');
  expect((await refusal('https://fleet.invalid', proxy.url + rest)).kind).toBe('network');
  expect(proxy.heads).toHaveLength(1);
});

test('a proxy that refuses the way is named, and asked once', async () => {
  const proxy = await startProxy('403 Forbidden');
  const error = await refusal('https://fleet.invalid', proxy.url);
  expect(error).toMatchObject({ kind: 'network' });
  expect(error.message).toContain('the proxy refuses to connect');
  expect(proxy.heads).toHaveLength(1);
});

describe('names below localhost', () => {
  test('are this machine without a resolver', async () => {
    const server = await startServer((response) => sendJson(response, 200, []));
    closers.push(() => server.close());
    const { client, close } = await openTestClient(server.url.replace('127.0.0.1', 'any.name.localhost'));
    closers.push(close);
    expect((await client.send({ path: '/x/' })).status).toBe(200);
  });

  test.each(['localhost', 'LOCALHOST', 'a.localhost', 'a.localhost.'])('%s', async (host) => {
    expect(isLoopback(new URL(`http://${host}`))).toBe(true);
    const all = await new Promise((resolve) => lookUp(host, { all: true }, (_error, found) => resolve(found)));
    expect(all).toEqual([
      { address: '127.0.0.1', family: 4 },
      { address: '::1', family: 6 },
    ]);
    const six = await new Promise((resolve) => lookUp(host, { family: 6 }, (_error, found) => resolve(found)));
    expect(six).toBe('::1');
  });

  test.each(['notlocalhost', 'localhost.example.com', 'a-localhost'])('%s is not', (host) => {
    expect(isLoopback(new URL(`http://${host}`))).toBe(false);
  });
});
