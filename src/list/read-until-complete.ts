// Reads the pages of a list, and reads them again when fewer items arrived than the service counts.

import type { Context } from '../context.js';
import { hasUuid, openSeen } from '../http/distinct.js';
import { hasTotal, pageNumber } from '../http/pages.js';
import type { HttpRequest, Item } from '../http/types.js';
import { countNoun } from '../terminal/formats/renderer.js';
import type { Shape } from '../terminal/formats.js';
import type { Tally } from './footer.js';

/** Reads an incomplete list at most this many times. */
const READINGS_LIMIT = 3;

/**
 * The number of extra pages that are allowed when the list is read again, because the list can
 * grow.
 */
const FURTHER_PAGES = 5;

/**
 * Reads a list, yields its new items in arrays and updates the tally. Without `wanted`, reads only
 * the first page. Requests no page after `limit` items. Reads the list again when fewer items
 * arrived than the service counts. In the end, `tally.missing` is the number of items that are
 * still missing.
 *
 * When the caller requests the next array, empties the previous one. The caller can stop at any
 * time. Throws the client's errors.
 */
export async function* readItems<T extends { uuid?: unknown }>(
  context: Context,
  { request, shape }: { request: HttpRequest; shape: Shape<T> },
  tally: Tally,
  { wanted, limit }: { wanted: number | undefined; limit: number | undefined },
): AsyncGenerator<Item<T>[], void, undefined> {
  const client = await context.client();
  const seen = openSeen();
  let total: number | undefined;
  let isCounted = true;
  const missing = () => Math.max(0, (total ?? 0) - tally.read);
  const first = wanted === undefined ? { ahead: 0 } : limit === undefined ? {} : { limit };
  // When the request starts at a later page, the service's total also counts the earlier pages. It
  // then does not show how many items are missing.
  const startsLater =
    request.query?.some(([name, value]) => name === 'page' && value !== '1') === true;
  for (let reading = 1; ; reading += 1) {
    const isFirst = reading === 1;
    const again = { ahead: 1, mostPages: tally.pages + FURTHER_PAGES };
    for await (const page of client.pages<T>(request, { ...(isFirst ? first : again), seen })) {
      // When the list is read again, items without a uuid are skipped, because they may already
      // have been shown.
      const items = isFirst ? page.fresh : page.fresh.filter(hasUuid);
      tally.pages += 1;
      tally.read += items.length;
      if (page.count !== undefined && !hasTotal(page)) isCounted = false;
      total = isCounted ? (page.count ?? total) : undefined;
      tally.firstTotal = isCounted ? (tally.firstTotal ?? total) : undefined;
      // Stores a total that differs from the first total. If a later pass gets the first total
      // again, the stored total is kept.
      if (isFirst || total !== tally.firstTotal) tally.lastTotal = total;
      if (isFirst) tally.repeated += page.items.length - items.length;
      tally.nextPage = page.next === undefined ? undefined : pageNumber(page.next);
      tally.hasMore = isFirst ? page.next !== undefined : missing() > 0;
      yield items;
      // Releases the items for garbage collection. The caller's loop refers to a page until the
      // next page arrives, and a page can be large.
      page.items.length = 0;
      page.fresh.length = 0;
      if (!isFirst && missing() === 0) return;
    }
    if (wanted === undefined || startsLater || missing() === 0) return;
    if (seen.size !== tally.read || reading === READINGS_LIMIT) break;
    await context.notice(
      `${missing()} of ${countNoun(total ?? 0, shape.noun)} did not come; reading the pages again`,
    );
  }
  tally.missing = missing();
}
