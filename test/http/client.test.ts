// Tests the HTTP client over real sockets: headers, URLs, retries, redirects and invalid bodies.

import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib';
import { describe, expect, onTestFinished, test } from 'vitest';
import { FleetError } from '../../src/errors.js';
import type { Client, ClientOptions } from '../../src/http/client.js';
import type { HttpRequest } from '../../src/http/types.js';
import { systemClock } from '../../src/system/clock.js';
import { openTestClient } from '../support/client.js';
import { freePort } from '../support/listen.js';
import { failureOf, refusal } from '../support/refusal.js';
import {
  type Answer,
  openServer,
  sendJson,
  startServer,
  type TestServer,
} from '../support/server.js';

async function open(
  answer: Answer,
  options: Partial<ClientOptions> = {},
  prefix = '',
): Promise<{ server: TestServer; client: Client; said: string[] }> {
  const server = await openServer(answer);
  return { server, ...(await openTestClient(server.url + prefix, options)) };
}

/** Returns the error of a failing request and the number of requests. */
async function failed(
  answer: Answer,
  request: Partial<HttpRequest> = {},
  options: Partial<ClientOptions> = {},
) {
  const { server, client } = await open(answer, options);
  return {
    error: await failureOf(client.send({ path: '/x/', ...request })),
    asked: server.asked.length,
  };
}

test('sends the headers from the interface description with every request', async () => {
  const { server, client } = await open((response) => sendJson(response, 200, []));
  await client.send({ path: '/bicycles/' });
  expect(server.asked[0]).toMatchObject({ method: 'GET', path: '/bicycles/' });
  expect(server.asked[0]?.headers).toMatchObject({
    authorization: 'JWT secret-token',
    accept: 'application/json; version=1.0',
  });
});

test('keeps the path prefix of the base URL and every trailing slash', async () => {
  const { server, client } = await open((response) => sendJson(response, 200, []), {}, '/api');
  await client.send({
    path: '/bicycles/',
    query: [
      ['state', 'new'],
      ['state', 'a b&c'],
    ],
  });
  expect(server.asked[0]?.path).toBe('/api/bicycles/?state=new&state=a+b%26c');
});

test('keeps connections alive', async () => {
  const { server, client } = await open((response) => sendJson(response, 200, []));
  for (let index = 0; index < 5; index++) await client.send({ path: '/bicycles/' });
  expect(server.connections()).toBe(1);
});

describe('GET retries', () => {
  test('retries a GET when the connection breaks before or during the response', async () => {
    let count = 0;
    const { server, client } = await open((response, _asked, socket) => {
      count++;
      if (count === 1) socket.destroy();
      else if (count === 2) {
        response.writeHead(200, { 'content-length': '100' });
        response.write('[');
        setTimeout(() => socket.destroy(), 20);
      } else sendJson(response, 200, []);
    });
    expect((await client.send({ path: '/x/' })).text).toBe('[]');
    expect(server.asked).toHaveLength(3);
  });

  test('returns the last failure when all retries fail', async () => {
    const answer: Answer = (response) =>
      sendJson(response, 503, { detail: 'down for maintenance' });
    const trace = { from: 'eu-west', requestId: 'request-1', version: '2026.11' };
    const message = 'the service could not answer the list of bicycles: down for maintenance';
    expect(await failed(answer, { subject: 'the list of bicycles' }, { retries: 1 })).toMatchObject(
      {
        asked: 2,
        error: { kind: 'service', status: 503, trace, message },
      },
    );
  });

  test.each(['1', new Date(Date.now() + 1500).toUTCString()])(
    'obeys a Retry-After with %s',
    async (retryAfter) => {
      let count = 0;
      const pauses: number[] = [];
      const { client } = await open(
        (response) =>
          ++count === 1
            ? sendJson(response, 429, '', { 'retry-after': retryAfter })
            : sendJson(response, 200, []),
        {
          log: { request() {}, response() {}, retry: (_reason, pause) => pauses.push(pause) },
          clock: systemClock(() => Date.parse(retryAfter) - 700 || 0),
        },
      );
      await client.send({ path: '/x/' });
      expect(pauses[0]).toBeGreaterThanOrEqual(retryAfter === '1' ? 1000 : 700);
    },
  );

  test('does not wait when Retry-After is longer than a minute', async () => {
    const found = await failed((response) => sendJson(response, 503, '', { 'retry-after': '300' }));
    expect(found).toMatchObject({ asked: 1, error: { hint: expect.stringContaining('300 s') } });
  });
});

