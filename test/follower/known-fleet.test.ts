// Tests the known fleet: merged messages and list comparisons by version, without duplicates or
// missed changes.

import { describe, expect, test } from 'vitest';
import type { Bicycle } from '../../src/api/bicycle.js';
import { uuidOfMessage } from '../../src/api/push.js';
import { compareTimes, KnownFleet, latestOf, NO_MARK } from '../../src/follower/known-fleet.js';
import { KNOWN_LIMIT, MemoryStore } from '../../src/follower/memory-store.js';
import { ServiceTime } from '../../src/follower/service-time.js';
import type { Moment } from '../../src/system/clock.js';

const UUID = '6f1c0b5e-2f0e-4c56-9d3a-0d6f3a1f7c11';
const OTHER = '0b0e7c1c-6d0a-4b9e-8a34-5f2d9f3a7c10';
const START_MS = Date.UTC(2026, 10, 21, 12);

/** Creates an empty fleet in memory. */
const openKnowledge = (startedAt: Moment) =>
  new KnownFleet(new MemoryStore(), new ServiceTime(startedAt));

/** Returns a moment this many seconds after noon on both clocks. */
function at(seconds: number): Moment {
  return { monotonicMs: seconds * 1000, wallMs: START_MS + seconds * 1000 };
}

/** The same moment as the service writes it, in seconds or microseconds. */
function moment(seconds: number, microseconds?: number): string {
  const whole = new Date(START_MS + seconds * 1000).toISOString().slice(0, 19);
  return microseconds === undefined
    ? `${whole}Z`
    : `${whole}.${String(microseconds).padStart(6, '0')}Z`;
}

function bicycle(seconds: number, fields: object = {}, uuid = UUID) {
  return {
    uuid,
    modified: moment(seconds),
    state: 'available',
    lock: 'https://x/locks/1/',
    ...fields,
  };
}

test.each([
  [{ topic: '/o/admin/bicycles/*', message: { uuid: UUID.toUpperCase() } }, UUID],
  [{ topic: `/o/admin/bicycles/${UUID}/`, message: { state: 'lost' } }, UUID],
  [{ topic: '/o/admin/bicycles/*', message: { state: 'lost' } }, undefined],
  [{ topic: null, message: null }, undefined],
])('the message %j is about the bicycle %j', (envelope, uuid) => {
  expect(uuidOfMessage(envelope)).toBe(uuid);
});

describe('messages about bicycles', () => {
  test('the fields of a partial message are merged into the known fields', () => {
    const knowledge = openKnowledge(at(0));
    knowledge.learn(bicycle(1), at(1));
    expect(knowledge.merge(UUID, { uuid: UUID, state: 'rented' }, at(2))).toMatchObject({
      kind: 'update',
      before: { state: 'available' },
      after: bicycle(1, { state: 'rented' }),
      fields: ['state'],
    });
  });

  test('orders messages by time in microseconds, then by version', () => {
    const knowledge = openKnowledge(at(0));
    knowledge.merge(UUID, bicycle(5, { modified: moment(5, 2) }), at(5));
    expect(
      knowledge.merge(UUID, bicycle(5, { modified: moment(5, 1), state: 'lost' }), at(5)).kind,
    ).toBe('late');
    knowledge.merge(OTHER, bicycle(5, { concurrency_version: 8 }, OTHER), at(5));
    expect(
      knowledge.merge(OTHER, bicycle(5, { concurrency_version: 7, state: 'lost' }, OTHER), at(5))
        .kind,
    ).toBe('late');
  });

  test("uses the service's time when the system clock is an hour behind", () => {
    const time = new ServiceTime({ monotonicMs: 0, wallMs: START_MS - 3_600_000 });
    const knowledge = new KnownFleet(new MemoryStore(), time);
    time.set(START_MS, 0);
    expect(knowledge.mark(1_000)).toMatchObject({ isProven: false, modifiedMs: START_MS - 1_000 });
    knowledge.merge(UUID, bicycle(6, { state: 'lost' }), at(6));
    expect(knowledge.merge(UUID, bicycle(5), at(7)).kind).toBe('late');
    expect(knowledge.mark(8_000)).toMatchObject({ isProven: true, modifiedMs: START_MS + 6_000 });
  });

  test('treats a message as repeated when only fields such as `modified` changed', () => {
    const knowledge = openKnowledge(at(0));
    knowledge.merge(UUID, bicycle(1, { concurrency_version: 1, devices: ['a'] }), at(1));
    const again = bicycle(2, { concurrency_version: 2, devices: ['b'] });
    expect(knowledge.merge(UUID, again, at(2))).toMatchObject({ kind: 'repeat', fields: [] });
  });
});

