// Reads several lists as if they were one: merges them in the requested order, and yields each item
// only once.

import type { Context } from '../context.js';
import { FleetError } from '../errors.js';
import { openSeen } from '../http/distinct.js';
import type { HttpRequest, Item } from '../http/types.js';
import type { Shape } from '../terminal/formats.js';
import { readTime } from '../terminal/time.js';
import { numberOf, readPath } from '../terminal/values.js';
import { startTally, type Tally } from './footer.js';
import { readItems } from './read-until-complete.js';

interface Reading<T> {
  /**
   * Requests for lists that have no items in common, for example one list for each side of the date
   * line. All requests have the same ordering.
   */
  requests: readonly HttpRequest[];
  shape: Shape<T>;
}

interface Extent {
  /** The number of items to show; undefined for one page. */
  wanted: number | undefined;
  /** The number of items to request. Undefined when fleet itself filters the items afterwards. */
  limit: number | undefined;
}

/**
 * Yields the items of all lists in batches. Updates the tally with the sums over all lists. "One
 * page" then means one page of each list. Throws the same errors as `readItems`.
 */
export async function* readMerged<T extends { uuid?: unknown }>(
  context: Context,
  { requests, shape }: Reading<T>,
  tally: Tally,
  extent: Extent,
): AsyncGenerator<Item<T>[], void, undefined> {
  const [first] = requests;
  if (first !== undefined && requests.length === 1)
    return yield* readItems(context, { request: first, shape }, tally, extent);

  const sources = requests.map((request) => openSource<T>(context, { request, shape }, extent));
  const seen = openSeen();
  let repeated = 0;
  try {
    await Promise.all(sources.map((source) => source.fill()));
    const missing = sources.map(({ notFound }) => notFound);
    if (missing[0] !== undefined && missing.every((error) => error !== undefined)) throw missing[0];
    const compare = comparisonOf(first?.query ?? [], sources);
    while (sources.some(({ head }) => head !== undefined)) {
      const batch: Item<T>[] = [];
      while (sources.every(({ head, isDone }) => head !== undefined || isDone)) {
        const item = takeFirst(sources, compare);
        if (item === undefined) break;
        if (seen.add(item)) batch.push(item);
        else repeated += 1;
      }
      sumUp(tally, sources, repeated);
      if (batch.length > 0) yield batch;
      await Promise.all(sources.map((source) => source.fill()));
    }
    sumUp(tally, sources, repeated);
  } finally {
    await Promise.all(sources.map((source) => source.close()));
  }
}

/** One of the lists that are merged. */
interface Source<T> {
  /** The items of the current page. */
  readonly items: readonly Item<T>[];
  /** The next item, or undefined when all items of the current page are used. */
  readonly head: Item<T> | undefined;
  /** Whether the current page is the last one. */
  readonly isDone: boolean;
  readonly tally: Tally;
  /** The error if this list does not have the requested page. */
  readonly notFound: FleetError | undefined;
  /** Moves on to the next item. */
  advance(): void;
  /** Reads the next page if all items of the current page are used. */
  fill(): Promise<void>;
  close(): Promise<void>;
}

function openSource<T extends { uuid?: unknown }>(
  context: Context,
  reading: { request: HttpRequest; shape: Shape<T> },
  extent: Extent,
): Source<T> {
  const tally = startTally();
  const pages = readItems<T>(context, reading, tally, extent);
  const isLaterPage =
    reading.request.query?.some(([name, value]) => name === 'page' && value !== '1') === true;
  let isDone = false;
  let notFound: FleetError | undefined;
  let items: Item<T>[] = [];
  let position = 0;

  async function readOn(): Promise<void> {
    const { value, done = false } = await pages.next();
    items = [...(value ?? [])];
    position = 0;
    isDone = done || extent.wanted === undefined;
  }

  return {
    get items() {
      return items;
    },
    get head() {
      return items[position];
    },
    get isDone() {
      return isDone;
    },
    get notFound() {
      return notFound;
    },
    tally,
    advance() {
      position += 1;
    },
    async fill() {
      while (position >= items.length && !isDone) {
        try {
          await readOn();
        } catch (thrown) {
          // Another list may still have the requested page, so its absence from this list is not an
          // error yet.
          if (!(thrown instanceof FleetError) || thrown.kind !== 'not-found' || !isLaterPage)
            throw thrown;
          notFound = thrown;
          isDone = true;
        }
      }
    },
    async close() {
      await pages.return(undefined);
    },
  };
}

