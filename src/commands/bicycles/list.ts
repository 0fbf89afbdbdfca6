// `fleet bicycles list`: sends the filters as a query, and prints each page when it arrives. With
// --near, prints the nearest bicycles first.

import { BICYCLE, BICYCLE_STATES, type Bicycle } from '../../api/bicycle.js';
import { wholeUuid } from '../../api/links.js';
import { NAMED } from '../../api/named.js';
import type { Context } from '../../context.js';
import { usageError } from '../../errors.js';
import type { HttpRequest, Item, Query } from '../../http/types.js';
import { uuidOfNamed } from '../../list/find-named.js';
import { type ListPlan, printList } from '../../list/list.js';
import { scopeOf } from '../../list/organization.js';
import { sheetNameOf } from '../../list/sheet-name.js';
import { textOf } from '../../terminal/values.js';
import { BICYCLES } from '../../views/bicycle.js';
import { addDistance, distanceMetres, withDistance } from '../../views/distance.js';
import {
  type Box,
  boxAround,
  crossesDateLine,
  isInBox,
  readCircle,
  showBox,
  splitBox,
} from './area.js';
import type { ListBicyclesOptions } from './flags.js';

/** Lists bicycles with the parameters of interface.md section 4.1. */
export async function listBicycles(context: Context, options: ListBicyclesOptions): Promise<void> {
  const plan = await planBicycles(context, options);
  // With --near, all pages are read, because the nearest bicycle can be on any page.
  await printList(context, plan, options.near === undefined ? options : { ...options, all: true });
}

const DATE_LINE_NOTE =
  'The box crosses the date line and is read as two boxes: a page has that page of both.';

/** Matches the service's ordering by `distance`, which is measured from the centre of the box. */
const DISTANCE_ORDERING = /^[-+]?distance$/;

/**
 * Returns the ordering to send. Throws a usage error for the ordering `distance` with a box that
 * crosses the date line. fleet requests such a box as two boxes, whose centres differ.
 */
function orderingOf({ ordering, bbox, near, param = [] }: ListBicyclesOptions): string | undefined {
  const sent = ordering ?? param.find(([name]) => name === 'ordering')?.[1];
  const isByDistance = sent?.split(',').some((field) => DISTANCE_ORDERING.test(field.trim()));
  if (isByDistance === true && bbox !== undefined && crossesDateLine(bbox))
    throw usageError(
      '--ordering distance cannot be used with a --bbox that crosses the date line: fleet requests such a box as two boxes, and the service measures distances from the middle of each',
      'use --near LAT,LON --radius METRES, which shows the nearest first',
    );
  // With --near, fleet computes the distances itself and sorts by them.
  return near !== undefined && ordering === 'distance' ? undefined : ordering;
}

/**
 * Refuses `--param fields=…` without the position fields when the list has an area filter. Without
 * the positions, fleet could not check which bicycles are in the area.
 */
function checkPositionFields({ param = [] }: ListBicyclesOptions): void {
  const fields = param
    .filter(([name]) => name === 'fields')
    .flatMap(([, value]) => value.split(','));
  if (fields.length === 0) return;
  if (fields.includes('latitude') && fields.includes('longitude')) return;
  throw usageError(
    '--param fields needs latitude and longitude with --bbox or --near: fleet checks every position',
    'add them: --param fields=…,latitude,longitude',
  );
}

function withBox(request: HttpRequest, box: Box): HttpRequest {
  const query = request.query?.map(([name, value]): Query[number] => [
    name,
    name === 'bbox' ? showBox(box) : value,
  ]);
  return { ...request, ...(query === undefined ? {} : { query }) };
}

/**
 * Returns a line about an undocumented state. A service may have additional states, so fleet does
 * not reject them.
 */
function noteOnState(state: string): string[] {
  if (BICYCLE_STATES.some((documented) => documented === state)) return [];
  return [`fleet does not know the state "${state}". Usual states: ${BICYCLE_STATES.join(', ')}`];
}

/**
 * Returns the plan of a filtered list of bicycles: the requests to send, and the filters that fleet
 * itself applies to the answers. Commands that count or draw bicycles use the same plan.
 */
export async function planBicycles(
  context: Context,
  options: ListBicyclesOptions,
): Promise<ListPlan<Bicycle>> {
  const { state, name, zone, bbox } = options;
  const circle = readCircle(options.near, options.radius);
  const ordering = orderingOf(options);
  const query = await scopeOf(context, options.organization);
  // A service may ignore a filter and send bicycles that do not match. These checks remove such
  // bicycles.
  const checks: ((item: Item<Bicycle>) => boolean)[] = [];
  const box = circle === undefined ? bbox : boxAround(circle);
  if (box !== undefined) {
    checkPositionFields(options);
    query.push(['bbox', showBox(box)]);
    checks.push(({ value }) => isInBox(value, box));
  }
  if (zone !== undefined) query.push(['zone', await uuidOfNamed(context, NAMED.zone, zone)]);
  // Observed: the service supports the following three filters.
  if (state !== undefined) {
    for (const one of state) query.push(['state', one]);
    checks.push(({ value }) => state.includes(String(value.state)));
  }
  if (options.model !== undefined) {
    const model = await uuidOfNamed(context, NAMED.model, options.model);
    query.push(['model', model]);
    checks.push(({ value }) => wholeUuid(String(value.model ?? '')) === model.toLowerCase());
  }
  if (name !== undefined) {
    // `name` searches only names. A service that does not support `name` may support `query`, so
    // both are sent. The check below removes bicycles with other names.
    query.push(['name', name], ['query', name]);
    const wanted = name.toLowerCase();
    checks.push(({ value }) => (textOf(value.name) ?? '').toLowerCase().includes(wanted));
  }
  if (ordering !== undefined) query.push(['ordering', ordering]);
  const request = { path: BICYCLE.listPath, query, subject: 'the list of bicycles' };
  const boxes = box === undefined ? [] : splitBox(box);
  const requests = boxes.length > 1 ? boxes.map((part) => withBox(request, part)) : [request];
  const keep = (item: Item<Bicycle>) => checks.every((isKept) => isKept(item));
  const plan: ListPlan<Bicycle> = {
    shape: { ...BICYCLES, sheetName: sheetNameOf(options) },
    requests,
    resource: BICYCLE,
    emptyNotes: (state ?? []).flatMap(noteOnState),
    ...(boxes.length > 1 ? { pageNote: DATE_LINE_NOTE } : {}),
  };
  if (circle === undefined) return checks.length === 0 ? plan : { ...plan, keep };

  const distance = ({ value }: Item<Bicycle>) =>
    distanceMetres(circle.centre, value) ?? Number.POSITIVE_INFINITY;
  return {
    ...plan,
    shape: withDistance(plan.shape),
    extend: (item) => addDistance(item, distanceMetres(circle.centre, item.value)),
    keep: (item) => distance(item) <= circle.radiusMetres && keep(item),
    ...(ordering === undefined ? { distance } : {}),
  };
}
