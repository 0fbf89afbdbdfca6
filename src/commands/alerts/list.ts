// `fleet alerts list`: sends the filters as a query and prints the pages as they arrive.

import { ALERT } from '../../api/alert.js';
import type { Context } from '../../context.js';
import { readBicycleNames } from '../../list/bicycle-names.js';
import { printList } from '../../list/list.js';
import { scopeOf } from '../../list/organization.js';
import { sheetNameOf } from '../../list/sheet-name.js';
import { ALERTS, alertsNamed } from '../../views/alert.js';
import { findBicycle } from '../bicycles/find.js';
import type { ListAlertsOptions } from './flags.js';

/**
 * The order that fleet requests by default, because the interface does not define an order for
 * alerts.
 */
const NEWEST_FIRST = '-created';

/** Formats that print alerts as the service sent them. */
const AS_SENT: readonly string[] = ['json', 'jsonl', 'yaml', 'geojson', 'uuid'];

/**
 * Lists alerts with the parameters of interface.md section 4.5. Assumed: several states or types
 * are sent as repeated parameters (cli.md). Also assumed: `bicycle` and `organization` are sent as
 * UUIDs.
 */
export async function listAlerts(context: Context, options: ListAlertsOptions): Promise<void> {
  const { bicycle, organization } = options;
  const query = await scopeOf(context, organization);
  for (const state of options.state ?? []) query.push(['state', state]);
  for (const type of options.type ?? []) query.push(['alert_type', type]);
  if (bicycle !== undefined)
    query.push(['bicycle', (await findBicycle(context, bicycle, organization)).uuid]);
  query.push(['ordering', options.ordering ?? NEWEST_FIRST]);
  const request = { path: ALERT.listPath, query, subject: 'the list of alerts' };
  const { output } = await context.settings();
  const isDrawn = !AS_SENT.includes(output.value) && options.count !== true;
  const shape = isDrawn ? alertsNamed(await readBicycleNames(context)) : ALERTS;
  const filters = sheetNameOf(options);
  const sheetName = filters === undefined ? undefined : `alerts ${filters}`;
  const plan = { shape: { ...shape, sheetName }, requests: [request], resource: ALERT };
  await printList(context, plan, options);
}
