// `fleet map --live`: a watch of the fleet that is drawn as a map.

import type { Context } from '../../context.js';
import { IDLE_MS, RESYNC_PAGES } from '../follow/flags.js';
import { makePlan } from '../watch/plan.js';
import { runWatch } from '../watch/watch.js';
import { choosePart } from './part.js';
import type { MapFilters } from './read.js';

/** Draws until it is left. Throws what a watch throws. */
export async function followMap(context: Context, asked: MapFilters): Promise<void> {
  const { organization, title, keep } = await choosePart(context, asked, '--live');
  const plan = await makePlan(context, organization, { live: true, idle: IDLE_MS, resyncPages: RESYNC_PAGES });
  await runWatch(context, { ...plan, map: { title, keep } });
}
