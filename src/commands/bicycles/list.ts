// `fleet bicycles list`: the service's own filters as a query, then the pages as they come, or the nearest first.

import { BICYCLE, type Bicycle } from '../../api/bicycle.js';
import { wholeUuid } from '../../api/links.js';
import { NAMED } from '../../api/named.js';
import type { Context } from '../../context.js';
import { usageError } from '../../errors.js';
import type { Item } from '../../http/types.js';
import { BICYCLES } from '../../views/bicycle.js';
import { addDistance, distanceMetres, type LatLon, withDistance } from '../../views/distance.js';
import { uuidOfNamed } from '../named/find.js';
import type { ListOptions } from '../shared/list/flags.js';
import { type ListPlan, printList } from '../shared/list/list.js';
import { chosenOrganization } from '../shared/organization.js';
import { type Box, showBox } from './area.js';
import { boxAround, readCircle } from './near.js';

export interface ListBicyclesOptions extends ListOptions {
  /** Any of these states. */
  state?: string[];
  /** A text in the name, whatever the case. */
  name?: string;
  /** A UUID or a name. */
  model?: string;
  bbox?: Box;
  zone?: string;
  near?: LatLon;
  /** Metres. */
  radius?: number;
}

/** Lists bicycles with the parameters of interface.md section 4.1. */
export async function listBicycles(context: Context, options: ListBicyclesOptions): Promise<void> {
  const plan = await planBicycles(context, options);
  // A circle is read whole, so that the nearest are known.
  await printList(context, plan, options.near === undefined ? options : { ...options, all: true });
}

/** What the filters of a list leave of the fleet, for a list and for what counts or draws one. */
export async function planBicycles(context: Context, options: ListBicyclesOptions): Promise<ListPlan<Bicycle>> {
  const circle = readCircle(options.near, options.radius);
  const organization = await chosenOrganization(context, options.organization);
  const box = circle === undefined ? options.bbox : boxAround(circle);
  const query: [string, string][] = [];
  if (organization !== undefined) query.push(['organization', organization]);
  if (box !== undefined) query.push(['bbox', showBox(box)]);
  const model = options.model === undefined ? undefined : await uuidOfNamed(context, NAMED.model, options.model);
  if (options.zone !== undefined) query.push(['zone', await uuidOfNamed(context, NAMED.zone, options.zone)]);
  // Observed: these three filter; a service that ignores them sends more, and `keep` drops it.
  for (const state of options.state ?? []) query.push(['state', state]);
  if (model !== undefined) query.push(['model', model]);
  // Observed: `name` looks at names alone. A service that does not know it has perhaps `query`, and another bicycle is in neither answer.
  if (options.name !== undefined) query.push(['name', options.name], ['query', options.name]);
  if (options.ordering !== undefined) query.push(['ordering', options.ordering]);
  const keep = chooseKeep({ ...options, ...(model === undefined ? {} : { model }) });
  const plan: ListPlan<Bicycle> = {
    shape: BICYCLES,
    request: { path: BICYCLE.listPath, query, subject: 'the list of bicycles' },
    resource: BICYCLE,
    ...(keep === undefined ? {} : { keep }),
  };
  if (circle === undefined) return plan;

  checkFlags(options);
  const distance = ({ value }: Item<Bicycle>) => distanceMetres(circle.centre, value) ?? Number.POSITIVE_INFINITY;
  return {
    ...plan,
    shape: withDistance(BICYCLES),
    extend: (item) => addDistance(item, distanceMetres(circle.centre, item.value)),
    keep: (item) => distance(item) <= circle.radiusMetres && (keep?.(item) ?? true),
    ...(options.ordering === undefined ? { distance } : {}),
  };
}

/** `--state`, `--model` (a UUID) and `--name`, checked on this side as well; undefined where none is given. */
function chooseKeep({ state, model, name = '' }: ListBicyclesOptions): ListPlan<Bicycle>['keep'] {
  if (state === undefined && model === undefined && name === '') return undefined;
  return ({ value }) =>
    (state === undefined || state.includes(String(value.state))) &&
    (model === undefined || wholeUuid(String(value.model ?? '')) === model.toLowerCase()) &&
    String(value.name ?? '')
      .toLowerCase()
      .includes(name.toLowerCase());
}

function checkFlags({ bbox, page }: ListBicyclesOptions): void {
  if (bbox !== undefined) throw usageError('--near and --bbox cannot be used together', 'leave one of them out');
  if (page !== undefined)
    throw usageError('--near reads every page and takes no --page', 'use --limit for the nearest');
}
