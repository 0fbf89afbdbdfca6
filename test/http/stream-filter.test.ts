// Tests the filter between socket and EventSource: line ends, chunks, ids, retry times, incomplete
// and huge events.

import { createParser } from 'eventsource-parser';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { filterEvents } from '../../src/http/stream/filter.js';
import { often } from '../support/often.js';

const LIMIT_BYTES = 1_000;

function openFilter(limitBytes: number, onTooBig: (bytes: number) => void = () => {}) {
  const filter = filterEvents('', limitBytes, onTooBig);
  return {
    ...filter,
    take: (chunk: Buffer) => Buffer.from(filter.take(chunk), 'latin1').toString('utf8'),
  };
}

function feed(chunks: readonly (string | Buffer)[], limitBytes = LIMIT_BYTES) {
  const tooBig: number[] = [];
  const filter = openFilter(limitBytes, (bytes) => tooBig.push(bytes));
  const text = chunks
    .map((chunk) => filter.take(typeof chunk === 'string' ? Buffer.from(chunk) : chunk))
    .join('');
  const { lastEventId: id, firstId, retryMs, partialBytes } = filter.known();
  return { text, tooBig, id, firstId, retryMs, partialBytes };
}

/** Splits a body into chunks of this many bytes. */
function inPieces(body: string, size: number): Buffer[] {
  const bytes = Buffer.from(body);
  return Array.from({ length: Math.ceil(bytes.length / size) }, (_, index) =>
    bytes.subarray(index * size, (index + 1) * size),
  );
}

test('forwards only complete events', () => {
  const filter = openFilter(LIMIT_BYTES);
  expect(filter.take(Buffer.from('data: a\n'))).toBe('');
  expect(filter.take(Buffer.from('\ndata: b'))).toBe('data: a\n\n');
  expect(filter.known().partialBytes).toBe(7);
});

test.each([
  ['an event', 'id: 9\ndata: half', 16],
  ['a line', 'da', 2],
  ['an id alone', 'id: 9\n', 6],
  ['a comment', ': beat\n', 0],
  ['a retry', 'retry: 1\n', 0],
  ['nothing', '', 0],
])('ignores the incomplete event when a stream ends inside %s', (_what, rest, partialBytes) => {
  const fed = feed([`id: 8\ndata: whole\n\n${rest}`]);
  expect(fed).toMatchObject({ text: 'data: whole\n\n', id: '8', partialBytes });
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
  // The header contains bytes, not characters.
  ['id: …\n\n', Buffer.from('…').toString('latin1')],
])('reads the event ID of %j as %j', (body, id) => {
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
])('reads the retry time of %j as %j ms', (body, retryMs) => {
  expect(feed([body]).retryMs).toBe(retryMs);
});

describe('an oversized event', () => {
  const giant = `id: 5\ndata: ${'x'.repeat(3_000)}\n\n`;
  test.each([1, 7, 400, 900])(
    'skips and reports an oversized event that arrives in chunks of %i bytes',
    (size) => {
      const { text, tooBig, id } = feed(
        inPieces(`id: 4\ndata: before\n\n${giant}data: after\n\n`, size),
      );
      expect(text).toBe('data: before\n\ndata: after\n\n');
      expect([tooBig, id]).toEqual([[giant.length], '5']);
    },
  );
  test('counts the bytes of an oversized event that never ends', () => {
    expect(feed([`data: ${'x'.repeat(3_000)}`]).partialBytes).toBe(3_006);
  });
});

describe('comments in a stream', () => {
  test.each([1, 7, 400, 5_000])(
    'ignores a huge comment that arrives in chunks of %i bytes',
    (size) => {
      const giant = `:${'c'.repeat(4_000)}`;
      const chunks = inPieces(
        `${giant}\n\nid: 1\n${giant}\ndata: x\n${giant}\n\n${giant}\n\n`,
        size,
      );
      const text = 'data: x\n\n';
      expect(feed(chunks, 5_000)).toMatchObject({ text, tooBig: [], partialBytes: 0 });
    },
  );
  test('ignores a truncated comment', () => {
    const chunks = [`data: x\n\n:${'c'.repeat(9_000)}`, 'c'.repeat(9_000)];
    expect(feed(chunks)).toMatchObject({ tooBig: [], partialBytes: 0 });
  });
  test('ignores many small comments within an event', () => {
    const chunks = ['data: x\n', ...Array.from({ length: 1_000 }, () => ': beat\n'), '\n'];
    expect(feed(chunks)).toMatchObject({ text: 'data: x\n\n', tooBig: [] });
  });
});

