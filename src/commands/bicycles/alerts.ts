// Reads the alerts of certain bicycles: what is made of them is worth showing without, too.

import { ALERT, type Alert } from '../../api/alert.js';
import { wholeUuid } from '../../api/links.js';
import type { Context } from '../../context.js';
import { asFleetError } from '../../errors.js';
import { firstPage } from '../../http/first-page.js';
import type { Item, Query } from '../../http/types.js';
import { chosenOrganization } from '../shared/organization.js';

/** The newest alerts of a bicycle, as many as a page holds; undefined, after a notice, where they cannot be read. */
export function readNewestAlerts(context: Context, uuid: string): Promise<Item<Alert>[] | undefined> {
  const query: Query = [
    ['bicycle', uuid],
    ['ordering', '-created'],
  ];
  return readAlerts(context, new Set([uuid]), async () => {
    const { items } = await firstPage<Alert>(await context.client(), {
      path: ALERT.listPath,
      query,
      subject: 'its alerts',
    });
    return items;
  });
}

/** What is new or escalated; undefined, after a notice, where it cannot be read. `bicycles` are UUIDs in lower case. */
export async function readOpenAlerts(
  context: Context,
  asked: string | undefined,
  bicycles: ReadonlySet<string>,
): Promise<Item<Alert>[] | undefined> {
  const organization = await chosenOrganization(context, asked);
  const scope: Query = organization === undefined ? [] : [['organization', organization]];
  const query: Query = [...scope, ['state', 'new'], ['state', 'escalated']];
  return readAlerts(context, bicycles, async () => {
    const alerts: Item<Alert>[] = [];
    const request = { path: ALERT.listPath, query, subject: 'the list of alerts' };
    for await (const { fresh } of (await context.client()).pages<Alert>(request))
      for (const item of fresh) if (item.value.state === 'new' || item.value.state === 'escalated') alerts.push(item);
    return alerts;
  });
}

/** Checked on this side as well: a service may ignore a filter. */
async function readAlerts(
  context: Context,
  bicycles: ReadonlySet<string>,
  read: () => Promise<Item<Alert>[]>,
): Promise<Item<Alert>[] | undefined> {
  try {
    const alerts = await read();
    return alerts.filter(({ value: { bicycle } }) =>
      bicycles.has(typeof bicycle === 'string' ? (wholeUuid(bicycle) ?? bicycle).toLowerCase() : ''),
    );
  } catch (thrown) {
    if (context.signal.aborted) throw context.signal.reason;
    await context.notice(`! alerts are left out: ${asFleetError(thrown).message}`);
    return undefined;
  }
}
