// Answers are decoded with their declared charset. Undecodable text is rejected and never written
// back.

import type { ServerResponse } from 'node:http';
import { describe, expect, test } from 'vitest';
import { declaredCharset } from '../../src/http/charset.js';
import { decodeBytes } from '../../src/system/charset.js';
import { runFleet } from '../support/run.js';
import { openServer, TRACE_HEADERS } from '../support/server.js';

const UUID = '00000001-0000-4000-8000-000000000000';
const latin1 = (text: string) => Buffer.from(text, 'latin1');

function sendBytes(
  response: ServerResponse,
  contentType: string,
  bytes: Uint8Array,
  status = 200,
): void {
  response.writeHead(status, { 'content-type': contentType, ...TRACE_HEADERS });
  response.end(bytes);
}

const bicycle = (name: string) =>
  JSON.stringify({ uuid: UUID, name, state: 'available', description: 'old' });
const list = (name: string) => `{"count":1,"next":null,"results":[${bicycle(name)}]}`;

/** Serves one bicycle in this encoding in a list, at its URL, and as the answer to an edit. */
async function serve(contentType: string, encode: (text: string) => Uint8Array, name: string) {
  return openServer((response, { method, path, body }) => {
    if (method === 'GET' && path.startsWith('/bicycles/?'))
      return sendBytes(response, contentType, encode(list(name)));
    if (path.split('?')[0] === '/bicycles/')
      return sendBytes(response, contentType, encode(list(name)));
    if (path !== `/bicycles/${UUID}/`)
      return sendBytes(response, 'application/json', Buffer.from('{}'), 404);
    if (method === 'GET') return sendBytes(response, contentType, encode(bicycle(name)));
    return sendBytes(
      response,
      'application/json',
      Buffer.from(JSON.stringify({ ...JSON.parse(bicycle(name)), ...JSON.parse(body) })),
    );
  });
}

const utf16 = (text: string) => Buffer.from(`\uFEFF${text}`, 'utf16le');

describe.each<readonly [string, string, (text: string) => Uint8Array, string]>([
  ['iso-8859-1', 'application/json; charset=iso-8859-1', latin1, 'Müller'],
  ['a quoted charset', 'application/json; charset="ISO-8859-1"', latin1, 'Müller'],
  [
    'windows-1252',
    'application/json;charset=windows-1252',
    (text) => latin1(text.replaceAll('€', '\x80').replaceAll('’', '\x92')),
    '5 € für Müller’s',
  ],
  [
    'iso-8859-15',
    'application/json; charset=iso-8859-15',
    (text) => latin1(text.replaceAll('€', '\xa4')),
    '5 €',
  ],
  ['utf-16 with a byte order mark', 'application/json; charset=utf-16', utf16, 'Müller 🚲'],
  [
    'UTF-8 with a byte order mark',
    'application/json',
    (text) => Buffer.from(`\uFEFF${text}`),
    'Müller',
  ],
  ['UTF-8', 'application/json; charset=utf-8', (text) => Buffer.from(text), 'Müller 🚲'],
  ['no charset', 'application/json', (text) => Buffer.from(text), 'Müller 🚲'],
])('a response in the charset %s', (_name, contentType, encode, name) => {
  test('a list shows the original characters of names', async () => {
    const { env } = await serve(contentType, encode, name);
    const { code, stdout } = await runFleet(['bicycles', 'list', '--jq', '.[].name'], { env });
    expect({ code, stdout }).toEqual({ code: 0, stdout: `${name}\n` });
  });

  test('an edit does not change the other fields', async () => {
    const { env, asked } = await serve(contentType, encode, name);
    const { code, stderr } = await runFleet(
      ['bicycles', 'edit', UUID, '--description', 'new', '--yes'],
      { env },
    );
    expect([code, stderr]).toEqual([0, expect.any(String)]);
    const sent = asked.filter(({ method }) => method === 'PUT').map(({ body }) => JSON.parse(body));
    expect(sent).toEqual([expect.objectContaining({ name, description: 'new' })]);
  });
});

