// Tests what a follower reads and when, for example after a late connection.

import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import type { Bicycle } from '../../src/api/bicycle.js';
import { FleetError } from '../../src/errors.js';
import type { FollowerEvent, FollowerOutput } from '../../src/follower/events.js';
import { BEING_CHECKED, FOLLOWER_STATES, Follower } from '../../src/follower/follower.js';
import { MemoryStore } from '../../src/follower/memory-store.js';
import type { Moment } from '../../src/system/clock.js';

const START_MS = Date.UTC(2026, 10, 21, 12);
/** The machine of this test is this many seconds behind the service. */
const SLOW_S = 1_200;
const CUT = new FleetError('network', 'cut');

const at = (seconds: number): Moment => ({
  monotonicMs: seconds * 1000,
  wallMs: START_MS + seconds * 1000,
});
const bicycle = (state: string, seconds: number): Bicycle => ({
  uuid: 'a',
  state,
  modified: isoAt(seconds),
});
const isoAt = (seconds: number) => new Date(START_MS + seconds * 1000).toISOString();
const named = (uuid: string): Bicycle => ({ ...bicycle('available', -60), uuid });

/** Creates a follower of these topics that the test controls, and records its effects. */
function openFollower(topics: readonly string[], organizations: readonly string[] = ['o']) {
  const log: FollowerOutput[] = [];
  const followed = {
    topics: new Map(topics.map((topic) => [topic, 'o'])),
    organizations,
    bicycles: undefined,
  };
  const onOutput = (output: FollowerOutput) => void log.push(output);
  const follower = new Follower(
    { ...followed, mostPages: 5, isWhole: true },
    new MemoryStore(),
    at(0),
    onOutput,
  );
  const take = (event: FollowerEvent, seconds: number) => follower.take(event, at(seconds));
  const happened = (topic: string, seconds: number) => ({
    topic,
    atMs: at(seconds).wallMs,
    monotonicMs: seconds * 1000,
  });
  const requests = () =>
    log.filter((output) => output.type === 'read-page' || output.type === 'read-whole');
  /** Answers the last request of a kind. */
  const answer = (type: 'read-page' | 'read-whole', values: readonly Bicycle[]) => ({
    id: requests().findLast((request) => request.type === type)?.id ?? 0,
    count: values.length,
    items: values.map((value) => ({ json: JSON.stringify(value), value })),
  });
  return {
    ...{ follower, log, happened, take },
    /** `downMs`: the length of the silence; undefined before the first connection. */
    lose(topic: string, seconds: number, downMs?: number) {
      const lastLifeWallMs = downMs === undefined ? undefined : at(seconds).wallMs - downMs;
      const lost = {
        cause: 'network',
        lastLifeWallMs,
        downMs: downMs ?? 0,
        attempt: 1,
        retryInMs: 1000,
      } as const;
      take({ type: 'lost', ...happened(topic, seconds), ...lost, error: CUT }, seconds);
    },
    lastId: () => requests().at(-1)?.id ?? 0,
    connect(topic: string, seconds: number, sinceWallMs?: number, serviceMs?: number) {
      const open = { ...happened(topic, seconds), isReturn: false, trace: {}, serviceMs };
      take({ type: 'open', ...open }, seconds);
      if (sinceWallMs !== undefined) {
        const times = { fromWallMs: sinceWallMs, durationMs: at(seconds).wallMs - sinceWallMs };
        const gap = {
          cause: 'network',
          message: 'cut',
          replayed: false,
          droppedEvents: 0,
        } as const;
        take({ type: 'gap', ...happened(topic, seconds), ...gap, ...times }, seconds);
      }
      take({ type: 'resync', ...happened(topic, seconds + 1), sinceWallMs }, seconds + 1);
    },
    page(seconds: number, ...values: readonly Bicycle[]) {
      const { id, ...page } = answer('read-page', values);
      take({ type: 'page', id, page: { ...page, next: undefined, trace: {} } }, seconds);
    },
    /** A page that is not the last one. */
    pageWithNext(seconds: number, ...values: readonly Bicycle[]) {
      const { id, ...page } = answer('read-page', values);
      take({ type: 'page', id, page: { ...page, count: 2, next: [], trace: {} } }, seconds);
    },
    wholePage: (seconds: number, ...values: readonly Bicycle[]) =>
      take(
        { type: 'whole-page', ...answer('read-whole', values), isLast: true, askedAt: 0 },
        seconds,
      ),
    state: () => follower.known.get('a')?.state,
    reports: () => log.flatMap((output) => (output.type === 'read' ? [output.report] : [])),
    gone: () => log.flatMap((output) => (output.type === 'gone' ? [output.uuid] : [])),
  };
}

