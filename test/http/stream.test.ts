// A live stream against a server that misbehaves: what is lost and what is final, pauses, gaps, tokens, slow readers.

import { once } from 'node:events';
import { gzipSync } from 'node:zlib';
import { describe, expect, test, vi } from 'vitest';
import { FleetError } from '../../src/errors.js';
import { openNetwork } from '../../src/http/network.js';
import { connectOnce, EVENT_LIMIT_BYTES } from '../../src/http/stream/connection.js';
import type { Gap, Lost, StreamEvent } from '../../src/http/stream/events.js';
import { NO_SECRETS } from '../../src/secrets.js';
import { openFastClock } from '../support/fast-clock.js';
import {
  type Behaviour,
  inTurn,
  type MisbehavingServer,
  STREAM_HEAD,
  sendStatus,
  sendStream,
  startMisbehaving,
} from '../support/misbehaving.js';
import { type Followed, type FollowOptions, follow } from '../support/stream.js';

async function withPush<T>(behave: Behaviour, use: (server: MisbehavingServer) => Promise<T>): Promise<T> {
  const server = await startMisbehaving(behave);
  try {
    return await use(server);
  } finally {
    await server.close();
  }
}

const good: Behaviour = (socket) => sendStream(socket, 'data: good\n\n');
const isGood = ({ data }: Followed) => data.at(-1) === 'good';

/** Follows a server whose connections behave in turn, the last one well, until the good message came. */
function followInTurn(behaviours: readonly Behaviour[], options: Partial<FollowOptions> = {}): Promise<Followed> {
  return withPush(inTurn(...behaviours, good), (server) => follow(server.url, { until: isGood, ...options }));
}

function losses({ events }: Followed): Lost[] {
  return events.filter((event) => event.type === 'lost');
}

function gapsOf({ events }: Followed): Gap[] {
  return events.filter((event) => event.type === 'gap');
}

/** The story without `resync`, whose place depends on when the messages come. */
function told({ story }: Followed): string[] {
  return story.filter((type) => type !== 'resync');
}

describe('a stream of events that is dropped at every byte', () => {
  const EVENTS = [
    'id: 1\ndata: {"a": 1}\n\n',
    'id: 2\r\ndata: Zoë 🚲\r\n\r\n',
    ': beat\n\n',
    'event: x\nid: 3\ndata: c\n\n',
  ];
  const DATA = ['{"a": 1}', 'Zoë 🚲', 'c'];
  const body = Buffer.from(EVENTS.join(''));
  const after = (id: string | undefined) => {
    const start = id === undefined ? 0 : EVENTS.findIndex((event) => event.includes(`id: ${id}`)) + 1;
    return EVENTS.slice(start).join('');
  };
  for (const [name, drop] of [
    ['closed', 'end'],
    ['reset', 'resetAndDestroy'],
  ] as const) {
    test(`${name}: with a replay each event arrives once, in order`, async () => {
      for (let at = 0; at <= body.length; at++) {
        const got = await withPush(
          inTurn(
            (socket) => {
              socket.write(STREAM_HEAD);
              socket.write(body.subarray(0, at), () => setTimeout(() => socket[drop](), 2));
            },
            (socket, { headers }) => sendStream(socket, `${after(headers['last-event-id'])}data: end\n\n`),
          ),
          (server) => follow(server.url, { until: ({ data }) => data.at(-1) === 'end' }),
        );
        expect({ at, data: got.data }).toEqual({ at, data: [...DATA, 'end'] });
        expect(gapsOf(got)).toHaveLength(1);
      }
    });
  }
});

