// What a follower reads, and when: a connection that is late hides nothing.

import { expect, test } from 'vitest';
import type { Bicycle } from '../../src/api/bicycle.js';
import type { Moment } from '../../src/clock.js';
import { FleetError } from '../../src/errors.js';
import type { FollowerOutput } from '../../src/follower/events.js';
import { Follower } from '../../src/follower/follower.js';
import { MemoryStore } from '../../src/follower/store.js';

const START_MS = Date.UTC(2026, 10, 21, 12);

const at = (seconds: number): Moment => ({ monotonicMs: seconds * 1000, wallMs: START_MS + seconds * 1000 });
const bicycle = (state: string, seconds: number): Bicycle => ({
  uuid: 'a',
  state,
  modified: new Date(START_MS + seconds * 1000).toISOString(),
});
const itemOf = (value: Bicycle) => ({ json: JSON.stringify(value), value });

test.each([
  ['a topic that is refused at first', ['t']],
  ['the second of two topics, which is slow', ['u', 't']],
])('what changed between the first reading and the connection of %s is looked up', (_what, topics) => {
  const log: FollowerOutput[] = [];
  const options = { topics: new Map(topics.map((topic) => [topic, ''])), organizations: ['o'], bicycles: undefined };
  const onOutput = (output: FollowerOutput) => void log.push(output);
  const follower = new Follower({ ...options, mostPages: 5, isWhole: true }, new MemoryStore(), at(0), onOutput);
  const happened = (topic: string, seconds: number) => ({
    topic,
    atMs: at(seconds).wallMs,
    monotonicMs: seconds * 1000,
  });
  const connect = (topic: string, seconds: number) => {
    follower.take({ type: 'open', ...happened(topic, seconds), isReturn: false, trace: {} }, at(seconds));
    follower.take({ type: 'resync', ...happened(topic, seconds + 1), sinceWallMs: undefined }, at(seconds + 1));
  };
  if (topics.length > 1) connect('u', 0);
  else {
    const failed = {
      cause: 'network',
      lastLifeWallMs: undefined,
      blindMs: 0,
      attempt: 1,
      retryInMs: 1000,
    } as const;
    const error = new FleetError('network', 'connection refused');
    follower.take({ type: 'lost', ...happened('t', 1), ...failed, error }, at(1));
  }
  expect(log.some(({ type }) => type === 'read-whole')).toBe(true);
  const page = { items: [itemOf(bicycle('available', -60))], count: 1, isLast: true, askedAt: 0 };
  follower.take({ type: 'whole-page', id: 1, ...page }, at(2));
  expect(follower.known.get('a')?.state).toBe('available');
  // Rented at 5, while the topic is not connected.
  connect('t', 9);
  expect(log.at(-1)).toMatchObject({ type: 'read-page', organization: 'o' });
  const answer = { count: 1, items: [itemOf(bicycle('rented', 5))], next: undefined, trace: {} };
  follower.take({ type: 'page', id: 1, page: answer }, at(11));
  expect(follower.known.get('a')?.state).toBe('rented');
  expect(log.find(({ type }) => type === 'read')).toMatchObject({ report: { changes: 1, isComplete: true } });
});
