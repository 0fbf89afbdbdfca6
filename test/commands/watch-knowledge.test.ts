// What a watch knows: partial messages merged, lists compared by version, nothing told twice and nothing older.

import { describe, expect, test } from 'vitest';
import { openKnowledge, uuidOfMessage } from '../../src/commands/watch/knowledge.js';

const UUID = '6f1c0b5e-2f0e-4c56-9d3a-0d6f3a1f7c11';
const OTHER = '0b0e7c1c-6d0a-4b9e-8a34-5f2d9f3a7c10';

/** A moment as the service writes it, down to the microsecond. */
function moment(seconds: number, microseconds = 0): string {
  return `2026-11-21T12:00:${String(seconds).padStart(2, '0')}.${String(microseconds).padStart(6, '0')}Z`;
}

function bicycle(seconds: number, fields: object = {}, uuid = UUID) {
  return { uuid, modified: moment(seconds), state: 'available', lock: 'https://x/locks/1/', ...fields };
}

test.each([
  [{ topic: '/o/admin/bicycles/*', message: { uuid: UUID.toUpperCase() } }, UUID],
  [{ topic: `/o/admin/bicycles/${UUID}/`, message: { state: 'lost' } }, UUID],
  [{ topic: '/o/admin/bicycles/*', message: { state: 'lost' } }, undefined],
  [{ topic: null, message: null }, undefined],
])('%j is about %j', (envelope, uuid) => {
  expect(uuidOfMessage(envelope)).toBe(uuid);
});

describe('messages', () => {
  test('that are partial are merged, and the fields they leave out stay', () => {
    const knowledge = openKnowledge();
    knowledge.learn(bicycle(1));
    const change = knowledge.hear(UUID, { uuid: UUID, state: 'rented' });
    expect(change).toMatchObject({
      kind: 'update',
      before: { state: 'available' },
      after: bicycle(1, { state: 'rented' }),
    });
  });

  test('older than what is known are late, and change nothing', () => {
    const knowledge = openKnowledge();
    knowledge.hear(UUID, bicycle(5, { state: 'lost' }));
    expect(knowledge.hear(UUID, bicycle(4))).toMatchObject({ kind: 'late' });
    expect(knowledge.get(UUID)).toMatchObject({ state: 'lost' });
  });

  test('a microsecond apart are told apart', () => {
    const knowledge = openKnowledge();
    knowledge.hear(UUID, bicycle(5, { modified: moment(5, 2) }));
    expect(knowledge.hear(UUID, bicycle(5, { modified: moment(5, 1) })).kind).toBe('late');
  });
});

describe('the baseline', () => {
  test('does not overwrite what the stream said while it was on its way', () => {
    const knowledge = openKnowledge();
    knowledge.hear(UUID, { uuid: UUID, state: 'lost', modified: moment(5) });
    knowledge.learn(bicycle(1));
    expect(knowledge.get(UUID)).toEqual(bicycle(5, { state: 'lost' }));
  });
});

describe('the list after a gap', () => {
  function afterGap(known = bicycle(5)) {
    const knowledge = openKnowledge();
    knowledge.hear(UUID, known);
    return { knowledge, mark: knowledge.mark() };
  }

  test('a difference is told once; its own late message says it again', () => {
    const { knowledge, mark } = afterGap();
    const item = bicycle(9, { state: 'lost' });
    expect(knowledge.compare(item, mark, 1)).toMatchObject({
      isRecent: true,
      change: { kind: 'caught-up', before: { state: 'available' } },
    });
    expect(knowledge.compare(item, mark, 1).change).toBeUndefined();
    expect(knowledge.hear(UUID, item).kind).toBe('repeat');
    expect(knowledge.hear(UUID, bicycle(10, { state: 'lost' })).kind).toBe('update');
  });

  test('what the replay has told already is told no more', () => {
    const { knowledge, mark } = afterGap();
    knowledge.hear(UUID, bicycle(9, { state: 'lost' }));
    expect(knowledge.compare(bicycle(9, { state: 'lost' }), mark, 2)).toEqual({ change: undefined, isRecent: true });
  });

  test('an item older than what the stream said changes nothing', () => {
    const { knowledge, mark } = afterGap();
    knowledge.hear(UUID, bicycle(9, { state: 'lost' }));
    expect(knowledge.compare(bicycle(8, { state: 'rented' }), mark, 2).change).toBeUndefined();
    expect(knowledge.get(UUID)).toMatchObject({ state: 'lost' });
  });

  test('a bicycle that was never seen is news when it was modified in the gap, and known when before', () => {
    const { knowledge, mark } = afterGap();
    expect(knowledge.compare(bicycle(9, {}, OTHER), mark, 1).change).toMatchObject({
      kind: 'caught-up',
      before: undefined,
    });
    const second = afterGap(bicycle(30));
    expect(second.knowledge.compare(bicycle(9, {}, OTHER), second.mark, 1)).toEqual({
      change: undefined,
      isRecent: false,
    });
  });

  test('without `modified` the order of arrival decides', () => {
    const knowledge = openKnowledge();
    knowledge.hear(UUID, { uuid: UUID, state: 'available' });
    const mark = knowledge.mark();
    expect(knowledge.compare({ uuid: UUID, state: 'rented' }, mark, 1).change).toMatchObject({
      after: { state: 'rented' },
    });
    knowledge.hear(UUID, { uuid: UUID, state: 'lost' });
    expect(knowledge.compare({ uuid: UUID, state: 'rented' }, mark, 1).change).toBeUndefined();
  });

  test('a state-only message that came while the list was on its way is newer than the list', () => {
    const { knowledge, mark } = afterGap();
    knowledge.hear(UUID, { uuid: UUID, state: 'lost' });
    expect(knowledge.compare(bicycle(9, { state: 'rented' }), mark, 1).change).toBeUndefined();
  });
});

test('memory is bounded: the longest untouched bicycle is forgotten', () => {
  const knowledge = openKnowledge();
  for (let number = 0; number < 20_010; number++) knowledge.hear(`bicycle-${number}`, { state: 'available' });
  knowledge.hear('bicycle-10', { state: 'lost' });
  expect([...knowledge.bicycles()]).toHaveLength(20_000);
  expect(knowledge.get('bicycle-9')).toBeUndefined();
  expect(knowledge.get('bicycle-10')).not.toBeUndefined();
});
