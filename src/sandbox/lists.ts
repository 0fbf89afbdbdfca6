// Lists in order: sorting and filtering whole fleets once, then serving page after page from what is remembered.

import type { ServedFleet } from './fleet.js';

/** A field to sort by, and the value a row has in it; null when it has none. */
export interface Ordering<Row> {
  name: string;
  descending: boolean;
  sortValue: (row: Row) => number | string | null;
}

/** What is wanted of a list. */
export interface Selection<Row> {
  /** The first one counts most; none leaves the order of creation. */
  orderings: readonly Ordering<Row>[];
  /** Whether a row is in it. */
  accepts: (row: Row) => boolean;
  /** Names `accepts`; the same name must always mean the same condition. */
  acceptsName: string;
}

/** The rows of a selection, in order. Must not be changed, nor kept beyond the next change of the fleet. */
export type SelectRows<Row> = (selection: Selection<Row>) => readonly Row[];

/** Bounds the memory: a selection of 100,000 rows is close to a megabyte. */
const REMEMBERED_LISTS = 32;

/** Makes a memory of sorted and filtered lists that are made anew when the fleet has changed. */
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

/** Assumed: rows without a value come last either way, and equal ones keep their order of creation, or its reverse. */
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
