// A live stream whose surroundings fail: tokens that come late or not at all, dates that are set, readers that sleep, ids that are refused.

import { describe, expect, test } from 'vitest';
import { systemClock } from '../../src/clock.js';
import { FleetError, lastingError } from '../../src/errors.js';
import { openNetwork } from '../../src/http/network.js';
import type { Closed, Gap, Lost, Resync, StreamEvent } from '../../src/http/stream/events.js';
import { followStream } from '../../src/http/stream.js';
import type { Tokens } from '../../src/http/types.js';
import { NO_SECRETS } from '../../src/secrets.js';
import { type FastClock, openFastClock } from '../support/fast-clock.js';
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

const good: Behaviour = (socket) => sendStream(socket, 'data: good\n\n');
const isGood = ({ data }: Followed) => data.at(-1) === 'good';
const isClosed = () => false;

async function withPush<T>(behave: Behaviour, use: (server: MisbehavingServer) => Promise<T>): Promise<T> {
  const server = await startMisbehaving(behave);
  try {
    return await use(server);
  } finally {
    await server.close();
  }
}

/** Follows a server whose connections behave in turn, the last one well, on a clock that the test holds. */
async function followInTurn(
  behaviours: (clock: FastClock) => readonly Behaviour[],
  options: Partial<FollowOptions> = {},
): Promise<Followed & { requests: MisbehavingServer['requests'] }> {
  const clock = openFastClock();
  try {
    return await withPush(inTurn(...behaviours(clock), good), async (server) => {
      const followed = await follow(server.url, { until: isGood, clock, ...options });
      return { ...followed, requests: server.requests };
    });
  } finally {
    clock.stop();
  }
}

/** Sends an event and ends the connection after so many seconds. */
const standing =
  (clock: FastClock, seconds: number, body = 'data: x\n\n'): Behaviour =>
  (socket) => {
    sendStream(socket, body);
    clock.after(seconds * 1000, () => socket.end());
  };

const lossesOf = ({ events }: Followed): Lost[] => events.filter((event) => event.type === 'lost');
const gapsOf = ({ events }: Followed): Gap[] => events.filter((event) => event.type === 'gap');
const resyncsOf = ({ events }: Followed): Resync[] => events.filter((event) => event.type === 'resync');
const endOf = ({ events }: Followed): Closed | undefined => events.find((event) => event.type === 'closed');
const storyOf = ({ story }: Followed): string[] => story.filter((type) => type !== 'resync');

const never = <T>() => new Promise<T>(() => {});

/** A source whose calls behave in turn, the last one for ever. */
function tokensInTurn(...calls: readonly (() => Promise<string>)[]): Tokens & { calls: number } {
  const tokens = {
    calls: 0,
    get: () => (calls[Math.min(tokens.calls++, calls.length - 1)] ?? never<string>)(),
    renew: async () => undefined,
  };
  return tokens;
}
const token = async () => 'token';
const noToken = () => Promise.reject(new FleetError('config', 'the token command failed with exit code 1'));

