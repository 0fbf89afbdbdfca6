// Tests requirements of every request: permissions, trace headers, Authorization, Accept, paths and
// methods (interface.md sections 4, 5, 7 and 9).
import { type IncomingHttpHeaders, request } from 'node:http';
import { SignJWT } from 'jose';
import { expect, test } from 'vitest';
import type { RequestLine } from '../../src/sandbox/index.js';
import { headersFor, openSandbox, useSandbox, withSandbox } from '../support/sandbox.js';
import { ask } from './ask.js';

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

const sandbox = useSandbox({ service: 'interface', bicycles: 40 });

const topicPath = () =>
  `/subscribe/%2F${sandbox().organizations[0]?.uuid}%2Fadmin%2Fbicycles%2F%2A/`;

/** An ordinary request and a subscription, one for each port. */
const PORTS: [string, () => string][] = [
  ['the API', () => `${sandbox().baseUrl}/bicycles/`],
  ['the push channel', () => `${sandbox().sseUrl}${topicPath()}`],
];

interface Got {
  status: number;
  headers: IncomingHttpHeaders;
  body: string;
}

/**
 * Uses node:http, because fetch sets Host itself. Reads only the first bytes of an endless answer.
 */
function get(url: string, headers: { [name: string]: string }): Promise<Got> {
  return new Promise((resolve, reject) => {
    const outgoing = request(url, { headers, agent: false }, (incoming) => {
      const { statusCode: status = 0, headers } = incoming;
      incoming.once('data', (chunk) => {
        resolve({ status, headers, body: String(chunk) });
        outgoing.destroy();
      });
    });
    outgoing.on('error', reject);
    outgoing.end();
  });
}

function expectDetail({ status, headers, body }: Got, expected: number, code: string): void {
  expect([status, headers['content-type']]).toEqual([expected, 'application/json']);
  expect(headers['x-service-requestid']).toMatch(UUID);
  expect(JSON.parse(body)).toEqual({ detail: [{ message: expect.any(String), code }] });
}

test.each(PORTS)('%s listens on loopback and returns a unique request ID', async (_, url) => {
  expect(url()).toMatch(/^http:\/\/127\.0\.0\.1:\d+\//);
  const headers = await headersFor(sandbox());
  const [first, second] = [await get(url(), headers), await get(url(), headers)];
  for (const { status, headers: trace } of [first, second]) {
    expect([status, trace['x-service-version']]).toEqual([200, 'sandbox-1.0.0']);
    expect(trace['x-service-from']).toMatch(/^sandbox-(api|push)$/);
    expect(trace['x-service-requestid']).toMatch(UUID);
  }
  expect(first.headers['x-service-requestid']).not.toBe(second.headers['x-service-requestid']);
});

test.each<[string, { [header: string]: string }, number]>([
  ['another host', { Host: 'evil.example:PORT' }, 421],
  ['no port', { Host: '127.0.0.1' }, 421],
  ['another address', { Host: '127.0.0.2:PORT' }, 421],
  ['its name', { Host: 'LOCALHOST:PORT' }, 200],
  ['its address', { Host: '[::1]:PORT' }, 200],
  ['a web page', { Origin: 'https://evil.example' }, 403],
  ['a page of the sandbox', { Origin: 'http://127.0.0.1:PORT' }, 403],
])('checks the host and origin of a request: %s', async (_, headers, status) => {
  for (const [, url] of PORTS) {
    const filled = Object.entries(headers).map(([name, value]) => [
      name,
      value.replace('PORT', new URL(url()).port),
    ]);
    const answer = await get(url(), {
      ...(await headersFor(sandbox())),
      ...Object.fromEntries(filled),
    });
    expect(answer.status).toBe(status);
    expect(answer.headers['x-service-requestid']).toMatch(UUID);
    expect(answer.headers).not.toHaveProperty('access-control-allow-origin');
  }
});

const foreign = () =>
  new SignJWT({ role: 'admin' })
    .setProtectedHeader({ alg: 'HS256' })
    .setSubject('x')
    .setIssuedAt()
    .setExpirationTime('1h')
    .sign(new Uint8Array(32));

const unsigned = (payload: object) =>
  [{ alg: 'none' }, payload]
    .map((part) => Buffer.from(JSON.stringify(part)).toString('base64url'))
    .join('.');

test.each<[string, string, () => Promise<string | undefined>]>([
  ['no token', 'not_authenticated', async () => undefined],
  ['another scheme', 'authentication_failed', async () => `Bearer ${await sandbox().token()}`],
  [
    'the scheme in lower case',
    'authentication_failed',
    async () => `jwt ${await sandbox().token()}`,
  ],
  ['the scheme alone', 'authentication_failed', async () => 'JWT'],
  ['no JWT', 'authentication_failed', async () => 'JWT abc'],
  ['a token of another signer', 'authentication_failed', async () => `JWT ${await foreign()}`],
  [
    'an unsigned token',
    'authentication_failed',
    async () => `JWT ${unsigned({ role: 'admin', sub: 'x', exp: 9e9 })}.`,
  ],
  [
    'an expired token',
    'token_expired',
    async () => `JWT ${await sandbox().token({ expiresInSeconds: -1 })}`,
  ],
])('returns 401 for %s', async (_, code, make) => {
  const authorization = await make();
  for (const [, url] of PORTS) {
    const answer = await get(
      url(),
      authorization === undefined ? {} : { Authorization: authorization },
    );
    expectDetail(answer, 401, code);
    expect(answer.headers['www-authenticate']).toBe('JWT realm="api"');
  }
});

test('rejects a previously accepted token after it expires', async () => {
  let now = Date.UTC(2026, 0, 1);
  const own = await openSandbox({ bicycles: 1, now: () => now });
  const headers = { Authorization: `JWT ${await own.token({ expiresInSeconds: 10 })}` };
  now += 9_999;
  expect((await ask(own, '/bicycles/', { headers })).status).toBe(200);
  now += 1;
  expect((await ask(own, '/bicycles/', { headers })).status).toBe(401);
});

test('creates tokens with a role, a subject and a 12-hour lifetime', async () => {
  const payload = (token: string) =>
    JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString());
  const usual = payload(await sandbox().token());
  expect(usual).toMatchObject({ role: 'fleet_operator', sub: sandbox().users[1] });
  expect(Math.abs(usual.exp - usual.iat - 12 * 3600)).toBeLessThanOrEqual(1);
  const special = await sandbox().token({
    role: 'renter',
    subject: 's',
    organization: 'o',
    expiresInSeconds: 5,
  });
  expect(payload(special)).toMatchObject({ role: 'renter', sub: 's', organization: 'o' });
});

