// What holds for every request: trace headers, Authorization, Accept, paths, methods (interface.md sections 4, 5, 7 and 9).
import { connect } from 'node:net';
import { networkInterfaces } from 'node:os';
import { SignJWT } from 'jose';
import { expect, test } from 'vitest';
import type { RequestLine } from '../../src/sandbox/index.js';
import { headersFor, useSandbox, withSandbox } from '../support/sandbox.js';

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

// Taken before the sandbox starts.
const GLOBALS = [Request, Response];

const sandbox = useSandbox({ service: 'interface', bicycles: 40 });

function topicPath(): string {
  return `/subscribe/%2F${sandbox().organizations[0]?.uuid}%2Fadmin%2Fbicycles%2F%2A/`;
}

/** Both ports: an ordinary request and a subscription. */
const PORTS: [string, () => string][] = [
  ['the API', () => `${sandbox().baseUrl}/bicycles/`],
  ['the push channel', () => `${sandbox().sseUrl}${topicPath()}`],
];

/** Status and headers; a body that does not end is cut. */
async function request(url: string, headers: { [name: string]: string }, method = 'GET'): Promise<Response> {
  const controller = new AbortController();
  const response = await fetch(url, { method, headers, redirect: 'manual', signal: controller.signal });
  if (response.headers.get('Content-Type') === 'text/event-stream') controller.abort();
  return response;
}

function expectTrace(headers: Headers): void {
  expect(headers.get('X-Service-From')).toMatch(/^sandbox-(api|push)$/);
  expect(headers.get('X-Service-RequestId')).toMatch(UUID);
  expect(headers.get('X-Service-Version')).toBe('sandbox-1.0.0');
}

async function expectDetail(response: Response, status: number, code: string): Promise<void> {
  expect(response.status).toBe(status);
  expect(response.headers.get('Content-Type')).toBe('application/json');
  expectTrace(response.headers);
  const detail = { non_field_errors: [{ message: expect.any(String), code }] };
  expect(await response.json()).toEqual({ detail });
}

test('both addresses are on loopback and end without a slash', () => {
  expect(sandbox().baseUrl).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
  expect(sandbox().sseUrl).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
});

const outside = Object.values(networkInterfaces())
  .flat()
  .find((address) => address?.family === 'IPv4' && !address.internal)?.address;

test.skipIf(outside === undefined)('nobody else on the network reaches it', async () => {
  for (const url of [sandbox().baseUrl, sandbox().sseUrl]) {
    await expect(fetch(`http://${outside}:${new URL(url).port}/`)).rejects.toThrow();
  }
});

test.each(PORTS)('%s: trace headers, another request id each time', async (_, url) => {
  const headers = await headersFor(sandbox());
  const [first, second] = [await request(url(), headers), await request(url(), headers)];
  expect([first.status, second.status]).toEqual([200, 200]);
  expectTrace(first.headers);
  expect(first.headers.get('X-Service-RequestId')).not.toBe(second.headers.get('X-Service-RequestId'));
});

test('what is no HTTP is answered with trace headers too', async () => {
  const socket = connect(Number(new URL(sandbox().baseUrl).port), '127.0.0.1');
  socket.end('hello\r\n\r\n');
  let text = '';
  for await (const chunk of socket) text += chunk;
  expect(text).toMatch(/^HTTP\/1\.1 400 /);
  expect(text).toMatch(/X-Service-RequestId: [0-9a-f-]{36}\r\n/);
});

const foreign = () =>
  new SignJWT({ role: 'admin' })
    .setProtectedHeader({ alg: 'HS256' })
    .setSubject('x')
    .setIssuedAt()
    .setExpirationTime('1h')
    .sign(new Uint8Array(32));

const unsigned = (payload: object) =>
  [{ alg: 'none' }, payload].map((part) => Buffer.from(JSON.stringify(part)).toString('base64url')).join('.');

const TOKENS: [string, string, () => Promise<string | undefined>][] = [
  ['no token', 'not_authenticated', async () => undefined],
  ['another scheme', 'authentication_failed', async () => `Bearer ${await sandbox().token()}`],
  ['the scheme in lower case', 'authentication_failed', async () => `jwt ${await sandbox().token()}`],
  ['the token alone', 'authentication_failed', () => sandbox().token()],
  ['the scheme alone', 'authentication_failed', async () => 'JWT'],
  ['two spaces', 'authentication_failed', async () => `JWT  ${await sandbox().token()}`],
  ['no JWT', 'authentication_failed', async () => 'JWT abc'],
  ['a token of another signer', 'authentication_failed', async () => `JWT ${await foreign()}`],
  ['an unsigned token', 'authentication_failed', async () => `JWT ${unsigned({ role: 'admin', sub: 'x', exp: 9e9 })}.`],
  ['an expired token', 'token_expired', async () => `JWT ${await sandbox().token({ expiresInSeconds: -1 })}`],
];

