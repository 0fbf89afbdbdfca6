// Reads the alerts of certain bicycles: what is made of them is worth showing without, too.

import { ALERT, type Alert } from '../../api/alert.js';
import { wholeUuid } from '../../api/links.js';
import type { Context } from '../../context.js';
import { asFleetError } from '../../errors.js';
import type { Item, Query } from '../../http/types.js';
import { scopeOf } from '../shared/organization.js';

/** The newest alerts of a bicycle, as many as a page holds; undefined, after a notice, where they cannot be read. */
export function readNewestAlerts(context: Context, uuid: string): Promise<Item<Alert>[] | undefined> {
  const query: Query = [
    ['bicycle', uuid],
    ['ordering', '-created'],
  ];
  // A limit of one item is met by any page.
  return readAlerts(context, new Set([uuid]), query, 1);
}

/** What is new or escalated; undefined, after a notice, where it cannot be read. `bicycles` are UUIDs in lower case. */
export async function readOpenAlerts(
  context: Context,
  asked: string | undefined,
  bicycles: ReadonlySet<string>,
): Promise<Item<Alert>[] | undefined> {
  const query: Query = [...(await scopeOf(context, asked)), ['state', 'new'], ['state', 'escalated']];
  const alerts = await readAlerts(context, bicycles, query);
  return alerts?.filter(({ value: { state } }) => state === 'new' || state === 'escalated');
}

/** Checked on this side as well: a service may ignore a filter. */
async function readAlerts(
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
    const pages = (await context.client()).pages<Alert>(request, limit === undefined ? undefined : { ahead: 0, limit });
    for await (const { fresh } of pages) alerts.push(...fresh.filter(isWanted));
    return alerts;
  } catch (thrown) {
    if (context.signal.aborted) throw context.signal.reason;
    await context.notice(`! alerts are left out: ${asFleetError(thrown).message}`);
    return undefined;
  }
}
