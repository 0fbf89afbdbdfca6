// Finds items by UUID prefix, with a binary search in a list ordered by UUID.

import type { Client } from '../http/client.js';
import { firstPage, LARGE_PAGE } from '../http/first-page.js';
import { pageNumber } from '../http/pages.js';
import type { HttpRequest, Item, Page, Query } from '../http/types.js';
import type { Listed } from './list.js';

/** The request for a list, with its filters. */
export type List = Pick<HttpRequest, 'path' | 'subject' | 'query'>;

/**
 * Strings shorter than this are not searched as UUID prefixes. Many short words look like a UUID
 * prefix by accident.
 */
const SHORTEST_PREFIX_DIGITS = 4;

/** Matches a UUID prefix: hexadecimal digits, and dashes where a UUID can have them. */
const BEGINNING = /^[0-9a-f]{1,8}$|^[0-9a-f]{8}-[0-9a-f-]{0,27}$/i;

/** Whether a string can be a UUID prefix. */
export function isBeginning(text: string): boolean {
  return BEGINNING.test(text);
}

/** Whether a string can be a UUID prefix and is long enough to be intended as one. */
export function isPrefix(text: string): boolean {
  return text.length >= SHORTEST_PREFIX_DIGITS && isBeginning(text);
}

/**
 * Maps the lower-case UUIDs that begin with the text to their items. Returns no items when the text
 * is too short.
 */
export async function findByPrefix<T extends Listed>(
  client: Client,
  list: List,
  text: string,
): Promise<Map<string, Item<T>>> {
  const found = new Map<string, Item<T>>();
  const prefix = text.toLowerCase();
  if (!isPrefix(text)) return found;
  for await (const items of pagesAround<T>(client, list, prefix)) {
    const named = items.map((item) => [String(item.value.uuid ?? '').toLowerCase(), item] as const);
    for (const [uuid, item] of named) if (uuid.startsWith(prefix)) found.set(uuid, item);
  }
  return found;
}

/**
 * Yields the pages with the items whose UUID begins with the prefix, and some neighbouring pages.
 * The binary search takes about ten requests for a large fleet. Yields all pages if the pages are
 * not numbered, or if the items are not ordered by UUID.
 */
export async function* pagesAround<T extends Listed>(
  client: Client,
  list: List,
  prefix: string,
): AsyncGenerator<readonly Item<T>[], void, undefined> {
  const query: Query = [...(list.query ?? []), ['ordering', 'uuid'], LARGE_PAGE];
  const at = (page: number) => ({ ...list, query: [...query, ['page', String(page)] as const] });
  const first = await firstPage<T>(client, at(1));
  if (first.next === undefined) return yield first.items;
  // Pages of a list with cursors cannot be requested by number.
  const isNumbered = pageNumber(first.next) !== undefined;
  const pages = Math.ceil((first.count ?? 0) / Math.max(1, first.items.length));
  let [low, high] = [1, isNumbered ? pages : 1];
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    const end = compareEnd(middle === 1 ? first : await firstPage<T>(client, at(middle)), prefix);
    if (end === undefined) [low, high] = [1, 1];
    else if (end < 0) low = middle + 1;
    else high = middle;
  }
  for await (const page of client.pages<T>(at(low), { ahead: 0 })) {
    const end = compareEnd(page, prefix) ?? 0;
    yield page.items;
    if (end > 0) return;
  }
}

/**
 * Compares the last UUID of a page with the prefix. The result is negative for a UUID before the
 * prefix, 0 for a UUID with the prefix, and positive for a UUID after it. Returns undefined when
 * the page is empty or not ordered by UUID.
 */
function compareEnd(page: Page<Listed>, prefix: string): number | undefined {
  const uuids = page.items.map(({ value }) => String(value.uuid ?? '').toLowerCase());
  const last = uuids.at(-1);
  if (last === undefined || uuids.some((uuid, index) => (uuids[index - 1] ?? '') > uuid))
    return undefined;
  const end = last.slice(0, prefix.length);
  return end === prefix ? 0 : end < prefix ? -1 : 1;
}
