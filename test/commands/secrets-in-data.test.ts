// Tests that a token which the service repeats in its data reaches no output, file or other origin.

import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { newFolder } from '../support/folder.js';
import { runFleet } from '../support/run.js';
import { type Asked, openServer, sendJson } from '../support/server.js';

const SIGNATURE = createHash('sha512').update('a signature').digest('base64');
const TOKEN = `eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJhbm4ifQ.${SIGNATURE}`;
const ORGANIZATION = '3f2504e0-4f89-41d3-9a0c-0305e82c3301';
const BICYCLE = '14c6d2ad-7236-46f1-b76f-6d356b2105d2';

const hex = (code: number, digits: number) => code.toString(16).padStart(digits, '0');
const everyCharacter = (encode: (code: number) => string) =>
  [...TOKEN].map((sign) => encode(sign.charCodeAt(0))).join('');

const WRITTEN: [string, string][] = [
  ['as text', TOKEN],
  ['in upper case', TOKEN.toUpperCase()],
  ['in lower case', TOKEN.toLowerCase()],
  ['in base64', Buffer.from(`JWT ${TOKEN}`).toString('base64')],
  ['in percent encoding', encodeURIComponent(TOKEN)],
  ['in hex', Buffer.from(TOKEN).toString('hex')],
  ['with every character percent-encoded', everyCharacter((code) => `%${hex(code, 2)}`)],
  [
    'with every character percent-encoded in upper case',
    everyCharacter((code) => `%${hex(code, 2).toUpperCase()}`),
  ],
  ['as HTML entities', everyCharacter((code) => `&#${code};`)],
  ['as hexadecimal HTML entities', everyCharacter((code) => `&#x${hex(code, 2)};`)],
];

/** Starts a service that writes a text into every row. Resolves with the environment for fleet. */
async function serveRows(text: string, extra: { [field: string]: unknown } = {}) {
  const row = {
    uuid: BICYCLE,
    organization: ORGANIZATION,
    name: `a ${text}`,
    state: 'available',
    [text]: 1,
    ...extra,
  };
  const { url } = await openServer((response: ServerResponse, { method, path }: Asked) => {
    if (method === 'POST') return void response.writeHead(204).end();
    sendJson(
      response,
      200,
      /\/bicycles\/\w/.test(path) ? row : { count: 1, next: null, previous: null, results: [row] },
    );
  });
  return {
    FLEET_BASE_URL: url,
    FLEET_TOKEN: TOKEN,
    FLEET_ORGANIZATION: ORGANIZATION,
    FLEET_CONFIG_DIR: newFolder(),
  };
}

