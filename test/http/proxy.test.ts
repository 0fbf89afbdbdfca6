// Tests the choice of a proxy, and errors of proxies. Requests to this machine use no proxy.

import { describe, expect, test } from 'vitest';
import type { FleetError } from '../../src/errors.js';
import { openRoutes } from '../../src/http/proxy.js';
import { openTestClient } from '../support/client.js';
import { openMisbehaving, sendStatus } from '../support/misbehaving.js';
import { failureOf } from '../support/refusal.js';
import { runFleet } from '../support/run.js';
import { openServer, sendJson } from '../support/server.js';

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
  [
    { HTTP_PROXY: 'http://p:1', no_proxy: 'other, .example.com' },
    HTTP,
    undefined,
    'no_proxy excludes it',
  ],
  [{ HTTP_PROXY: 'http://p:1', NO_PROXY: '*' }, HTTP, undefined, 'NO_PROXY excludes it'],
  [
    { HTTP_PROXY: 'http://p:1', NO_PROXY: 'api.example.com:80' },
    HTTP,
    undefined,
    'NO_PROXY excludes it',
  ],
  [
    { HTTP_PROXY: 'http://p:1', NO_PROXY: 'api.example.com:8080 ample.com' },
    HTTP,
    'http://p:1',
    'HTTP_PROXY',
  ],
  [
    { HTTP_PROXY: 'http://p:1' },
    'http://localhost:4010',
    undefined,
    'HTTP_PROXY is not used for this machine',
  ],
  ...(
    [
      ['fd00::5', 'http://[fd00::5]/', true],
      ['fd00::5', 'http://[fd00:0:0::5]:8080/', true],
      ['[fd00::5]', 'http://[fd00::5]/', true],
      ['[fd00::5]:8080', 'http://[fd00::5]:8080/', true],
      ['[fd00::5]:8080', 'http://[fd00::5]/', false],
      ['fd00::/8', 'http://[fd12::1]/', true],
      ['fd00::/8', 'http://[fe80::1]/', false],
      ['10.0.0.0/8', 'http://10.1.2.3/', true],
      ['10.0.0.0/8', 'http://11.1.2.3/', false],
      ['10.0.0.0/8', 'http://ten.example.com/', false],
      ['10.1.2.3:80', 'http://10.1.2.3/', true],
      ['10.0.0.0/33', 'http://10.0.0.0/', false],
    ] as const
  ).map(([entry, url, isExcluded]): [NodeJS.ProcessEnv, string, string | undefined, string] => [
    { HTTP_PROXY: 'http://p:1', NO_PROXY: entry },
    url,
    isExcluded ? undefined : 'http://p:1',
    isExcluded ? 'NO_PROXY excludes it' : 'HTTP_PROXY',
  ]),
])('chooses the proxy with the environment %j for %s', (env, url, proxy, because) => {
  const route = openRoutes(env).routeTo(new URL(url));
  expect({ proxy: route.proxy?.origin, because: route.because }).toEqual({ proxy, because });
});

test.each([
  'socks5://user:s3cr3tpw@p:1',
  'http://us%er:s3cr3tpw@p',
  'http://user:s3cr3tpw%zz@p',
  'http://user:s3cr3tpw@bad host:1',
  'nonsense with blanks',
  '://',
])('rejects the proxy %s without printing its password', async (proxy) => {
  for (const variable of ['HTTPS_PROXY', 'http_proxy']) {
    const env = {
      FLEET_BASE_URL: 'https://fleet.invalid',
      FLEET_TOKEN: 'some-token',
      [variable]: proxy,
    };
    const { code, stderr } = await runFleet(['bicycles', 'list'], { env });
    expect(code).toBe(3);
    expect(stderr).toContain(`${variable} is not the address of an http or https proxy`);
    expect(stderr).not.toContain('s3cr3tpw');
  }
});

test('ignores an invalid proxy for requests that do not use it', async () => {
  const service = await openServer((response) => sendJson(response, 200, []));
  const env = {
    FLEET_BASE_URL: service.url,
    FLEET_TOKEN: 'some-token',
    HTTP_PROXY: 'socks5://127.0.0.1:1',
  };
  expect(await runFleet(['bicycles', 'list', '--json'], { env })).toMatchObject({
    code: 0,
    stdout: '[]\n',
  });
  const watch = [
    'watch',
    '0f8fad5b-d9cb-469f-a165-70867728950e',
    '--resync-pages',
    '0',
    '--for',
    '1s',
  ];
  const run = await runFleet(watch, { env: { ...env, FLEET_SSE_URL: 'https://push.invalid' } });
  expect(run).toMatchObject({
    code: 3,
    stderr: expect.stringContaining('HTTP_PROXY is not the address of an http or https proxy'),
  });
});

/** Starts a proxy that answers everything with this status. */
const startProxy = (status: number) => openMisbehaving((socket) => sendStatus(socket, status));

async function refusal(baseUrl: string, proxy: string): Promise<FleetError> {
  const { client } = await openTestClient(baseUrl, {}, { HTTP_PROXY: proxy });
  return failureOf(client.send({ path: '/x/', method: 'POST', body: '{}' }));
}

describe('HTTP 407 from a proxy', () => {
  test.each(['http://fleet.invalid', 'https://fleet.invalid'])(
    'explains what to do, for %s',
    async (baseUrl) => {
      const proxy = await startProxy(407);
      const error = await refusal(baseUrl, proxy.url);
      expect(error.message).toMatch(/proxy.*password/);
      expect(error.hint).toContain('http://USER:PASSWORD@HOST:PORT');
      expect(proxy.requests).toHaveLength(1);
    },
  );

  test('sends the user and password of the proxy URL to the proxy', async () => {
    const proxy = await startProxy(407);
    await refusal('https://fleet.invalid', proxy.url.replace('//', '//user:pass%20word@'));
    const [{ headers = {} } = {}] = proxy.requests;
    expect(headers['proxy-authorization']).toBe(
      `Basic ${Buffer.from('user:pass word').toString('base64')}`,
    );
    expect(JSON.stringify(headers)).not.toContain('secret-token');
  });
});

test.each(['', '/', '/path?query', '#part'])(
  'names a proxy that refuses the tunnel after one request, and ignores %j after its host',
  async (rest) => {
    const proxy = await startProxy(403);
    const error = await refusal('https://fleet.invalid', proxy.url + rest);
    expect([error.kind, error.message]).toEqual([
      'network',
      expect.stringContaining('the proxy refuses to connect'),
    ]);
    expect(proxy.requests).toHaveLength(1);
  },
);
