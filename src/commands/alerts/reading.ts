// One read of the alert list, newest first, page by page. Decides how far to read and when the read
// is complete.
//
// A quick read ends at alerts that are all known. A deep read continues for two more hours to find
// alerts with wrong times, so that a wrong clock does not hide an alert.

import type { Alert } from '../../api/alert.js';
import type { Page, Query } from '../../http/types.js';
import { readTime } from '../../terminal/time.js';
import { type AlertItem, alertVersionOf, keyOf, lastMsOf } from './known.js';

export type ListReading = ReturnType<typeof startReading>;

/** `created` is used when the service cannot order by `modified`. */
export type Order = 'modified' | 'created';

/** How far the clocks of the service and of its alerts may be wrong. */
export const CLOCK_MARGIN_MS = 2 * 3_600_000;
/** The maximum number of alerts in one read. */
const READING_LIMIT_ITEMS = 20_000;
/**
 * How many pages are read for changes of older alerts when the service cannot order by `modified`.
 */
const CHANGES_LIMIT_PAGES = 20;
/** Gives up after this many consecutive pages without a new alert, because the pages repeat. */
const STALE_PAGES_LIMIT = 10;

/** How often the pages are read again at once. Later reads go as far back. */
const REPEATS_LIMIT = 3;

export function startReading(isDeep: boolean, query: Query) {
  return {
    isDeep,
    /** The query of the next page. */
    query,
    pages: 0,
    /** By version, because alerts move between pages during the read. */
    items: new Map<string, AlertItem>(),
    /**
     * The order time (`modified` or `created`) of the last item; undefined after an item that was
     * out of order.
     */
    lastMs: Number.POSITIVE_INFINITY as number | undefined,
    /** The newest time of an alert. */
    topMs: undefined as number | undefined,
    /**
     * The time of the first page by the service's clock, or by this machine's clock if it is
     * earlier; and the time by this machine's clock.
     */
    atMs: 0,
    wallMs: 0,
    /** Consecutive pages without a new alert. */
    stalePages: 0,
    /** How many of the items are from the first page. */
    firstPageItems: 0,
    /** The service's total on the last page; undefined when it gives none. */
    lastCount: undefined as number | undefined,
    /** Whether the list became shorter between two pages, which moves alerts to earlier pages. */
    hasShrunk: false,
    /** Earlier reads of the same pages. */
    repeats: 0,
    /** The alerts of those reads. */
    earlierItems: new Map<string, AlertItem>(),
  };
}

export function addPage(reading: ListReading, order: Order, page: Page<Alert>): void {
  const { size } = reading.items;
  reading.pages++;
  if (page.count !== undefined && page.count < (reading.lastCount ?? 0)) reading.hasShrunk = true;
  reading.lastCount = page.count;
  for (const item of page.items) {
    const key = keyOf(alertVersionOf(item, 'list'));
    // New alerts move others from one page to the next.
    if (reading.items.has(key)) continue;
    reading.items.set(key, item);
    const changedMs = lastMsOf(item.value);
    const orderMs = order === 'modified' ? changedMs : readTime(item.value.created);
    // After one item out of order, it is not certain that the remaining alerts are older. Items
    // without a time are ignored.
    if (orderMs !== undefined && reading.lastMs !== undefined)
      reading.lastMs = orderMs > reading.lastMs ? undefined : orderMs;
    if (changedMs !== undefined) reading.topMs = Math.max(reading.topMs ?? changedMs, changedMs);
  }
  if (reading.pages === 1) reading.firstPageItems = reading.items.size;
  reading.stalePages = reading.items.size > size ? 0 : reading.stalePages + 1;
}

/**
 * Whether the list became shorter during the read. The first alert of a later page may then have
 * moved to a page that was read already.
 */
export function mustRepeat({ hasShrunk, repeats }: ListReading): boolean {
  return hasShrunk && repeats < REPEATS_LIMIT;
}

/**
 * Whether the read cannot have missed an alert. A service that counts its alerts reveals a deletion.
 * Otherwise only a read that finds nothing new after its first page proves that nothing moved.
 */
export function isProven(
  { hasShrunk, lastCount, items, firstPageItems }: ListReading,
  isNew: (item: AlertItem) => boolean,
): boolean {
  if (lastCount !== undefined) return !hasShrunk;
  return ![...items.values()].slice(firstPageItems).some(isNew);
}

/** Returns a new read of the same pages, which keeps the alerts that were found. */
export function repeatReading(reading: ListReading, query: Query): ListReading {
  return {
    ...startReading(reading.isDeep, query),
    repeats: reading.repeats + 1,
    earlierItems: new Map([...reading.earlierItems, ...reading.items]),
  };
}

/** Returns the alerts of a read and of its earlier attempts. */
export function foundItems({ earlierItems, items }: ListReading): Iterable<AlertItem> {
  return new Map([...earlierItems, ...items]).values();
}

/**
 * Returns the time up to which the read is complete: the newest time of an alert, but not later
 * than the service's time.
 */
export function topOf({ topMs, atMs }: ListReading): number {
  return Math.min(topMs ?? atMs, atMs);
}

/**
 * Returns why a read can stop: at the end of the list, at known alerts (`cursorMs`), or at a limit.
 * Undefined to continue.
 */
export function readDownTo(
  { isDeep, pages, items, lastMs, stalePages }: ListReading,
  order: Order,
  cursorMs: number,
  hasNext: boolean,
): 'end' | 'known' | 'bound' | undefined {
  if (!hasNext) return 'end';
  if (isDeep && order === 'created') {
    if (pages >= CHANGES_LIMIT_PAGES) return 'known';
  } else if (lastMs !== undefined && lastMs < cursorMs - (isDeep ? CLOCK_MARGIN_MS : 0))
    return 'known';
  return items.size >= READING_LIMIT_ITEMS || stalePages >= STALE_PAGES_LIMIT ? 'bound' : undefined;
}

/**
 * Sorts alerts by the time of their change. Alerts with the same time or without a time keep the
 * order of the list.
 */
export function oldestFirst(items: Iterable<AlertItem>): AlertItem[] {
  const timed = [...items].map((item) => ({ item, at: lastMsOf(item.value) ?? 0 })).reverse();
  return timed.sort((a, b) => a.at - b.at).map(({ item }) => item);
}
