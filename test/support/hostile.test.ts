// The bad servers of hostile.ts do on the wire what their names say.

import { createConnection } from 'node:net';
import { brotliDecompressSync, gunzipSync, inflateSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { EMPTY_PAGE, type HostileName, type HostileOptions, hostile, withHostile } from './hostile.js';

interface Seen {
  head: string;
  body: Buffer;
}

/** Everything that comes until the other side ends or dies. */
async function readRaw(url: string): Promise<Seen> {
  const { hostname, port } = new URL(url);
  const socket = createConnection(Number(port), hostname);
  socket.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
  const chunks: Buffer[] = [];
  await new Promise<void>((resolve) => {
    socket.on('data', (chunk) => chunks.push(chunk));
    socket.on('error', () => {});
    socket.on('close', () => resolve());
  });
  const all = Buffer.concat(chunks);
  const end = all.indexOf('\r\n\r\n');
  return { head: all.subarray(0, end === -1 ? all.length : end).toString(), body: all.subarray(end + 4) };
}

const rawOf = (name: HostileName, options?: HostileOptions) =>
  withHostile(hostile(name, options), ({ url }) => readRaw(url));

const lengthOf = ({ head }: Seen) => Number(/content-length: (\d+)/i.exec(head)?.[1]);

test.each<[HostileName, (seen: Seen) => boolean]>([
  ['honest', (seen) => seen.body.toString() === EMPTY_PAGE && lengthOf(seen) === EMPTY_PAGE.length],
  ['gzip', ({ body }) => gunzipSync(body).toString() === EMPTY_PAGE],
  ['brotli', ({ body }) => brotliDecompressSync(body).toString() === EMPTY_PAGE],
  ['deflate', ({ body }) => inflateSync(body).toString() === EMPTY_PAGE],
  ['gzipTwice', ({ body }) => gunzipSync(gunzipSync(body)).toString() === EMPTY_PAGE],
  ['gzipLie', ({ head, body }) => head.includes('gzip') && body.toString() === EMPTY_PAGE],
  ['large', (seen) => seen.body.length === 20_000 + EMPTY_PAGE.length && lengthOf(seen) === seen.body.length],
  ['lengthTooLong', (seen) => lengthOf(seen) > seen.body.length],
  ['lengthTooShort', (seen) => lengthOf(seen) < seen.body.length],
  [
    'breakOff',
    (seen) => seen.body.length === Math.floor(EMPTY_PAGE.length / 2) && lengthOf(seen) === EMPTY_PAGE.length,
  ],
  ['chunkedCut', ({ body }) => !body.toString().includes('\r\n0\r\n')],
  ['breakOffHead', ({ head }) => head.length === 40],
  ['continueFirst', ({ head, body }) => head === 'HTTP/1.1 100 Continue' && body.toString().includes('200 Status')],
  ['bigHeader', ({ head }) => head.length > 20_000],
  ['html', ({ body }) => body.toString().includes('<title>200 Bad day</title>')],
  ['htmlCut', ({ body }) => !body.toString().includes('</title>')],
  ['nested', ({ body }) => body.toString() === '['.repeat(20_000) + ']'.repeat(20_000)],
  ['notHttp', ({ head }) => head.startsWith('SSH-')],
  ['hangUp', ({ head }) => head === ''],
  ['reset', ({ head }) => head === ''],
])('%s', async (name, holds) => {
  expect(holds(await rawOf(name))).toBe(true);
});

test('a bomb unpacks to what it was asked for and is a thousandth of it on the wire', async () => {
  const { body } = await rawOf('bomb', { bytes: 2 ** 22 });
  expect(body.length).toBeLessThan(2 ** 22 / 500);
  expect(gunzipSync(body).toString().trim()).toBe(EMPTY_PAGE);
});
