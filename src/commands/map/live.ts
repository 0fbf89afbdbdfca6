// `fleet map --live`: a watch of the fleet that is drawn as a map.

import type { Bicycle } from '../../api/bicycle.js';
import type { Context } from '../../context.js';
import { usageError } from '../../errors.js';
import { numberOf } from '../../terminal/values.js';
import type { Box } from '../bicycles/area.js';
import { planBicycles } from '../bicycles/list.js';
import { matches } from '../list/where.js';
import { chosenOrganization } from '../organization.js';
import { makePlan } from '../watch/plan.js';
import { runWatch } from '../watch/watch.js';
import { describeFleet, type MapFilters } from './read.js';

const IDLE_MS = 90_000;
const RESYNC_PAGES = 5;

/** Draws until it is left. Throws what a watch throws. */
export async function followMap(context: Context, asked: MapFilters): Promise<void> {
  if (asked.zone !== undefined) {
    throw usageError(
      '--live cannot tell what comes into a zone, which the service alone knows',
      'use --bbox or --near',
    );
  }
  const organization = await chosenOrganization(context, asked.organization);
  const filters = organization === undefined ? asked : { ...asked, organization };
  const { keep } = await planBicycles(context, filters);
  const { bbox, where = [] } = filters;
  const plan = await makePlan(context, organization, { live: true, idle: IDLE_MS, resyncPages: RESYNC_PAGES });
  const map = {
    title: await describeFleet(context, filters),
    keep: (bicycle: Bicycle) =>
      (bbox === undefined || isWithin(bicycle, bbox)) &&
      (keep?.({ json: '', value: bicycle }) ?? true) &&
      where.every((condition) => matches(condition, bicycle, context.clock.wallMs())),
  };
  await runWatch(context, { ...plan, map });
}

/** Whether a bicycle is in a box, also in one that lies across the antimeridian. */
function isWithin({ latitude, longitude }: Bicycle, { northEast, southWest }: Box): boolean {
  const [north, east] = [numberOf(latitude), numberOf(longitude)];
  if (north === undefined || east === undefined) return false;
  if (north > northEast.latitude || north < southWest.latitude) return false;
  const [isWestOfEast, isEastOfWest] = [east <= northEast.longitude, east >= southWest.longitude];
  return northEast.longitude < southWest.longitude ? isWestOfEast || isEastOfWest : isWestOfEast && isEastOfWest;
}
