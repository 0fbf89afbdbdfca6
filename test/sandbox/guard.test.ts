// Who may ask the sandbox.
import { type IncomingHttpHeaders, request } from 'node:http';
import { expect, test } from 'vitest';
import { headersFor, useSandbox } from '../support/sandbox.js';

const sandbox = useSandbox({ bicycles: 30 });

/** node:http, since fetch sets Host itself; of an endless answer the first bytes. */
function ask(url: string, headers: { [name: string]: string }) {
  return new Promise<{ status: number; headers: IncomingHttpHeaders; body: string }>((resolve, reject) => {
    const outgoing = request(url, { headers, agent: false }, (incoming) => {
      const { statusCode: status = 0, headers } = incoming;
      incoming.on('data', (chunk) => {
        resolve({ status, headers, body: String(chunk) });
        outgoing.destroy();
      });
    });
    outgoing.on('error', reject);
    outgoing.end();
  });
}

const topic = () => `/subscribe/%2F${sandbox().organizations[0]?.uuid}%2Fadmin%2Fbicycles%2F%2A/`;

/** Address by address: the list, the address of tokens, the push channel. */
const ADDRESSES: [string, () => string][] = [
  ['the API', () => `${sandbox().baseUrl}/bicycles/`],
  ['the address of tokens', () => sandbox().tokenUrl],
  ['the push channel', () => `${sandbox().sseUrl}${topic()}`],
];

const each = <Row extends unknown[]>(rows: Row[]) =>
  ADDRESSES.flatMap(([name, url]) => rows.map((row) => [name, url, ...row] as const));

test.each(
  each<[string]>([['evil.example'], ['evil.example:PORT'], ['127.0.0.1'], ['127.0.0.1:1'], ['127.0.0.2:PORT']]),
)('%s: 421 for another host', async (_, url, host) => {
  const headers = await headersFor(sandbox());
  const answer = await ask(url(), { ...headers, Host: host.replace('PORT', new URL(url()).port) });
  expect(answer.status).toBe(421);
  expect(answer.headers['x-service-requestid']).toMatch(/^[0-9a-f-]{36}$/);
  expect(answer.body).not.toContain('eyJ');
});

test.each(each<[string]>([['127.0.0.1:PORT'], ['localhost:PORT'], ['LOCALHOST:PORT'], ['[::1]:PORT']]))(
  '%s answers to its own names',
  async (_, url, host) => {
    const headers = await headersFor(sandbox());
    expect((await ask(url(), { ...headers, Host: host.replace('PORT', new URL(url()).port) })).status).toBe(200);
  },
);

test.each(each<[string]>([['https://evil.example'], ['null'], ['http://127.0.0.1:4010']]))(
  '%s: 403 for a web page',
  async (_, url, origin) => {
    const answer = await ask(url(), { ...(await headersFor(sandbox())), Origin: origin });
    expect(answer.status).toBe(403);
    expect(answer.headers).not.toHaveProperty('access-control-allow-origin');
  },
);
