// Reads the list of alerts, newest first, until the caller has enough alerts. Does no I/O; the
// caller reads the pages.
//
// The list can change while its pages are read. A new alert moves existing alerts to the next page,
// so repeated alerts are skipped. A deleted alert moves an existing alert to a page that was
// already read. In this case, the service's count becomes smaller, and the pages are read again.

import type { Alert } from '../api/alert.js';
import { FleetError } from '../errors.js';
import { openSeenKeys } from '../http/distinct.js';
import { LARGE_PAGE } from '../http/page-size.js';
import type { Page, Query } from '../http/types.js';
import { readTime } from '../terminal/time.js';
import { type AlertItem, alertVersionOf, keyOf, lastMsOf } from './known-alerts.js';

/**
 * The field by which the list is ordered. A service may refuse `modified`, because section 4.5 of
 * the interface mentions only `created`.
 */
export type AlertOrder = 'modified' | 'created';

export interface AlertFeedOptions {
  /** The filters of the list, without page and order. */
  readonly filters: Query;
  readonly order: AlertOrder;
  /** Whether to request large pages. Set this when the caller usually reads more than one page. */
  readonly hasLargePages: boolean;
}

/**
 * The maximum number of times that the pages are read again because alerts were deleted during the
 * read.
 */
const REPEATS_LIMIT = 3;
/**
 * Reading stops after this many consecutive pages without a new alert, because the service then
 * probably repeats its pages.
 */
const STALE_PAGES_LIMIT = 10;
/**
 * The minimum number of alert versions to remember. fleet needs them to recognise alerts that moved
 * to another page.
 */
const SEEN_VERSIONS = 20_000;
/**
 * A list is treated as endless when it has far more alerts than the service counts. The limit is
 * twice the service's count plus this number. The margin allows a short list to grow while it is
 * read.
 */
const BEYOND_COUNT_LIMIT_ITEMS = 1_000;

/**
 * One pass through the list of alerts. The caller requests the page for `query` and passes it to
 * `take`.
 */
export class AlertFeed {
  /** The query of the next page. */
  query: Query;
  /** Whether the last page contained a link to a next page. */
  hasNext = true;
  pages = 0;
  /** The number of distinct versions of alerts so far. */
  versions = 0;
  /**
   * The time of the last alert, in the field by which the list is ordered. Undefined once an alert
   * was out of order.
   */
  lastMs: number | undefined = Number.POSITIVE_INFINITY;
  /** The newest time of any alert so far. */
  topMs: number | undefined;
  readonly #options: AlertFeedOptions;
  readonly #seen = openSeenKeys(SEEN_VERSIONS);
  #stalePages = 0;
  #items = 0;
  /** The service's count on the last page, or undefined when the page had no count. */
  #count: number | undefined;
  #hasShrunk = false;
  #repeats = 0;
  /** The number of pages in the longest earlier pass through this list. */
  #leastPages = 0;

  constructor(options: AlertFeedOptions) {
    this.#options = options;
    this.query = firstQuery(options);
  }

  get order(): AlertOrder {
    return this.#options.order;
  }

