// Reads the pages of a list, and reads them again while fewer items came than the service counts.

import type { Context } from '../../../context.js';
import { hasUuid, openSeen } from '../../../http/distinct.js';
import { hasTotal, pageNumber } from '../../../http/pages.js';
import type { HttpRequest, Item } from '../../../http/types.js';
import { countNoun } from '../../../terminal/formats/renderer.js';
import type { Shape } from '../../../terminal/formats.js';
import type { Tally } from './footer.js';

/** How often the pages are read at most, for items that did not come. */
const READINGS_LIMIT = 3;

/** A list that grows while it is read again may have so many pages more than before. */
const FURTHER_PAGES = 5;

/**
 * Reads a list and keeps the tally; yields what comes for the first time, in arrays that are emptied when the next is asked for. Pages that
 * brought fewer than the service counts are read again for the rest; what was not found at last is in `tally.missing`. Whoever has enough stops
 * asking before that is known. Without `wanted` the first page alone is read, and no page beyond `limit` items is asked for. Throws what the client throws.
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
  // Read from a later page on, the number of items to expect is unknown.
  const startsLater =
    request.query?.some(([name, value]) => name === 'page' && value !== '1') === true;
  for (let reading = 1; ; reading += 1) {
    const isFirst = reading === 1;
    const again = { ahead: 1, mostPages: tally.pages + FURTHER_PAGES };
    for await (const page of client.pages<T>(request, { ...(isFirst ? first : again), seen })) {
      // Without a uuid it cannot be known whether it was shown before.
      const items = isFirst ? page.fresh : page.fresh.filter(hasUuid);
      tally.pages += 1;
      tally.read += items.length;
      if (page.count !== undefined && !hasTotal(page)) isCounted = false;
      total = isCounted ? (page.count ?? total) : undefined;
      tally.firstTotal = isCounted ? (tally.firstTotal ?? total) : undefined;
      // A change stays one, also when the total comes back while the pages are read again.
      if (isFirst || total !== tally.firstTotal) tally.lastTotal = total;
      if (isFirst) tally.repeated += page.items.length - items.length;
      tally.nextPage = page.next === undefined ? undefined : pageNumber(page.next);
      tally.hasMore = isFirst ? page.next !== undefined : missing() > 0;
      yield items;
      // What was taken is let go of: a page may be of any size, and whoever reads on would hold it until the next has come.
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