describe.each([
  ['does not declare its charset', 'application/json', /not valid UTF-8/],
  ['is not the UTF-8 that it declares', 'application/json; charset=utf-8', /not valid utf-8/],
  ['is not the ASCII that it declares', 'application/json; charset=us-ascii', /not valid us-ascii/],
  [
    'declares an unknown charset',
    'application/json; charset=klingon',
    /unknown charset: "klingon"/,
  ],
])('a response that %s', (_name, contentType, message) => {
  test('makes `list` exit with 7', async () => {
    const { env } = await serve(contentType, latin1, 'Müller');
    const { code, stdout, stderr } = await runFleet(['bicycles', 'list'], { env });
    expect({ code, stdout }).toEqual({ code: 7, stdout: '' });
    expect(stderr).toMatch(message);
    expect(stderr).toContain('request-1');
  });

  test('makes `edit` exit with 7 before it sends anything', async () => {
    const { env, asked } = await serve(contentType, latin1, 'Müller');
    const { code, stderr } = await runFleet(
      ['bicycles', 'edit', UUID, '--description', 'new', '--yes'],
      { env },
    );
    expect(code).toBe(7);
    expect(stderr).toMatch(message);
    expect(asked.filter(({ method }) => method !== 'GET')).toEqual([]);
  });
});

test.each([
  [404, 5],
  [403, 4],
  [400, 6],
  [500, 7],
])('an HTTP %i error that cannot be decoded leads to exit code %i', async (status, code) => {
  const { env } = await openServer((response) =>
    sendBytes(response, 'text/plain; charset=klingon', latin1('Zugriff für Müller'), status),
  );
  const ran = await runFleet(['bicycles', 'list', '--retries', '0'], { env });
  expect(ran.code).toBe(code);
  expect(ran.stderr).toContain('Zugriff für Müller');
});

test.each(['text/html; charset=iso-8859-1', 'text/html'])(
  'the title of an error page as %s is readable',
  async (contentType) => {
    const page = '<!doctype html><html><head><title>Später wieder</title></head></html>';
    const { env } = await openServer((response) =>
      sendBytes(response, contentType, latin1(page), 503),
    );
    const { stderr } = await runFleet(['bicycles', 'list', '--retries', '0'], { env });
    expect(stderr).toContain('Später wieder');
  },
);

test('reports an unknown outcome when the response to a change cannot be decoded', async () => {
  const { env } = await openServer((response, { method }) =>
    method === 'GET'
      ? sendBytes(response, 'application/json', Buffer.from(bicycle('Ada')))
      : sendBytes(response, 'application/json', latin1(bicycle('Müller'))),
  );
  const { code, stderr } = await runFleet(['bicycles', 'act', UUID, 'rent'], { env });
  expect(code).toBe(7);
  expect(stderr).toMatch(/not valid UTF-8.*it is unknown whether the request was carried out/);
});

test('`api` writes the response bytes unchanged when no charset is declared', async () => {
  const { env } = await openServer((response) =>
    sendBytes(response, 'text/csv', latin1('name\nMüller\n')),
  );
  const { code, stdout } = await runFleet(['api', '/export/'], { env });
  expect(code).toBe(0);
  expect(stdout).toBe(latin1('name\nMüller\n').toString());
});

test.each([
  ['text/html; charset=utf-8', 'utf-8'],
  ['application/json ; Charset = "ISO-8859-1"; version=1.0', 'ISO-8859-1'],
  ["application/json; charset='utf-8'", 'utf-8'],
  ['application/json; charset=utf-8, application/json; charset=utf-8', 'utf-8'],
  ['application/json; charset=', undefined],
  ['application/json', undefined],
  [undefined, undefined],
])('the charset of the content type %j is %j', (contentType, charset) => {
  expect(declaredCharset(contentType)).toBe(charset);
});

test('decodes windows-1252 as the Encoding Standard specifies', () => {
  const bytes = Buffer.from(Array.from({ length: 256 }, (_, index) => index));
  const decoded = decodeBytes(bytes, 'windows-1252');
  const text = decoded.problem === undefined ? decoded.text : '';
  expect(text).toHaveLength(256);
  expect(text.slice(0x80, 0xa1)).toBe('€\x81‚ƒ„…†‡ˆ‰Š‹Œ\x8dŽ\x8f\x90‘’“”•–—˜™š›œ\x9džŸ\xa0');
});

test('`doctor` blames the service, not the proxy, when a response cannot be decoded', async () => {
  const { env } = await serve('application/json', latin1, 'Müller');
  const { stdout } = await runFleet(['doctor', '--json'], { env });
  const findings: { check: string; finding: string }[] = JSON.parse(stdout);
  const found = findings.find(({ finding }) => finding.includes('not valid UTF-8'));
  expect(found?.check).toBe('service');
});
