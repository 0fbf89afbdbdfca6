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
const REMEMBERED_SELECTIONS = 16;

/** Makes a memory of sorted orders and selections that are made anew when `version()` has moved. */
export function createLists<Row extends ListRow>(version: () => number): Lists<Row> {
  const orders = new Map<string, { version: number; rows: Row[] }>();
  const selections = new Map<string, { version: number; rows: Row[] }>();

  function order(selection: Selection<Row>): readonly Row[] {
    const key = orderName(selection);
    const known = orders.get(key);
    if (known?.version === version()) return known.rows;
    // The old order is nearly right after a few changes, and sorting what is nearly sorted is fast.
    const rows = known === undefined ? [...selection.rows] : known.rows;
    for (let index = rows.length; index < selection.rows.length; index += 1) {
      const added = selection.rows[index];
      if (added !== undefined) rows.push(added);
    }
    rows.sort(comparison(selection.orderings));
    remember(orders, key, { version: version(), rows });
    return rows;
  }

  return {
    select: (selection) => {
      const rows = selection.orderings.length === 0 ? selection.rows : order(selection);
      if (selection.accepts === undefined) return rows;
      const key = `${orderName(selection)} ${selection.acceptsName}`;
      const known = selections.get(key);
      if (known?.version === version()) return known.rows;
      const accepted = rows.filter(selection.accepts);
      remember(selections, key, { version: version(), rows: accepted });
      return accepted;
    },
  };
}

function orderName<Row>({ rowsName, orderings }: Selection<Row>): string {
  const names = orderings.map(({ name, descending }) => `${descending ? '-' : ''}${name}`);
  return `${rowsName} ${names.join(',')}`;
}

function remember<Value>(memory: Map<string, Value>, key: string, value: Value): void {
  memory.delete(key);
  memory.set(key, value);
  for (const oldest of memory.keys()) {
    if (memory.size <= REMEMBERED_SELECTIONS) break;
    memory.delete(oldest);
  }
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