describe('a token that cannot be had', () => {
  test('after the stream stood: asked for again with growing pauses', async () => {
    const tokens = tokensInTurn(token, noToken, noToken, noToken, token);
    const got = await followInTurn((clock) => [standing(clock, 1)], { tokens });
    expect(storyOf(got)).toEqual([
      ...['open', 'message', 'lost ended', 'lost token', 'lost token', 'lost token'],
      ...['open', 'gap ended', 'message'],
    ]);
    expect(lossesOf(got).map(({ attempt }) => attempt)).toEqual([1, 2, 3, 4]);
    expect(lossesOf(got)[1]?.error.message).toContain('exit code 1');
  });

  test('one that hangs is bounded by --timeout and said', async () => {
    const got = await followInTurn((clock) => [standing(clock, 1)], {
      tokens: tokensInTurn(token, never, token),
      timeoutMs: 20_000,
    });
    expect(storyOf(got)).toEqual(['open', 'message', 'lost ended', 'lost token', 'open', 'gap ended', 'message']);
    expect(lossesOf(got)[1]?.error.message).toBe('no token came within 20 s');
    expect(lossesOf(got)[1]?.downMs).toBeGreaterThanOrEqual(20_000);
  });

  test('one that hangs for ever does not outlast --give-up-after', async () => {
    const clockMs: number[] = [];
    const got = await followInTurn((clock) => [standing(clock, 1)], {
      tokens: tokensInTurn(token, never),
      timeoutMs: 30_000,
      giveUpAfterMs: 45_000,
      until({ events }) {
        clockMs.push(events.at(-1)?.monotonicMs ?? 0);
        return false;
      },
    });
    expect(endOf(got)?.error.message).toMatch(/^gave up after 45 s without a connection: /);
  });

  test('at the start a command that fails, or one that hangs, is asked again', async () => {
    const failed = await followInTurn(() => [], { tokens: tokensInTurn(noToken, noToken, token) });
    expect(storyOf(failed)).toEqual(['lost token', 'lost token', 'open', 'message']);
    const hung = await followInTurn(() => [], { tokens: tokensInTurn(never, token), timeoutMs: 5_000 });
    expect(storyOf(hung)).toEqual(['lost token', 'open', 'message']);
    expect(lossesOf(hung)[0]?.error.message).toBe('no token came within 5 s');
  });

  test('at the start what no waiting can bring is final, and later it is not', async () => {
    const missing = () => Promise.reject(lastingError('no such file'));
    const never = await followInTurn(() => [], { tokens: tokensInTurn(missing), until: isClosed });
    expect(never.story).toEqual(['closed']);
    expect(endOf(never)?.error.kind).toBe('config');
    const later = await followInTurn((clock) => [standing(clock, 1)], { tokens: tokensInTurn(token, missing, token) });
    expect(storyOf(later)).toEqual(['open', 'message', 'lost ended', 'lost token', 'open', 'gap ended', 'message']);
  });

  test('before the stream stood, but after a token was had: asked for again', async () => {
    const got = await followInTurn(() => [(socket) => sendStatus(socket, 503)], {
      tokens: tokensInTurn(token, noToken, token),
    });
    expect(storyOf(got)).toEqual(['lost status', 'lost token', 'open', 'message']);
  });

  test('a renewal that hangs after a 401 is bounded as well', async () => {
    const tokens = { get: token, renew: () => never<undefined>() };
    const got = await followInTurn((clock) => [standing(clock, 1), (socket) => sendStatus(socket, 401)], { tokens });
    expect(storyOf(got)).toEqual(['open', 'message', 'lost ended', 'lost token', 'open', 'gap ended', 'message']);
  });

  test('a renewal that fails once after a 401, where the source then gives the refused token again, ends nothing', async () => {
    let renewals = 0;
    const tokens = {
      get: async () => (renewals === 2 ? 'new' : 'old'),
      renew: async () => (++renewals === 1 ? noToken() : 'new'),
    };
    const refuse: Behaviour = (socket) => sendStatus(socket, 401);
    const got = await followInTurn((clock) => [standing(clock, 1), refuse, refuse], { tokens });
    expect(storyOf(got)).toEqual(['open', 'message', 'lost ended', 'lost token', 'open', 'gap ended', 'message']);
    expect(got.requests.at(-1)?.headers['authorization']).toBe('JWT new');
  });

  test('a stored token that somebody renews is picked up at every 401', async () => {
    let stored = 1;
    const tokens = {
      get: async () => `token-${stored}`,
      renew: async (refused: string) => (refused === `token-${stored}` ? undefined : `token-${stored}`),
    };
    const expired: Behaviour = (socket) => {
      stored++;
      sendStatus(socket, 401);
    };
    const got = await followInTurn((clock) => [standing(clock, 1), expired, standing(clock, 1), expired, good], {
      tokens,
    });
    expect(got.requests.map(({ headers }) => headers['authorization'])).toEqual([
      ...['JWT token-1', 'JWT token-1', 'JWT token-2', 'JWT token-2', 'JWT token-3'],
    ]);
  });
});

