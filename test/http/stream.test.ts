// Tests a live stream against faulty servers in cases that stream-rules.test.ts cannot express as a
// row.

import { once } from 'node:events';
import { describe, expect, test, vi } from 'vitest';
import { FleetError } from '../../src/errors.js';
import { type Network, openNetwork } from '../../src/http/network.js';
import { connectOnce } from '../../src/http/stream/connection.js';
import type { StreamEvent } from '../../src/http/stream/events.js';
import { followStream } from '../../src/http/stream.js';
import type { Tokens } from '../../src/http/types.js';
import { systemClock } from '../../src/system/clock.js';
import { openSecrets } from '../../src/system/secrets.js';
import { openFastClock } from '../support/fast-clock.js';
import { withHostile } from '../support/hostile.js';
import type { Behaviour } from '../support/misbehaving.js';
import {
  inTurn,
  openMisbehaving,
  STREAM_HEAD,
  sendStatus,
  sendStream,
} from '../support/misbehaving.js';
import { mostly } from '../support/often.js';
import {
  follow,
  followInTurn,
  gapsOf,
  good,
  isGood,
  lossesOf,
  resyncsOf,
  standing,
  streamOptions,
  told,
} from '../support/stream.js';

/** Longer than a test. */
const NEVER_MS = 600_000;
const never = <T>() => new Promise<T>(() => {});
const noToken = () => Promise.reject(new FleetError('config', 'no token'));

describe('an event stream interrupted at every byte', () => {
  const EVENTS = [
    'id: 1\ndata: {"a": 1}\n\n',
    'id: 2\r\ndata: Zoë 🚲\r\n\r\n',
    ': beat\n\n',
    'event: x\nid: 3\ndata: c\n\n',
  ];
  const DATA = ['{"a": 1}', 'Zoë 🚲', 'c'];
  const body = Buffer.from(EVENTS.join(''));
  const after = (id: string | undefined) => {
    const start =
      id === undefined ? 0 : EVENTS.findIndex((event) => event.includes(`id: ${id}`)) + 1;
    return EVENTS.slice(start).join('');
  };
  const DROPS = [
    ['closed', 'end'],
    ['reset', 'resetAndDestroy'],
  ] as const;
  for (const [name, drop] of mostly(DROPS, (_, index) => index === 1)) {
    test(`${name}: each event arrives exactly once and in order after a replay`, async () => {
      for (let at = 0; at <= body.length; at++) {
        const got = await withHostile(
          inTurn(
            (socket) => {
              socket.write(STREAM_HEAD);
              socket.write(body.subarray(0, at), () => setTimeout(() => socket[drop](), 2));
            },
            (socket, { headers }) =>
              sendStream(socket, `${after(headers['last-event-id'])}data: end\n\n`),
          ),
          (server) => follow(server.url, { until: ({ data }) => data.at(-1) === 'end' }),
        );
        expect({ at, data: got.data }).toEqual({ at, data: [...DATA, 'end'] });
        expect(gapsOf(got)).toHaveLength(1);
      }
    });
  }
});

test('ends the subscriptions of all topics when one topic no longer exists', async () => {
  const server = await openMisbehaving((socket, { path }) =>
    path.includes('gone') ? sendStatus(socket, 404) : sendStream(socket, ':\n\n'),
  );
  const urlOf = (topic: string) => new URL(`/subscribe/${topic}/`, server.url);
  const subscriptions = ['here', 'gone'].map((topic) => ({ topic, url: urlOf(topic) }));
  const got = await follow(server.url, { until: () => false, subscriptions });
  expect(got.events.at(-1)).toMatchObject({ type: 'closed', topic: 'gone' });
});

test('reports a gap and compares again when the service replays no messages', async () => {
  const got = await followInTurn(
    (clock) => [standing(clock, 1, 'id: 1\ndata: x\n\n'), (socket) => sendStream(socket, ':\n\n')],
    { until: (followed) => resyncsOf(followed).length === 2 },
  );
  expect(got.story.slice(-3)).toEqual(['open', 'gap ended', 'resync']);
  expect(gapsOf(got)[0]?.replayed).toBe(false);
  expect(resyncsOf(got)[1]).toMatchObject({ sinceWallMs: gapsOf(got)[0]?.fromWallMs });
});

