// Reads the fleet for a map: the complete list with the filters of `bicycles list`, and the open
// alerts.

import { type Bicycle, bicycleUuid } from '../../api/bicycle.js';
import type { FlagsOf, NoFlags } from '../../cli/command.js';
import type { Context } from '../../context.js';
import { mirrorOf } from '../../list/current-mirror.js';
import { showOrganizations } from '../../list/find-named.js';
import { readList } from '../../list/list.js';
import { chosenOrganization } from '../../list/organization.js';
import type { ListedItem } from '../../terminal/formats.js';
import { showDuration } from '../../terminal/time.js';
import { ID_DIGITS } from '../../views/bicycle.js';
import { showDistance } from '../../views/distance.js';
import { readOpenAlerts } from '../bicycles/alerts.js';
import { planBicycles } from '../bicycles/list.js';
import type { addFleetFilters } from '../bicycles/list-flags.js';
import type { MapOptions } from './flags.js';

/** The filters that select the bicycles to draw, and the title. */
export type MapFilters = FlagsOf<typeof addFleetFilters<[], NoFlags>> & Pick<MapOptions, 'title'>;

/** The data for a drawing, without the bicycles. */
export type FleetFacts = Awaited<ReturnType<typeof readFacts>>;

/** All data for a drawing on a terminal or as a picture. */
export interface FleetPicture extends FleetFacts {
  /**
   * All bicycles, including those without a position. `json` is the JSON text of a bicycle; its
   * numbers keep all their digits.
   */
  bicycles: readonly ListedItem<Bicycle>[];
}

/** Reads the fleet and all other data for a drawing. Throws the errors of reading a list. */
export async function readFleet(context: Context, asked: MapFilters): Promise<FleetPicture> {
  const bicycles: ListedItem<Bicycle>[] = [];
  const facts = await readFacts(context, asked, (items) => {
    for (const item of items) bicycles.push(item);
  });
  return { ...facts, bicycles };
}

/**
 * Reads the data for a drawing. Passes each bicycle to `take` when it arrives, even a bicycle
 * without a position. Throws the errors of reading a list.
 */
export async function readFacts(
  context: Context,
  asked: MapFilters,
  take: (items: readonly ListedItem<Bicycle>[]) => void,
) {
  const organization = await chosenOrganization(context, asked.organization);
  const filters = organization === undefined ? asked : { ...asked, organization };
  const uuids = new Set<string>();
  const plan = await planBicycles(context, filters);
  const incomplete = await readList(context, plan, filters, (items) => {
    for (const { value } of items) {
      const uuid = bicycleUuid(value);
      if (uuid !== undefined) uuids.add(uuid);
    }
    take(items);
  });
  const takenAtMs = context.clock.wallMs();
  const ageMs = (await mirrorOf(await context.client())?.status())?.ageMs;
  const age =
    ageMs === undefined
      ? ''
      : `, from the mirror, ${ageMs < 1000 ? 'less than 1 s' : showDuration(ageMs)} old`;
  return {
    /** The title, made from the command line. It may contain control characters. */
    title: `${await describeFleet(context, filters)}${age}`,
    /**
     * The time when the fleet was read, in milliseconds since the epoch, by the clock of this
     * machine.
     */
    takenAtMs,
    zone: context.zone,
    /** The UUID of the organization to draw. Undefined for all organizations. */
    organization,
    /** New and escalated alerts of these bicycles. Undefined when they could not be read. */
    alerts: await readOpenAlerts(context, organization, uuids),
    /**
     * The error of kind `partial` to throw after drawing when fewer bicycles arrived than the
     * service counts.
     */
    incomplete,
  };
}

/**
 * Returns the title from `--title`. Without that flag, returns the organization and the typed
 * filters. `organization` is a UUID.
 */
export async function describeFleet(context: Context, filters: MapFilters): Promise<string> {
  const { title, organization, state, name, model, near, radius, zone, bbox, where } = filters;
  if (title !== undefined) return title;
  const { baseUrl } = await context.settings();
  const parts = [
    organization === undefined
      ? (baseUrl.value?.host ?? 'fleet')
      : (await showOrganizations(context, [organization])).get(organization),
    ...(state === undefined ? [] : [state.join(' or ')]),
    ...(name === undefined ? [] : [`called "${name}"`]),
    ...(model === undefined ? [] : [`model ${model}`]),
    ...(near === undefined
      ? []
      : [`within ${showDistance(radius ?? 0)} of ${near.latitude}, ${near.longitude}`]),
    ...(bbox === undefined ? [] : ['inside a box']),
    ...(zone === undefined ? [] : [`zone ${zone.slice(0, ID_DIGITS)}`]),
    ...(where ?? []).map(({ text }) => text),
  ];
  return parts.join(', ');
}