describe('the date is set', () => {
  const HOUR_MS = 3_600_000;

  test('back by an hour while the stream stands: silence is seen as before, nothing is negative', async () => {
    const got = await followInTurn((clock) => [
      (socket) => {
        sendStream(socket, 'data: x\n\n');
        clock.after(10_000, () => clock.setWall(-HOUR_MS));
      },
    ]);
    expect(storyOf(got)).toEqual(['open', 'message', 'lost idle', 'open', 'gap idle', 'message']);
    const [gap] = gapsOf(got);
    expect(gap?.durationMs).toBeGreaterThanOrEqual(90_000);
    expect(gap?.durationMs).toBeLessThan(100_000);
    expect((gap?.atMs ?? 0) - (gap?.fromWallMs ?? 0)).toBe(gap?.durationMs);
  });

  test('back by an hour during a pause: the pause does not grow, and the gap has its true length', async () => {
    const got = await followInTurn((clock) => [
      standing(clock, 1),
      (socket) => {
        sendStatus(socket, 503, { 'Retry-After': '20' });
        clock.after(1_000, () => clock.setWall(-HOUR_MS));
      },
    ]);
    const [gap] = gapsOf(got);
    expect(gap?.durationMs).toBeGreaterThan(20_000);
    expect(gap?.durationMs).toBeLessThan(30_000);
    expect(resyncsOf(got).every(({ atMs, sinceWallMs = atMs }) => sinceWallMs <= atMs)).toBe(true);
  });

  test('back by an hour: --give-up-after still holds', async () => {
    const clock = openFastClock();
    clock.after(20_000, () => clock.setWall(-HOUR_MS));
    const got = await withPush(
      (socket) => sendStatus(socket, 503),
      (server) => follow(server.url, { until: isClosed, clock, giveUpAfterMs: 60_000 }),
    );
    clock.stop();
    expect(endOf(got)?.error.message).toMatch(/^gave up after 6\d s/);
    expect(endOf(got)?.monotonicMs).toBeLessThan(100_000);
  });

  test('forward by an hour, as by a sleep that the monotonic clock does not know: the gap counts it', async () => {
    const got = await followInTurn((clock) => [
      (socket) => {
        sendStream(socket, 'data: x\n\n');
        clock.after(10_000, () => clock.setWall(HOUR_MS));
      },
    ]);
    expect(storyOf(got)).toEqual(['open', 'message', 'lost idle', 'open', 'gap idle', 'message']);
    const [gap] = gapsOf(got);
    expect(gap?.durationMs).toBeGreaterThan(HOUR_MS);
    expect(gap?.durationMs).toBeLessThan(HOUR_MS + 110_000);
  });

  test('forward by an hour during an outage: --give-up-after counts the time in which it was tried', async () => {
    const clock = openFastClock();
    clock.after(5_000, () => clock.setWall(HOUR_MS));
    const got = await withPush(
      inTurn((socket) => sendStatus(socket, 503, { 'Retry-After': '30' }), good),
      (server) => follow(server.url, { until: isGood, clock, giveUpAfterMs: 60_000 }),
    );
    clock.stop();
    expect(storyOf(got)).toEqual(['lost status', 'open', 'message']);
  });
});

describe('what a service says about pauses', () => {
  test.each([
    ['retry: of years', (socket) => socket.end(`${STREAM_HEAD}retry: 99999999999\n\n`), 99_999_999_999],
    ['retry: beyond all numbers', (socket) => socket.end(`${STREAM_HEAD}retry: ${'9'.repeat(400)}\n\n`), 2 ** 53 - 1],
    ['Retry-After: an hour', (socket) => sendStatus(socket, 503, { 'Retry-After': '3600' }), 3_600_000],
  ] satisfies [string, Behaviour, number][])('%s: five minutes at most, and said', async (_name, behaviour, asked) => {
    const got = await followInTurn(() => [behaviour], { until: (followed) => lossesOf(followed).length > 0 });
    const [loss] = lossesOf(got);
    expect(loss?.retryInMs).toBeLessThanOrEqual(300_000);
    expect(loss?.retryInMs).toBeGreaterThan(269_000);
    expect(loss?.cappedFromMs).toBe(asked);
  });

  test('a date in Retry-After is compared with the Date of the answer, not with a clock that may be wrong', async () => {
    const date = (seconds: number) => new Date(Date.UTC(2020, 0, 1) + seconds * 1000).toUTCString();
    const got = await followInTurn(
      () => [(socket) => sendStatus(socket, 503, { Date: date(0), 'Retry-After': date(60) })],
      {},
    );
    expect(lossesOf(got)[0]?.retryInMs).toBeGreaterThanOrEqual(60_000);
    expect(lossesOf(got)[0]?.retryInMs).toBeLessThan(61_000);
  });
});