describe('the list after a gap', () => {
  function afterGap(known: Bicycle = bicycle(5)) {
    const knowledge = openKnowledge(at(0));
    knowledge.merge(UUID, known, at(5));
    const mark = knowledge.mark(6_000);
    const compare = (item: Bicycle, askedAt = knowledge.merged) =>
      knowledge.compare(item, mark, askedAt, at(20));
    return { knowledge, mark, compare };
  }
  const NOTHING = { change: undefined, isUnknown: false, isUncertain: false, isStale: false };

  test.each([
    ['by its content', {}, {}],
    ['by its version', { concurrency_version: 3 }, { concurrency_version: 4 }],
  ])('recognizes a change within the same second %s', (_how, before, after) => {
    const { compare } = afterGap(bicycle(5, before));
    expect(compare(bicycle(5, { ...after, state: 'lost' })).change).toMatchObject({
      fields: ['state'],
    });
  });

  test('ignores a listed bicycle when its version is already known', () => {
    const { compare } = afterGap(bicycle(5, { concurrency_version: 3 }));
    expect(compare(bicycle(5, { concurrency_version: 3, state: 'lost' }))).toEqual(NOTHING);
  });

  test.each([
    ['modified after the last known', 9, true],
    ['in the same second', 5, true],
    ['before', 3, false],
  ])('decides by time whether an unknown bicycle is new: %s', (_when, seconds, isNews) => {
    const { compare } = afterGap();
    const { change, isUnknown, isUncertain } = compare(bicycle(seconds, {}, OTHER));
    expect([change !== undefined, isUnknown, isUncertain]).toEqual([isNews, isNews, false]);
  });

  test('counts a new bicycle as unknown when its `modified` is missing', () => {
    const { compare } = afterGap();
    const unknown = { ...NOTHING, isUnknown: true, isUncertain: true };
    expect(compare({ uuid: OTHER, state: 'lost' })).toEqual(unknown);
  });

  test('reports an unknown bicycle as new when an earlier list was complete', () => {
    const { knowledge, compare } = afterGap();
    knowledge.setWhole();
    expect(compare({ uuid: OTHER, state: 'lost' })).toMatchObject({
      change: { kind: 'caught-up' },
      isUnknown: false,
    });
  });
});

test('evicts the bicycle with the oldest update when the memory limit is reached', () => {
  const knowledge = openKnowledge(at(0));
  for (let number = 0; number < KNOWN_LIMIT + 10; number++)
    knowledge.merge(`${number}`, { state: 'available' }, at(1));
  expect(knowledge.store.size()).toBe(KNOWN_LIMIT);
  expect(knowledge.get('9')).toBeUndefined();
  expect(knowledge.get('10')).toBeDefined();
});

test('a time without a fraction covers the whole second', () => {
  const knowledge = openKnowledge(at(0));
  knowledge.merge(UUID, bicycle(5, { modified: moment(5, 400_000) }), at(5));
  const mark = knowledge.mark(6_000);
  // Changed in the same second after the message; the list contains only the second.
  const item = bicycle(5, { state: 'lost' });
  expect(knowledge.compare(item, mark, knowledge.merged, at(20)).change).toMatchObject({
    fields: ['state'],
  });
  expect(
    knowledge.compare(bicycle(5, {}, OTHER), mark, knowledge.merged, at(20)).change,
  ).toBeDefined();
});

const pass = { id: 1, pass: 1, started: at(10), serviceMs: START_MS + 10_000, seesAll: true };

test('does not mark a bicycle as gone after a newer message', () => {
  const knowledge = openKnowledge(at(0));
  for (const uuid of ['a', 'b', 'c', 'd']) knowledge.learn(bicycle(1, {}, uuid), at(1));
  knowledge.merge('b', bicycle(5, { state: 'rented' }, 'b'), at(5));
  knowledge.merge('c', bicycle(12, { state: 'rented' }, 'c'), at(12));
  const { store } = knowledge;
  store.beginList();
  store.addListed(['a', 'x'], pass.pass);
  expect(store.meet(pass)).toEqual({ met: 2, missing: 2, known: 4 });
  const ofMechanic = { ...pass, seesAll: false };
  expect(store.meet(ofMechanic)).toEqual({ met: 2, missing: 1, known: 4 });
  expect(store.removeMissing(ofMechanic).map(({ uuid }) => uuid)).toEqual(['d']);
});

