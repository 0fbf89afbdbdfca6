// The feed of alerts: reads the list of alerts, newest first, until the remaining alerts are known.
// No I/O: the caller reads each page.
//
// The list can change while its pages are read. A new alert moves others to the next page, so an
// alert that was read before is skipped. A deleted alert moves another one to a page that was read
// already. The service's count reveals the deletion, and the pages are read again.

import type { Alert } from '../api/alert.js';
import { FleetError } from '../errors.js';
import { openSeenKeys } from '../http/distinct.js';
import { LARGE_PAGE } from '../http/page-size.js';
import type { Page, Query } from '../http/types.js';
import { readTime } from '../terminal/time.js';
import { type AlertItem, alertVersionOf, keyOf, lastMsOf } from './known-alerts.js';

/**
 * The field that orders the list. Section 4.5 of the interface only shows `created`, so a service
 * may refuse `modified`.
 */
export type AlertOrder = 'modified' | 'created';

export interface AlertFeedOptions {
  /** The filters of the list, without the parameters for order and page. */
  readonly filters: Query;
  readonly order: AlertOrder;
  /** Whether to request large pages. Only used when more than one page is usually read. */
  readonly hasLargePages: boolean;
}

/** How many times the pages are read again when an alert was deleted during the reading. */
const REPEATS_LIMIT = 3;
/**
 * The feed stops after this many consecutive pages without a new alert, because the service then
 * repeats its pages.
 */
const STALE_PAGES_LIMIT = 10;
/**
 * The feed remembers at least this many versions of alerts, to recognise an alert that moved to
 * another page.
 */
const SEEN_VERSIONS = 20_000;
/**
 * A list is treated as endless when it has more than this many alerts and more than twice the
 * service's count. A short list may grow while it is read.
 */
const BEYOND_COUNT_LIMIT_ITEMS = 1_000;

/** One reading of the list. The caller reads the page of `query` and passes it to `take`. */
export class AlertFeed {
  /** The query of the next page. */
  query: Query;
  /** Whether the last page had a link to another page. */
  hasNext = true;
  pages = 0;
  /** The number of different versions of alerts. */
  versions = 0;
  /**
   * The time of the last alert in the field that orders the list (`modified` or `created`). It is
   * undefined after an alert that was out of order.
   */
  lastMs: number | undefined = Number.POSITIVE_INFINITY;
  /** The newest time of an alert. */
  topMs: number | undefined;
  readonly #options: AlertFeedOptions;
  readonly #seen = openSeenKeys(SEEN_VERSIONS);
  #stalePages = 0;
  #items = 0;
  /** The service's count on the last page; undefined when the page had no count. */
  #count: number | undefined;
  #hasShrunk = false;
  #repeats = 0;
  /** How many pages the earlier readings of this list had. */
  #leastPages = 0;

  constructor(options: AlertFeedOptions) {
    this.#options = options;
    this.query = firstQuery(options);
  }

  get order(): AlertOrder {
    return this.#options.order;
  }

  /** Whether the service repeats its pages, or sends many more alerts than it counts. */
  get isEndless(): boolean {
    const limit = 2 * (this.#count ?? Number.POSITIVE_INFINITY) + BEYOND_COUNT_LIMIT_ITEMS;
    return this.hasNext && (this.#stalePages >= STALE_PAGES_LIMIT || this.#items > limit);
  }

  /**
   * Whether the list became shorter during the reading. The first alert of a later page may then
   * have moved to a page that was read already.
   */
  get mustRepeat(): boolean {
    return this.#hasShrunk && this.#repeats < REPEATS_LIMIT;
  }

  /**
   * Whether this reading has read as many pages as the reading before it. A missed alert can be on
   * any of these pages, so known alerts do not end the reading earlier.
   */
  get hasRepeatedAll(): boolean {
    return this.pages >= this.#leastPages;
  }

  /** Takes the next page. Returns its alerts that were not on an earlier page. */
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
    // After one alert out of order, the remaining alerts may be newer. Alerts without a time are
    // ignored.
    if (orderMs === undefined || this.lastMs === undefined) return;
    this.lastMs = orderMs > this.lastMs ? undefined : orderMs;
  }

  /**
   * Whether the feed cannot have missed an alert. A count reveals a deletion. Without a count, no
   * alert moved only if all pages after the first had no new alert.
   */
  isProven(hasNewsOnLaterPages: boolean): boolean {
    return this.#count === undefined ? !hasNewsOnLaterPages : !this.#hasShrunk;
  }

  /** Returns a new reading of the same list. */
  repeat(): AlertFeed {
    const feed = new AlertFeed(this.#options);
    feed.#repeats = this.#repeats + 1;
    feed.#leastPages = Math.max(this.#leastPages, this.pages);
    return feed;
  }

  /**
   * Records that a page vanished because the list became shorter. Observed: the service answers 404
   * to a page behind the end of the list.
   */
  noteFailure(error: unknown): void {
    if (error instanceof FleetError && error.status === 404 && this.pages > 0)
      this.#hasShrunk = true;
  }

  /**
   * Whether the service refuses to sort by `modified`, so that the list must be sorted by
   * `created`.
   */
  isOrderRefused(error: unknown): boolean {
    return error instanceof FleetError && error.status === 400 && this.order === 'modified';
  }
}

function firstQuery({ filters, order, hasLargePages }: AlertFeedOptions): Query {
  return [['ordering', `-${order}`], ...filters, ...(hasLargePages ? [LARGE_PAGE] : [])];
}

/** What the consumer of the feed says about a page. */
export interface PageResult {
  /** Whether the page had an alert that the consumer did not know. */
  readonly hasNews: boolean;
  /** Whether the consumer needs no further page. */
  readonly isEnough: boolean;
}

export interface AlertFeedReading extends AlertFeedOptions {
  /** Reads one page of the list. */
  readPage(query: Query): Promise<Page<Alert>>;
  /**
   * Takes the alerts of a page. When the pages are read again, the consumer gets the same alerts
   * again.
   */
  takePage(alerts: readonly AlertItem[]): PageResult | Promise<PageResult>;
}

/**
 * Reads the list, newest first, until the consumer has enough or the list ends. Sorts the list by
 * `created` when the service refuses `modified`. Returns whether no alert can be missing. Throws
 * the errors of the two functions, and a FleetError of kind `service` when the list does not end.
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
