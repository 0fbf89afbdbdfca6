// Remembers which items of a list have been read, by their uuid.

import type { Item } from './types.js';

export interface Seen {
  /** The number of distinct items so far. */
  readonly size: number;
  /** Adds an item. Returns true when it is new. An item without a uuid is compared by its text. */
  add(item: Item<unknown>): boolean;
  /** Returns true when the item was added before. Returns false for an item without a uuid. */
  has(item: Item<unknown>): boolean;
}

/**
 * At least this many recent items are remembered, to recognise items that moved to the next page.
 * Fewer items move between two requests.
 */
export const RECENT_ITEMS = 5_000;

/**
 * Opens a set that detects repeated items. With a limit, it remembers only the latest items: at
 * least `limit`, and at most twice as many. Remembering a million items would take 100 MB.
 */
export function openSeen(limit = Number.POSITIVE_INFINITY): Seen {
  const keys = openSeenKeys(limit);
  return {
    get size() {
      return keys.size;
    },
    has: (item) => hasUuid(item) && keys.has(nameOf(item)),
    add: (item) => keys.add(nameOf(item)),
  };
}

/** Like `openSeen`, but remembers keys instead of items. `add` returns true for a new key. */
export function openSeenKeys(limit: number) {
  let recent = new Set<string>();
  let earlier = new Set<string>();
  let size = 0;
  const has = (key: string) => recent.has(key) || earlier.has(key);
  return {
    get size() {
      return size;
    },
    has,
    add(key: string): boolean {
      if (earlier.has(key)) return false;
      const sizeBefore = recent.size;
      recent.add(key);
      if (recent.size === sizeBefore) return false;
      size++;
      if (recent.size >= limit) [earlier, recent] = [recent, new Set()];
      return true;
    },
  };
}

/** Whether an item has a uuid. */
export function hasUuid({ value }: Item<unknown>): boolean {
  return typeof (value as { uuid?: unknown }).uuid === 'string';
}

/** Returns a short key for an item: its uuid, or a hash of its text when it has no uuid. */
function nameOf({ json, value }: Item<unknown>): string {
  const { uuid } = value as { uuid?: unknown };
  if (typeof uuid === 'string') return uuid;
  return process.getBuiltinModule('node:crypto').createHash('sha1').update(json).digest('base64');
}