test('a list restores a deleted bicycle only with newer data or after two minutes', () => {
  const knowledge = openKnowledge(at(0));
  knowledge.learn(bicycle(1), at(1));
  const { store } = knowledge;
  store.beginList();
  store.addListed(['x'], pass.pass);
  expect(store.removeMissing(pass)).toHaveLength(1);
  const compare = (item: Bicycle, seconds: number) =>
    knowledge.compare(item, knowledge.mark(0), knowledge.merged, at(seconds));
  expect(compare(bicycle(1), 30)).toMatchObject({ change: undefined, isStale: true });
  expect(knowledge.get(UUID)).toBeUndefined();
  expect(compare(bicycle(25), 40).change).toMatchObject({ kind: 'caught-up', before: undefined });
  expect(knowledge.get(UUID)).toBeDefined();
  store.removeMissing({ ...pass, pass: 2, started: at(50), serviceMs: START_MS + 50_000 });
  expect(knowledge.get(UUID)).toBeUndefined();
  expect(compare(bicycle(25), 171).change).toMatchObject({ kind: 'caught-up' });
});

test('after a restart, rejects an older version from a list that lags', () => {
  const store = new MemoryStore();
  const knowledge = new KnownFleet(store, new ServiceTime(at(10)));
  knowledge.learn(bicycle(5, { state: 'rented', concurrency_version: 8 }), at(10));
  const entry = store.get(UUID);
  expect(entry).toBeDefined();
  // Data from an earlier process has no time of arrival.
  if (entry !== undefined) Object.assign(entry, { touchedMs: Number.NEGATIVE_INFINITY });
  const old = bicycle(5, { concurrency_version: 7 });
  expect(knowledge.compare(old, NO_MARK, knowledge.merged, at(12)).change).toBeUndefined();
  expect(knowledge.get(UUID)).toMatchObject({ state: 'rented' });
  // A list cannot lag for so long, so the service was restored.
  expect(knowledge.compare(old, NO_MARK, knowledge.merged, at(200)).change).toMatchObject({
    fields: ['state'],
  });
});

test.each<[unknown, unknown, number | undefined]>([
  ['2026-11-21T12:00:00.000001Z', '2026-11-21T12:00:00.000002Z', -1],
  ['2026-11-21T12:00:00.000002Z', '2026-11-21T12:00:00.000001Z', 1],
  ['2026-11-21T12:00:00Z', '2026-11-21T12:00:00Z', 0],
  // Times with different offsets.
  ['2026-11-21T12:00:00.500Z', '2026-11-21T14:00:00.500+02:00', 0],
  ['2026-11-21T12:00:00.400Z', '2026-11-21T14:00:00.500+02:00', -1],
  ['2026-11-21T12:00:00.600Z', '2026-11-21T14:00:00.500+02:00', 1],
  ['2026-11-21T14:00:00.400+02:00', '2026-11-21T12:00:00.500+00:00', -1],
  // A time without a fraction can mean any moment within its second.
  ['2026-11-21T12:00:00Z', '2026-11-21T12:00:00.999Z', 0],
  ['2026-11-21T12:00:01Z', '2026-11-21T12:00:00.999Z', 1],
  ['2026-11-21T12:00:00.999Z', '2026-11-21T12:00:01Z', -1],
  ['yesterday', '2026-11-21T12:00:00Z', undefined],
  [5, '2026-11-21T12:00:00Z', undefined],
  ['2026-11-21T12:00:00Z', undefined, undefined],
])('compares the times %j and %j', (one, other, sign) => {
  const order = compareTimes(one, other);
  expect(order === undefined ? undefined : Math.sign(order)).toBe(sign);
});

test('a time without a fraction can be as late as the last millisecond of its second', () => {
  expect(latestOf('2026-11-21T12:00:00Z')).toBe(START_MS + 999);
  expect(latestOf('2026-11-21T12:00:00.5Z')).toBe(START_MS + 500);
  expect(latestOf('yesterday')).toBeUndefined();
});
