// Sorts and filters a whole fleet once, and then serves pages from the cached list.

import type { ServedFleet } from './fleet.js';

/** A sort field, and its value in a row; null when the row has no value. */
export interface Ordering<Row> {
  name: string;
  descending: boolean;
  sortValue: (row: Row) => number | string | null;
}

/** The requested rows and their order. */
export interface Selection<Row> {
  /** The first ordering has priority. Without an ordering, rows are in order of creation. */
  orderings: readonly Ordering<Row>[];
  /** Whether a row is selected. */
  accepts: (row: Row) => boolean;
  /**
   * The cache key for the rows that `accepts` selects. Two requests with equal keys must always
   * have the same conditions.
   */
  acceptsName: string;
}

/**
 * Returns the selected rows in order. The caller must not change the rows. It must not use them
 * after the fleet has changed.
 */
export type SelectRows<Row> = (selection: Selection<Row>) => readonly Row[];

/**
 * The maximum number of cached lists. This limits memory use: a list of 100,000 rows needs almost a
 * megabyte.
 */
const REMEMBERED_LISTS = 32;

/** Creates a cache for sorted and filtered lists. It is emptied when the fleet changes. */
export function createLists<Row extends { index: number }>(
  fleet: ServedFleet,
  all: readonly Row[],
): SelectRows<Row> {
  const memory = new Map<string, readonly Row[]>();
  let version = fleet.version;
  const recall = (key: string, make: () => readonly Row[]): readonly Row[] => {
    if (version !== fleet.version || memory.size >= REMEMBERED_LISTS) memory.clear();
    version = fleet.version;
    const rows = memory.get(key) ?? make();
    memory.set(key, rows);
    return rows;
  };
  return ({ orderings, accepts, acceptsName }) => {
    const key = orderings
      .map(({ name, descending }) => `${descending ? '-' : ''}${name}`)
      .join(',');
    const sort = () => [...all].sort(comparison(orderings));
    return recall(`${key} ${acceptsName}`, () => recall(key, sort).filter(accepts));
  };
}

/**
 * Assumed: rows without a value come last in both directions. Equal rows are in order of creation,
 * or in the reverse order when the ordering is descending.
 */
function comparison<Row extends { index: number }>(
  orderings: readonly Ordering<Row>[],
): (left: Row, right: Row) => number {
  const lastSign = orderings.at(-1)?.descending ? -1 : 1;
  return (left, right) => {
    for (const { sortValue, descending } of orderings) {
      const leftValue = sortValue(left);
      const rightValue = sortValue(right);
      if (leftValue === rightValue) continue;
      if (leftValue === null) return 1;
      if (rightValue === null) return -1;
      const sign = descending ? -1 : 1;
      return leftValue < rightValue ? -sign : sign;
    }
    return lastSign * (left.index - right.index);
  };
}