describe('a change is sent at most once (promise 1)', () => {
  const change = { method: 'POST', path: '/bicycles/u/actions/', body: '{"type":"rent"}' };

  test.each([408, 500, 502, 503, 504])('does not retry a change after HTTP %i', async (status) => {
    expect((await failed((response) => sendJson(response, status, ''), change)).asked).toBe(1);
  });

  test('does not retry a change after a broken connection', async () => {
    const found = await failed((_response, _asked, socket) => void socket.destroy(), change);
    expect(found).toMatchObject({
      asked: 1,
      error: refusal('network', /it is unknown whether the request was carried out/),
    });
  });

  test('does not retry a change after a truncated or late response', async () => {
    const { server, client } = await open(
      (response, asked) => {
        if (asked.path === '/slow/') return;
        response.writeHead(200, { 'content-length': '10' });
        response.write('{');
      },
      { timeoutMs: 300 },
    );
    for (const path of ['/slow/', '/broken/']) {
      expect((await failureOf(client.send({ ...change, path }))).message).toContain('unknown');
    }
    expect(server.asked).toHaveLength(2);
  });

  test('retries a change after a 429', async () => {
    let count = 0;
    const { server, client } = await open((response) =>
      ++count === 1 ? sendJson(response, 429, '') : sendJson(response, 200, {}),
    );
    expect((await client.send(change)).status).toBe(200);
    expect(server.asked.map(({ body }) => body)).toEqual([change.body, change.body]);
    expect(server.asked[0]?.headers['content-type']).toBe('application/json');
  });

  test('retries when the connection is refused', async () => {
    const port = await freePort();
    let again: Promise<TestServer> | undefined;
    const retry = () => {
      again ??= startServer((response) => sendJson(response, 200, {}), port);
    };
    onTestFinished(async () => (await again)?.close());
    const { client } = await openTestClient(`http://127.0.0.1:${port}`, {
      log: { request() {}, response() {}, retry },
    });
    expect((await client.send(change)).status).toBe(200);
    expect((await again)?.asked).toHaveLength(1);
  });

  test.each([301, 302, 303, 307, 308])(
    'does not follow an HTTP %i redirect for a change',
    async (status) => {
      const found = await failed(
        (response) => sendJson(response, status, '', { location: '/elsewhere/' }),
        change,
      );
      expect(found).toMatchObject({ asked: 1, error: { kind: 'service', status } });
    },
  );
});

describe('HTTP 401', () => {
  test.each(['GET', 'POST'])('sends a %s again with a renewed token', async (method) => {
    const { server, client } = await open(
      (response, { headers }) =>
        headers.authorization === 'JWT new'
          ? sendJson(response, 200, {})
          : sendJson(response, 401, ''),
      {
        token: {
          get: async () => 'old',
          renew: async (refused) => (refused === 'old' ? 'new' : undefined),
        },
      },
    );
    expect((await client.send({ method, path: '/x/' })).status).toBe(200);
    expect(server.asked.map(({ headers }) => headers.authorization)).toEqual([
      'JWT old',
      'JWT new',
    ]);
  });

  test('renews the token at most once per request', async () => {
    let made = 0;
    const token = { get: async () => 'old', renew: async () => `new-${++made}` };
    const found = await failed((response) => sendJson(response, 401, ''), {}, { token });
    expect(found).toMatchObject({ asked: 2, error: { kind: 'auth' } });
  });
});

