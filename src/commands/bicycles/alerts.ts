// Reads the alerts of certain bicycles: what is made of them is worth showing without, too.

import { ALERT, type Alert } from '../../api/alert.js';
import { wholeUuid } from '../../api/links.js';
import type { Context } from '../../context.js';
import { asFleetError } from '../../errors.js';
import type { Item, Query } from '../../http/types.js';
import { scopeOf } from '../shared/organization.js';

/** Those that are new or escalated; undefined as below. */
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
 * The alerts of bicycles, whose UUIDs are in lower case, that a query finds: with a limit those of the pages that hold so many. Undefined, after a
 * notice, where they cannot be read. Checked on this side as well: a service may ignore a filter.
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