test.each(TOKENS.flatMap(([what, code, make]) => PORTS.map(([port, url]) => [port, what, code, make, url] as const)))(
  '%s answers 401 to %s',
  async (_, __, code, make, url) => {
    const authorization = await make();
    const response = await request(url(), authorization === undefined ? {} : { Authorization: authorization });
    await expectDetail(response, 401, code);
    expect(response.headers.get('WWW-Authenticate')).toBe('JWT realm="api"');
  },
);

test('a token that has been accepted expires all the same', () => {
  let now = Date.UTC(2026, 0, 1);
  return withSandbox({ service: 'interface', bicycles: 1, now: () => now }, async (own) => {
    const headers = { Authorization: `JWT ${await own.token({ expiresInSeconds: 10 })}` };
    const status = async () => (await fetch(`${own.baseUrl}/bicycles/`, { headers })).status;
    now += 9_999;
    expect(await status()).toBe(200);
    now += 1;
    expect(await status()).toBe(401);
  });
});

test('a token says who it is for: role, subject, lifetime of 12 hours', async () => {
  const payload = (token: string) => JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString());
  const usual = payload(await sandbox().token());
  expect(usual).toMatchObject({ role: 'fleet_operator', sub: sandbox().users[1] });
  expect(usual.exp - usual.iat).toBeGreaterThanOrEqual(12 * 3600);
  expect(usual.exp - usual.iat).toBeLessThanOrEqual(12 * 3600 + 1);
  const special = payload(
    await sandbox().token({ role: 'renter', subject: 's', organization: 'o', expiresInSeconds: 5 }),
  );
  expect(special).toMatchObject({ role: 'renter', sub: 's', organization: 'o' });
});

test('the token address hands out good tokens for a token command', async () => {
  const token = await (await fetch(sandbox().tokenUrl)).text();
  expect((await request(`${sandbox().baseUrl}/bicycles/`, { Authorization: `JWT ${token.trim()}` })).status).toBe(200);
  const renter = await (await fetch(`${sandbox().tokenUrl}?role=renter`)).text();
  expect(JSON.parse(atob(renter.split('.')[1] ?? '')).role).toBe('renter');
  expect((await fetch(`${sandbox().tokenUrl}?role=x`)).status).toBe(400);
});

const ACCEPTED: [string, boolean, boolean][] = [
  ['application/json; version=1.0', true, true],
  ['application/json;version=1.0', true, true],
  ['application/json; version="1.0"', true, true],
  ['Application/JSON; Version=1.0', true, true],
  ['application/json', true, true],
  ['*/*', true, true],
  ['application/*;version=1.0', true, true],
  ['text/html, application/json; version=1.0;q=0.5', true, true],
  ['text/event-stream, application/json;version=1.0', true, true],
  ['text/event-stream', false, true],
  ['text/html', false, false],
  ['application/json;q=0', false, false],
  ['application/json; version=2.0', false, false],
  ['application/json; version=1', false, false],
  ['application/json; version=', false, false],
  ['application/json; version=2.0, */*', false, false],
  ['text/event-stream, application/json; version=1.1', false, false],
];

test.each(ACCEPTED)('Accept: %s', async (accept, api, push) => {
  const authorization = { Authorization: `JWT ${await sandbox().token()}` };
  for (const [index, good] of [api, push].entries()) {
    const url = PORTS[index]?.[1]() ?? '';
    const response = await request(url, { ...authorization, Accept: accept });
    if (good) expect(response.status).toBe(200);
    else await expectDetail(response, 406, 'not_acceptable');
  }
});