describe('GET redirects', () => {
  test('follows GET redirects within the same origin', async () => {
    const { server, client } = await open((response, { path }) =>
      path === '/bicycles/'
        ? sendJson(response, 200, [])
        : sendJson(response, 301, '', { location: '/bicycles/' }),
    );
    expect((await client.send({ path: '/bicycles' })).status).toBe(200);
    expect(server.asked).toHaveLength(2);
  });

  test('fails when redirects form a loop', async () => {
    const found = await failed((response) => sendJson(response, 302, '', { location: '/x/' }));
    expect(found).toMatchObject({ asked: 6, error: { status: 302 } });
  });
});

describe('response bodies', () => {
  const text = JSON.stringify([{ name: 'Ädä 🚲' }]);
  test.each<[coding: string, bytes: string | Buffer, expected: string]>([
    ['gzip', gzipSync(text), text],
    ['deflate', deflateSync(text), text],
    ['br', brotliCompressSync(text), text],
    ...['gzip', 'deflate', 'br', 'zstd'].map((coding): [string, string, string] => [
      coding,
      '',
      '',
    ]),
  ])('decodes the %s body %s as %j', async (coding, bytes, expected) => {
    const { client } = await open((response) => {
      response.writeHead(200, { 'content-encoding': coding });
      response.end(bytes);
    });
    expect((await client.send({ path: '/x/' })).text).toBe(expected);
  });

  test.each([
    [
      'that breaks off',
      'gzip',
      gzipSync(text).subarray(0, 20),
      /broken or incomplete gzip compression/,
    ],
    ['that was not requested', 'zstd', Buffer.from('x'), /compressed as "zstd"/],
  ])('fails with a clear error for a content encoding %s', async (_case, coding, bytes, words) => {
    const { error } = await failed((response) => {
      response.writeHead(200, { 'content-encoding': coding, 'x-service-requestid': 'r-7' });
      response.end(bytes);
    });
    expect(error).toMatchObject({ ...refusal('service', words), trace: { requestId: 'r-7' } });
  });
});

describe('requests without a response', () => {
  test.each([
    ['no program listens', /connection refused/, 'http://127.0.0.1:1'],
    ['no such host', /no such host|could not be looked up/, 'http://fleet.invalid'],
  ])('reports %s as a network failure', async (_case, words, url) => {
    const { client } = await openTestClient(url, { retries: 0 });
    const hinted = { ...refusal('network', words), hint: expect.stringMatching(/\w/) };
    expect(await failureOf(client.send({ path: '/x/' }))).toMatchObject(hinted);
  });

  test('an https request to an http port fails with a clear error', async () => {
    const server = await openServer((response) => sendJson(response, 200, []));
    const { client, said } = await openTestClient(server.url.replace('http:', 'https:'));
    expect((await failureOf(client.send({ path: '/x/' }))).message).toContain(
      'the port does not speak https',
    );
    expect(said).toEqual([]);
  });

  test('an aborted request or retry delay fails with the abort reason', async () => {
    const stop = new AbortController();
    const retry = () => stop.abort(new FleetError('interrupted', 'interrupted'));
    const options = { signal: stop.signal, log: { request() {}, response() {}, retry } };
    const { error } = await failed(
      (response) => sendJson(response, 503, '', { 'retry-after': '30' }),
      {},
      options,
    );
    expect(error.kind).toBe('interrupted');
  });
});

test('reports a proxy that closes the tunnel', async () => {
  const proxy = await openServer((response) => sendJson(response, 200, []));
  const { client } = await openTestClient(
    'https://fleet.invalid',
    { retries: 1 },
    { HTTPS_PROXY: proxy.url },
  );
  expect((await failureOf(client.send({ path: '/x/' }))).message).toContain('proxy');
  expect(proxy.connections()).toBe(2);
});
