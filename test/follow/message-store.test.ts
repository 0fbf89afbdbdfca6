// Tests the store of waiting messages: its order, its limits, and its log.

import { describe, expect, test } from 'vitest';
import { openMessageStore } from '../../src/follow/message-store.js';

const MOST_CHARACTERS = 64 * 1024 * 1024;

/** Opens a store that keeps its log in memory. */
function openStore() {
  const log: object[] = [];
  const store = openMessageStore('post', (records) => log.push(...(records as object[])));
  return { store, log };
}

describe('waiting messages', () => {
  test('are returned in the order in which they were added', () => {
    const { store } = openStore();
    for (const id of ['a', 'b']) store.add({ id, json: '{}' });
    expect([store.size(), store.first()?.id, store.tries()]).toEqual([2, 'a', 0]);
    store.tried();
    store.tried();
    expect([store.first()?.id, store.tries()]).toEqual(['a', 2]);
    store.done();
    expect([store.size(), store.first()?.id, store.tries()]).toEqual([1, 'b', 0]);
    store.done();
    expect([store.size(), store.first()]).toEqual([0, undefined]);
  });

  test('survive a restart, with their failed attempts', () => {
    const { store, log } = openStore();
    for (const id of ['a', 'b', 'c']) store.add({ id, json: `{"id":"${id}"}` });
    store.done();
    store.tried();
    const restored = openStore();
    for (const record of [...log, { channel: 'exec', waits: 9, id: 'x', json: '{}' }])
      restored.store.restore(record as { readonly [field: string]: unknown });
    expect(restored.store.records()).toEqual(store.records());
    expect(restored.store.tries()).toBe(1);
    // A new message does not get the number of a restored message.
    restored.store.add({ id: 'd', json: '{}' });
    expect(restored.store.records().map(({ id, waits }) => [id, waits])).toEqual([
      ['b', 2],
      ['c', 3],
      ['d', 4],
    ]);
  });

  test('can have 64 × 1024 × 1024 characters together', () => {
    const { store } = openStore();
    store.add({ id: 'a', json: 'x'.repeat(MOST_CHARACTERS - 1) });
    expect(store.hasRoom()).toBe(true);
    store.add({ id: 'b', json: '1' });
    expect(store.hasRoom()).toBe(false);
    store.done();
    expect(store.hasRoom()).toBe(true);
  });

  test('can be at most 100,000', () => {
    const { store } = openStore();
    for (let count = 0; count < 99_999; count++) store.add({ id: 'a', json: '' });
    expect(store.hasRoom()).toBe(true);
    store.add({ id: 'a', json: '' });
    expect(store.hasRoom()).toBe(false);
  });
});
