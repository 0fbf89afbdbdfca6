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

test('what the first list did not show yet, and nobody pushed since, is found by the next comparison', () => {
  const log: FollowerOutput[] = [];
  const options = {
    topics: new Map([['t', '']]),
    organizations: ['o'],
    bicycles: undefined,
    mostPages: 5,
    isWhole: true,
  };
  const follower = new Follower(options, new MemoryStore(), at(0), (output) => void log.push(output));
  const open = { type: 'open', topic: 't', atMs: at(0).wallMs, monotonicMs: 0, isReturn: false, trace: {} } as const;
  follower.take(open, at(0));
  // Rented two seconds before the connection: the replica that answers is three seconds behind.
  const page = { items: [itemOf(bicycle('available', -60))], count: 1, isLast: true, askedAt: 0 };
  follower.take({ type: 'whole-page', id: 1, ...page }, at(1));
  follower.take({ type: 'tick' }, at(299));
  expect(log.at(-1)?.type).toBe('counted');
  follower.take({ type: 'tick' }, at(300));
  expect(log.at(-1)).toEqual({ type: 'read-page', id: 1, organization: 'o', next: undefined });
  const answer = { count: 1, items: [itemOf(bicycle('rented', -2))], next: undefined, trace: {} };
  follower.take({ type: 'page', id: 1, page: answer }, at(301));
  expect(follower.known.get('a')?.state).toBe('rented');
  expect(log.at(-1)).toMatchObject({ type: 'read', report: { changes: 1, isComplete: true } });
});

/** A follower that knows these bicycles of `o` and `p`, was cut off for a while, and has asked for what changed. */
function openAfterGap(uuids: readonly string[]) {
  const log: FollowerOutput[] = [];
  const options = { topics: new Map([['t', 'o']]), organizations: ['o', 'p'], bicycles: undefined };
  const onOutput = (output: FollowerOutput) => void log.push(output);
  const follower = new Follower({ ...options, mostPages: 5, isWhole: true }, new MemoryStore(), at(0), onOutput);
  const named = (uuid: string, seconds = -60) => itemOf({ ...bicycle('available', seconds), uuid });
  follower.remember(
    uuids.map((uuid) => named(uuid).value),
    0,
    at(0),
  );
  const happened = (seconds: number) => ({ topic: 't', atMs: at(seconds).wallMs, monotonicMs: seconds * 1000 });
  follower.take({ type: 'open', ...happened(1), isReturn: false, trace: {} }, at(1));
  follower.take({ type: 'resync', ...happened(2), sinceWallMs: at(0).wallMs }, at(2));
  let id = 0;
  const page = (seconds: number, ...items: readonly string[]) => {
    const asked = log.findLast((output) => output.type === 'read-page');
    id = asked?.id ?? id;
    const answer = { count: items.length, items: items.map((uuid) => named(uuid)), next: undefined, trace: {} };
    follower.take({ type: 'page', id, page: answer }, at(seconds));
  };
  const wholePage = (seconds: number, ...items: readonly string[]) => {
    const asked = log.findLast((output) => output.type === 'read-whole');
    const answer = { items: items.map((uuid) => named(uuid)), count: items.length, isLast: true, askedAt: 0 };
    follower.take({ type: 'whole-page', id: asked?.id ?? 0, ...answer }, at(seconds));
  };
  const reports = () => log.flatMap((output) => (output.type === 'read' ? [output.report] : []));
  const gone = () => log.flatMap((output) => (output.type === 'gone' ? [output.uuid] : []));
  return { follower, page, wholePage, reports, gone };
}

test('a bicycle that two organizations list, since it moved between them meanwhile, does not stand for one that left', () => {
  const { follower, page, wholePage, reports, gone } = openAfterGap(['a', 'b']);
  // `b` has left; `a` moved from `o` to `p` between the two pages: both count one.
  page(3, 'a');
  page(4, 'a');
  // The counts again, before and after the pause.
  page(5);
  page(5, 'a');
  expect(reports()).toEqual([]);
  follower.take({ type: 'tick' }, at(7));
  for (const seconds of [7, 8]) {
    page(seconds);
    page(seconds, 'a');
  }
  for (const seconds of [10, 12]) {
    wholePage(seconds);
    wholePage(seconds + 1, 'a');
  }
  expect([gone(), reports()]).toEqual([['b'], [expect.objectContaining({ gone: 1, isComplete: true })]]);
});

test('a bicycle that leaves between the two readings of the whole list keeps it from being complete', () => {
  const { page, wholePage, reports, gone } = openAfterGap(['a', 'b', 'c']);
  page(3, 'a', 'b');
  page(4);
  page(4, 'a', 'b');
  page(4);
  wholePage(5, 'a', 'b');
  wholePage(6);
  wholePage(7, 'a');
  wholePage(8);
  expect([gone(), reports()]).toEqual([['c'], []]);
  for (const seconds of [9, 11]) {
    wholePage(seconds, 'a');
    wholePage(seconds + 1);
  }
  expect([gone(), reports()]).toEqual([['c', 'b'], [expect.objectContaining({ gone: 2, isComplete: true })]]);
});
