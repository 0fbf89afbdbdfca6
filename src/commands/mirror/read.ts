// Asks the service for the newest alerts, for the mirror.

import { ALERT, type Alert } from '../../api/alert.js';
import { FleetError } from '../../errors.js';
import type { Client } from '../../http/client.js';
import { LARGE_PAGE } from '../../http/first-page.js';
import { openRecent } from '../../http/seen.js';
import type { Item } from '../../http/types.js';
import { admitted } from '../../mirror/admit.js';

/** Of how many items it is known whether they came before: more than are moved between two pages in flight. */
const SEEN_LIMIT = 5_000;

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
