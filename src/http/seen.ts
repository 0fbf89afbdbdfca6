// Which items have come before, by their uuid: 16 bytes each in an open table, for a fleet may be large.

import type { Item } from './types.js';

export interface Seen {
  /** How many different ones there are. */
  readonly size: number;
  /** Whether it came for the first time; notes it. One without a uuid is told from others by its text. */
  add(item: Item<unknown>): boolean;
  /** Whether it came before; one without a uuid never did. */
  has(item: Item<unknown>): boolean;
}

const WORDS = 4;
const FIRST_SLOTS = 256;
/** Of the slots, so many are taken at most. */
const FULLEST = 0.7;
const HYPHEN = 0x2d;
const HYPHENS: readonly number[] = [8, 13, 18, 23];
const UUID_BYTES = 36;
const CANONICAL = /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/;

/** The value of a hexadecimal digit in lower case; 16 for any other byte. */
const DIGITS = Uint8Array.from({ length: 256 }, (_, byte) => {
  const value = '0123456789abcdef'.indexOf(String.fromCharCode(byte));
  return value === -1 ? 16 : value;
});

/** Makes an empty one. UUIDs in canonical form (RFC 9562, lower case) are kept as 16 bytes, all else as text. */
export function openSeen(): Seen {
  let table = new Uint32Array(FIRST_SLOTS * WORDS);
  let taken = 0;
  const others = new Set<string>();
  const key = new Uint32Array(WORDS);
  // Nobody outside can choose UUIDs that all begin at one slot.
  const seed = (Math.random() * 2 ** 32) >>> 0;

  /** Where the key is, or would be; a slot of zeros is empty. */
  function find(words: Uint32Array, from: Uint32Array, at: number): number {
    const mask = words.length / WORDS - 1;
    let hash = seed;
    for (let index = at; index < at + WORDS; index++) {
      hash = Math.imul(hash ^ (from[index] as number), 0x9e3779b1);
      hash ^= hash >>> 15;
    }
    for (let slot = hash & mask; ; slot = (slot + 1) & mask) {
      const place = slot * WORDS;
      if (isSame(words, place, from, at) || isEmpty(words, place)) return place;
    }
  }

  function grow(): void {
    const larger = new Uint32Array(table.length * 2);
    for (let at = 0; at < table.length; at += WORDS)
      if (!isEmpty(table, at)) copyKey(table, at, larger, find(larger, table, at));
    table = larger;
  }

  return {
    get size() {
      return taken + others.size;
    },
    add(item) {
      if (!readKey(item, key)) {
        const before = others.size;
        return others.add(nameOf(item)).size > before;
      }
      const place = find(table, key, 0);
      if (!isEmpty(table, place)) return false;
      copyKey(key, 0, table, place);
      taken++;
      if (taken * WORDS > table.length * FULLEST) grow();
      return true;
    },
    has: (item) =>
      readKey(item, key) ? !isEmpty(table, find(table, key, 0)) : hasUuid(item) && others.has(nameOf(item)),
  };
}

function copyKey(from: Uint32Array, at: number, to: Uint32Array, place: number): void {
  for (let index = 0; index < WORDS; index++) to[place + index] = from[at + index] as number;
}

function isSame(a: Uint32Array, at: number, b: Uint32Array, from: number): boolean {
  return a[at] === b[from] && a[at + 1] === b[from + 1] && a[at + 2] === b[from + 2] && a[at + 3] === b[from + 3];
}

function isEmpty(words: Uint32Array, at: number): boolean {
  return words[at] === 0 && words[at + 1] === 0 && words[at + 2] === 0 && words[at + 3] === 0;
}

/** Reads the uuid of an item as four words; false for one that is not canonical, and for the nil UUID. */
function readKey(item: Item<unknown>, key: Uint32Array): boolean {
  if (item.raw !== undefined && item.raw.uuidAt >= 0) return readDigits(item.raw.bytes, item.raw.uuidAt, key);
  const { uuid } = item.value as { uuid?: unknown };
  return typeof uuid === 'string' && CANONICAL.test(uuid) && readDigits(Buffer.from(uuid, 'latin1'), 0, key);
}

function readDigits(bytes: Uint8Array, at: number, key: Uint32Array): boolean {
  for (const hyphen of HYPHENS) if (bytes[at + hyphen] !== HYPHEN) return false;
  let index = at;
  for (let word = 0; word < WORDS; word++) {
    let value = 0;
    for (let digits = 0; digits < 8; index++) {
      const byte = bytes[index] as number;
      if (byte === HYPHEN) continue;
      const digit = DIGITS[byte] as number;
      if (digit > 15) return false;
      value = (value << 4) | digit;
      digits++;
    }
    key[word] = value;
  }
  return index === at + UUID_BYTES && !isEmpty(key, 0);
}

/** Whether an item says at all which one it is. */
export function hasUuid({ value }: Item<unknown>): boolean {
  return typeof (value as { uuid?: unknown }).uuid === 'string';
}

/** The identity of an item whose uuid is not canonical. */
function nameOf({ json, value }: Item<unknown>): string {
  const { uuid } = value as { uuid?: unknown };
  return typeof uuid === 'string' ? uuid : hashOf(json);
}

/** A short name of a text (FNV-1a, 32 bits). Two texts of one name do no harm: a page that brings nothing else new is rare. */
function hashOf(text: string): string {
  let hash = 0x811c9dc5;
  for (let index = 0; index < text.length; index++) hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193);
  return `${text.length} ${hash >>> 0}`;
}

/** Tells new items from those that came shortly before, at most twice `limit`; all of a million would take 32 MB. */
export function openRecent(limit: number): Seen {
  let recent = openSeen();
  let earlier = recent;
  let size = 0;
  return {
    get size() {
      return size;
    },
    has: (item) => recent.has(item) || earlier.has(item),
    add(item) {
      if (earlier.has(item) || !recent.add(item)) return false;
      size++;
      if (recent.size >= limit) [earlier, recent] = [recent, openSeen()];
      return true;
    },
  };
}
