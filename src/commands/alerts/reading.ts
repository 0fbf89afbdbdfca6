// One reading of the list of alerts for the alerts watch. It decides how far the list is read.
//
// A quick reading ends when all alerts of a page are known. A deep reading continues for two more
// hours of alerts, to find alerts with wrong times, so that a wrong clock does not hide an alert.

import type { Alert } from '../../api/alert.js';
import { AlertFeed, type AlertOrder } from '../../follower/alert-feed.js';
import { type AlertItem, alertVersionOf, keyOf, lastMsOf } from '../../follower/known-alerts.js';
import type { Page, Query } from '../../http/types.js';

export type ListReading = ReturnType<typeof startReading>;

/** How wrong the clocks of the service and of its alerts may be. */
export const CLOCK_MARGIN_MS = 2 * 3_600_000;
/** The maximum number of alerts in one reading. */
const READING_LIMIT_ITEMS = 20_000;
/**
 * How many pages are read to find changes of older alerts when the service cannot sort by
 * `modified`.
 */
const CHANGES_LIMIT_PAGES = 20;

export function startReading(isDeep: boolean, filters: Query, order: AlertOrder) {
  return {
    isDeep,
    feed: new AlertFeed({ filters, order, hasLargePages: isDeep }),
    /**
     * The time of the first page by the service's clock, or by this machine's clock if that is
     * earlier; and the time by this machine's clock.
     */
    atMs: 0,
    wallMs: 0,
    /**
     * The alerts that were found, by version, including those of earlier readings of the same
     * pages.
     */
    found: new Map<string, AlertItem>(),
    /** The alerts of the pages after the first one. */
    laterItems: [] as AlertItem[],
  };
}

export function addPage(reading: ListReading, page: Page<Alert>): void {
  const fresh = reading.feed.take(page);
  for (const item of fresh) reading.found.set(keyOf(alertVersionOf(item, 'list')), item);
  if (reading.feed.pages > 1) reading.laterItems.push(...fresh);
}

/** Returns a new reading of the same pages that keeps the alerts found so far. */
export function repeatReading(reading: ListReading): ListReading {
  return { ...reading, feed: reading.feed.repeat(), laterItems: [] };
}

/**
 * Returns the time up to which the reading is complete: the newest time of an alert, but not later
 * than the service's time.
 */
export function topOf({ feed, atMs }: ListReading): number {
  return Math.min(feed.topMs ?? atMs, atMs);
}

/**
 * Returns why a reading can stop: at the end of the list, at known alerts (`cursorMs`), or at a
 * limit. Undefined when it must continue.
 */
export function readDownTo(
  { isDeep, feed }: ListReading,
  cursorMs: number,
): 'end' | 'known' | 'bound' | undefined {
  if (!feed.hasNext) return 'end';
  if (isDeep && feed.order === 'created') {
    if (feed.pages >= CHANGES_LIMIT_PAGES) return 'known';
  } else if (feed.lastMs !== undefined && feed.lastMs < cursorMs - (isDeep ? CLOCK_MARGIN_MS : 0)) {
    return 'known';
  }
  return feed.versions >= READING_LIMIT_ITEMS || feed.isEndless ? 'bound' : undefined;
}

/**
 * Sorts alerts by the time of their change. Alerts with the same time, or without a time, keep the
 * order of the list.
 */
export function oldestFirst(items: Iterable<AlertItem>): AlertItem[] {
  const timed = [...items].map((item) => ({ item, at: lastMsOf(item.value) ?? 0 })).reverse();
  return timed.sort((a, b) => a.at - b.at).map(({ item }) => item);
}
