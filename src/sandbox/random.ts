// Seeded random numbers: the same seed produces the same fleet, uuids and faults.

import type { Random } from '../system/random.js';

/** Returns a whole number from `least` to `most`, inclusive. */
export function randomInteger(random: Random, least: number, most: number): number {
  return least + Math.floor(random() * (most - least + 1));
}

/** Returns a number up to `spread` away from `middle`, with a roughly bell-shaped distribution. */
export function randomAround(random: Random, middle: number, spread: number): number {
  return middle + (random() + random() + random() - 1.5) * (spread / 1.5);
}

/** Returns one of the items with equal probability. */
export function pick<Item>(random: Random, items: readonly Item[]): Item {
  return items[Math.floor(random() * items.length)] as Item;
}

/** Returns one of the items with a probability that is proportional to its weight. */
export function pickWeighted<Item>(
  random: Random,
  items: readonly [[Item, number], ...[Item, number][]],
): Item {
  let rest = random() * items.reduce((sum, [, weight]) => sum + weight, 0);
  for (const [item, weight] of items) {
    rest -= weight;
    if (rest < 0) return item;
  }
  return items[0][0];
}

/** Returns this many random hexadecimal digits. */
export function randomHex(random: Random, digits: number): string {
  let text = '';
  while (text.length < digits) {
    text += Math.floor(random() * 2 ** 32)
      .toString(16)
      .padStart(8, '0');
  }
  return text.slice(0, digits);
}

/** Returns a version 4 UUID in lower case. */
export function randomUuid(random: Random): string {
  const hex = randomHex(random, 32);
  const variant = '89ab'.charAt(Number.parseInt(hex.charAt(16), 16) & 3);
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-${variant}${hex.slice(17, 20)}-${hex.slice(20)}`;
}

/**
 * Returns the first row for which `fits` returns true. The search begins at a random row. After the
 * last row, it continues with the first one.
 */
export function findFrom<Row>(
  rows: readonly Row[],
  random: Random,
  fits: (row: Row) => boolean,
): Row | undefined {
  const start = Math.floor(random() * rows.length);
  for (let step = 0; step < rows.length; step += 1) {
    const row = rows[(start + step) % rows.length];
    if (row !== undefined && fits(row)) return row;
  }
  return undefined;
}
