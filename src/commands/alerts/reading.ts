// One reading of the list, newest first, page by page: how far it goes, and when it is whole.
//
// A quick reading ends where everything is known. What clocks did wrong is found by a deep one, which goes two hours further, so that no
// time of an alert decides alone whether it is seen.

import type { Alert } from '../../api/alert.js';
import type { Page, Query } from '../../http/types.js';
import { readTime } from '../../terminal/time.js';
import { type AlertItem, alertVersionOf, keyOf, lastMsOf } from './known.js';

export type ListReading = ReturnType<typeof startReading>;

/** `created`: the service does not order by `modified`. */
export type Order = 'modified' | 'created';

/** So far the clocks of the service and of its alerts may be wrong. */
export const CLOCK_MARGIN_MS = 2 * 3_600_000;
/** What one reading keeps at most. */
const READING_LIMIT_ITEMS = 20_000;
/** How far changes of older alerts are looked for where the service does not order by `modified`. */
const CHANGES_LIMIT_PAGES = 20;
/** A list that goes on and on without an alert that is new is led in a circle. */
const STALE_PAGES_LIMIT = 10;

export function startReading(isDeep: boolean, query: Query) {
  return {
    isDeep,
    /** The page that comes next. */
    query,
    pages: 0,
    /** By their version, since pages shift while they are read. */
    items: new Map<string, AlertItem>(),
    /** What the list is ordered by, of the last item; undefined as soon as the order was not kept. */
    lastMs: Number.POSITIVE_INFINITY as number | undefined,
    /** The newest time of an alert. */
    topMs: undefined as number | undefined,
    /** The time of the first page: the service's, or this machine's where that is earlier; and this machine's. */
    atMs: 0,
    wallMs: 0,
    /** Pages in a row that held nothing new. */
    stalePages: 0,
  };
}

export function addPage(reading: ListReading, order: Order, page: Page<Alert>): void {
  const { size } = reading.items;
  reading.pages++;
  for (const item of page.items) {
    const key = keyOf(alertVersionOf(item, 'list'));
    // New alerts push others from one page to the next.
    if (reading.items.has(key)) continue;
    reading.items.set(key, item);
    const changedMs = lastMsOf(item.value);
    const orderMs = order === 'modified' ? changedMs : readTime(item.value.created);
    // Once out of order, always out of order: then nothing proves that the rest is older. One without a time proves nothing.
    if (orderMs !== undefined && reading.lastMs !== undefined)
      reading.lastMs = orderMs > reading.lastMs ? undefined : orderMs;
    if (changedMs !== undefined) reading.topMs = Math.max(reading.topMs ?? changedMs, changedMs);
  }
  reading.stalePages = reading.items.size > size ? 0 : reading.stalePages + 1;
}

/** Up to when it shows everything: the newest time of an alert, where that is not ahead of the service. */
export function topOf({ topMs, atMs }: ListReading): number {
  return Math.min(topMs ?? atMs, atMs);
}

/** How far a reading has come: to the end of the list, to what was seen before (`cursorMs`), far enough; undefined: it goes on. */
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

/** By the time of their change; what has the same, or none, in the list's own order. */
export function oldestFirst(items: Iterable<AlertItem>): AlertItem[] {
  const timed = [...items].map((item) => ({ item, at: lastMsOf(item.value) ?? 0 })).reverse();
  return timed.sort((a, b) => a.at - b.at).map(({ item }) => item);
}
