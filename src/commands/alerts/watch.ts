// `fleet alerts watch`: prints each new or changed alert once, and delivers it to a command and an
// address.

import type { Context } from '../../context.js';
import { checkDeliveryFlags } from '../../follow/delivery-flags.js';
import { chooseLines } from '../../follow/print.js';
import { beginFollowing } from '../../follow/token-command-retry.js';
import { showOrganizations } from '../../list/find-named.js';
import { chosenOrganization } from '../../list/organization.js';
import { requireBaseUrl } from '../../settings/resolve.js';
import { readTimeFlag } from '../../terminal/typed-time.js';
import { compileFilters } from '../watch/compile-filters.js';
import { checkSelectionFlags } from '../watch/crossing.js';
import type { WatchAlertsOptions } from './flags.js';
import { followAlerts } from './follow.js';
import { openMemory } from './state-file.js';
import { openSubjects } from './subjects.js';

export async function watchAlerts(context: Context, options: WatchAlertsOptions): Promise<void> {
  checkDeliveryFlags(options);
  const filters = { ...options, state: options.bicycleState };
  checkSelectionFlags(filters);
  const settings = await context.settings();
  const form = await chooseLines(context, 'alerts watch');
  const sinceMs =
    options.since === undefined ? undefined : readTimeFlag('--since', options.since, context.now());
  const baseUrl = requireBaseUrl(settings);
  const patient = await beginFollowing(context, options.for);
  const organization = await chosenOrganization(patient, options.organization);
  const selection = await compileFilters(patient, filters);
  const { stateFile, exec, post, topic: topics = [] } = options;
  const memory =
    stateFile === undefined ? undefined : await openMemory(context, stateFile, baseUrl.href);
  const plan = {
    form,
    ...options,
    zone: context.zone,
    subjects: selection && openSubjects(selection),
    query: [
      ...(organization === undefined ? [] : [['organization', organization] as const]),
      // The states are not sent as a query parameter. With such a filter, an alert would leave the
      // list when its state changes. If this happens between the reads of two pages, another alert
      // moves to a page that was already read, and fleet misses that alert.
      ...(options.type ?? []).map((type) => ['alert_type', type] as const),
    ],
    everyMs: options.every,
    isBackfill: false,
    sinceMs,
  };
  const owners = organization === undefined ? [] : [organization];
  const names = context.io.stderr.isTerminal
    ? (await showOrganizations(context, owners)).values()
    : owners;
  const title = ['follow', ['alerts', ...names].join(' of ')] as const;
  const deliver = exec === undefined && post === undefined ? undefined : options;
  await followAlerts(context, { plan, title, memory, deliver, topics, baseUrl });
}