describe('the subscription token', () => {
  test('each connection reads the subscription token and the API version again', async () => {
    let number = 0;
    const server = await openMisbehaving(inTurn((socket) => sendStatus(socket, 503), good));
    await follow(server.url, {
      until: isGood,
      tokens: { get: async () => `token-${++number}`, renew: async () => undefined },
    });
    expect(server.requests.map(({ headers }) => headers['authorization'])).toEqual([
      'JWT token-1',
      'JWT token-2',
    ]);
    expect(server.requests[0]?.headers['accept']).toBe(
      'text/event-stream; version=1.0, application/json; version=1.0',
    );
    expect(server.requests[0]?.headers['accept-encoding']).toBeUndefined();
  });

  test('the subscription token is not sent after a redirect to another origin', async () => {
    const other = await openMisbehaving(good);
    const redirect: Behaviour = (socket) =>
      sendStatus(socket, 307, { Location: `${other.url}/subscribe/topic/` });
    const got = await followInTurn(() => [redirect]);
    const words = `redirects the subscription to /org/admin/bicycles/* to ${other.url}`;
    expect(lossesOf(got)[0]?.error.message).toContain(words);
    expect(other.requests).toHaveLength(0);
  });
});

test('a subscription survives a failed token renewal after a 401', async () => {
  let renewals = 0;
  const tokens = {
    get: async () => (renewals === 2 ? 'new' : 'old'),
    renew: async () => (++renewals === 1 ? noToken() : 'new'),
  };
  const refuse: Behaviour = (socket) => sendStatus(socket, 401);
  const got = await followInTurn((clock) => [standing(clock, 1), refuse, refuse], { tokens });
  expect(told(got)).toBe('open, message, lost ended, lost token, open, gap ended, message');
  expect(got.requests.at(-1)?.headers['authorization']).toBe('JWT new');
});

test('a subscription reads the stored token again after every 401', async () => {
  let stored = 1;
  const tokens = {
    get: async () => `token-${stored}`,
    renew: async (refused: string) =>
      refused === `token-${stored}` ? undefined : `token-${stored}`,
  };
  const expired: Behaviour = (socket) => {
    stored++;
    sendStatus(socket, 401);
  };
  const got = await followInTurn(
    (clock) => [standing(clock, 1), expired, standing(clock, 1), expired, good],
    {
      tokens,
    },
  );
  expect(got.requests.map(({ headers }) => headers['authorization'])).toEqual([
    ...['JWT token-1', 'JWT token-1', 'JWT token-2', 'JWT token-2', 'JWT token-3'],
  ]);
});

test('waits for a slow reader without reporting the service as silent', async () => {
  const event = `data: ${'x'.repeat(1_000)}\n\n`;
  const chunk = event.repeat(1_000);
  let sentBytes = 0;
  let isFull: () => void = () => {};
  const whenFull = new Promise<void>((resolve) => {
    isFull = resolve;
  });
  const clock = openFastClock();
  let release: () => void = () => {};
  let isSlow = true;
  const room = () => (isSlow ? new Promise<void>((resolve) => (release = resolve)) : undefined);
  const flood: Behaviour = async (socket) => {
    socket.write(STREAM_HEAD);
    for (;;) {
      sentBytes += chunk.length;
      if (socket.write(chunk)) continue;
      const isDrained = await Promise.race([
        once(socket, 'drain').then(() => true),
        new Promise((resolve) => setTimeout(resolve, 300)),
      ]);
      if (isDrained !== true) break;
    }
    isFull();
    clock.after(200_000, () => {
      socket.resetAndDestroy();
      isSlow = false;
      release();
    });
  };
  const got = await withHostile(inTurn(flood, good), (server) =>
    follow(server.url, { until: isGood, clock, room }),
  );
  await whenFull;
  clock.stop();
  // Only the kernel's buffers of both socket ends are filled.
  expect(sentBytes).toBeLessThan(40 * 1024 * 1024);
  expect(lossesOf(got)[0]?.cause).not.toBe('idle');
});

/** The options of a single connection. */
const connectionOptions = (network: Network, url: string) => ({
  ...streamOptions(network),
  clock: systemClock(),
  url: new URL('/subscribe/topic/', url),
  headers: {},
  lastEventId: '',
  signal: new AbortController().signal,
  subject: 'the subscription',
  onOpen() {},
  onReceived() {},
});