  /**
   * Whether the list is endless: its pages repeat, or contain many more alerts than the service
   * counts.
   */
  get isEndless(): boolean {
    const limit = 2 * (this.#count ?? Number.POSITIVE_INFINITY) + BEYOND_COUNT_LIMIT_ITEMS;
    return this.hasNext && (this.#stalePages >= STALE_PAGES_LIMIT || this.#items > limit);
  }

  /**
   * Whether the list must be read again, because it became shorter. An alert may have moved to a
   * page that was already read.
   */
  get mustRepeat(): boolean {
    return this.#hasShrunk && this.#repeats < REPEATS_LIMIT;
  }

  /**
   * Whether this pass has read at least as many pages as each earlier pass. The pass must not end
   * sooner, because a missed alert can be on any of these pages.
   */
  get hasRepeatedAll(): boolean {
    return this.pages >= this.#leastPages;
  }

  /** Adds a page. Returns the alerts that were not on an earlier page. */
  take(page: Page<Alert>): AlertItem[] {
    const { count, items, next } = page;
    if (count !== undefined && count < (this.#count ?? 0)) this.#hasShrunk = true;
    this.#count = count;
    this.#items += items.length;
    this.pages++;
    this.hasNext = next !== undefined;
    if (next !== undefined) this.query = next;
    const fresh = items.filter((item) => this.#seen.add(keyOf(alertVersionOf(item, 'list'))));
    for (const { value } of fresh) this.#learnTimes(value);
    this.versions += fresh.length;
    this.#stalePages = fresh.length > 0 ? 0 : this.#stalePages + 1;
    return fresh;
  }

  #learnTimes(alert: Alert) {
    const changedMs = lastMsOf(alert);
    if (changedMs !== undefined) this.topMs = Math.max(this.topMs ?? changedMs, changedMs);
    const orderMs = this.order === 'modified' ? changedMs : readTime(alert.created);
    // Once an alert was out of order, alerts on later pages may be newer. In this case, `lastMs`
    // stays undefined. Alerts without a time are ignored.
    if (orderMs === undefined || this.lastMs === undefined) return;
    this.lastMs = orderMs > this.lastMs ? undefined : orderMs;
  }

  /**
   * Whether the passes prove that no alert was missed. If the service sends counts, the count must
   * not have fallen, because a falling count means that an alert was deleted. If the service sends
   * no counts, the later passes must not have found a new alert.
   */
  isProven(hasNewsOnLaterPages: boolean): boolean {
    return this.#count === undefined ? !hasNewsOnLaterPages : !this.#hasShrunk;
  }

  /** Returns a feed that reads the same list again, from its first page. */
  repeat(): AlertFeed {
    const feed = new AlertFeed(this.#options);
    feed.#repeats = this.#repeats + 1;
    feed.#leastPages = Math.max(this.#leastPages, this.pages);
    return feed;
  }

  /**
   * Records that a page no longer exists, because the list became shorter. Observed: the service
   * returns 404 for a page beyond the end of the list.
   */
  noteFailure(error: unknown): void {
    if (error instanceof FleetError && error.status === 404 && this.pages > 0)
      this.#hasShrunk = true;
  }

  /** Whether the service refuses to sort by `modified`. The caller must then sort by `created`. */
  isOrderRefused(error: unknown): boolean {
    return error instanceof FleetError && error.status === 400 && this.order === 'modified';
  }
}

function firstQuery({ filters, order, hasLargePages }: AlertFeedOptions): Query {
  return [['ordering', `-${order}`], ...filters, ...(hasLargePages ? [LARGE_PAGE] : [])];
}

/** The consumer's decision after a page. */
export interface PageResult {
  /** Whether the page contained an alert that was new to the consumer. */
  readonly hasNews: boolean;
  /** Whether the consumer needs no more pages. */
  readonly isEnough: boolean;
}

export interface AlertFeedReading extends AlertFeedOptions {
  /** Reads one page of the list. */
  readPage(query: Query): Promise<Page<Alert>>;
  /**
   * Receives the alerts of a page. When the list is read again, the consumer receives the same
   * alerts again.
   */
  takePage(alerts: readonly AlertItem[]): PageResult | Promise<PageResult>;
}

/**
 * Reads the list, newest first, until the consumer has enough or the list ends. Sorts the list by
 * `created` when the service refuses `modified`. Returns true when it is certain that no alert is
 * missing. Throws the errors of `readPage` and `takePage`, and a FleetError of kind `service` when
 * the list does not end.
 */
export async function readAlertFeed(reading: AlertFeedReading): Promise<boolean> {
  let feed = new AlertFeed(reading);
  let hasNewsOnLaterPages = false;
  for (;;) {
    let page: Page<Alert>;
    try {
      page = await reading.readPage(feed.query);
    } catch (error) {
      if (feed.isOrderRefused(error)) return readAlertFeed({ ...reading, order: 'created' });
      feed.noteFailure(error);
      if (!feed.mustRepeat) throw error;
      feed = feed.repeat();
      hasNewsOnLaterPages = false;
      continue;
    }
    const alerts = feed.take(page);
    const { hasNews, isEnough } = await reading.takePage(alerts);
    if (hasNews && feed.pages > 1) hasNewsOnLaterPages = true;
    if (feed.isEndless)
      throw new FleetError('service', 'the list of alerts does not end: its pages repeat', {
        trace: page.trace,
        hint: 'the result may be incomplete; report the request id to the operator of the service',
      });
    if (feed.hasNext && !(isEnough && feed.hasRepeatedAll)) continue;
    if (!feed.mustRepeat) return feed.isProven(hasNewsOnLaterPages);
    feed = feed.repeat();
    hasNewsOnLaterPages = false;
  }
}
