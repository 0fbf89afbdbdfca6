// Which items have come before, by their uuid.

import type { Item } from './types.js';

export interface Seen {
  /** How many different ones there are. */
  readonly size: number;
  /** Whether it came for the first time; notes it. One without a uuid is told from others by its text. */
  add(item: Item<unknown>): boolean;
  /** Whether it came before; one without a uuid never did. */
  has(item: Item<unknown>): boolean;
}

/** Of how many items it is known whether they came before: more than are moved between two pages in flight. */
export const RECENT_ITEMS = 5_000;

/**
 * Tells new items from those that came before; with a limit at least so many of the latest are known, and twice as many at most: a million would take
 * 100 MB.
 */
export function openSeen(limit = Number.POSITIVE_INFINITY): Seen {
  let recent = new Set<string>();
  let earlier = new Set<string>();
  let size = 0;
  const isKnown = (name: string) => recent.has(name) || earlier.has(name);
  return {
    get size() {
      return size;
    },
    has: (item) => hasUuid(item) && isKnown(nameOf(item)),
    add(item) {
      const name = nameOf(item);
      if (isKnown(name)) return false;
      size++;
      recent.add(name);
      if (recent.size >= limit) [earlier, recent] = [recent, new Set()];
      return true;
    },
  };
}

/** Whether an item says at all which one it is. */
export function hasUuid({ value }: Item<unknown>): boolean {
  return typeof (value as { uuid?: unknown }).uuid === 'string';
}

/** A short name of an item. Those without a uuid are rare. */
function nameOf({ json, value }: Item<unknown>): string {
  const { uuid } = value as { uuid?: unknown };
  if (typeof uuid === 'string') return uuid;
  return process.getBuiltinModule('node:crypto').createHash('sha1').update(json).digest('base64');
}
