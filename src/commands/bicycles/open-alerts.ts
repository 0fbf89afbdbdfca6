// Reads the alerts that are new or escalated and belong to certain bicycles.

import { ALERT, type Alert } from '../../api/alert.js';
import { uuidOfLink } from '../../api/links.js';
import type { Context } from '../../context.js';
import { asFleetError } from '../../errors.js';
import type { HttpRequest, Item } from '../../http/types.js';
import { chosenOrganization } from '../shared/organization.js';

/** Undefined, after a notice, when they cannot be read; `bicycles` are UUIDs in lower case. */
export async function readOpenAlerts(
  context: Context,
  asked: string | undefined,
  bicycles: ReadonlySet<string>,
): Promise<Item<Alert>[] | undefined> {
  const organization = await chosenOrganization(context, asked);
  const request: HttpRequest = {
    path: ALERT.listPath,
    query: [
      ...(organization === undefined ? [] : [['organization', organization] as const]),
      ['state', 'new'],
      ['state', 'escalated'],
    ],
    subject: 'the list of alerts',
  };
  const alerts: Item<Alert>[] = [];
  try {
    for await (const { fresh } of (await context.client()).pages<Alert>(request)) {
      for (const item of fresh) if (isWanted(item.value, bicycles)) alerts.push(item);
    }
  } catch (thrown) {
    if (context.signal.aborted) throw context.signal.reason;
    await context.notice(`! alerts are left out: ${asFleetError(thrown).message}`);
    return undefined;
  }
  return alerts;
}

/** Checked on this side as well: a service may ignore a filter. */
function isWanted({ state, bicycle }: Alert, bicycles: ReadonlySet<string>): boolean {
  if ((state !== 'new' && state !== 'escalated') || typeof bicycle !== 'string') return false;
  return bicycles.has((uuidOfLink(bicycle) ?? bicycle).toLowerCase());
}
