// Reads the alerts of bicycles. The caller continues without them when this fails.

import { ALERT, type Alert } from '../../api/alert.js';
import { wholeUuid } from '../../api/links.js';
import type { Context } from '../../context.js';
import { asFleetError } from '../../errors.js';
import type { Item, Query } from '../../http/types.js';
import { scopeOf } from '../../list/organization.js';

/** Returns new and escalated alerts, or undefined like `readAlertsOf`. */
export async function readOpenAlerts(
  context: Context,
  asked: string | undefined,
  bicycles: ReadonlySet<string>,
) {
  const query: Query = [
    ...(await scopeOf(context, asked)),
    ['state', 'new'],
    ['state', 'escalated'],
  ];
  const alerts = await readAlertsOf(context, bicycles, query);
  return alerts?.filter(({ value: { state } }) => state === 'new' || state === 'escalated');
}

/**
 * Returns the alerts of a query that are about the bicycles (UUIDs in lower case). With a limit,
 * only reads enough pages for that many. Returns undefined after a notice when alerts cannot be
 * read. fleet checks the bicycles itself, because a service may ignore a filter.
 */
export async function readAlertsOf(
  context: Context,
  bicycles: ReadonlySet<string>,
  query: Query,
  limit?: number,
): Promise<Item<Alert>[] | undefined> {
  const alerts: Item<Alert>[] = [];
  const request = { path: ALERT.listPath, query, subject: 'the list of alerts' };
  const isWanted = ({ value: { bicycle } }: Item<Alert>) =>
    bicycles.has(typeof bicycle === 'string' ? (wholeUuid(bicycle) ?? bicycle).toLowerCase() : '');
  try {
    const pages = (await context.client()).pages<Alert>(
      request,
      limit === undefined ? undefined : { ahead: 0, limit },
    );
    for await (const { fresh } of pages) alerts.push(...fresh.filter(isWanted));
    return alerts;
  } catch (thrown) {
    if (context.signal.aborted) throw context.signal.reason;
    await context.notice(`! alerts are left out: ${asFleetError(thrown).message}`);
    return undefined;
  }
}
