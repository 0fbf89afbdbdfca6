// Cutting bytes into whole events: every line end, every split, ids, retry, halves and giants.

import { describe, expect, test } from 'vitest';
import { cutEvents } from '../../src/http/stream/bytes.js';

const LIMIT_BYTES = 1_000;

function feed(chunks: readonly (string | Uint8Array)[], limitBytes = LIMIT_BYTES) {
  const tooBig: number[] = [];
  const cutter = cutEvents('', limitBytes, (bytes) => tooBig.push(bytes));
  const text = chunks
    .map((chunk) => Buffer.from(cutter.take(typeof chunk === 'string' ? Buffer.from(chunk) : chunk)).toString())
    .join('');
  const cutOff = cutter.end();
  return { text, tooBig, id: cutter.lastEventId, retryMs: cutter.retryMs, cutOff };
}

describe('a stream of events in any split', () => {
  const EVENTS = [
    'id: 1\ndata: Zoë 🚲\n\n',
    ': still here\n\n',
    'event: odd\ndata: a\ndata: b\nid: 2\n\n',
    'retry: 70\n\n',
    'data\n\n',
  ];
  const whole = EVENTS.join('');
  for (const [name, lineEnd] of [
    ['LF', '\n'],
    ['CR', '\r'],
    ['CRLF', '\r\n'],
  ] as const) {
    const bytes = Buffer.from(whole.replaceAll('\n', lineEnd));
    test(`${name}: cut in two at each of ${bytes.length} places`, () => {
      for (let at = 0; at <= bytes.length; at++) {
        const { text, id, retryMs, cutOff } = feed([bytes.subarray(0, at), bytes.subarray(at)]);
        expect({ at, text, id, retryMs, cutOff }).toEqual({ at, text: whole, id: '2', retryMs: 70, cutOff: 0 });
      }
    });
    test(`${name}: one byte at a time`, () => {
      expect(feed(Array.from(bytes, (byte) => Uint8Array.of(byte)))).toMatchObject({ text: whole, id: '2', cutOff: 0 });
    });
  }
});

test('nothing is passed on before its event is whole', () => {
  const cutter = cutEvents('', LIMIT_BYTES, () => {});
  expect(Buffer.from(cutter.take(Buffer.from('data: a\n'))).toString()).toBe('');
  expect(Buffer.from(cutter.take(Buffer.from('\ndata: b'))).toString()).toBe('data: a\n\n');
  expect(cutter.end()).toBe(7);
});

test.each([
  ['an event', 'id: 9\ndata: half', 16],
  ['a line', 'da', 2],
  ['an id alone', 'id: 9\n', 6],
  ['a comment', ': beat\n', 0],
  ['a retry', 'retry: 1\n', 0],
  ['nothing', '', 0],
])('a stream that ends inside %s', (_what, rest, cutOff) => {
  expect(feed([`id: 8\ndata: whole\n\n${rest}`])).toMatchObject({ text: 'id: 8\ndata: whole\n\n', id: '8', cutOff });
});

test.each([
  ['id: 1\n\n', '1'],
  ['id:1\n\n', '1'],
  ['id:  1\n\n', ' 1'],
  ['id: 1\n\nid\n\n', ''],
  ['id: 1\n\nid:\n\n', ''],
  ['id: 1\n\nid: a\0b\n\n', '1'],
  ['id: 1\n\nidentity: 2\n\n', '1'],
  ['id: 1\n\nidea\n\n', '1'],
  ['id: 1\n\n: id: 2\n\n', '1'],
  ['id: 1\n\ndata: id: 2\n\n', '1'],
  ['id: 1\nid: 2\n\n', '2'],
  ['\uFEFFid: 1\n\n', '1'],
  ['\uFEFF\uFEFFid: 1\n\n', ''],
  ['id: …\n\n', '…'],
])('the id of %j is %j', (body, id) => {
  expect(feed([body]).id).toBe(id);
});

test.each([
  ['retry: 3000\n\n', 3000],
  ['retry: 3000\nretry: 50\n\n', 50],
  ['retry: 3 s\n\n', undefined],
  ['retry: 20\n', 20],
  ['retry: 2', undefined],
  ['retry:\n\n', undefined],
  ['retry: -1\n\n', undefined],
])('%j asks for %j ms', (body, retryMs) => {
  expect(feed([body]).retryMs).toBe(retryMs);
});

describe('an event above the limit', () => {
  const giant = `id: 5\ndata: ${'x'.repeat(3_000)}\n\n`;
  const body = Buffer.from(`id: 4\ndata: before\n\n${giant}data: after\n\n`);
  for (const size of [1, 7, 400, 900]) {
    test(`in pieces of ${size} bytes is passed over, told once, and its id counts`, () => {
      const chunks: Uint8Array[] = [];
      for (let at = 0; at < body.length; at += size) chunks.push(body.subarray(at, at + size));
      const { text, tooBig, id } = feed(chunks);
      expect(text).toBe('id: 4\ndata: before\n\ndata: after\n\n');
      expect(tooBig).toEqual([giant.length]);
      expect(id).toBe('5');
    });
  }
  test('that never ends is cut off', () => {
    expect(feed([`data: ${'x'.repeat(3_000)}`]).cutOff).toBe(3_006);
  });
});