describe('a refusal that may pass', () => {
  test.each([400, 404, 410, 412, 422])(
    '%d on a return is tried without the last id before it counts',
    async (status) => {
      const got = await followInTurn((clock) => [
        standing(clock, 1, 'id: 7\ndata: x\n\n'),
        (socket, { headers }) =>
          headers['last-event-id'] === '7' ? sendStatus(socket, status) : sendStream(socket, 'data: good\n\n'),
      ]);
      expect(got.requests.map(({ headers }) => headers['last-event-id'])).toEqual([undefined, '7', undefined]);
      expect(storyOf(got)).toEqual(['open', 'message', 'lost ended', 'open', 'gap ended', 'message']);
      expect(gapsOf(got)[0]?.replayed).toBe(false);
    },
  );

  test('when it is refused without the id too, that is final', async () => {
    const refuse: Behaviour = (socket) => sendStatus(socket, 404);
    const got = await followInTurn((clock) => [standing(clock, 1, 'id: 7\ndata: x\n\n'), refuse, refuse], {
      until: isClosed,
    });
    expect(storyOf(got)).toEqual(['open', 'message', 'lost ended', 'closed']);
    expect(got.requests).toHaveLength(3);
  });

  test.each([401, 403, 404])('%d after a healthy minute is tried again, and the stream comes back', async (status) => {
    const refuse: Behaviour = (socket) => sendStatus(socket, status);
    const got = await followInTurn((clock) => [standing(clock, 80), refuse, refuse, refuse]);
    expect(storyOf(got)).toEqual([
      ...['open', 'message', 'lost ended', 'lost status', 'lost status', 'lost status'],
      ...['open', 'gap ended', 'message'],
    ]);
  });

  test.each([403, 404])('%d after a healthy minute is final when it lasts for a minute', async (status) => {
    const clock = openFastClock();
    const got = await withPush(
      inTurn(standing(clock, 80), (socket) => sendStatus(socket, status)),
      (server) => follow(server.url, { until: isClosed, clock }),
    );
    clock.stop();
    expect(endOf(got)?.error.status).toBe(status);
    const lostAt = lossesOf(got)[0]?.monotonicMs ?? 0;
    expect((endOf(got)?.monotonicMs ?? 0) - lostAt).toBeGreaterThanOrEqual(60_000);
    expect((endOf(got)?.monotonicMs ?? 0) - lostAt).toBeLessThan(100_000);
  });

  test.each([400, 410])('%d after a healthy minute is final at once', async (status) => {
    const got = await followInTurn((clock) => [standing(clock, 80), (socket) => sendStatus(socket, status)], {
      until: isClosed,
    });
    expect(storyOf(got)).toEqual(['open', 'message', 'lost ended', 'closed']);
  });

  test('an error whose body never ends keeps its status', async () => {
    const got = await followInTurn(
      () => [(socket) => void socket.write('HTTP/1.1 404 Not Found\r\nContent-Length: 1000\r\n\r\n{"detail":')],
      { until: isClosed },
    );
    expect(endOf(got)?.error.status).toBe(404);
  });
});