test('a connection that ended while its reader was busy leaves no timer behind', async () => {
  const server = await openMisbehaving(good);
  const network = await openNetwork({}, 10_000, openSecrets());
  const stop = new AbortController();
  const clock = systemClock();
  let pendingTimers = 0;
  const counting = {
    ...clock,
    after(milliseconds: number, action: () => void) {
      let isPending = true;
      pendingTimers += 1;
      const forget = () => {
        if (isPending) pendingTimers -= 1;
        isPending = false;
      };
      const cancel = clock.after(milliseconds, () => {
        forget();
        action();
      });
      return () => {
        forget();
        cancel();
      };
    },
  };
  let release: () => void = () => {};
  const ending = await connectOnce({
    ...connectionOptions(network, server.url),
    clock: counting,
    signal: stop.signal,
    room: () =>
      new Promise<void>((resolve) => {
        release = resolve;
        stop.abort(new FleetError('interrupted', 'enough'));
      }),
  });
  release();
  await new Promise((resolve) => setImmediate(resolve));
  await network.close();
  expect([ending.error.kind, pendingTimers]).toEqual(['interrupted', 0]);
});

test('a new connection reads no message while the queue is full', async () => {
  const server = await openMisbehaving(good);
  const network = await openNetwork({}, 10_000, openSecrets());
  const stop = new AbortController();
  let received = 0;
  const ended = connectOnce({
    ...connectionOptions(network, server.url),
    signal: stop.signal,
    room: () => never<void>(),
    // The message arrives together with the headers.
    onOpen: () => void setTimeout(() => stop.abort(new Error('enough')), 100),
    onReceived: () => {
      received += 1;
    },
  });
  await ended;
  await network.close();
  expect(received).toBe(0);
});

test('EventSource neither reconnects on its own nor leaves a timer behind', async () => {
  const server = await openMisbehaving((socket) =>
    socket.end(`${STREAM_HEAD}retry: 1\ndata: x\n\n`),
  );
  const network = await openNetwork({}, 10_000, openSecrets());
  const set = vi.spyOn(globalThis, 'setTimeout');
  const cleared = vi.spyOn(globalThis, 'clearTimeout');
  const ending = await connectOnce({
    ...connectionOptions(network, server.url),
    clock: openFastClock(),
  });
  await new Promise((resolve) => setImmediate(resolve));
  const timers = set.mock.results.filter((_, index) => set.mock.calls[index]?.[1] === 3_000);
  const stopped = cleared.mock.calls.map(([timer]) => timer);
  vi.restoreAllMocks();
  await network.close();
  expect({ cause: ending.cause, requests: server.requests.length }).toEqual({
    cause: 'ended',
    requests: 1,
  });
  // The delay after which EventSource would reconnect.
  expect(timers).toHaveLength(1);
  expect(stopped).toContain(timers[0]?.value);
});

const CASES: readonly [
  string,
  Partial<{ tokens: Tokens; room: () => Promise<void> | undefined; url: string }>,
][] = [
  ['while a token hangs', { tokens: { get: never, renew: never } }],
  ['while the reader is held up for ever', { room: () => never<void>() }],
  ['while an address takes no connection', { url: 'http://192.0.2.1:9/' }],
  ['while the stream stands', {}],
];
test.each(CASES)(
  'an abort signal ends the subscription immediately: %s',
  async (_name, { url, ...options }) => {
    const server = await openMisbehaving(good);
    const network = await openNetwork({}, NEVER_MS, openSecrets());
    const stop = new AbortController();
    const events: StreamEvent[] = [];
    const following = followStream({
      subscriptions: [{ topic: 't', url: new URL('/subscribe/t/', url ?? server.url) }],
      ...streamOptions(network),
      clock: systemClock(),
      signal: stop.signal,
      emit: (event) => events.push(event),
      ...options,
    });
    await new Promise((resolve) => setTimeout(resolve, 100));
    stop.abort(new FleetError('interrupted', 'enough'));
    await following;
    const count = events.length;
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(events).toHaveLength(count);
    await network.close();
  },
);
