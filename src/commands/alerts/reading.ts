// One pass over the list of alerts: collects the alerts and decides how far to read.
//
// A quick pass ends when it reaches alerts that are older than the last known position. A deep pass
// also reads alerts that are up to two hours older. An alert with a wrong time can be further down
// in the list.

import type { Alert } from '../../api/alert.js';
import { AlertFeed, type AlertOrder } from '../../follower/alert-feed.js';
import { type AlertItem, alertVersionOf, keyOf, lastMsOf } from '../../follower/known-alerts.js';
import type { Page, Query } from '../../http/types.js';

export type ListReading = ReturnType<typeof startReading>;

/** The largest expected error of the clocks from which alerts get their times. */
export const CLOCK_MARGIN_MS = 2 * 3_600_000;
/** The maximum number of alerts that are read in one pass. */
const READING_LIMIT_ITEMS = 20_000;
/**
 * The number of pages that a pass reads to find changes of older alerts. Used when the service
 * cannot sort by `modified`.
 */
const CHANGES_LIMIT_PAGES = 20;

export function startReading(isDeep: boolean, filters: Query, order: AlertOrder) {
  return {
    isDeep,
    feed: new AlertFeed({ filters, order, hasLargePages: isDeep }),
    /**
     * When the first page arrived. `atMs` is the service's time, or this machine's time when that
     * is earlier. `wallMs` is this machine's time.
     */
    atMs: 0,
    wallMs: 0,
    /**
     * The alerts that were found, by version. When fleet reads the same pages again, it keeps these
     * alerts.
     */
    found: new Map<string, AlertItem>(),
    /** The alerts of the pages after the first page. */
    laterItems: [] as AlertItem[],
  };
}

export function addPage(reading: ListReading, page: Page<Alert>): void {
  const fresh = reading.feed.take(page);
  for (const item of fresh) reading.found.set(keyOf(alertVersionOf(item, 'list')), item);
  if (reading.feed.pages > 1) reading.laterItems.push(...fresh);
}

/** Restarts at the first page, and keeps the alerts that were found so far. */
export function repeatReading(reading: ListReading): ListReading {
  return { ...reading, feed: reading.feed.repeat(), laterItems: [] };
}

/**
 * Returns the time up to which all alerts were read. This is the time of the newest alert, but not
 * later than the service's current time.
 */
export function topOf({ feed, atMs }: ListReading): number {
  return Math.min(feed.topMs ?? atMs, atMs);
}

/**
 * Returns the reason to stop reading: the list ended, the alerts are older than `cursorMs`, or a
 * limit was reached. Returns undefined when more pages must be read.
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
 * Sorts alerts by the time of their last change, oldest first. Alerts without a time come first.
 * Alerts with the same time are in reverse list order, because the list starts with the newest.
 */
export function oldestFirst(items: Iterable<AlertItem>): AlertItem[] {
  const timed = [...items].map((item) => ({ item, at: lastMsOf(item.value) ?? 0 })).reverse();
  return timed.sort((a, b) => a.at - b.at).map(({ item }) => item);
}