test('a path without its trailing slash: reads are sent on, writes are not', async () => {
  const headers = await headersFor(sandbox());
  const response = await request(`${sandbox().baseUrl}/bicycles?page=2&x=%2F`, headers);
  expect([response.status, response.headers.get('Location')]).toEqual([301, '/bicycles/?page=2&x=%2F']);
  expectTrace(response.headers);
  const followed = await fetch(`${sandbox().baseUrl}/alerts`, { headers });
  expect([followed.status, followed.redirected]).toEqual([200, true]);
  const uuid = sandbox().bicycles()[0]?.uuid;
  for (const path of ['/bicycles', `/bicycles/${uuid}/actions`]) {
    const refused = await request(`${sandbox().baseUrl}${path}`, headers, 'POST');
    expect(refused.status).toBe(404);
    expect(await refused.text()).toContain('must end with a slash');
  }
});

test.each([
  '/',
  '/bicycle/',
  '/bicycles/x/',
  '/bicycles//',
  '/alerts/x/',
  '/BICYCLES/',
  '/subscribe/x/',
  '/bicycles/%20/actions/x/',
])('there is no %s', async (path) => {
  await expectDetail(await request(`${sandbox().baseUrl}${path}`, await headersFor(sandbox())), 404, 'not_found');
});

test.each([
  ['PUT', '/bicycles/', 'GET, HEAD, POST'],
  ['DELETE', '/bicycles/', 'GET, HEAD, POST'],
  ['PATCH', '/alerts/', 'GET, HEAD'],
  ['POST', '/alerts/', 'GET, HEAD'],
  ['OPTIONS', '/alerts/', 'GET, HEAD'],
  ['GET', '/bicycles/UUID/actions/', 'POST'],
])('%s %s is not allowed', async (method, path, allowed) => {
  const url = `${sandbox().baseUrl}${path.replace('UUID', sandbox().bicycles()[0]?.uuid ?? '')}`;
  const response = await request(url, await headersFor(sandbox()), method);
  expect(response.headers.get('Allow')).toBe(allowed);
  await expectDetail(response, 405, 'method_not_allowed');
});

test('HEAD is GET without a body', async () => {
  const headers = await headersFor(sandbox());
  const response = await request(`${sandbox().baseUrl}/bicycles/`, headers, 'HEAD');
  expect([response.status, await response.text()]).toEqual([200, '']);
  expectTrace(response.headers);
  expect((await request(`${sandbox().baseUrl}/bicycles/?page=99`, headers, 'HEAD')).status).toBe(404);
});

test('requests are recorded as they came, and told without their headers', async () => {
  const lines: RequestLine[] = [];
  await withSandbox({ service: 'interface', bicycles: 3, onRequest: (line) => lines.push(line) }, async (own) => {
    const headers = { ...(await headersFor(own)), 'Content-Type': 'application/json', 'X-Odd-Case': '1' };
    const uuid = own.bicycles()[0]?.uuid;
    await fetch(`${own.baseUrl}/bicycles/?a=%2f`, { headers });
    const body = '{"type": "rent"}';
    const answer = await fetch(`${own.baseUrl}/bicycles/${uuid}/actions/`, { method: 'POST', headers, body });
    await fetch(`${own.sseUrl}/subscribe/x/`, { headers });
    expect(own.requests.map(({ server, method, url, status }) => [server, method, url, status])).toEqual([
      ['api', 'GET', '/bicycles/?a=%2f', 200],
      ['api', 'POST', `/bicycles/${uuid}/actions/`, 200],
      ['push', 'GET', '/subscribe/x/', 404],
    ]);
    const recorded = own.requests[1];
    expect(recorded?.body).toBe(body);
    expect(recorded?.headers['authorization']).toBe(headers.Authorization);
    expect(recorded?.headers['x-odd-case']).toBe('1');
    expect(recorded?.requestId).toBe(answer.headers.get('X-Service-RequestId'));
    expect(lines).toEqual(own.requests.map(({ method, url, status }) => ({ method, url, status })));
    expect(JSON.stringify(lines)).not.toContain(headers.Authorization.slice(4));
  });
});

test('a port that is taken is an EADDRINUSE, and nothing stays open', async () => {
  const port = Number(new URL(sandbox().sseUrl).port);
  for (const ports of [{ port }, { ssePort: port }]) {
    await expect(withSandbox({ service: 'interface', bicycles: 1, ...ports }, async () => {})).rejects.toMatchObject({
      code: 'EADDRINUSE',
    });
  }
});

test('the globals of the program that embeds it stay what they were', async () => {
  await fetch(`${sandbox().baseUrl}/bicycles/`);
  expect([Request, Response]).toEqual(GLOBALS);
});
