// The format cases of the web-platform-tests' eventsource suite, as a table, over a real socket.

import { expect, test } from 'vitest';
import type { FastClock } from '../support/fast-clock.js';
import { type Behaviour, STREAM_HEAD, sendStream } from '../support/misbehaving.js';
import { followInTurn, lossesOf, told } from '../support/stream.js';

/** The last event of each case. A wrongly dispatched event would come before it. */
const LAST = '\n\ndata: last\n\n';

/** Only the data is compared, because names of events are ignored. */
const CASES: readonly [name: string, body: string, messages: readonly string[]][] = [
  ['format-bom', '\uFEFFdata:1\n\n\uFEFFdata:2\n\ndata:3', ['1', '3']],
  ['format-bom-2', '\uFEFF\uFEFFdata:1\n\ndata:2\n\ndata:3', ['2', '3']],
  [
    'format-comments',
    `data:1\r:\0\n:\r\ndata:2\n:${'x'.repeat(2048)}\rdata:3\n:data:fail\r:${'x'.repeat(2048)}\ndata:4`,
    ['1\n2\n3\n4'],
  ],
  ['format-field-data', 'data:\n\ndata\ndata\n\ndata:test', ['', '\n', 'test']],
  ['format-field-event', 'event:test\ndata:x\n\ndata:x', ['x', 'x']],
  ['format-field-event-empty', 'event: \ndata:data', ['data']],
  ['format-field-event open', 'event: open\ndata:1\n\nevent: error\ndata:2', ['1', '2']],
  [
    'format-field-parsing',
    'data:\0\ndata:  2\rData:1\ndata\0:2\ndata:1\r\0data:4\nda-ta:3\rdata_5\ndata:3\rdata:\r\n data:32\ndata:4',
    ['\0\n 2\n1\n3\n\n4'],
  ],
  [
    'format-field-unknown',
    'data:test\n data\ndata\nfoobar:xxx\njustsometext\n:thisisacommentyay\ndata:test',
    ['test\n\ntest'],
  ],
  ['format-leading-space', 'data:\ttest\rdata: \ndata:test', ['\ttest\n\ntest']],
  ['format-newlines', 'data:test\r\ndata\ndata:test\r\n\r', ['test\n\ntest']],
  ['format-null-character', 'data:\0', ['\0']],
  ['format-utf-8', 'data:ok…', ['ok…']],
  ['only comments and blank lines', ':\n\n\n\n:a\n\n', []],
];

test.each(CASES)('%s', async (_name, body, messages) => {
  const sends: Behaviour = (socket) => sendStream(socket, body + LAST);
  const { data } = await followInTurn(() => [sends], {
    until: (got) => got.data.at(-1) === 'last',
  });
  expect(data).toEqual([...messages, 'last']);
});

test.each([1, 2, 3])(
  'ignores a byte order mark when its first %i bytes arrive in a separate packet',
  async (bytes) => {
    const body = Buffer.from(`\uFEFFdata: first${LAST}`);
    const sends = (clock: FastClock): Behaviour => {
      return (socket) => {
        sendStream(socket, body.subarray(0, bytes));
        clock.after(1_000, () => socket.write(body.subarray(bytes)));
      };
    };
    const { data } = await followInTurn((clock) => [sends(clock)], {
      until: (got) => got.data.at(-1) === 'last',
    });
    expect(data).toEqual(['first', 'last']);
  },
);

test.each(['100 Continue', '102 Processing', '103 Early Hints'])(
  'ignores the interim response %s before the stream',
  async (status) => {
    const sends = (clock: FastClock): Behaviour => {
      return (socket) => {
        socket.write(`HTTP/1.1 ${status}\r\nLink: </x>\r\n\r\nHTTP/1.1 ${status}\r\n\r\n`);
        clock.after(1_000, () => sendStream(socket, 'data: good\n\n'));
      };
    };
    const got = await followInTurn((clock) => [sends(clock)]);
    expect(told(got)).toBe('open, message');
  },
);

test('format-data-before-final-empty-line: does not dispatch an incomplete last event', async () => {
  const half: Behaviour = (socket) => socket.end(`${STREAM_HEAD}data:test1\n\nid:test\ndata:test2`);
  const got = await followInTurn(() => [half]);
  expect(got.data).toEqual(['test1', 'good']);
  expect(told(got)).toBe('open, message, lost cut-off, open, gap cut-off, message');
  expect(got.requests[1]?.headers['last-event-id']).toBeUndefined();
});

test.each([
  ['format-field-id', 'id: …\ndata: x', 'â\u0080¦'],
  ['format-field-id-2, an event without data', 'id: 1\ndata: x\n\nid: 2', '2'],
  ['format-field-id-3, reset', 'id: 1\ndata: x\n\nid', undefined],
  ['format-field-id-null', 'id: 1\ndata: x\n\nid: a\0b\ndata: y', '1'],
  ['sticky', 'id: 1\ndata: x\n\ndata: y', '1'],
  ['one that no header can carry', 'id: a\u0001b\ndata: x', undefined],
])('%s: sends the event ID as Last-Event-ID with the next request', async (_name, body, header) => {
  const ends: Behaviour = (socket) => socket.end(`${STREAM_HEAD}${body}\n\n`);
  const { requests } = await followInTurn(() => [ends, ends]);
  expect(requests.map(({ headers }) => headers['last-event-id'])).toEqual([
    undefined,
    header,
    header,
  ]);
});

test.each([
  ['text/event-stream', true],
  ['text/event-stream;', true],
  ['text/event-stream;charset=windows-1251', true],
  ['Text/Event-Stream; Version=1.0', true],
  ['text/event-stream;x bogus', true],
  ['text/x-bogus', false],
  ['text/event-streams', false],
  ['', false],
])('recognizes whether the content type %j is an event stream: %j', async (type, isStream) => {
  const ends: Behaviour = (socket) =>
    socket.end(`${STREAM_HEAD.replace('text/event-stream', type)}data: x\n\n`);
  const [loss] = lossesOf(await followInTurn(() => [ends]));
  expect(loss?.cause).toBe(isStream ? 'ended' : 'no-stream');
});
