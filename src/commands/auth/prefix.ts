// The prefix of the service's paths. Some samples use `/api`: "some samples prefix paths with /api
// and some do not" (interface.md section 4).

import { hasTotal, readPage } from '../../http/pages.js';
import { isHtml } from '../../http/server-text.js';
import type { HttpAnswer, Page } from '../../http/types.js';

/** The prefix that some samples of the interface use. */
const PREFIX = '/api';

/**
 * Returns the first address that answers like the service, which sends a list or asks for a token.
 * Tries the path with the prefix, the path without the prefix, and an empty path. Returns undefined
 * when no address answers like the service.
 *
 * `ask` requests the list of bicycles at an address.
 */
export async function findPrefix(
  baseUrl: URL,
  ask: (address: URL) => Promise<HttpAnswer>,
): Promise<{ address: URL; status: number } | undefined> {
  const path = baseUrl.pathname.replace(/\/+$/, '');
  const swapped = path.endsWith(PREFIX) ? path.slice(0, -PREFIX.length) : path + PREFIX;
  for (const other of new Set([swapped, PREFIX, ''])) {
    const address = new URL(`${baseUrl.origin}${other || '/'}`);
    const answer = other === path ? undefined : await ask(address).catch(() => undefined);
    if (answer !== undefined && (isRefusal(answer) || countOf(answer) !== undefined))
      return { address, status: answer.status };
  }
  return undefined;
}

/**
 * Whether the service refused the token. An HTML page is ignored, because it comes from another
 * server.
 */
export function isRefusal({ status, text, headers }: HttpAnswer): boolean {
  return (status === 401 || status === 403) && !isHtml(text, headers['content-type']);
}

/**
 * Returns the number of bicycles as text, such as `57`. Returns `20 or more` when the service sends
 * no total and there are more pages.
 */
export function describeTotal(page: Page<unknown>): string {
  if (hasTotal(page)) return String(page.count);
  return page.next === undefined ? String(page.items.length) : `${page.items.length} or more`;
}

/**
 * Returns the number of items in a list. Without a total, counts only the items of this page.
 * Returns undefined when the answer is not a list.
 */
export function countOf(answer: HttpAnswer): number | undefined {
  if (answer.status !== 200) return undefined;
  try {
    const { count, items } = readPage(answer);
    return count ?? items.length;
  } catch {
    return undefined;
  }
}
