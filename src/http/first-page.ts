// Reads the first page of a list.

import type { Client } from './client.js';
import type { HttpRequest, Page } from './types.js';

export { LARGE_PAGE } from './page-size.js';

/** Reads the first page of a list with a single request. Throws the client's errors. */
export async function firstPage<T>(client: Client, request: HttpRequest): Promise<Page<T>> {
  // With a limit of one item, the first page is enough and no further page is requested.
  for await (const page of client.pages<T>(request, { ahead: 0, limit: 1 })) return page;
  return { count: 0, items: [], next: undefined, trace: {} };
}