describe('ends that are not final', () => {
  test('503 twice, then fine: pauses of up to 0.5 and 1 s, with jitter', async () => {
    const got = await followInTurn([(socket) => sendStatus(socket, 503), (socket) => sendStatus(socket, 503)], {
      clock: luckless(),
    });
    expect(told(got)).toEqual(['lost status', 'lost status', 'open', 'message']);
    expect(losses(got).map(({ retryInMs, attempt, lastLifeWallMs }) => [retryInMs, attempt, lastLifeWallMs])).toEqual([
      [500, 1, undefined],
      [1_000, 2, undefined],
    ]);
    expect(losses(got)[0]?.error).toMatchObject({ kind: 'service', status: 503 });
  });

  test('429 with a date is obeyed', async () => {
    const clock = openFastClock();
    const date = new Date(clock.wallMs() + 40_000).toUTCString();
    const got = await followInTurn([(socket) => sendStatus(socket, 429, { 'Retry-After': date })], { clock });
    clock.stop();
    const [loss] = losses(got);
    expect(loss?.retryInMs).toBeGreaterThan(30_000);
    expect(loss?.retryInMs).toBeLessThanOrEqual(40_500);
  });

  test.each([
    ['Retry-After: 7', (socket) => sendStatus(socket, 503, { 'Retry-After': '7' }), 7_000],
    ['retry: 12000', (socket) => socket.end(`${STREAM_HEAD}retry: 12000\n\n`), 12_000],
    ['retry: without a blank line', (socket) => socket.end(`${STREAM_HEAD}retry: 3000\n`), 3_000],
  ] satisfies [string, Behaviour, number][])('%s is obeyed', async (_name, behaviour, pauseMs) => {
    const got = await followInTurn([behaviour], {
      until: ({ story }) => story.some((type) => type.startsWith('lost')),
    });
    const retryInMs = losses(got)[0]?.retryInMs ?? 0;
    expect(retryInMs).toBeGreaterThanOrEqual(pauseMs);
    expect(retryInMs).toBeLessThanOrEqual(pauseMs + 500);
  });

  test.each([
    ['408', (socket) => sendStatus(socket, 408), 'status', 'could not answer|refused'],
    ['500 with words', (socket) => sendStatus(socket, 500, {}, '{"detail":"boom"}'), 'status', 'boom'],
    ['closed at once', (socket) => socket.destroy(), 'network', 'no usable answer'],
    ['not HTTP', (socket) => socket.end('SSH-2.0-OpenSSH_9.6\r\n'), 'network', 'not HTTP'],
    [
      'HTML',
      (socket) => sendStatus(socket, 200, { 'Content-Type': 'text/html' }, '<title>Wi-Fi login</title>'),
      'no-stream',
      'text/html "Wi-Fi login"',
    ],
    [
      'brotli',
      (socket) => sendStatus(socket, 200, { 'Content-Type': 'text/event-stream', 'Content-Encoding': 'br' }, 'x'),
      'no-stream',
      'compressed as "br"',
    ],
    ['an end between events', (socket) => socket.end(`${STREAM_HEAD}data: x\n\n`), 'ended', 'closed the connection'],
    ['an end inside an event', (socket) => socket.end(`${STREAM_HEAD}data: x\n`), 'cut-off', 'middle of an event'],
    [
      'a broken gzip',
      (socket) =>
        socket.end(
          Buffer.concat([
            Buffer.from(STREAM_HEAD.replace('Conn', 'Content-Encoding: gzip\r\nConn')),
            gzipSync('data: x\n\n').subarray(0, 10),
          ]),
        ),
      'network',
      'broke',
    ],
  ] satisfies [string, Behaviour, string, string][])('%s', async (_name, behaviour, cause, words) => {
    const got = await followInTurn([behaviour]);
    expect(losses(got)[0]?.cause).toBe(cause);
    expect(losses(got)[0]?.error.message).toMatch(new RegExp(words));
    expect(losses(got)).toHaveLength(1);
  });

  test('slow headers: given up after --timeout, connect and head together', async () => {
    const got = await followInTurn([() => {}]);
    const [loss] = losses(got);
    expect(loss).toMatchObject({ cause: 'timeout', error: { message: expect.stringContaining('within 30 s') } });
    expect(told(got)).toEqual(['lost timeout', 'open', 'message']);
  });

  test('nobody listens, then somebody does', async () => {
    const server = await startMisbehaving(good);
    await server.close();
    const refused: string[] = [];
    const got = await follow(server.url, {
      until({ events }) {
        const last = events.at(-1);
        if (last?.type === 'lost') refused.push(last.error.message);
        return refused.length === 3;
      },
    });
    expect(refused[2]).toContain('connection refused');
    expect(losses(got).map(({ attempt }) => attempt)).toEqual([1, 2, 3]);
  });

  test('half-open: silence beyond the idle limit, told with its beginning, end and cause', async () => {
    const got = await followInTurn([(socket) => sendStream(socket, 'data: x\n\n')]);
    expect(told(got)).toEqual(['open', 'message', 'lost idle', 'open', 'gap idle', 'message']);
    const [gap] = gapsOf(got);
    expect(gap?.durationMs ?? 0).toBeGreaterThan(90_000);
    expect(gap?.durationMs ?? 0).toBeLessThan(100_000);
  });

  test('comments count as life', async () => {
    const clock = openFastClock();
    const got = await withPush(
      (socket) => {
        sendStream(socket, ':\n\n');
        for (let minute = 1; minute <= 10; minute++) clock.after(minute * 60_000, () => socket.write(':\n'));
        clock.after(630_000, () => socket.write('\ndata: good\n\n'));
      },
      (server) => follow(server.url, { until: isGood, clock }),
    );
    clock.stop();
    expect(told(got)).toEqual(['open', 'message']);
  });

  test('a storm of resets slows down to one try in 30 s at most', async () => {
    const storm = Array.from(
      { length: 12 },
      (): Behaviour => (socket) => {
        socket.write(STREAM_HEAD);
        setTimeout(() => socket.resetAndDestroy(), 1);
      },
    );
    const got = await followInTurn(storm, { clock: luckless() });
    const pauses = losses(got).map(({ retryInMs }) => retryInMs);
    expect(pauses.slice(0, 8)).toEqual([500, 1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000]);
  });

  test('a connection that stood for a while starts from the shortest pause again', async () => {
    const clock = luckless();
    const steady: Behaviour = (socket) => {
      sendStream(socket, 'data: x\n\n');
      clock.after(20_000, () => socket.end());
    };
    const got = await followInTurn([(socket) => sendStatus(socket, 503), steady, steady], { clock });
    expect(losses(got).map(({ retryInMs }) => retryInMs)).toEqual([500, 500, 500]);
  });

  test('--give-up-after ends it with the last failure', async () => {
    const got = await withPush(
      (socket) => sendStatus(socket, 503),
      (server) => follow(server.url, { until: () => false, giveUpAfterMs: 60_000 }),
    );
    expect(got.events.at(-1)).toMatchObject({
      type: 'closed',
      error: { kind: 'service', status: 503, message: expect.stringMatching(/^gave up after 6\d s/) },
    });
  });

  test('the machine slept: the connection that died meanwhile is found by its silence, and the gap counts the sleep', async () => {
    const clock = openFastClock();
    const got = await withPush(
      inTurn((socket) => {
        sendStream(socket, 'data: x\n\n');
        clock.after(10_000, () => clock.jump(3_600_000));
      }, good),
      (server) => follow(server.url, { until: isGood, clock }),
    );
    clock.stop();
    expect(told(got)).toEqual(['open', 'message', 'lost idle', 'open', 'gap idle', 'message']);
    const [gap] = gapsOf(got);
    expect(gap?.durationMs ?? 0).toBeGreaterThan(3_600_000);
  });
});

