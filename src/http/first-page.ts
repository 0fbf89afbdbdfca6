// Requests one page of a list.

import type { Client } from './client.js';
import type { HttpRequest, Page } from './types.js';

export { LARGE_PAGE } from './page-size.js';

/** The first page of a list, and no request beyond it. Throws what the client throws. */
export async function firstPage<T>(client: Client, request: HttpRequest): Promise<Page<T>> {
  // A limit of one item is met by any page, so that none is fetched ahead.
  for await (const page of client.pages<T>(request, { ahead: 0, limit: 1 })) return page;
  return { count: 0, items: [], next: undefined, trace: {} };
}
