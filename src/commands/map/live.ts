// `fleet map --live`, and the filters for the bicycles of a followed map. The filters are the same
// as those of `bicycles list`. Here, fleet itself applies them to pushed messages.

import type { Bicycle } from '../../api/bicycle.js';
import type { TopicRole } from '../../api/push.js';
import type { Context } from '../../context.js';
import { usageError } from '../../errors.js';
import { IDLE_MS, RESYNC_PAGES } from '../../follow/flags.js';
import { withTokenRetries } from '../../follow/token-command-retry.js';
import { chosenOrganization } from '../../list/organization.js';
import { matches } from '../../list/where.js';
import { planBicycles } from '../bicycles/list.js';
import { makePlan } from '../watch/plan.js';
import { runWatch } from '../watch/watch.js';
import { describeFleet, type MapFilters } from './read.js';

/** Draws the map on the whole terminal until the user quits. Throws the errors of a watch. */
export async function followMap(
  context: Context,
  asked: MapFilters,
  role: TopicRole | undefined,
): Promise<void> {
  const { organization, title, keep } = await choosePart(context, asked, '--live');
  const plan = await makePlan(context, organization, {
    live: true,
    idle: IDLE_MS,
    resyncPages: RESYNC_PAGES,
    role,
  });
  await runWatch(context, { ...plan, map: { title, keep } });
}

/**
 * Returns the part of the fleet that the map follows. Throws a usage error for a zone filter.
 * `flag` is the flag that the error message mentions.
 */
export async function choosePart(context: Context, asked: MapFilters, flag: '--live' | '--serve') {
  if (asked.zone !== undefined) {
    const reason = `${flag} cannot follow a zone, because only the service knows which bicycles are in a zone`;
    throw usageError(reason, 'use --bbox or --near');
  }
  const organization = await chosenOrganization(
    await withTokenRetries(context),
    asked.organization,
  );
  const filters = organization === undefined ? asked : { ...asked, organization };
  const { keep } = await planBicycles(context, filters);
  const { where = [] } = filters;
  return {
    organization,
    title: await describeFleet(context, filters),
    keep: (bicycle: Bicycle) =>
      (keep?.({ json: '', value: bicycle }) ?? true) &&
      where.every((condition) =>
        matches(condition, bicycle, { ms: context.clock.wallMs(), zone: context.zone }),
      ),
  };
}