describe.each(WRITTEN)('a token %s in service data', (_name, text) => {
  test.each([
    ['a table', ['bicycles', 'list', '--no-truncate']],
    ['JSON', ['bicycles', 'list', '--json']],
    ['all pages', ['bicycles', 'list', '--all', '-o', 'csv']],
    ['one bicycle', ['bicycles', 'get', BICYCLE, '--json']],
    ['an answer', ['api', '/bicycles/']],
    ['an answer with its head', ['api', `/bicycles/${BICYCLE}/`, '-i']],
  ])('is shown as [hidden] in %s', async (_what, args) => {
    const run = await runFleet(args, { env: await serveRows(text) });
    expect(run.code).toBe(0);
    expect(run.stdout).toMatch(/a (?:SldUIG)?\[hidden\]/);
    expect(run.stdout).not.toContain(text.slice(20, 32));
  });

  test("a journal does not contain a token from the service's data", async () => {
    const env = await serveRows(text);
    const journal = join(newFolder(), 'j.jsonl');
    await runFleet(['bicycles', 'act', BICYCLE, 'rent', '--yes', '--journal', journal], { env });
    expect(readFileSync(journal, 'utf8')).toContain(BICYCLE);
    expect(readFileSync(journal, 'utf8')).not.toContain(text.slice(20, 32));
  });

  test("a mirror does not contain a token from the service's data", async () => {
    const env = await serveRows(text, { modified: '2026-11-28T10:00:00Z' });
    const database = join(newFolder(), 'm.sqlite');
    const run = await runFleet(['mirror', 'once', '--to', `sqlite:${database}`], { env });
    expect(run.code).toBe(0);
    const listed = await runFleet(
      ['mirror', 'query', '--to', `sqlite:${database}`, 'select * from bicycles', '--json'],
      { env },
    );
    expect(listed.stdout).toContain(BICYCLE);
    expect(listed.stdout).not.toContain(text.slice(20, 32));
    expect(readFileSync(database, 'latin1')).not.toContain(text.slice(20, 32));
  });

  test('state files, --exec input and --post bodies do not contain the token', async () => {
    const env = await serveRows(text, {
      alert_type: 'lock.bat.low',
      message: `m ${text}`,
      state: 'new',
      created: '2026-11-28T10:00:00Z',
      modified: '2026-11-28T10:00:00Z',
    });
    const receiver = await openServer((response) => void response.writeHead(204).end());
    const state = join(newFolder(), 'state');
    const delivered = join(newFolder(), 'delivered');
    const run = await runFleet(
      [
        ...['alerts', 'watch', '--since', '2026-01-01', '--max-events', '1'],
        ...['--state-file', state, '--post', receiver.url, '--exec', `cat > '${delivered}'`],
      ],
      { env: { ...process.env, ...env } },
    );
    expect(run.code).toBe(0);
    const texts = [
      run.stdout,
      String(receiver.asked[0]?.body),
      readFileSync(state, 'utf8'),
      readFileSync(delivered, 'utf8'),
    ];
    for (const each of texts) expect(each).not.toContain(text.slice(20, 32));
    expect(texts[1]).toMatch(/m (?:SldUIG)?\[hidden\]/);
    expect(texts[3]).toMatch(/m (?:SldUIG)?\[hidden\]/);
  });
});

test('hides a token that a push message contains', async () => {
  const message = JSON.stringify({ topic: '/x', sender: TOKEN, message: { name: `a ${TOKEN}` } });
  const { url } = await openServer((response) => {
    response.writeHead(200, { 'Content-Type': 'text/event-stream' });
    response.write(`id: ${TOKEN}\ndata: ${message}\n\n`);
  });
  const env = { FLEET_BASE_URL: url, FLEET_SSE_URL: url, FLEET_TOKEN: TOKEN };
  const run = await runFleet(
    ['watch', '--topic', '/x', '--json', '--max-events', '1', '--resync-pages', '0', '-v'],
    { env },
  );
  expect(run.stdout).toContain('a [hidden]');
  expect(run.stdout + run.stderr).not.toContain(TOKEN.slice(20, 32));
});

test('hides a token that the service wrote as JSON escapes', async () => {
  const escaped = everyCharacter((code) => `\\u${hex(code, 4)}`);
  const { url } = await openServer((response) =>
    sendJson(response, 200, `[{"uuid": "${BICYCLE}", "name": "a ${escaped}"}]`),
  );
  const env = { FLEET_BASE_URL: url, FLEET_TOKEN: TOKEN };
  const run = await runFleet(['bicycles', 'list', '-o', 'csv'], { env });
  expect(run.stdout).toContain('a [hidden]');
});

test('changes only the token in a binary body', async () => {
  const { url } = await openServer((response) => {
    response.writeHead(200, { 'Content-Type': 'application/octet-stream' });
    response.end(Buffer.concat([Buffer.from([0xff, 0]), Buffer.from(TOKEN), Buffer.from([0xfe])]));
  });
  const file = join(newFolder(), 'out.bin');
  const env = { FLEET_BASE_URL: url, FLEET_TOKEN: TOKEN };
  const run = await runFleet(['api', '/x/', '--file', file], { env });
  expect(run.code).toBe(0);
  expect(readFileSync(file, 'latin1')).toBe('\u00ff\u0000[hidden]\u00fe');
});

/** Returns a text in UTF-32, in little-endian order. */
function encodeUtf32(text: string): Buffer {
  return Buffer.from(Uint32Array.from(text, (sign) => sign.codePointAt(0) ?? 0).buffer);
}

