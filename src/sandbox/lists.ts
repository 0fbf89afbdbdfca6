// Lists in order: sorting and filtering whole fleets once, then serving page after page from what is remembered.

interface ListRow {
  index: number;
}

/** A field to sort by, and the value a row has in it; null when it has none. */
export interface Ordering<Row> {
  name: string;
  descending: boolean;
  sortValue: (row: Row) => number | string | null;
}

/** What is wanted of a list. */
export interface Selection<Row> {
  /** All rows that may be in it, in creation order; filters that need no look at a row are already applied. */
  rows: readonly Row[];
  /** Names `rows`; the same name must always mean the same rows. */
  rowsName: string;
  /** The first one counts most; none leaves the order of creation. */
  orderings: readonly Ordering<Row>[];
  /** Whether a row is in it. */
  accepts: ((row: Row) => boolean) | undefined;
  /** Names `accepts`; the same name must always mean the same condition. */
  acceptsName: string;
}

export interface Lists<Row> {
  /** The rows of a selection, in order. Must not be changed, nor kept beyond the next change of the fleet. */
  select: (selection: Selection<Row>) => readonly Row[];
}

/** Bounds the memory: a selection of 100,000 rows is close to a megabyte. */
const REMEMBERED_LISTS = 32;

/** Makes a memory of sorted and filtered lists that are made anew when `version()` has moved. */
export function createLists<Row extends ListRow>(version: () => number): Lists<Row> {
  const memory = new Map<string, { version: number; rows: readonly Row[] }>();
  const recall = (key: string, make: (before: readonly Row[]) => readonly Row[]): readonly Row[] => {
    const known = memory.get(key);
    if (known?.version === version()) return known.rows;
    const rows = make(known?.rows ?? []);
    memory.delete(key);
    memory.set(key, { version: version(), rows });
    const [oldest = ''] = memory.keys();
    if (memory.size > REMEMBERED_LISTS) memory.delete(oldest);
    return rows;
  };
  return {
    select: ({ rows, rowsName, orderings, accepts, acceptsName }) => {
      const names = orderings.map(({ name, descending }) => `${descending ? '-' : ''}${name}`);
      const key = `${rowsName} ${names.join(',')}`;
      // The old order is nearly right after a few changes, and sorting what is nearly sorted is fast.
      const sort = (before: readonly Row[]) => [...before, ...rows.slice(before.length)].sort(comparison(orderings));
      const ordered = orderings.length === 0 ? rows : recall(key, sort);
      return accepts === undefined ? ordered : recall(`${key} ${acceptsName}`, () => ordered.filter(accepts));
    },
  };
}

/** Assumed: rows without a value come last either way, and equal ones keep their order of creation, or its reverse. */
function comparison<Row extends ListRow>(orderings: readonly Ordering<Row>[]): (left: Row, right: Row) => number {
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