describe('ends that are final', () => {
  test.each([
    [204, 'service'],
    [400, 'rejected'],
    [401, 'auth'],
    [403, 'auth'],
    [404, 'not-found'],
    [406, 'rejected'],
    [410, 'not-found'],
  ])('%d is closed as %s, once', async (status, kind) => {
    await withPush(
      (socket) => sendStatus(socket, status),
      async (server) => {
        const got = await follow(server.url, { until: () => false });
        expect(got.story).toEqual(['closed']);
        expect(got.events[0]).toMatchObject({ error: { kind, status } });
        expect(server.requests).toHaveLength(1);
      },
    );
  });

  test('one topic that is gone ends the others', async () => {
    await withPush(
      (socket, { path }) => (path.includes('gone') ? sendStatus(socket, 404) : sendStream(socket, ':\n\n')),
      async (server) => {
        const subscriptions = ['here', 'gone'].map((topic) => ({
          topic,
          url: new URL(`/subscribe/${topic}/`, server.url),
        }));
        const got = await follow(server.url, { until: () => false, subscriptions });
        expect(got.events.at(-1)).toMatchObject({ type: 'closed', topic: 'gone' });
      },
    );
  });
});

describe('the token', () => {
  test('is fetched anew for each connection, and the version is asked for', async () => {
    let number = 0;
    await withPush(
      inTurn((socket) => sendStatus(socket, 503), good),
      async (server) => {
        await follow(server.url, {
          until: isGood,
          tokens: { get: async () => `token-${++number}`, renew: async () => undefined },
        });
        expect(server.requests.map(({ headers }) => headers['authorization'])).toEqual(['JWT token-1', 'JWT token-2']);
        expect(server.requests[0]?.headers['accept']).toBe(
          'text/event-stream; version=1.0, application/json; version=1.0',
        );
        expect(server.requests[0]?.headers['accept-encoding']).toBeUndefined();
      },
    );
  });

  test('after a 401 it is renewed once, at once; the second 401 is final', async () => {
    const tokens = { get: async () => current, renew: async () => (current = `${current}+`) };
    let current = 'old';
    await withPush(
      inTurn(
        (socket) => sendStatus(socket, 401),
        (socket) => socket.end(STREAM_HEAD),
        (socket) => sendStatus(socket, 401),
        (socket) => sendStatus(socket, 401),
      ),
      async (server) => {
        const got = await follow(server.url, { until: () => false, tokens });
        expect(told(got)).toEqual(['open', 'lost ended', 'closed']);
        expect(server.requests.map(({ headers }) => headers['authorization'])).toEqual([
          'JWT old',
          'JWT old+',
          'JWT old+',
          'JWT old++',
        ]);
      },
    );
  });

  test('that cannot be had is asked for again', async () => {
    let calls = 0;
    const failing = () => Promise.reject(new FleetError('config', 'no token'));
    const sometimes = { get: async () => (++calls % 2 === 1 ? failing() : 'token'), renew: async () => undefined };
    const got = await followInTurn([(socket) => socket.end(STREAM_HEAD)], { tokens: sometimes });
    expect(told(got)).toEqual(['lost token', 'open', 'lost ended', 'lost token', 'open', 'gap ended', 'message']);
  });

  test('is not carried along a redirect to another origin', async () => {
    await withPush(good, (other) =>
      withPush(
        inTurn((socket) => sendStatus(socket, 307, { Location: `${other.url}/subscribe/topic/` }), good),
        async (server) => {
          const got = await follow(server.url, { until: isGood });
          expect(losses(got)[0]?.error.message).toContain(
            `redirects the subscription to /org/admin/bicycles/* to ${other.url}`,
          );
          expect(other.requests).toHaveLength(0);
        },
      ),
    );
  });

  test('goes along a redirect within the origin', async () => {
    await withPush(
      inTurn((socket) => sendStatus(socket, 307, { Location: '/moved/' }), good),
      async (server) => {
        const got = await follow(server.url, { until: isGood });
        expect(told(got)).toEqual(['open', 'message']);
        expect(server.requests.map(({ path }) => path)).toEqual(['/subscribe/topic/', '/moved/']);
      },
    );
  });
});

