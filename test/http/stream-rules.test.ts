// The rules of a live stream in one table: behaviour of the connection, reported events and delays.

import { gzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { FleetError, lastingError } from '../../src/errors.js';
import { EVENT_LIMIT_BYTES } from '../../src/http/stream/connection.js';
import type { Tokens } from '../../src/http/types.js';
import type { FastClock } from '../support/fast-clock.js';
import { type Behaviour, STREAM_HEAD, sendStatus, sendStream } from '../support/misbehaving.js';
import type { FollowedInTurn, FollowOptions } from '../support/stream.js';
import {
  endOf,
  followInTurn,
  gapsOf,
  good,
  lossesOf,
  resyncsOf,
  standing,
  told,
} from '../support/stream.js';

const HOUR_MS = 3_600_000;
const isClosed = () => false;
const never = <T>() => new Promise<T>(() => {});

const status =
  (code: number, headers: { [name: string]: string } = {}, body = ''): Behaviour =>
  (socket) =>
    sendStatus(socket, code, headers, body);
const sends =
  (text: string): Behaviour =>
  (socket) =>
    sendStream(socket, text);
const ends =
  (text: string): Behaviour =>
  (socket) =>
    socket.end(STREAM_HEAD + text);

/** Sends an event and changes the clock after ten seconds. */
const thenClock =
  (clock: FastClock, act: () => void): Behaviour =>
  (socket) => {
    sendStream(socket, 'data: x\n\n');
    clock.after(10_000, act);
  };

/** A token source that behaves as listed, call by call; the last behaviour repeats. */
function tokensInTurn(...calls: readonly (() => Promise<string>)[]): Tokens {
  let count = 0;
  return {
    get: () => (calls[Math.min(count++, calls.length - 1)] ?? never<string>)(),
    renew: async () => undefined,
  };
}
const token = async () => 'token';
const noToken = () =>
  Promise.reject(new FleetError('config', 'the token command failed with exit code 1'));
/** A token source that returns another token after a refusal. */
function renewedTokens(): Tokens {
  let current = 'old';
  return { get: async () => current, renew: async () => (current = `${current}+`) };
}
const noFile = () => Promise.reject(lastingError('no such file'));

/** The first connection was open for a second. */
const STOOD = 'open, message, lost ended';
const BACK = 'open, gap ended, message';
const IDLE = 'open, message, lost idle, open, gap idle, message';

type Rule = [
  name: string,
  does: (clock: FastClock) => readonly Behaviour[],
  story: string,
  more?: {
    options?: Partial<FollowOptions>;
    /** The delays after each loss, in milliseconds. */
    pauses?: readonly number[];
    check?: (followed: FollowedInTurn) => void;
  },
];

const until = (isOver: FollowOptions['until']): { until: FollowOptions['until'] } => ({
  until: isOver,
});
const ONE_LOSS = until((followed) => lossesOf(followed).length > 0);
const untilClosed = (more: Partial<FollowOptions> = {}) => ({ ...until(isClosed), ...more });

const gapLasts =
  (fromMs: number, toMs: number) =>
  (followed: FollowedInTurn): void => {
    const [{ durationMs = 0, atMs = 0, fromWallMs = 0 } = {}] = gapsOf(followed);
    expect(durationMs).toBeGreaterThanOrEqual(fromMs);
    expect(durationMs).toBeLessThan(toMs);
    expect(atMs - fromWallMs).toBe(durationMs);
    expect(resyncsOf(followed).every(({ atMs: at, sinceWallMs = at }) => sinceWallMs <= at)).toBe(
      true,
    );
  };
/** The messages, except those that end a test. */
const lengthsOf = ({ data }: FollowedInTurn) => data.slice(0, -1).map(({ length }) => length);
const loginsOf = ({ requests }: FollowedInTurn) =>
  requests.map(({ headers }) => headers['authorization']);

const says =
  (loss: number, words: RegExp | string) =>
  (followed: FollowedInTurn): void =>
    expect(lossesOf(followed)[loss]?.error.message).toMatch(words);

const RULES: readonly Rule[] = [
  // Cases about pauses.
  [
    '503 twice, then fine: half a second, then twice that',
    () => [status(503), status(503)],
    'lost status, lost status, open, message',
    {
      pauses: [500, 1_000],
      check: (got) =>
        expect(lossesOf(got)[0]?.error).toMatchObject({ kind: 'service', status: 503 }),
    },
  ],
  [
    'a service that always hangs up is tried every 30 s in the end',
    () => Array.from({ length: 8 }, () => ends('')),
    `open, ${'lost ended, open, gap ended, '.repeat(8)}message`,
    { pauses: [500, 1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000] },
  ],
  [
    'a connection that stood for a while starts from the shortest pause again',
    (clock) => [status(503), standing(clock, 20), standing(clock, 20)],
    `lost status, ${STOOD}, open, gap ended, message, lost ended, ${BACK}`,
    { pauses: [500, 500, 500] },
  ],
  [
    'Retry-After is obeyed',
    () => [status(503, { 'Retry-After': '7' })],
    'lost status, open, message',
    { pauses: [7_500] },
  ],
  [
    'a date in Retry-After is compared with the Date of the answer, not with a clock that may be wrong',
    () => [status(503, { Date: dateOf(0), 'Retry-After': dateOf(60) })],
    'lost status, open, message',
    { pauses: [60_500] },
  ],
  [
    'retry: is obeyed',
    () => [ends('retry: 12000\n\n')],
    `open, lost ended, ${BACK}`,
    { pauses: [12_500] },
  ],
  [
    'retry: without a blank line too',
    () => [ends('retry: 3000\n')],
    `open, lost ended, ${BACK}`,
    { pauses: [3_500] },
  ],
  ...(
    [
      ['retry: of years', ends('retry: 99999999999\n\n'), 99_999_999_999],
      ['retry: beyond all numbers', ends(`retry: ${'9'.repeat(400)}\n\n`), 2 ** 53 - 1],
      ['Retry-After: an hour', status(503, { 'Retry-After': '3600' }), HOUR_MS],
    ] as const
  ).map(
    ([name, behaviour, asked]): Rule => [
      `${name}: five minutes at most, and said`,
      () => [behaviour],
      name.startsWith('retry') ? 'open, lost ended' : 'lost status',
      {
        options: ONE_LOSS,
        check(got) {
          const [loss] = lossesOf(got);
          expect(loss?.cappedFromMs).toBe(asked);
          expect(loss?.retryInMs).toBeLessThanOrEqual(300_000);
          expect(loss?.retryInMs).toBeGreaterThan(269_000);
        },
      },
    ],
  ),
  // Cases about the end of an attempt.
  ...(
    [
      ['408', status(408), 'status', /could not answer|refused/],
      ['500 with words', status(500, {}, '{"detail":"boom"}'), 'status', 'boom'],
      ['closed at once', (socket) => socket.destroy(), 'network', 'no usable answer'],
      ['not HTTP', (socket) => socket.end('SSH-2.0-OpenSSH_9.6\r\n'), 'network', 'not HTTP'],
      [
        'HTML',
        status(200, { 'Content-Type': 'text/html' }, '<title>Wi-Fi login</title>'),
        'no-stream',
        'text/html "Wi-Fi login"',
      ],
      [
        'brotli',
        status(200, { 'Content-Type': 'text/event-stream', 'Content-Encoding': 'br' }, 'x'),
        'no-stream',
        'compressed as "br"',
      ],
      ['slow headers', () => {}, 'timeout', 'within 30 s'],
    ] as const satisfies [string, Behaviour, string, RegExp | string][]
  ).map(
    ([name, behaviour, cause, words]): Rule => [
      name,
      () => [behaviour],
      `lost ${cause}, open, message`,
      { check: says(0, words) },
    ],
  ),
  [
    'an end between events',
    () => [ends('data: x\n\n')],
    `${STOOD}, ${BACK}`,
    { check: says(0, 'closed the connection') },
  ],
  [
    'an end inside an event',
    () => [ends('data: x\n')],
    'open, lost cut-off, open, gap cut-off, message',
    { check: says(0, 'middle of an event') },
  ],
  [
    'half-open: silence beyond the idle limit',
    () => [sends('data: x\n\n')],
    IDLE,
    { check: gapLasts(90_000, 100_000) },
  ],
  [
    'comments count as life',
    (clock) => [
      (socket) => {
        sendStream(socket, ':\n\n');
        for (let minute = 1; minute <= 10; minute++)
          clock.after(minute * 60_000, () => socket.write(':\n'));
        clock.after(630_000, () => socket.write('\ndata: good\n\n'));
      },
    ],
    'open, message',
  ],
  // Cases about clocks.
  [
    'the machine slept: the connection that died is found by its silence, and the gap counts the sleep',
    (clock) => [thenClock(clock, () => clock.jump(HOUR_MS))],
    IDLE,
    { check: gapLasts(HOUR_MS, HOUR_MS + 110_000) },
  ],
  [
    'the date is set forward while the stream stands: the gap has its true length',
    (clock) => [thenClock(clock, () => clock.setWall(HOUR_MS))],
    IDLE,
    { check: gapLasts(90_000, 110_000) },
  ],
  [
    'the date is set back while the stream stands: silence is seen as before, nothing is negative',
    (clock) => [thenClock(clock, () => clock.setWall(-HOUR_MS))],
    IDLE,
    { check: gapLasts(90_000, 100_000) },
  ],
  [
    'the date is set back during a pause: the gap has its true length',
    (clock) => [
      standing(clock, 1),
      (socket) => {
        sendStatus(socket, 503, { 'Retry-After': '20' });
        clock.after(1_000, () => clock.setWall(-HOUR_MS));
      },
    ],
    `${STOOD}, lost status, ${BACK}`,
    { check: gapLasts(20_000, 30_000) },
  ],
  // Cases about tokens.
  [
    'a token that cannot be had is asked for again with growing pauses',
    (clock) => [standing(clock, 1)],
    `${STOOD}, lost token, lost token, lost token, ${BACK}`,
    {
      options: { tokens: tokensInTurn(token, noToken, noToken, noToken, token) },
      check(got) {
        expect(lossesOf(got).map(({ attempt }) => attempt)).toEqual([1, 2, 3, 4]);
        says(1, 'exit code 1')(got);
      },
    },
  ],
  [
    'at the start a command that fails is asked again',
    () => [],
    'lost token, lost token, open, message',
    { options: { tokens: tokensInTurn(noToken, noToken, token) } },
  ],
  [
    'an error at the start is final when waiting cannot help',
    () => [],
    'closed',
    {
      options: untilClosed({ tokens: tokensInTurn(noFile) }),
      check: (got) => expect(endOf(got)?.error.kind).toBe('config'),
    },
  ],
  [
    'later it is not',
    (clock) => [standing(clock, 1)],
    `${STOOD}, lost token, ${BACK}`,
    { options: { tokens: tokensInTurn(token, noFile, token) } },
  ],
  [
    'before the stream stood, but after a token was had: asked for again',
    () => [status(503)],
    'lost status, lost token, open, message',
    { options: { tokens: tokensInTurn(token, noToken, token) } },
  ],
  [
    'after a 401 it is renewed once, at once; the second 401 is final',
    () => [status(401), ends(''), status(401), status(401)],
    'open, lost ended, closed',
    {
      options: untilClosed({ tokens: renewedTokens() }),
      check: (got) =>
        expect(loginsOf(got)).toEqual(['JWT old', 'JWT old+', 'JWT old+', 'JWT old++']),
    },
  ],
  [
    'it goes along a redirect within the origin',
    () => [status(307, { Location: '/moved/' })],
    'open, message',
    {
      check: ({ requests }) =>
        expect(requests.map(({ path }) => path)).toEqual(['/subscribe/topic/', '/moved/']),
    },
  ],
  // Cases about refusals.
  ...[400, 404, 410, 412, 422].map(
    (code): Rule => [
      `${code} on a return is tried without the last id before it counts`,
      (clock) => [
        standing(clock, 1, 'id: 7\ndata: x\n\n'),
        (socket, request) =>
          (request.headers['last-event-id'] === '7' ? status(code) : good)(socket, request),
      ],
      `${STOOD}, ${BACK}`,
      {
        check(got) {
          expect(got.requests.map(({ headers }) => headers['last-event-id'])).toEqual([
            undefined,
            '7',
            undefined,
          ]);
          expect(gapsOf(got)[0]?.replayed).toBe(false);
        },
      },
    ],
  ),
  ...[401, 403, 404].map(
    (code): Rule => [
      `${code} after a healthy minute is tried again, and the stream comes back`,
      (clock) => [standing(clock, 80), status(code), status(code), status(code)],
      `${STOOD}, lost status, lost status, lost status, ${BACK}`,
    ],
  ),
  ...[403, 404].map(
    (code): Rule => [
      `${code} after a healthy minute is final when it lasts for a minute`,
      (clock) => [standing(clock, 80), ...Array.from({ length: 99 }, () => status(code))],
      `${STOOD}, ${'lost status, '.repeat(6)}closed`,
      {
        options: untilClosed(),
        check(got) {
          expect(endOf(got)?.error.status).toBe(code);
          const lastedMs = (endOf(got)?.monotonicMs ?? 0) - (lossesOf(got)[0]?.monotonicMs ?? 0);
          expect(Math.floor(lastedMs / 10_000)).toBe(6);
        },
      },
    ],
  ),
  ...[400, 410].map(
    (code): Rule => [
      `${code} after a healthy minute is final at once`,
      (clock) => [standing(clock, 80), status(code)],
      `${STOOD}, closed`,
      { options: untilClosed() },
    ],
  ),
  ...(
    [
      [204, 'service'],
      [400, 'rejected'],
      [401, 'auth'],
      [403, 'auth'],
      [404, 'not-found'],
      [406, 'rejected'],
      [410, 'not-found'],
    ] as const
  ).map(
    ([code, kind]): Rule => [
      `${code} at the start is closed as ${kind}, once`,
      () => [status(code)],
      'closed',
      {
        options: untilClosed(),
        check(got) {
          expect(endOf(got)).toMatchObject({ error: { kind, status: code } });
          expect(got.requests).toHaveLength(1);
        },
      },
    ],
  ),
  [
    'an error keeps its status when its body never ends',
    () => [
      (socket) =>
        void socket.write('HTTP/1.1 404 Not Found\r\nContent-Length: 1000\r\n\r\n{"detail":'),
    ],
    'closed',
    { options: untilClosed(), check: (got) => expect(endOf(got)?.error.status).toBe(404) },
  ],
  // Cases about bodies.
  [
    'gzip is decompressed',
    () => [
      (socket) => {
        socket.write(STREAM_HEAD.replace('Connection', 'Content-Encoding: gzip\r\nConnection'));
        socket.write(gzipSync('data: zipped\n\ndata: good\n\n'));
      },
    ],
    'open, message, message',
    { check: ({ data }) => expect(data).toEqual(['zipped', 'good']) },
  ],
  [
    'delivers an event just below the limit',
    () => [sends(`data: ${'x'.repeat(EVENT_LIMIT_BYTES - 100)}\n\ndata: good\n\n`)],
    'open, message, message',
    { check: (got) => expect(lengthsOf(got)).toEqual([EVENT_LIMIT_BYTES - 100]) },
  ],
  [
    'one above the limit is passed over and told as a gap',
    () => [sends(`data: ${'x'.repeat(EVENT_LIMIT_BYTES + 1_000_000)}\n\ndata: good\n\n`)],
    'open, gap too-big, message',
    { check: (got) => expect(gapsOf(got)).toMatchObject([{ droppedEvents: 1 }]) },
  ],
  // Cases about missed messages.
  ...(
    [
      ['numbers that go on', '7', '8', true],
      ['numbers that leave some out', '7', '9', false],
      ['numbers behind a word', 'a-7', 'a-8', true],
      ['numbers in another series', 'a-7', 'b-8', false],
      ['a number with more digits', '9', '10', true],
      ['no numbers: the client cannot know', 'abc', 'xyz', false],
    ] as const
  ).map(
    ([name, last, first, replayed]): Rule => [
      `${name}: replayed is told by the ids`,
      (clock) => [
        standing(clock, 1, `id: ${last}\ndata: x\n\n`),
        sends(`id: ${first}\ndata: good\n\n`),
      ],
      `${STOOD}, ${BACK}`,
      { check: (got) => expect(gapsOf(got)[0]?.replayed).toBe(replayed) },
    ],
  ),
  [
    'an event that was cut off and replayed by its id is not dropped',
    () => [ends('id: 1\ndata: x\n\nid: 2\ndata: ha'), sends('id: 2\ndata: half\n\ndata: good\n\n')],
    'open, message, lost cut-off, open, gap cut-off, message, message',
    { check: (got) => expect(gapsOf(got)).toMatchObject([{ replayed: true, droppedEvents: 0 }]) },
  ],
  [
    'one that did not come again is dropped',
    () => [ends('id: 1\ndata: x\n\nid: 2\ndata: ha'), sends('id: 5\ndata: good\n\n')],
    'open, message, lost cut-off, open, gap cut-off, message',
    { check: (got) => expect(gapsOf(got)).toMatchObject([{ replayed: false, droppedEvents: 1 }]) },
  ],
  [
    'a comment that is cut off does not count as a lost event',
    () => [ends(`data: x\n\n:${'c'.repeat(100_000)}`)],
    `${STOOD}, ${BACK}`,
    { check: (got) => expect(gapsOf(got)).toMatchObject([{ droppedEvents: 0 }]) },
  ],
  [
    'a giant comment does not count as a lost event',
    () => [sends(`data: x\n\n:${'c'.repeat(20 * 2 ** 20)}\n\ndata: good\n\n`)],
    'open, message, message',
  ],
];

function dateOf(seconds: number): string {
  return new Date(Date.UTC(2020, 0, 1) + seconds * 1000).toUTCString();
}

test.each(RULES)('%s', async (_name, does, story, { options, pauses, check } = {}) => {
  const got = await followInTurn(does, options);
  expect(told(got)).toBe(story);
  if (pauses !== undefined) expect(lossesOf(got).map(({ retryInMs }) => retryInMs)).toEqual(pauses);
  check?.(got);
});
