// `fleet bicycles list`: the service's own filters as a query, then the pages as they come, or the nearest first.

import { BICYCLE_STATES, BICYCLES_PATH, type Bicycle } from '../../api/bicycle.js';
import type { Context } from '../../context.js';
import { usageError } from '../../errors.js';
import type { HttpRequest, Item, Query } from '../../http/types.js';
import { BICYCLES } from '../../views/bicycle.js';
import { addDistance, distanceMetres, type Place, withDistance } from '../../views/distance.js';
import type { ListOptions } from '../list/flags.js';
import { type ListPlan, printList } from '../list/list.js';
import { BICYCLE_VOCABULARY } from '../list/vocabulary.js';
import { warnOfWords } from '../list/warnings.js';
import { compareFields } from '../list/where.js';
import { chosenOrganization } from '../organization.js';
import { type Box, showBox } from './area.js';
import { boxesAround, type Circle, readCircle } from './near.js';

export interface ListBicyclesOptions extends ListOptions {
  /** Any of these states. */
  state?: string[];
  /** A text in the name, whatever the case. */
  name?: string;
  bbox?: Box;
  zone?: string;
  near?: Place;
  /** Metres. */
  radius?: number;
}

/** Lists bicycles with the parameters of interface.md section 4.1. */
export async function listBicycles(context: Context, options: ListBicyclesOptions): Promise<void> {
  await printList(context, await planBicycles(context, options), options);
}

/** What the filters of a list leave of the fleet, for a list and for what counts or draws one. */
export async function planBicycles(context: Context, options: ListBicyclesOptions): Promise<ListPlan<Bicycle>> {
  const circle = readCircle(options.near, options.radius);
  await warnOfWords(context, 'state', options.state, BICYCLE_STATES);
  const organization = await chosenOrganization(context, options.organization);
  const request = (box: Box | undefined): HttpRequest => {
    const query: [string, string][] = [];
    if (organization !== undefined) query.push(['organization', organization]);
    if (box !== undefined) query.push(['bbox', showBox(box)]);
    if (options.zone !== undefined) query.push(['zone', options.zone]);
    // Observed: these two filter; a service that ignores them sends more, and `keep` below drops it.
    for (const state of options.state ?? []) query.push(['state', state]);
    if (options.name !== undefined) query.push(['query', options.name]);
    if (options.ordering !== undefined) query.push(['ordering', options.ordering]);
    return { path: BICYCLES_PATH, query: query satisfies Query, subject: 'the list of bicycles' };
  };
  const plan: ListPlan<Bicycle> = {
    shape: BICYCLES,
    requests: [request(options.bbox)],
    vocabulary: BICYCLE_VOCABULARY,
    ...keepOnly(options),
  };
  if (circle === undefined) return plan;

  checkFlags(options);
  const boxes = boxesAround(circle);
  const around: ListPlan<Bicycle> = {
    ...plan,
    shape: withDistance(BICYCLES, (bicycle) => distanceMetres(circle.centre, bicycle)),
    requests: boxes.map(request),
    extend: (item) => addDistance(item, distanceMetres(circle.centre, item.value)),
    keep: (item) =>
      (distanceMetres(circle.centre, item.value) ?? Number.POSITIVE_INFINITY) <= circle.radiusMetres &&
      (plan.keep?.(item) ?? true),
    isWhole: true,
  };
  if (options.ordering === undefined) Object.assign(around, { compare: byDistance(circle), isNearest: true });
  // Each half of an area comes in order; together they must be put in order here.
  else if (boxes.length > 1) Object.assign(around, { compare: byField(options.ordering) });
  return around;
}

/** `--state` and `--name`, checked on this side as well. */
function keepOnly({ state, name }: ListBicyclesOptions): Pick<ListPlan<Bicycle>, 'keep'> {
  if (state === undefined && name === undefined) return {};
  const part = name?.toLowerCase() ?? '';
  return {
    keep: ({ value }) =>
      (state === undefined || state.includes(String(value.state))) &&
      (part === '' || (typeof value.name === 'string' && value.name.toLowerCase().includes(part))),
  };
}

/** A circle is read whole, so that the nearest are known. */
function checkFlags({ bbox, page }: ListBicyclesOptions): void {
  if (bbox !== undefined) throw usageError('--near and --bbox cannot be used together', 'leave one of them out');
  if (page !== undefined)
    throw usageError('--near reads every page and takes no --page', 'use --limit for the nearest');
}

/** Nearest first. A distance is worked out once for each bicycle, not for each comparison. */
function byDistance({ centre }: Circle): (a: Item<Bicycle>, b: Item<Bicycle>) => number {
  const known = new WeakMap<Item<Bicycle>, number>();
  const distance = (item: Item<Bicycle>): number => {
    const found = known.get(item) ?? distanceMetres(centre, item.value) ?? Number.POSITIVE_INFINITY;
    known.set(item, found);
    return found;
  };
  return (a, b) => distance(a) - distance(b);
}

/** One field after the other, as the service sorts by several. */
function byField(ordering: string): (a: Item<Bicycle>, b: Item<Bicycle>) => number {
  const fields = ordering.split(',').map((field) => [field.replace(/^-/, ''), field.startsWith('-')] as const);
  return (a, b) => {
    for (const [field, isDescending] of fields) {
      const order = compareFields(a.value, b.value, field, isDescending);
      if (order !== 0) return order;
    }
    return 0;
  };
}
