// Reads the items of a list, each once; pages that brought fewer than the service counts are read again for the rest.

import type { Client } from '../../../http/client.js';
import { hasUuid, openSeen } from '../../../http/distinct.js';
import type { HttpRequest, Item, Query } from '../../../http/types.js';
import type { Tally } from './tally.js';

/** An item of a list; its uuid is its identity. */
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

/** How often the pages are read at most, for items that did not come. */
const READINGS_LIMIT = 3;

/** A list that grows while it is read again may have so many pages more than before. */
const FURTHER_PAGES = 5;

/**
 * Reads a list and keeps the tally; yields what comes for the first time, in arrays that are emptied when the next is asked for. What was
 * not found at last is in `tally.missing`; whoever has enough stops asking before that is known. Throws what the client throws.
 */
export async function* readItems<T extends Listed>(
  client: Client,
  request: HttpRequest,
  tally: Tally,
  { isWhole, limit, onShort }: ReadOptions,
): AsyncGenerator<Item<T>[], void, undefined> {
  const seen = openSeen();
  let total: number | undefined;
  const missing = () => Math.max(0, (total ?? 0) - tally.read);
  const first = isWhole ? (limit === undefined ? {} : { limit }) : { ahead: 0 };
  for (tally.readings = 1; ; tally.readings += 1) {
    const isFirst = tally.readings === 1;
    const again = { ahead: 1, mostPages: tally.pages + FURTHER_PAGES };
    for await (const page of client.pages<T>(request, { ...(isFirst ? first : again), seen })) {
      // Without a uuid it cannot be known whether it was shown before.
      const items = isFirst ? page.fresh : page.fresh.filter(hasUuid);
      tally.pages += 1;
      tally.read += items.length;
      tally.firstTotal ??= page.count;
      total = page.count ?? total;
      // A change stays one, also when the total comes back while the pages are read again.
      if (isFirst || total !== tally.firstTotal) tally.lastTotal = total;
      if (isFirst) tally.repeated += page.items.length - items.length;
      tally.hasMore = isFirst ? page.next !== undefined : missing() > 0;
      yield items;
      // What was taken is let go of: a page may be of any size, and whoever reads on would hold it until the next has come.
      page.items.length = 0;
      page.fresh.length = 0;
      if (!isFirst && missing() === 0) return;
    }
    if (!isWhole || startsLater(request.query) || missing() === 0) return;
    if (seen.size !== tally.read || tally.readings === READINGS_LIMIT) break;
    await onShort(missing(), total ?? 0);
  }
  tally.missing = missing();
}

/** Whether the list is read from a later page on: then the number of items to expect is unknown. */
function startsLater(query: Query = []): boolean {
  return query.some(([name, value]) => name === 'page' && value !== '1');
}