describe.each([
  ['UTF-32', encodeUtf32],
  ['UTF-32 in big-endian order', (text: string) => encodeUtf32(text).swap32()],
  ['UTF-16', (text: string) => Buffer.from(`\uFEFF${text}`, 'utf16le')],
  [
    'UTF-16 in big-endian order',
    (text: string) => Buffer.from(`\uFEFF${text}`, 'utf16le').swap16(),
  ],
])('a token in a response encoded as %s', (_name, encode) => {
  test.each(['text/plain; charset=utf-16', 'application/octet-stream'])(
    'is hidden in the type %s',
    async (type) => {
      const escaped = everyCharacter((code) => `\\u${hex(code, 4)}`);
      for (const written of [TOKEN, encodeURIComponent(TOKEN), escaped]) {
        const { url } = await openServer((response) => {
          response.writeHead(200, { 'Content-Type': type }).end(encode(`größer ${written}€`));
        });
        const file = join(newFolder(), 'out.bin');
        const env = { FLEET_BASE_URL: url, FLEET_TOKEN: TOKEN };
        const run = await runFleet(['api', '/x/', '--file', file], { env });
        expect(run.code).toBe(0);
        expect(readFileSync(file)).toEqual(encode('größer [hidden]€'));
      }
    },
  );
});

test('`api --include` never prints a token that an error response quotes', async () => {
  const encoded = [...TOKEN].map((sign) => `&#${sign.charCodeAt(0)};`).join('');
  const { url } = await openServer((response) => {
    response.writeHead(400, { 'Content-Type': 'text/plain' }).end(`not ${encoded}`);
  });
  const env = { FLEET_BASE_URL: url, FLEET_TOKEN: TOKEN };
  const run = await runFleet(['api', '/x/', '-i'], { env });
  expect(run.stdout).toMatch(/^HTTP\/1\.1 400[\s\S]*not \[hidden\]\n?$/);
});

test('`api --include` hides an error response that may quote a password', async () => {
  const { url } = await openServer((response) => {
    response.writeHead(400, { 'X-Given': 'Two words 9' }).end('not Two words 9');
  });
  const env = { FLEET_BASE_URL: url, FLEET_TOKEN: TOKEN };
  const run = await runFleet(['api', '/x/', '-i', '-f', 'password=Two words 9'], { env });
  expect(run.stdout).toBe('HTTP/1.1 400 Bad Request\n\n');
});

test('hides a token signature that appears without the rest of the token', async () => {
  for (const text of [SIGNATURE, Buffer.from(SIGNATURE).toString('hex')]) {
    const env = await serveRows(text);
    const run = await runFleet(['bicycles', 'list', '--json'], { env });
    expect(JSON.parse(run.stdout)[0].name).toBe('a [hidden]');
  }
});

test('does not change data that contains only a part of the token', async () => {
  const token = `${ORGANIZATION}:0123456789abcdef`;
  const env = { ...(await serveRows('part 0123456789abcde')), FLEET_TOKEN: token };
  const run = await runFleet(['bicycles', 'list', '--json'], { env });
  expect(JSON.parse(run.stdout)[0]).toMatchObject({
    organization: ORGANIZATION,
    name: 'a part 0123456789abcde',
  });
});

test('refuses an edit with PUT when a field contains a token', async () => {
  const sent: string[] = [];
  const row = { uuid: BICYCLE, organization: ORGANIZATION, state: 'available', name: 'Ada' };
  const { url } = await openServer((response: ServerResponse, { method, path, body }: Asked) => {
    if (method === 'PUT' || method === 'PATCH') sent.push(`${method} ${body}`);
    const bicycle = { ...row, description: `note ${TOKEN}` };
    const page = { count: 1, next: null, previous: null, results: [bicycle] };
    sendJson(response, 200, /\/bicycles\/\w/.test(path) ? bicycle : page);
  });
  const env = {
    FLEET_BASE_URL: url,
    FLEET_TOKEN: TOKEN,
    FLEET_ORGANIZATION: ORGANIZATION,
    FLEET_CONFIG_DIR: newFolder(),
  };
  const line = ['bicycles', 'edit', BICYCLE, '--name', 'Bob', '--yes'];
  const refused = await runFleet(line, { env });
  expect([refused.code, sent]).toEqual([9, []]);
  expect(refused.stderr).toContain('contains a secret of this profile');
  await runFleet([...line, '--method', 'PATCH'], { env });
  expect(sent).toEqual([expect.stringMatching(/^PATCH (?!.*hidden)/)]);
});
