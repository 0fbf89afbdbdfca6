// Reads the items of a list, each once; pages that brought fewer than the service counts are read again for the rest.

import type { Client } from '../../http/client.js';
import { openSeen, type Seen } from '../../http/seen.js';
import type { HttpRequest, Item, Query } from '../../http/types.js';
import type { Tally } from './tally.js';

/** What a list may hold; a uuid tells one item from another. */
export interface Listed {
  uuid?: unknown;
}

export interface ReadOptions {
  /** Whether every page is wanted; else the first alone. */
  isWhole: boolean;
  /** How many distinct items are wanted, where that is known; no page beyond them is asked for. */
  limit?: number | undefined;
  /** Called before the pages are read again. */
  onShort(missing: number, total: number): Promise<void>;
}

/** Some items that came for the first time; the array is emptied when the next are asked for. */
export interface Batch<T> {
  items: Item<T>[];
  /** Whether the service has more. */
  hasMore: boolean;
}

/** How often the pages are read at most, for items that did not come. */
const READINGS_LIMIT = 3;

/** A list that grows while it is read again may have so many pages more than before. */
const FURTHER_PAGES = 5;

/**
 * Reads the lists of all requests, one after the other, and keeps the tally. What was not found at last is in `tally.missing`; whoever
 * has enough stops asking before that is known. Throws what the client throws.
 */
export async function* readItems<T extends Listed>(
  client: Client,
  requests: readonly HttpRequest[],
  tally: Tally,
  options: ReadOptions,
): AsyncGenerator<Batch<T>, void, undefined> {
  const seenBefore: Seen[] = [];
  for (const [index, request] of requests.entries()) {
    const isLast = index + 1 === requests.length;
    const seen = openSeen();
    // What lies on the edge of two areas comes in both.
    const isNew = (item: Item<T>) => !seenBefore.some((before) => before.has(item));
    for await (const { items, hasMore } of readRequest<T>(client, request, { ...options, tally, index, seen })) {
      const fresh = seenBefore.length === 0 ? items : items.filter(isNew);
      tally.read += fresh.length;
      yield { items: fresh, hasMore: hasMore || !isLast };
    }
    seenBefore.push(seen);
  }
}

interface RequestOptions extends ReadOptions {
  tally: Tally;
  index: number;
  seen: Seen;
}

async function* readRequest<T extends Listed>(
  client: Client,
  request: HttpRequest,
  { isWhole, limit, onShort, tally, index, seen }: RequestOptions,
): AsyncGenerator<Batch<T>, void, undefined> {
  let came = 0;
  let total: number | undefined;
  let pages = 0;
  const missing = () => Math.max(0, (total ?? 0) - came);
  const isAwaited = isWhole && !startsLater(request.query);
  for (let reading = 1; ; reading++) {
    const isFirst = reading === 1;
    const first = isWhole ? (limit === undefined ? {} : { limit }) : { ahead: 0 };
    const again = { ahead: 1, mostPages: pages + FURTHER_PAGES };
    for await (const page of client.pages<T>(request, { ...(isFirst ? first : again), seen })) {
      // Without a uuid nobody knows whether it was shown before.
      const items = isFirst ? page.fresh : page.fresh.filter(({ value }) => typeof value.uuid === 'string');
      came += items.length;
      total = page.count ?? total;
      tally.pages += 1;
      tally.firstTotals[index] ??= page.count;
      // A change stays one, also when the total comes back while the pages are read again.
      if (isFirst || total !== tally.firstTotals[index]) tally.lastTotals[index] = total;
      if (isFirst) {
        pages += 1;
        tally.repeated += page.items.length - items.length;
      } else tally.late += items.length;
      yield { items, hasMore: isFirst ? page.next !== undefined : missing() > 0 };
      // What was taken is let go of: a page may be of any size, and whoever reads on would hold it until the next has come.
      page.items.length = 0;
      page.fresh.length = 0;
      if (!isFirst && missing() === 0) return;
    }
    if (!isAwaited || missing() === 0) return;
    tally.readings = Math.max(tally.readings, reading);
    const isIdentified = seen.size === came;
    if (!isIdentified || reading === READINGS_LIMIT) break;
    await onShort(missing(), total ?? 0);
  }
  tally.missing += missing();
}

/** Whether the list is read from a later page on: then nobody knows how many must come. */
function startsLater(query: Query = []): boolean {
  return query.some(([name, value]) => name === 'page' && value !== '1');
}