type Compare = (a: unknown, b: unknown) => number;

/**
 * Removes and returns the item that comes first in the order. For equal items, the earlier list has
 * priority.
 */
function takeFirst<T>(sources: readonly Source<T>[], compare: Compare): Item<T> | undefined {
  let first: Source<T> | undefined;
  for (const source of sources) {
    if (source.head === undefined) continue;
    const isBefore = first?.head === undefined || compare(source.head.value, first.head.value) < 0;
    if (isBefore) first = source;
  }
  const item = first?.head;
  first?.advance();
  return item;
}

/**
 * Returns a function that compares two items by the query's ordering. Without an ordering, all
 * items are equal, so the lists are concatenated.
 */
function comparisonOf<T>(
  query: NonNullable<HttpRequest['query']>,
  sources: readonly Source<T>[],
): Compare {
  const ordering = query.find(([name]) => name === 'ordering')?.[1] ?? '';
  const orders = ordering
    .split(',')
    .map((text) => text.trim())
    .filter((text) => text !== '')
    .map((text) => {
      const field = text.replace(/^[-+]/, '');
      return {
        field,
        sign: text.startsWith('-') ? -1 : 1,
        nullsFirst: startsWithNull(field, sources),
      };
    });
  return (a, b) => {
    for (const { field, sign, nullsFirst } of orders) {
      const [left, right] = [readPath(a, field) ?? null, readPath(b, field) ?? null];
      if (left === null && right === null) continue;
      if (left === null) return nullsFirst ? -1 : 1;
      if (right === null) return nullsFirst ? 1 : -1;
      const difference = sign * compareValues(left, right);
      if (difference !== 0) return difference;
    }
    return 0;
  };
}

/**
 * Whether the service puts missing values first. Databases differ in this, so the received items
 * are checked.
 */
function startsWithNull<T>(field: string, sources: readonly Source<T>[]): boolean {
  return sources.some(({ items }) => {
    const values = items.map(({ value }) => readPath(value, field) ?? null);
    return values[0] === null && values.some((value) => value !== null);
  });
}

function compareValues(left: unknown, right: unknown): number {
  const numbers = [numberOf(left), numberOf(right)] as const;
  if (numbers[0] !== undefined && numbers[1] !== undefined) return numbers[0] - numbers[1];
  const times = [readTime(left), readTime(right)] as const;
  if (times[0] !== undefined && times[1] !== undefined && times[0] !== times[1])
    return times[0] - times[1];
  const [a, b] = [String(left), String(right)];
  return a < b ? -1 : a > b ? 1 : 0;
}

/** Adds up the tallies of all lists, and writes the sums into the tally of the merged list. */
function sumUp<T>(tally: Tally, sources: readonly Source<T>[], repeated: number): void {
  const parts = sources.map((source) => source.tally);
  const sum = (numbers: readonly number[]) => numbers.reduce((total, number) => total + number, 0);
  const sumOfTotals = (totals: readonly (number | undefined)[]) =>
    totals.some((total) => total === undefined)
      ? undefined
      : sum(totals.map((total) => total ?? 0));
  tally.pages = sum(parts.map(({ pages }) => pages));
  tally.read = sum(parts.map(({ read }) => read)) - repeated;
  tally.repeated = sum(parts.map((part) => part.repeated)) + repeated;
  tally.missing = sum(parts.map(({ missing }) => missing));
  tally.firstTotal = sumOfTotals(parts.map(({ firstTotal }) => firstTotal));
  tally.lastTotal = sumOfTotals(parts.map(({ lastTotal }) => lastTotal));
  tally.nextPage = parts.find(({ nextPage }) => nextPage !== undefined)?.nextPage;
  tally.hasMore = sources.some((source) => source.tally.hasMore || source.head !== undefined);
}
