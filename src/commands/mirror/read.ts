// Asks the service for what the mirror's writer wants to read: a whole list, the newest alerts.

import { ALERT, type Alert } from '../../api/alert.js';
import { BICYCLE, type Bicycle } from '../../api/bicycle.js';
import { asFleetError, FleetError } from '../../errors.js';
import type { Client } from '../../http/client.js';
import { LARGE_PAGE } from '../../http/first-page.js';
import { openSeen, type Seen } from '../../http/seen.js';
import type { Item, Query } from '../../http/types.js';
import { admitted } from '../../mirror/admit.js';
import type { WriterEffect, WriterEvent } from '../../mirror/writer.js';

/** Pages that are asked for while one is written: enough to hide the service's latency. */
const PAGES_AHEAD = 4;
/** What an item weighs in the queue, by the length of its text: a fleet is read page by page, and larger batches gain little there. */
const ITEM_WEIGHT = 8;
/** Of how many items it is known whether they came before: more than are moved between two pages in flight. */
const SEEN_LIMIT = 5_000;

export interface WholeOptions {
  readonly signal: AbortSignal;
  /** How many messages were merged so far. */
  heard(): number;
  emit(event: WriterEvent & { type: 'whole-page' | 'whole-list' | 'whole-failed' }, size: number): void;
  room(): Promise<void> | undefined;
  random(): number;
}

/** Reads the list of an organization to its end, several pages ahead; never rejects. */
export async function readWhole(
  client: Client,
  effect: WriterEffect & { type: 'read-whole' },
  { signal, heard, emit, room, random }: WholeOptions,
): Promise<void> {
  const { id, organization, page: first } = effect;
  const query: Query = [
    // New bicycles come at the end, where they move no other to another page.
    ['ordering', 'created'],
    ['organization', organization],
    LARGE_PAGE,
    ...(first > 1 ? [['page', String(first)] as const] : []),
  ];
  const request = { path: BICYCLE.listPath, query, subject: 'the list of bicycles' };
  // A page was asked for when one came that stood so many before it, at the earliest.
  const heardAt = [heard()];
  try {
    for await (const page of client.pages<Bicycle>(request, { ahead: PAGES_AHEAD, seen: openRecent(SEEN_LIMIT) })) {
      if (signal.aborted) return;
      const items = admitted(page.items);
      const size = ITEM_WEIGHT * items.reduce((sum, { json }) => sum + json.length, 0);
      const nextPage = Number(page.next?.find(([name]) => name === 'page')?.[1]);
      emit(
        {
          type: 'whole-page',
          id,
          items,
          count: page.count,
          nextPage: Number.isSafeInteger(nextPage) ? nextPage : undefined,
          askedAt: heardAt[0] ?? 0,
        },
        size,
      );
      heardAt.push(heard());
      if (heardAt.length > PAGES_AHEAD + 2) heardAt.shift();
      await room();
    }
    emit({ type: 'whole-list', id }, 0);
  } catch (thrown) {
    if (!signal.aborted) emit({ type: 'whole-failed', id, error: asFleetError(thrown), random: random() }, 0);
  }
}

/** Tells new items from those that came shortly before, at most twice `limit`; all of a million would take 32 MB. */
function openRecent(limit: number): Seen {
  let recent = openSeen();
  let earlier = recent;
  let size = 0;
  return {
    get size() {
      return size;
    },
    has: (item) => recent.has(item) || earlier.has(item),
    add(item) {
      if (earlier.has(item) || !recent.add(item)) return false;
      size++;
      if (recent.size >= limit) [earlier, recent] = [recent, openSeen()];
      return true;
    },
  };
}

/**
 * Reads the alerts of an organization, the newest first; all of them with `isWhole`, else until `take`, which writes a page, says that
 * there is nothing new behind it. Throws what the client throws.
 */
export async function readAlerts(
  client: Client,
  organization: string,
  isWhole: boolean,
  take: (items: readonly Item<Alert>[]) => Promise<boolean>,
): Promise<void> {
  const pages = (ordering: string) =>
    client.pages<Alert>(
      {
        path: ALERT.listPath,
        query: [['ordering', ordering], ['organization', organization], LARGE_PAGE],
        subject: 'the list of alerts',
      },
      { ahead: 0, seen: openRecent(SEEN_LIMIT) },
    );
  const readAll = async (ordering: string) => {
    for await (const page of pages(ordering)) {
      if (!(await take(admitted(page.items))) && !isWhole) return;
    }
  };
  try {
    await readAll('-modified');
  } catch (thrown) {
    // Section 4.5 shows `-created` alone.
    if (!(thrown instanceof FleetError) || thrown.status !== 400) throw thrown;
    await readAll('-created');
  }
}
