// Sends a follower's requests: for a page of a list, a whole list, or one bicycle.

import { BICYCLE, type Bicycle } from '../api/bicycle.js';
import { readOneIfShown } from '../api/read-one.js';
import { asFleetError } from '../errors.js';
import type { FollowerAnswer, FollowerRequest } from '../follower/events.js';
import type { Follower } from '../follower/follower.js';
import type { Client } from '../http/client.js';
import { openSeen, RECENT_ITEMS } from '../http/distinct.js';
import { firstPage, LARGE_PAGE } from '../http/first-page.js';
import type { Item, Query } from '../http/types.js';
import type { EventSink } from './loop.js';

/**
 * Receives the responses. Its `follower` provides the state that is needed to read the whole list.
 */
export interface AnswerSink extends EventSink<FollowerAnswer> {
  readonly follower: Pick<Follower, 'known' | 'whole'>;
  /**
   * Filters or changes the received bicycles before they are used. By default they are used
   * unchanged.
   */
  admit?(items: readonly Item<Bicycle>[]): Item<Bicycle>[];
}

const SUBJECT = 'the list of bicycles';
/** The number of pages that are requested ahead, to hide the latency of the service. */
const PAGES_AHEAD = 4;
/**
 * The factor by which the size of a list item counts in the queue. A large factor keeps the batches
 * of list items small. Larger batches would gain little, because a list arrives page by page.
 */
const ITEM_WEIGHT = 8;

export function isRequest(output: { readonly type: string }): output is FollowerRequest {
  return output.type.startsWith('read-');
}

/** Sends a request and passes the response to the sink. Never rejects. */
export async function answer(
  client: Client,
  request: FollowerRequest,
  sink: AnswerSink,
): Promise<void> {
  if (request.type === 'read-whole') return readWhole(client, request, sink);
  const { id } = request;
  try {
    if (request.type === 'read-bicycle') {
      const item = await readOneIfShown<Bicycle>(client, BICYCLE, request.uuid);
      return sink.emit({ type: 'bicycle', id, bicycle: item?.value });
    }
    const size = request.isCount ? (['page_size', '1'] as const) : LARGE_PAGE;
    const query: Query = request.next ?? [
      ['ordering', '-modified'],
      ['organization', request.organization],
      size,
    ];
    const page = await firstPage<Bicycle>(client, {
      path: BICYCLE.listPath,
      query,
      subject: SUBJECT,
    });
    sink.emit({
      type: 'page',
      id,
      page: { ...page, items: sink.admit?.(page.items) ?? page.items },
    });
  } catch (thrown) {
    sink.emit({ type: 'failed', id, error: asFleetError(thrown) });
  }
}

/** Reads the whole list of an organization. Requests several pages ahead. */
async function readWhole(
  client: Client,
  { id, organization }: FollowerRequest & { type: 'read-whole' },
  sink: AnswerSink,
): Promise<void> {
  const { signal, follower, emit, room, admit } = sink;
  const { known, whole } = follower;
  // The list is read in `created` order, in which new bicycles come last. A bicycle that is created
  // during the read therefore does not shift other bicycles to another page.
  const query: Query = [['ordering', 'created'], ['organization', organization], LARGE_PAGE];
  const request = { path: BICYCLE.listPath, query, subject: SUBJECT };
  // For each of the last pages, the number of messages that were merged before it arrived. A page
  // is requested up to PAGES_AHEAD pages ahead. The oldest of these numbers is therefore a lower
  // bound for the number of messages at the time of the page's request.
  const mergedAt = [known.merged];
  try {
    for await (const page of client.pages<Bicycle>(request, {
      ahead: PAGES_AHEAD,
      seen: openSeen(RECENT_ITEMS),
    })) {
      if (signal.aborted || whole.id !== id) return;
      const items = admit?.(page.items) ?? page.items;
      const size = ITEM_WEIGHT * items.reduce((sum, { json }) => sum + json.length, 0);
      const isLast = page.next === undefined;
      const { count, dated } = page;
      const askedAt = mergedAt[0] ?? 0;
      emit({ type: 'whole-page', id, items, count, isLast, dated, askedAt }, size);
      mergedAt.push(known.merged);
      if (mergedAt.length > PAGES_AHEAD + 2) mergedAt.shift();
      await room();
    }
  } catch (thrown) {
    if (!signal.aborted) emit({ type: 'whole-failed', id, error: asFleetError(thrown) }, 0);
  }
}