describe('what was missed', () => {
  const IDS = [
    ['numbers that go on', '7', '8', true],
    ['numbers that leave some out', '7', '9', false],
    ['numbers behind a word', 'a-7', 'a-8', true],
    ['numbers in another series', 'a-7', 'b-8', false],
    ['a number with more digits', '9', '10', true],
    ['no numbers: nobody knows', 'abc', 'xyz', false],
  ] as const;
  test.each(IDS)('%s: replayed is told by the ids', async (_name, last, first, replayed) => {
    const got = await followInTurn((clock) => [
      standing(clock, 1, `id: ${last}\ndata: x\n\n`),
      (socket) => sendStream(socket, `id: ${first}\ndata: good\n\n`),
    ]);
    expect(storyOf(got)).toEqual(['open', 'message', 'lost ended', 'open', 'gap ended', 'message']);
    expect(gapsOf(got)[0]?.replayed).toBe(replayed);
  });

  test('an event that was cut off and replayed by its id is not dropped', async () => {
    const got = await followInTurn(() => [
      (socket) => socket.end(`${STREAM_HEAD}id: 1\ndata: x\n\nid: 2\ndata: ha`),
      (socket) => sendStream(socket, 'id: 2\ndata: half\n\ndata: good\n\n'),
    ]);
    expect(got.data).toEqual(['x', 'half', 'good']);
    expect(gapsOf(got)).toMatchObject([{ cause: 'cut-off', replayed: true, droppedEvents: 0 }]);
  });

  test('an event that was cut off and did not come again is dropped', async () => {
    const got = await followInTurn(() => [
      (socket) => socket.end(`${STREAM_HEAD}id: 1\ndata: x\n\nid: 2\ndata: ha`),
      (socket) => sendStream(socket, 'id: 5\ndata: good\n\n'),
    ]);
    expect(gapsOf(got)).toMatchObject([{ cause: 'cut-off', replayed: false, droppedEvents: 1 }]);
  });

  test('a service that says nothing after the return: not replayed, and the resync begins with the gap', async () => {
    const got = await followInTurn(
      (clock) => [standing(clock, 1, 'id: 1\ndata: x\n\n'), (socket) => sendStream(socket, ':\n\n')],
      { until: (followed) => resyncsOf(followed).length === 2 },
    );
    expect(got.story.slice(-3)).toEqual(['open', 'gap ended', 'resync']);
    expect(gapsOf(got)[0]?.replayed).toBe(false);
    expect(resyncsOf(got)[1]).toMatchObject({ sinceWallMs: gapsOf(got)[0]?.fromWallMs });
  });

  test('a giant comment is no lost event', async () => {
    const giant = `:${'c'.repeat(20 * 1024 * 1024)}\n\n`;
    const got = await followInTurn(() => [(socket) => sendStream(socket, `data: x\n\n${giant}data: good\n\n`)]);
    expect(got.data).toEqual(['x', 'good']);
    expect(gapsOf(got)).toEqual([]);
  });

  test('a comment that is cut off is no lost event', async () => {
    const got = await followInTurn(() => [(socket) => socket.end(`${STREAM_HEAD}data: x\n\n:${'c'.repeat(100_000)}`)]);
    expect(gapsOf(got)).toMatchObject([{ cause: 'ended', droppedEvents: 0 }]);
  });
});

describe('many topics', () => {
  test('Node warns of no leak', async () => {
    const warnings: Error[] = [];
    const onWarning = (warning: Error) => warnings.push(warning);
    process.on('warning', onWarning);
    await withPush(good, async (server) => {
      const topics = Array.from({ length: 40 }, (_, index) => `topic-${index}`);
      const got = await follow(server.url, {
        subscriptions: topics.map((topic) => ({ topic, url: new URL(`/subscribe/${topic}/`, server.url) })),
        until: ({ data }) => data.length === topics.length,
      });
      expect(got.data).toHaveLength(40);
    });
    await new Promise((resolve) => setImmediate(resolve));
    process.off('warning', onWarning);
    expect(warnings).toEqual([]);
  });
});

describe('the end comes at once', () => {
  const CASES: readonly [string, Partial<{ tokens: Tokens; room: () => Promise<void> | undefined; url: string }>][] = [
    ['while a token hangs', { tokens: { get: never, renew: never } }],
    ['while the reader is held up for ever', { room: () => never<void>() }],
    ['while an address takes no connection', { url: 'http://192.0.2.1:9/' }],
    ['while the stream stands', {}],
  ];
  test.each(CASES)('%s', async (_name, { url, ...options }) => {
    await withPush(good, async (server) => {
      const network = await openNetwork({}, 10_000);
      const stop = new AbortController();
      const events: StreamEvent[] = [];
      const following = followStream({
        subscriptions: [{ topic: 't', url: new URL('/subscribe/t/', url ?? server.url) }],
        apiVersion: '1.0',
        timeoutMs: 30_000,
        idleMs: 90_000,
        network,
        tokens: { get: token, renew: async () => undefined },
        secrets: NO_SECRETS,
        clock: systemClock(),
        signal: stop.signal,
        emit: (event) => events.push(event),
        room: () => undefined,
        log: { request() {}, response() {} },
        ...options,
      });
      await new Promise((resolve) => setTimeout(resolve, 100));
      const startedAt = performance.now();
      stop.abort(new FleetError('interrupted', 'enough'));
      await following;
      expect(performance.now() - startedAt).toBeLessThan(5_000);
      const count = events.length;
      await new Promise((resolve) => setTimeout(resolve, 50));
      expect(events).toHaveLength(count);
      await network.close();
    });
  });
});