test.each([
  [
    'a line that only looks like an id, in an event above the limit',
    `data: ${'x'.repeat(2_000)}id: 7\n\n`,
    '',
  ],
  ['an id behind much data', `data: ${'x'.repeat(2_000)}\nid: 7\n\n`, '7'],
  ['an id longer than any', `data: ${'x'.repeat(2_000)}\nid: ${'7'.repeat(9_000)}\n\n`, ''],
])('%s', (_name, body, id) => {
  for (const size of [1, 13, 999, 1_500])
    expect({ size, id: feed(inPieces(body, size)).id }).toEqual({ size, id });
});

test('splitting a stream into chunks does not change its events (property-based)', () => {
  const eventsOf = (text: string): unknown[] => {
    const events: unknown[] = [];
    createParser({ onEvent: ({ data }) => events.push(data) }).feed(text);
    return events;
  };
  const fields = [
    'data: Zoë 🚲',
    'data',
    'event: e',
    'id: 1',
    'id: 2',
    ':',
    ': beat',
    'retry: 5',
    'x: y',
  ];
  const odd = [
    'data:\0',
    'data:  2',
    'Data:1',
    'data\0:2',
    '\0data:4',
    'da-ta:3',
    'data_5',
    ' data:32',
    'data:\ttest',
    'event: ',
  ];
  const line = fc.constantFrom('', '', ...fields, ...odd);
  const lines = fc.array(fc.tuple(line, fc.constantFrom('\n', '\r', '\r\n')), { maxLength: 20 });
  fc.assert(
    fc.property(lines, fc.array(fc.nat(9), { maxLength: 30 }), (written, sizes) => {
      const body = Buffer.from(written.flat().join(''));
      const chunks: Buffer[] = [];
      let at = 0;
      for (const size of sizes) {
        chunks.push(body.subarray(at, at + size));
        at += size;
      }
      chunks.push(body.subarray(at));
      // A CR at the end may be the first half of CR LF, for which only the parser would wait.
      const { text, ...known } = feed(chunks);
      expect(eventsOf(text)).toEqual(eventsOf(`${body}`.replaceAll(/\r\n?/g, '\n')));
      const { text: _whole, ...knownOfWhole } = feed([body]);
      expect(known).toEqual(knownOfWhole);
    }),
    { numRuns: often(2_000) },
  );
});

test('forwards only the data lines of an event', () => {
  const body =
    'a\ndata: x\nretry: no\ndatum: 1\n b: 2\nevents\nid: 1\nevent: e\n:\ndata\ndata:y\n\nid: 2\n\n';
  expect(feed([body])).toMatchObject({ text: 'data: x\ndata\ndata:y\n\n', id: '2' });
});

describe('the filter runs in linear time', () => {
  const parse = (body: string, size: number): number => {
    const pieces = inPieces(body, size);
    const parser = createParser({ onEvent() {} });
    const filter = openFilter(1024 * 1024);
    const before = process.cpuUsage();
    for (const piece of pieces) parser.feed(filter.take(piece));
    const { user, system } = process.cpuUsage(before);
    return (user + system) / 1000;
  };
  /** Milliseconds of this process for a body and for one that is eight times as long. */
  const measure = (make: (count: number) => string, size: number) => ({
    small: parse(make(20_000), size),
    large: parse(make(160_000), size),
  });
  /** Quadratic growth would take 64 times as long. */
  const isLinear = ({ small, large }: ReturnType<typeof measure>) =>
    large / Math.max(small, 2) < 30;
  test.each([
    ['unknown fields', (count: number) => `${'x:1\n'.repeat(count)}data: y\n\n`, 65_536],
    ['fields without a colon', (count: number) => `${'x\n'.repeat(count)}data: y\n\n`, 65_536],
    ['lines of data', (count: number) => `${'data:1\n'.repeat(count / 2)}\n`, 65_536],
    ['wrong retries', (count: number) => `${'retry:x\n'.repeat(count / 2)}data: y\n\n`, 65_536],
    ['what looks like ids', (count: number) => `${'idea\n'.repeat(count / 2)}data: y\n\n`, 65_536],
    ['one long line, byte by byte', (count: number) => `data: ${'x'.repeat(count)}\n\n`, 1],
    ['a giant, byte by byte', (count: number) => `data: ${'x'.repeat(count * 4)}\n\n`, 1],
    ['small comments in an event', (count: number) => `data: x\n${':\n'.repeat(count)}\n`, 16],
    ['ids alone', (count: number) => 'id: 1\n\n'.repeat(count / 2), 65_536],
  ] satisfies [string, (count: number) => string, number][])('%s', (_name, make, size) => {
    parse(make(10_000), size);
    // A busy machine may delay one measurement, so measure again.
    let times = measure(make, size);
    for (let tries = 1; tries < 3 && !isLinear(times); tries++) times = measure(make, size);
    expect(times).toSatisfy(isLinear);
    expect(times.large).toBeLessThan(10_000);
  });
});