describe('odd bodies', () => {
  test('gzip is decompressed', async () => {
    const got = await withPush(
      (socket) => {
        socket.write(STREAM_HEAD.replace('Connection', 'Content-Encoding: gzip\r\nConnection'));
        socket.write(gzipSync('data: zipped\n\ndata: good\n\n'));
      },
      (server) => follow(server.url, { until: isGood }),
    );
    expect(got.data).toEqual(['zipped', 'good']);
  });

  test('an event just below the limit arrives whole', async () => {
    const data = 'x'.repeat(EVENT_LIMIT_BYTES - 100);
    const got = await withPush(
      (socket) => sendStream(socket, `data: ${data}\n\ndata: good\n\n`),
      (server) => follow(server.url, { until: isGood }),
    );
    expect(got.data.map(({ length }) => length)).toEqual([data.length, 4]);
  });

  test('one above the limit is passed over and told as a gap', async () => {
    const got = await withPush(
      (socket) => sendStream(socket, `data: ${'x'.repeat(EVENT_LIMIT_BYTES + 1_000_000)}\n\ndata: good\n\n`),
      (server) => follow(server.url, { until: isGood }),
    );
    expect(got.data.map(({ length }) => length)).toEqual([4]);
    expect(gapsOf(got)).toMatchObject([{ cause: 'too-big', droppedEvents: 1 }]);
  });
});