test("the follower's transitions match the diagram in CONTRIBUTING.md", () => {
  const { follower, take, connect, lose, page, wholePage, happened } = openFollower(['t']);
  const states: string[] = [follower.state];
  const note = () => states.push(follower.state);
  connect('t', 0);
  note();
  wholePage(2, named('a'));
  note();
  lose('t', 20, 5_000);
  note();
  take({ type: 'open', ...happened('t', 30), isReturn: true, trace: {} }, 30);
  note();
  connect('t', 31, at(15).wallMs);
  note();
  page(33, named('a'));
  note();
  take({ type: 'tick' }, 70);
  note();
  page(71, named('a'));
  note();
  take({ type: 'tick' }, 600);
  note();
  page(601, named('a'));
  note();
  expect(states).toEqual([
    'starting',
    'readingWhole',
    'following',
    'disconnected',
    'behind',
    'catchingUp',
    'awaitingSecondLook',
    'catchingUp',
    'following',
    'comparing',
    'following',
  ]);
  const guide = readFileSync(new URL('../../CONTRIBUTING.md', import.meta.url), 'utf8');
  const [, diagram = ''] = /```mermaid\nstateDiagram-v2\n([^`]*)```/.exec(guide) ?? [];
  const edges = [...diagram.matchAll(/^ *(\S+) --> (\w+)(?:: .*)?$/gm)].map(
    ([, from = '', to = '']) => [from, to] as const,
  );
  const names = new Set(edges.flat().filter((name) => name !== '[*]'));
  expect([...names].sort()).toEqual([...FOLLOWER_STATES].sort());
  const drawn = edges.map((edge) => edge.join(' --> '));
  const walked = states.slice(1).map((state, index) => `${states[index]} --> ${state}`);
  expect(walked.filter((edge) => !drawn.includes(edge))).toEqual([]);
});

test.each([
  ['a topic that is refused at first', ['t']],
  ['the second of two topics, which is slow', ['u', 't']],
])('finds a change after the first list and before connecting to %s', (_what, topics) => {
  const { log, connect, lose, page, wholePage, state, reports } = openFollower(topics);
  if (topics.length > 1) connect('u', 0);
  else lose('t', 1);
  expect(log.some(({ type }) => type === 'read-whole')).toBe(true);
  wholePage(2, bicycle('available', -60));
  expect(state()).toBe('available');
  // Rented at second 5, before the topic is connected.
  connect('t', 9);
  expect(log.at(-1)).toMatchObject({ type: 'read-page', organization: 'o' });
  page(11, bicycle('rented', 5));
  expect([state(), reports()]).toEqual([
    'rented',
    [expect.objectContaining({ changes: 1, isComplete: false, reason: BEING_CHECKED })],
  ]);
});

test('the next comparison finds changes that the first list and the messages missed', () => {
  const { log, happened, take, page, wholePage, state } = openFollower(['t']);
  take({ type: 'open', ...happened('t', 0), isReturn: false, trace: {} }, 0);
  // Rented two seconds before the connection; the answering replica is three seconds behind.
  wholePage(1, bicycle('available', -60));
  take({ type: 'tick' }, 299);
  expect(log.at(-1)?.type).toBe('counted');
  take({ type: 'tick' }, 300);
  expect(log.at(-1)).toEqual({ type: 'read-page', id: 1, organization: 'o', next: undefined });
  page(301, bicycle('rented', -2));
  expect(state()).toBe('rented');
  expect(log.at(-1)).toMatchObject({ type: 'read', report: { changes: 1, isComplete: true } });
});

/** A page with a next page. */
const pageBefore = (count: number, ...values: readonly Bicycle[]) => {
  const items = values.map((value) => ({ json: JSON.stringify(value), value }));
  return { items, count, next: [['page', '2']] as [string, string][], trace: {} };
};

test('reads the whole list after a gap when the system clock is an hour ahead', () => {
  const { log, happened, lose, take, wholePage, lastId, state } = openFollower(['t']);
  const changed = (uuid: string, to: string, seconds: number) => ({
    ...bicycle(to, seconds - 3_600),
    uuid,
  });
  lose('t', 1);
  wholePage(2, ...[...'abc'].map((uuid) => changed(uuid, 'available', -60)));
  // All are rented before the topic is connected, an hour ago by the machine's clock.
  take({ type: 'open', ...happened('t', 9), isReturn: false, trace: {} }, 9);
  take({ type: 'resync', ...happened('t', 9), sinceWallMs: undefined }, 9);
  take(
    {
      type: 'page',
      id: lastId(),
      page: pageBefore(3, changed('c', 'rented', 5), changed('b', 'rented', 4)),
    },
    10,
  );
  expect(log.at(-1)).toMatchObject({ type: 'read-page', next: [['page', '2']] });
  take(
    {
      type: 'page',
      id: lastId(),
      page: { ...pageBefore(3, changed('a', 'rented', 3)), next: undefined },
    },
    11,
  );
  expect([state(), log.at(-1)]).toMatchObject([
    'rented',
    { type: 'read', report: { changes: 3, isComplete: false, reason: BEING_CHECKED } },
  ]);
});

/** Answers the request for a page with one bicycle; a cache kept it for `ageMs`. */
function takeList(
  opened: ReturnType<typeof openFollower>,
  seconds: number,
  item: Bicycle,
  ageMs = 0,
) {
  const items = [{ json: JSON.stringify(item), value: item }];
  const dated = { dateMs: undefined, ageMs };
  const page = { items, count: 1, next: undefined, trace: {}, dated };
  opened.take({ type: 'page', id: opened.lastId(), page }, seconds);
}

test('does not treat a cached list as changed when the clock lags', () => {
  const opened = openFollower(['t']);
  const { follower, log, happened, take, connect, lose, wholePage, reports } = opened;
  const caughtUp = () => log.filter(({ type }) => type === 'caught-up').length;
  connect('t', 0);
  wholePage(1, bicycle('available', 3_540));
  const rented = bicycle('rented', 3_605);
  expect(follower.merge('a', rented, happened('t', 5)).kind).toBe('update');
  lose('t', 10, 1_000);
  connect('t', 11, at(9).wallMs);
  takeList(opened, 13, bicycle('available', 3_540), 30_000);
  take({ type: 'tick' }, 15);
  takeList(opened, 16, rented);
  expect([opened.state(), caughtUp()]).toEqual(['rented', 0]);
  // A second look that a cache answers does not replace the second look of the next gap.
  take({ type: 'tick' }, 46);
  for (const seconds of [47, 50, 53]) {
    takeList(opened, seconds, rented, 30_000);
    take({ type: 'tick' }, seconds + 2);
  }
  for (const seconds of [56, 59]) {
    wholePage(seconds, rented);
    take({ type: 'tick' }, seconds + 1);
  }
  lose('t', 90, 1_000);
  connect('t', 91, at(89).wallMs);
  takeList(opened, 103, rented);
  expect(reports().at(-1)).toMatchObject({ isComplete: false, reason: BEING_CHECKED });
});

test.each([
  ['ends the doubt when the second look finds only a change after the first look', 40, undefined],
  ['looks again when the second look finds a change of the gap', 9, BEING_CHECKED],
])('%s', (_what, changedAt, reason) => {
  const { follower, happened, take, connect, lose, page, wholePage } = openFollower(['t']);
  const serviceMs = at(0).wallMs;
  const open = (seconds: number) =>
    take(
      {
        ...happened('t', seconds),
        ...{ type: 'open', isReturn: false, trace: {} },
        serviceMs: serviceMs + seconds * 1000,
      },
      seconds,
    );
  open(0);
  wholePage(1, bicycle('available', -60));
  lose('t', 10, 2_000);
  open(11);
  connect('t', 11, at(8).wallMs);
  page(13, bicycle('available', -60));
  expect(follower.doubt?.reason).toBe(BEING_CHECKED);
  take({ type: 'tick' }, 44);
  page(45, bicycle('rented', changedAt));
  expect(follower.doubt?.reason).toBe(reason);
});

test('a regular comparison does not replace the second look', () => {
  const { take, connect, lose, page, wholePage, reports } = openFollower(['t']);
  connect('t', 0);
  wholePage(1, bicycle('available', -60));
  lose('t', 295, 1_000);
  connect('t', 296, at(294).wallMs);
  page(298, bicycle('available', -60));
  // The comparison is due after 300 s, and waits for the pause between two readings.
  take({ type: 'tick' }, 301);
  take({ type: 'tick' }, 308);
  page(309, bicycle('available', -60));
  expect(reports().map(({ reason }) => reason)).toEqual([BEING_CHECKED]);
  take({ type: 'tick' }, 329);
  page(330, bicycle('available', -60));
  expect(reports().map(({ isComplete }) => isComplete)).toEqual([false, true]);
});

test('the retry of a second look is the first look after another gap', () => {
  const { take, connect, lose, page, wholePage, reports, lastId } = openFollower(['t']);
  connect('t', 0);
  wholePage(1, bicycle('available', -60));
  lose('t', 10, 1_000);
  connect('t', 11, at(9).wallMs);
  page(13, bicycle('available', -60));
  take({ type: 'tick' }, 43);
  take({ type: 'failed', id: lastId(), error: new FleetError('service', 'HTTP 503') }, 44);
  lose('t', 50, 1_000);
  connect('t', 80, at(49).wallMs);
  page(82, bicycle('available', -60));
  expect(reports().map(({ reason }) => reason)).toEqual([BEING_CHECKED, BEING_CHECKED]);
});

test('a second look that is due during another gap becomes its first look', () => {
  const { take, connect, lose, page, wholePage, reports, log } = openFollower(['t']);
  connect('t', 0);
  wholePage(1, bicycle('available', -60));
  lose('t', 10, 1_000);
  connect('t', 11, at(9).wallMs);
  page(13, bicycle('available', -60));
  lose('t', 40, 1_000);
  take({ type: 'tick' }, 45);
  connect('t', 60, at(39).wallMs);
  page(62, bicycle('available', -60));
  expect(reports().map(({ reason }) => reason)).toEqual([BEING_CHECKED, BEING_CHECKED]);
  expect(log.filter(({ type }) => type === 'read-page').length).toBe(2);
});

test('looks again when only the whole list showed all changes of a gap', () => {
  const { take, connect, lose, pageWithNext, wholePage, reports } = openFollower(['t']);
  const readAll = (seconds: number) => {
    for (let page = 0; page < 5; page++) pageWithNext(seconds, bicycle('available', seconds));
    wholePage(seconds + 1, bicycle('available', seconds), named('b'));
  };
  connect('t', 0);
  wholePage(1, named('a'), named('b'));
  lose('t', 10, 1_000);
  connect('t', 11, at(9).wallMs);
  readAll(13);
  expect(reports().at(-1)).toMatchObject({ isComplete: false, reason: BEING_CHECKED });
  take({ type: 'tick' }, 44);
  readAll(44);
  expect(reports().map(({ isComplete }) => isComplete)).toEqual([false, true]);
});

test('a comparison stays incomplete until a list proves completeness', () => {
  const { follower, take, connect, lose, page, wholePage, lastId } = openFollower(['t']);
  const doubt = () => follower.doubt?.reason;
  const fail = (type: 'failed' | 'whole-failed', seconds: number) =>
    take({ type, id: lastId(), error: new FleetError('service', 'HTTP 503') }, seconds);
  connect('t', 0);
  wholePage(1, bicycle('available', -60));
  expect(doubt()).toBeUndefined();
  lose('t', 10, 1_000);
  connect('t', 11, at(9).wallMs);
  fail('failed', 13);
  expect(doubt()).toBe('the list could not be read: HTTP 503');
  take({ type: 'tick' }, 43);
  page(44, bicycle('available', -60));
  expect(doubt()).toBe(BEING_CHECKED);
  take({ type: 'tick' }, 74);
  page(75, bicycle('available', -60));
  expect(doubt()).toBeUndefined();
});

test.each([
  ['only as far as needed when the service sends its time', at(-3_600).wallMs, 'counted'],
  ['to its end when the service does not send its time', undefined, 'read-page'],
])('with the system clock an hour ahead, reads the list %s', (_how, serviceMs, last) => {
  const { log, happened, take, wholePage, lastId } = openFollower(['t']);
  take({ type: 'open', ...happened('t', 0), isReturn: false, trace: {}, serviceMs }, 0);
  const known = [...'abc'].map((uuid, index) => ({
    ...bicycle('available', -3_609 - 90 * index),
    uuid,
  }));
  wholePage(1, ...known);
  take({ type: 'tick' }, 300);
  take({ type: 'page', id: lastId(), page: pageBefore(3, ...known) }, 301);
  expect(log.at(-1)?.type).toBe(last);
});

test('keeps the data from the first list when a repeated message is older', () => {
  const { follower, happened, take, wholePage, state } = openFollower(['t']);
  take({ type: 'open', ...happened('t', 0), isReturn: false, trace: {} }, 0);
  follower.merge('a', bicycle('rented', -600), happened('t', 1));
  wholePage(2, bicycle('available', -300));
  expect(state()).toBe('available');
  // If the message of that change arrives later, it is the first to show it.
  expect(follower.merge('a', bicycle('available', -300), happened('t', 3)).kind).toBe('update');
});

test('reads a list again when the count falls during the read', () => {
  const { follower, happened, take } = openFollower(['t']);
  take({ type: 'open', ...happened('t', 0), isReturn: false, trace: {} }, 0);
  const page = (count: number, uuids: string, isLast = false) => {
    const items = [...uuids].map((uuid) => ({ json: '', value: named(uuid) }));
    take({ type: 'whole-page', id: 1, items, count, isLast, askedAt: 0 }, 1);
  };
  // `a` is deleted after the first page and `g` is created after the second. The number is correct,
  // but `c` is missing.
  page(6, 'ab');
  page(5, 'de');
  page(6, 'fg', true);
  page(6, 'bc');
  page(6, 'de');
  page(6, 'fg', true);
  // The next comparison of the counts shows that one known bicycle is too many.
  expect([...'abcdefg'].filter((uuid) => follower.known.get(uuid) === undefined)).toEqual([]);
});

/**
 * Creates a follower that knows these bicycles of `o` and `p`, lost its connection, and has
 * requested the changes.
 */
function openAfterGap(uuids: readonly string[]) {
  const opened = openFollower(['t'], ['o', 'p']);
  opened.follower.remember(uuids.map(named), 0, at(0));
  opened.connect('t', 1, at(0).wallMs);
  return {
    ...opened,
    page: (seconds: number, ...items: readonly string[]) =>
      opened.page(seconds, ...items.map(named)),
    wholePage: (seconds: number, ...items: readonly string[]) =>
      opened.wholePage(seconds, ...items.map(named)),
  };
}

test('does not treat a bicycle that moved to another organization as deleted', () => {
  const { take, page, wholePage, reports, gone } = openAfterGap(['a', 'b']);
  // `b` was deleted and `a` moved from `o` to `p` between the two pages, so both count one.
  page(3, 'a');
  page(4, 'a');
  // The counts again, before and after the pause.
  page(5);
  page(5, 'a');
  expect(reports()).toEqual([]);
  take({ type: 'tick' }, 7);
  for (const seconds of [7, 8]) {
    page(seconds);
    page(seconds, 'a');
  }
  for (const seconds of [10, 16]) {
    take({ type: 'tick' }, seconds);
    wholePage(seconds);
    wholePage(seconds + 1, 'a');
  }
  expect([gone(), reports()]).toEqual([
    ['b'],
    [expect.objectContaining({ gone: 1, isComplete: false, reason: BEING_CHECKED })],
  ]);
});

test('reports an incomplete comparison when a bicycle disappears between two reads', () => {
  const { take, page, wholePage, reports, gone } = openAfterGap(['a', 'b', 'c']);
  page(3, 'a', 'b');
  page(4);
  page(4, 'a', 'b');
  page(4);
  wholePage(5, 'a', 'b');
  wholePage(6);
  take({ type: 'tick' }, 11);
  wholePage(11, 'a');
  wholePage(12);
  expect([gone(), reports()]).toEqual([['c'], []]);
  for (const seconds of [13, 19]) {
    take({ type: 'tick' }, seconds);
    wholePage(seconds, 'a');
    wholePage(seconds + 1);
  }
  expect([gone(), reports()]).toEqual([
    ['c', 'b'],
    [expect.objectContaining({ gone: 2, isComplete: false, reason: BEING_CHECKED })],
  ]);
});

test('marks a bicycle as gone only when two lists do not contain it', () => {
  const { follower, take, happened, page, wholePage, gone } = openAfterGap(['a', 'b']);
  for (const items of [['a'], [], ['a'], []]) page(3, ...items);
  wholePage(4, 'a');
  wholePage(4);
  take({ type: 'tick' }, 8);
  wholePage(8, 'a');
  wholePage(8);
  expect(gone()).toEqual([]);
  // The repeated message has the time of the first one.
  follower.merge('b', named('b'), happened('t', 9));
  take({ type: 'tick' }, 10);
  wholePage(10, 'a');
  wholePage(10);
  expect(gone()).toEqual(['b']);
});

test('reads the whole list after a gap when the service sends no count', () => {
  const { follower, log, happened, take, connect, lose, page, lastId, reports } = openFollower([
    't',
  ]);
  follower.remember([named('a'), named('b')], 0, at(0));
  connect('t', 1);
  page(3, named('a'), named('b'));
  take({ type: 'tick' }, 33);
  page(34, named('a'), named('b'));
  follower.merge('a', bicycle('available', 50), happened('t', 50));
  lose('t', 60, 5_000);
  connect('t', 62, at(55).wallMs);
  const items = [bicycle('available', 50), named('b')].map((value) => ({ json: '', value }));
  take(
    {
      type: 'page',
      id: lastId(),
      page: { items, count: undefined, next: [['page', '2']], trace: {} },
    },
    64,
  );
  expect([log.at(-1), reports().slice(2)]).toMatchObject([{ type: 'read-whole' }, []]);
});

test('looks for changes since the first of two topics fell silent', () => {
  const { follower, log, happened, take, connect, lose, page, lastId } = openFollower(['t', 'u']);
  follower.remember([named('a'), named('b')], 0, at(0));
  for (const topic of ['t', 'u']) connect(topic, 1);
  page(3, named('a'), named('b'));
  follower.merge('a', bicycle('available', 50), happened('t', 50));
  lose('t', 60, 5_000);
  connect('t', 62, at(55).wallMs);
  take({ type: 'failed', id: lastId(), error: CUT }, 64);
  lose('u', 70, 60_000);
  connect('u', 72, at(10).wallMs);
  take({ type: 'tick' }, 100);
  const items = [{ json: '', value: bicycle('available', 30) }];
  take(
    { type: 'page', id: lastId(), page: { items, count: 2, next: [['page', '2']], trace: {} } },
    101,
  );
  // A change at 20 on the topic that was silent from 10 on is further down in the list.
  expect(log.at(-1)).toMatchObject({ type: 'read-page', next: [['page', '2']] });
});

test('looks for missed changes after the clock was set back during downtime', () => {
  const { follower, log, happened, take, lastId } = openFollower(['t']);
  // It received everything until an hour from now by that clock.
  const heardMs = at(3_600).wallMs;
  const before = { heardMs, checkedMs: heardMs, gap: undefined, isWhole: true, proven: undefined };
  follower.resume({ ...before, modifiedMs: heardMs }, at(0));
  take(
    { type: 'open', ...happened('t', 1), isReturn: false, trace: {}, serviceMs: at(7_200).wallMs },
    1,
  );
  take({ type: 'resync', ...happened('t', 1), sinceWallMs: at(0).wallMs }, 1);
  take({ type: 'failed', id: lastId(), error: CUT }, 2);
  take({ type: 'tick' }, 40);
  const missed = { ...bicycle('rented', 5_000), uuid: 'b' };
  take({ type: 'page', id: lastId(), page: pageBefore(2, missed) }, 41);
  expect(log.at(-1)).toMatchObject({ type: 'read-page', next: [['page', '2']] });
});

test.each([
  ['a service was restored and counts from an older value', 500],
  ['one message carried the largest version', Number.MAX_SAFE_INTEGER],
])('uses the newer messages and the newer list when %s', (_what, version) => {
  const { follower, log, connect, wholePage, lose, page, happened, state, reports } = openFollower([
    't',
  ]);
  const versioned = (to: string, seconds: number, number: number): Bicycle => ({
    ...bicycle(to, seconds),
    concurrency_version: number,
  });
  const merge = (one: Bicycle, seconds: number) =>
    follower.merge('a', one, happened('t', seconds)).kind;
  connect('t', 0);
  wholePage(1, versioned('available', -60, 10));
  expect(merge(versioned('rented', 5, version), 5)).toBe('update');
  // A message out of order has a lower version and an older time.
  expect(merge(versioned('lost', 4, 11), 6)).toBe('late');
  expect(merge(versioned('available', 20, 12), 20)).toBe('update');
  expect(state()).toBe('available');
  // A message from before the restore, with the higher version, comes again.
  expect(merge(versioned('rented', 5, version), 21)).toBe('late');
  expect(state()).toBe('available');
  lose('t', 40, 10_000);
  connect('t', 50, at(30).wallMs);
  page(52, versioned('rented', 35, 3));
  expect(state()).toBe('rented');
  expect(reports().at(-1)).toMatchObject({ changes: 1, reason: BEING_CHECKED });
  const notices = log.filter((output) => output.type === 'notice' && output.event === 'versions');
  expect(notices).toHaveLength(1);
});

test('accepts a lower version after lists show it for several minutes', () => {
  const { follower, connect, wholePage, lose, page, happened, state } = openFollower(['t']);
  const versioned = (to: string, seconds: number, number: number): Bicycle => ({
    ...bicycle(to, seconds),
    concurrency_version: number,
  });
  connect('t', 0);
  wholePage(1, versioned('available', -60, 10));
  follower.merge('a', versioned('rented', 5, 500), happened('t', 5));
  // The service was restored in second 5, and its next change has the same second.
  lose('t', 20, 10_000);
  connect('t', 30, at(12).wallMs);
  page(31, versioned('lost', 5, 11));
  expect(state()).toBe('rented');
  lose('t', 190, 10_000);
  connect('t', 200, at(182).wallMs);
  page(201, versioned('lost', 5, 11));
  expect(state()).toBe('lost');
});

test('accepts a lower version when only a slow system clock is available', () => {
  const { connect, wholePage, lose, page, follower, happened, state } = openFollower(['t']);
  const versioned = (to: string, seconds: number, number: number): Bicycle => ({
    ...bicycle(to, SLOW_S + seconds),
    concurrency_version: number,
  });
  connect('t', 0);
  wholePage(1, versioned('available', -60, 10));
  follower.merge('a', versioned('rented', 5, 500), happened('t', 5));
  lose('t', 190, 10_000);
  connect('t', 200);
  page(201, versioned('lost', 30, 11));
  expect(state()).toBe('lost');
});

test('rereads the list 30 s after a gap because lists may lag', () => {
  const { follower, log, connect, wholePage, lose, page, take, state, reports } = openFollower([
    't',
  ]);
  const states = () => reports().map(({ changes, isComplete }) => [changes, isComplete]);
  connect('t', 0);
  wholePage(1, bicycle('available', -60));
  lose('t', 20, 5_000);
  connect('t', 21, at(15).wallMs);
  // The replica is older than the change at second 18.
  page(23, bicycle('available', -60));
  expect([states(), follower.isCurrent]).toEqual([[[0, false]], false]);
  expect(reports()[0]?.reason).toBe(BEING_CHECKED);

  take({ type: 'tick' }, 52);
  expect(log.at(-1)).toMatchObject({ type: 'read' });
  take({ type: 'tick' }, 53);
  page(54, bicycle('rented', 18));
  expect([state(), states().at(-1), follower.isCurrent]).toEqual(['rented', [1, false], false]);
  take({ type: 'tick' }, 113);
  expect(log.at(-1)).toMatchObject({ type: 'read' });
  take({ type: 'tick' }, 114);
  page(115, bicycle('rented', 18));
  expect([states().at(-1), follower.isCurrent]).toEqual([[0, true], true]);
});

test('finds a change that a lagging first list did not contain', () => {
  const { follower, connect, wholePage, happened, lose, pageWithNext, page, take, state } =
    openFollower(['t']);
  const other = (seconds: number) => ({ ...named('b'), modified: isoAt(seconds) });
  connect('t', 0, undefined, at(0).wallMs);
  // A replica that is older than the change one second before the start.
  wholePage(2, bicycle('available', -60), other(-90));
  follower.merge('b', other(40), happened('t', 40));
  lose('t', 50, 5_000);
  connect('t', 61, at(45).wallMs);
  // The catch-up stops before the change, because the change is older than the gap.
  for (const seconds of [63, 100]) {
    take({ type: 'tick' }, seconds - 1);
    pageWithNext(seconds, other(20));
  }
  expect([state(), follower.isCurrent]).toEqual(['available', true]);
  take({ type: 'tick' }, 303);
  pageWithNext(304, other(20));
  page(305, bicycle('rented', -1));
  expect(state()).toBe('rented');
});

test('finds a change when the first list lags by a minute', () => {
  const { connect, wholePage, pageWithNext, page, take, state } = openFollower(['t']);
  connect('t', 0, undefined, at(0).wallMs);
  wholePage(2, bicycle('available', -90), { ...named('b'), modified: isoAt(-70) });
  take({ type: 'tick' }, 303);
  pageWithNext(304, { ...named('b'), modified: isoAt(-50) });
  page(305, bicycle('rented', -60));
  expect(state()).toBe('rented');
});
