// Follows a push server in a test and records the events.

import { type Network, openNetwork } from '../../src/http/network.js';
import type { Closed, Gap, Lost, Resync, StreamEvent } from '../../src/http/stream/events.js';
import { openQueue } from '../../src/http/stream/queue.js';
import { followStream, type StreamOptions } from '../../src/http/stream.js';
import type { Tokens } from '../../src/http/types.js';
import { openSecrets } from '../../src/system/secrets.js';
import { type FastClock, openFastClock } from './fast-clock.js';
import { withHostile } from './hostile.js';
import { type Behaviour, inTurn, type MisbehavingServer, sendStream } from './misbehaving.js';

export interface Followed {
  events: StreamEvent[];
  /** The data of all messages. */
  data: string[];
  /** The types of the events in order; `lost` and `gap` with their cause. */
  story: string[];
}

const TOPIC = '/org/admin/bicycles/*';

/** The settings of a test. Settings that are not given have harmless values. */
export type FollowOptions = Partial<StreamOptions> & {
  /** Stops following when it returns true; called after each event. */
  until(followed: Followed): boolean;
};

/** Default options for tests of a stream. */
export const streamOptions = (network: Network) => ({
  apiVersion: '1.0',
  timeoutMs: 30_000,
  idleMs: 90_000,
  network,
  tokens: { get: async () => 'token', renew: async () => undefined } as Tokens,
  secrets: openSecrets(),
  room: (): Promise<void> | undefined => undefined,
  log: { request() {}, response() {} },
});

/**
 * Follows the server with a fast clock until the test has its events or the stream is closed
 * permanently.
 */
export async function follow(url: string, { until, ...options }: FollowOptions): Promise<Followed> {
  const ownClock = options.clock === undefined ? openFastClock() : undefined;
  const clock = options.clock ?? ownClock;
  if (clock === undefined) throw new Error('there is always a clock');
  const network = await openNetwork({}, 10_000, openSecrets());
  const stop = new AbortController();
  const queue = openQueue<StreamEvent>();
  const following = followStream({
    ...streamOptions(network),
    subscriptions: [{ topic: TOPIC, url: new URL('/subscribe/topic/', url) }],
    clock,
    signal: stop.signal,
    emit: queue.push,
    room: queue.room,
    ...options,
  }).finally(() => queue.close());
  const followed: Followed = { events: [], data: [], story: [] };
  try {
    for await (const batch of queue.batches()) {
      const isOver = batch.some((event) => {
        followed.events.push(event);
        followed.story.push('cause' in event ? `${event.type} ${event.cause}` : event.type);
        if (event.type === 'message') followed.data.push(event.data);
        return until(followed);
      });
      if (isOver) break;
    }
  } finally {
    stop.abort(new Error('the test has what it waited for'));
    await following;
    await network.close();
    ownClock?.stop();
  }
  return followed;
}

export const good: Behaviour = (socket) => sendStream(socket, 'data: good\n\n');
export const isGood = ({ data }: Followed) => data.at(-1) === 'good';

export type FollowedInTurn = Followed & { requests: MisbehavingServer['requests'] };

/**
 * Follows a server until the last message arrives. Its connections behave as listed, and the last
 * connection is correct. Each pause has its maximum length.
 */
export async function followInTurn(
  behaviours: (clock: FastClock) => readonly Behaviour[],
  options: Partial<FollowOptions> = {},
): Promise<FollowedInTurn> {
  const clock = { ...openFastClock(), random: () => 1 };
  try {
    return await withHostile(inTurn(...behaviours(clock), good), async (server) => {
      const followed = await follow(server.url, { until: isGood, clock, ...options });
      return { ...followed, requests: server.requests };
    });
  } finally {
    clock.stop();
  }
}

/** Sends an event and ends the connection after this many seconds. */
export const standing =
  (clock: FastClock, seconds: number, body = 'data: x\n\n'): Behaviour =>
  (socket) => {
    sendStream(socket, body);
    clock.after(seconds * 1000, () => socket.end());
  };

export const lossesOf = ({ events }: Followed): Lost[] =>
  events.filter((event) => event.type === 'lost');
export const gapsOf = ({ events }: Followed): Gap[] =>
  events.filter((event) => event.type === 'gap');
export const resyncsOf = ({ events }: Followed): Resync[] =>
  events.filter((event) => event.type === 'resync');
export const endOf = ({ events }: Followed): Closed | undefined =>
  events.find((event) => event.type === 'closed');

/** Returns the events without `resync`, because its position depends on the timing of messages. */
export const told = ({ story }: Followed): string =>
  story.filter((type) => type !== 'resync').join(', ');
