// Reads single pages of the alert list, for the alert feed (follower/alert-feed.ts).

import type { Client } from '../http/client.js';
import { firstPage } from '../http/first-page.js';
import type { HttpRequest, Page, Query } from '../http/types.js';
import { ALERT, type Alert } from './alert.js';

/**
 * Returns a function that reads one page of the list of alerts. `options` apply to each of its
 * requests. The function throws the client's errors.
 */
export function openAlertPages(
  client: Client,
  options: Pick<HttpRequest, 'retries' | 'onRefusal'> = {},
): (query: Query) => Promise<Page<Alert>> {
  const request = { ...options, path: ALERT.listPath, subject: 'the list of alerts' };
  return (query) => firstPage<Alert>(client, { ...request, query });
}
