// One reading of the list, newest first, page by page: how far it goes, and when it is whole. Pure.
//
// A quick reading ends where everything is known. What clocks did wrong is found by a deep one, which goes two hours further, so that no
// time of an alert decides alone whether it is seen.

import type { Alert } from '../../api/alert.js';
import type { Page } from '../../http/types.js';
import { readTime } from '../../terminal/time.js';
import { type AlertItem, keyOf, lastMsOf, versionOf } from './known.js';

export interface Reading {
  readonly isDeep: boolean;
  readonly pages: number;
  /** By their version, since pages shift while they are read. */
  readonly items: ReadonlyMap<string, AlertItem>;
  /** What the list is ordered by, of the last item; undefined as soon as the order was not kept. */
  readonly lastMs: number | undefined;
  /** The newest time of an alert. */
  readonly topMs: number | undefined;
  /** The time at the service when the first page came. */
  readonly serviceMs: number;
  /** Pages in a row that held nothing new. */
  readonly stalePages: number;
}

/** `created`: the service does not order by `modified`. */
export type Order = 'modified' | 'created';

/** Changes become visible in the list out of order by so much: transactions that end late, whole seconds. */
export const OVERLAP_MS = 10_000;
/** So far the clocks of the service and of its alerts may be wrong. */
export const CLOCK_MARGIN_MS = 2 * 3_600_000;
/** What one reading keeps at most. */
const READING_LIMIT_ITEMS = 20_000;
/** How far changes of older alerts are looked for where the service does not order by `modified`. */
const CHANGES_LIMIT_PAGES = 20;
/** A list that goes on and on without an alert that is new is led in a circle. */
const STALE_PAGES_LIMIT = 10;

export function startReading(isDeep: boolean, wallMs: number): Reading {
  const nothing = { pages: 0, items: new Map(), topMs: undefined, stalePages: 0 };
  return { isDeep, ...nothing, lastMs: Number.POSITIVE_INFINITY, serviceMs: wallMs };
}

export function addPage(before: Reading, order: Order, page: Page<Alert>, serviceMs: number): Reading {
  const items = new Map(before.items);
  let { lastMs, topMs } = before;
  for (const item of page.items) {
    const orderMs = order === 'modified' ? lastMsOf(item.value) : readTime(item.value.created);
    // Once out of order, always out of order: then nothing proves that the rest is older. One without a time proves nothing.
    if (orderMs !== undefined) lastMs = lastMs === undefined || orderMs > lastMs ? undefined : orderMs;
    const changedMs = lastMsOf(item.value);
    if (changedMs !== undefined) topMs = Math.max(topMs ?? changedMs, changedMs);
    const key = keyOf(versionOf(item, 'list'));
    if (!items.has(key)) items.set(key, item);
  }
  const stalePages = items.size > before.items.size ? 0 : before.stalePages + 1;
  const first = before.pages === 0 ? { serviceMs } : {};
  return { ...before, ...first, pages: before.pages + 1, items, lastMs, topMs, stalePages };
}

/** How far a reading has come: to the end of the list, to what was seen before (`cursorMs`), far enough; undefined: it goes on. */
export function readTo(
  { isDeep, pages, items, lastMs, stalePages }: Reading,
  order: Order,
  cursorMs: number | undefined,
  hasNext: boolean,
): 'end' | 'known' | 'bound' | undefined {
  if (!hasNext) return 'end';
  if (isDeep && order === 'created') {
    if (pages >= CHANGES_LIMIT_PAGES) return 'known';
  } else if (cursorMs !== undefined && lastMs !== undefined) {
    if (lastMs < cursorMs - (isDeep ? CLOCK_MARGIN_MS : OVERLAP_MS)) return 'known';
  }
  return items.size >= READING_LIMIT_ITEMS || stalePages >= STALE_PAGES_LIMIT ? 'bound' : undefined;
}

/** By the time of their change; what has the same, or none, in the list's own order. */
export function oldestFirst(items: Iterable<AlertItem>): AlertItem[] {
  const timed = [...items].map((item) => ({ item, at: lastMsOf(item.value) ?? 0 })).reverse();
  return timed.sort((a, b) => a.at - b.at).map(({ item }) => item);
}

/**
 * The time that a cursor must not pass: the service's own, and not this machine's where the two can both be right; alerts may be as far
 * behind the one as it is ahead of the other.
 */
export function cursorLimitMs(serviceMs: number, wallMs: number): number {
  return Math.min(serviceMs, Math.max(wallMs, serviceMs - CLOCK_MARGIN_MS));
}