describe('several topics', () => {
  test('each has its own connection; the order of arrival is kept', async () => {
    const sockets: { [path: string]: (text: string) => void } = {};
    const paths = ['/subscribe/a/', '/subscribe/b/'];
    const wanted = ['a1', 'b1', 'a2', 'b2'];
    const got = await withPush(
      (socket, { path }) => {
        sendStream(socket, ':\n\n');
        sockets[path] = (text) => socket.write(`data: ${text}\n\n`);
      },
      (server) => {
        let sent = 0;
        const send = () => {
          const text = wanted[sent++];
          if (text !== undefined) sockets[`/subscribe/${text[0]}/`]?.(text);
        };
        return follow(server.url, {
          subscriptions: paths.map((path) => ({ topic: path, url: new URL(path, server.url) })),
          until({ events, data }) {
            const isUp = events.filter(({ type }) => type === 'open').length === 2;
            if (isUp && data.length === sent) send();
            return data.length === wanted.length;
          },
        });
      },
    );
    expect(got.data).toEqual(wanted);
  });
});

describe('a slow reader', () => {
  test('holds the socket back, and its pauses are no silence', async () => {
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
    const got = await withPush(inTurn(flood, good), (server) => follow(server.url, { until: isGood, clock, room }));
    await whenFull;
    clock.stop();
    // What the kernel keeps for both sides of a socket, and nothing of ours on top.
    expect(sentBytes).toBeLessThan(40 * 1024 * 1024);
    expect(losses(got)[0]?.cause).not.toBe('idle');
    expect(losses(got)[0]?.downMs).toBe(0);
  });
});

test('EventSource itself never connects again, and leaves no timer behind that would hold the program', async () => {
  await withPush(
    (socket) => socket.end(`${STREAM_HEAD}retry: 1\ndata: x\n\n`),
    async (server) => {
      const network = await openNetwork({}, 10_000);
      const set = vi.spyOn(globalThis, 'setTimeout');
      const cleared = vi.spyOn(globalThis, 'clearTimeout');
      const ending = await connectOnce({
        network,
        tokens: {},
        clock: openFastClock(),
        secrets: NO_SECRETS,
        timeoutMs: 30_000,
        idleMs: 90_000,
        url: new URL('/subscribe/topic/', server.url),
        headers: {},
        lastEventId: '',
        signal: new AbortController().signal,
        subject: 'the subscription',
        room: () => undefined,
        log: { request() {}, response() {} },
        onOpen() {},
        onReceived() {},
      });
      await new Promise((resolve) => setImmediate(resolve));
      const timers = set.mock.results.filter((_, index) => set.mock.calls[index]?.[1] === 3_000);
      const stopped = cleared.mock.calls.map(([timer]) => timer);
      vi.restoreAllMocks();
      await network.close();
      expect({ cause: ending.cause, requests: server.requests.length }).toEqual({ cause: 'ended', requests: 1 });
      // The pause of EventSource before it would connect again.
      expect(timers).toHaveLength(1);
      expect(stopped).toContain(timers[0]?.value);
    },
  );
});

describe('resync', () => {
  test('is asked for after the first opening, and after each gap with its beginning', async () => {
    const clock = openFastClock();
    const got = await withPush(
      (socket) => {
        sendStream(socket, 'data: x\n\n');
        clock.after(20_000, () => socket.end());
      },
      (server) =>
        follow(server.url, { clock, until: ({ story }) => story.filter((type) => type === 'resync').length === 3 }),
    );
    clock.stop();
    const asked = got.events.flatMap((event: StreamEvent) => (event.type === 'resync' ? [event.sinceWallMs] : []));
    expect(asked).toEqual([undefined, ...gapsOf(got).map(({ fromWallMs }) => fromWallMs)]);
  });
});

/** A clock whose chance always takes the longest pause. */
function luckless() {
  const clock = openFastClock();
  return { ...clock, random: () => 1 };
}