test.each<[string, boolean, boolean]>([
  ['application/json; version=1.0', true, true],
  ['Application/JSON;Version="1.0"', true, true],
  ['application/json', true, true],
  ['application/*;version=1.0', true, false],
  ['text/event-stream, application/json;version=1.0', true, true],
  ['text/event-stream', false, true],
  ['text/html', false, false],
  ['application/json; version=2.0', false, false],
  ['application/json; version=', false, false],
  ['text/event-stream, application/json; version=1.1', false, false],
])('checks the header Accept: %s', async (accept, api, push) => {
  for (const [index, isGood] of [api, push].entries()) {
    const answer = await get(PORTS[index]?.[1]() ?? '', {
      ...(await headersFor(sandbox())),
      Accept: accept,
    });
    if (isGood) expect(answer.status).toBe(200);
    else expectDetail(answer, 406, 'not_acceptable');
  }
});

test('redirects a path without its trailing slash and returns 404 for unknown paths', async () => {
  const moved = await ask(sandbox(), '/bicycles?page=2&x=%2F');
  expect([moved.status, moved.headers.get('Location')]).toEqual([301, '/bicycles/?page=2&x=%2F']);
  expect((await ask(sandbox(), '/bicycles', { method: 'PUT' })).text).toContain(
    'must end with a slash',
  );
  for (const path of [
    '/',
    '/bicycle/',
    '/bicycles/x/',
    '/bicycles//',
    '/BICYCLES/',
    '/subscribe/x/',
  ])
    expect((await ask(sandbox(), path)).status).toBe(404);
});

test.each([
  ['PUT', '/bicycles/', 'GET, HEAD, POST'],
  ['PATCH', '/alerts/', 'GET, HEAD'],
  ['GET', '/bicycles/UUID/actions/', 'POST'],
])('rejects %s %s with 405', async (method, path, allowed) => {
  const answer = await ask(sandbox(), path.replace('UUID', sandbox().bicycles()[0]?.uuid ?? ''), {
    method,
  });
  expect([answer.status, answer.headers.get('Allow')]).toEqual([405, allowed]);
});

test('answers HEAD like GET, but without a body', async () => {
  const { status, text } = await ask(sandbox(), '/bicycles/', { method: 'HEAD' });
  expect([status, text]).toEqual([200, '']);
});

test('records complete requests but reports no headers', async () => {
  const lines: RequestLine[] = [];
  const own = await openSandbox({ bicycles: 3, onRequest: (line) => lines.push(line) });
  const uuid = own.bicycles()[0]?.uuid;
  await ask(own, '/bicycles/?a=%2f');
  const body = '{"type": "fly"}';
  const answer = await ask(own, `/bicycles/${uuid}/actions/`, {
    body,
    headers: { 'X-Odd-Case': '1' },
  });
  await ask(own, `${own.sseUrl}/subscribe/x/`);
  expect(
    own.requests.map(({ server, method, url, status }) => [server, method, url, status]),
  ).toEqual([
    ['api', 'GET', '/bicycles/?a=%2f', 200],
    ['api', 'POST', `/bicycles/${uuid}/actions/`, 404],
    ['push', 'GET', '/subscribe/x/', 404],
  ]);
  const recorded = own.requests[1];
  expect([recorded?.body, recorded?.headers['x-odd-case']]).toEqual([body, '1']);
  expect(recorded?.requestId).toBe(answer.headers.get('X-Service-RequestId'));
  expect(lines).toEqual(own.requests.map(({ method, url, status }) => ({ method, url, status })));
});

test('reports EADDRINUSE and closes its other port when a port is in use', async () => {
  const port = Number(new URL(sandbox().sseUrl).port);
  for (const ports of [{ port }, { ssePort: port }])
    await expect(withSandbox({ bicycles: 1, ...ports }, async () => {})).rejects.toMatchObject({
      code: 'EADDRINUSE',
    });
});
