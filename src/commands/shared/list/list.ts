// Prints a list: complete or with an error, each item once, page by page as it arrives.

import type { Resource } from '../../../api/resource.js';
import { unknownWord } from '../../../cli/nearest.js';
import type { Context } from '../../../context.js';
import { asFleetError, type FleetError, usageError } from '../../../errors.js';
import { withHint } from '../../../http/failure.js';
import { firstPage } from '../../../http/first-page.js';
import { hasTotal } from '../../../http/pages.js';
import type { HttpRequest, Item, Query } from '../../../http/types.js';
import { momentOf } from '../../../system/clock.js';
import { fieldsOf, firstSegment, hasField } from '../../../terminal/formats/columns.js';
import type { Format, Shape } from '../../../terminal/formats.js';
import { openProgress } from '../../../terminal/progress.js';
import { writeFooter } from '../write-footer.js';
import type { ListOptions } from './flags.js';
import { closingLines, incompleteError, showProgress, startTally } from './footer.js';
import { readMerged } from './merged.js';
import { writeResult } from './output-file.js';
import { openResult, type Result } from './result.js';
import { type Condition, isDocumented, matches } from './where.js';

/** An item of a list; its uuid is its identity. */
export interface Listed {
  uuid?: unknown;
}

/** What is to be listed. */
export interface ListPlan<T> {
  shape: Shape<T>;
  /** With the service's own filters. Several requests are read as one list; they have the same ordering and no common items. */
  requests: readonly HttpRequest[];
  /** A line below one page of the list, when there are more. */
  pageNote?: string;
  /** What the document says of the fields, for `--where`. */
  resource?: Pick<Resource, 'fields' | 'orderings' | 'words'>;
  /** What every item is made into before anything else looks at it. */
  extend?(item: Item<T>): Item<T>;
  /** What is kept of what comes, before `--where`; everything when absent. */
  keep?(item: Item<T>): boolean;
  /** How far away an item is: the nearest are shown first, which needs all of them. As they come when absent. */
  distance?(item: Item<T>): number;
  /** Instead of the format of the settings. */
  format?: Format;
}

/**
 * Prints a list as the operator asked, or with `--count` how many there are. Throws the failure of the first page that cannot be read,
 * after its retries, and a FleetError of kind `partial` when fewer items came than the service counts.
 */
export async function printList<T extends Listed>(
  context: Context,
  plan: ListPlan<T>,
  options: ListOptions,
): Promise<void> {
  const requests = makeRequests(plan, options);
  let incomplete: FleetError | undefined;
  if (options.count === true) {
    if (context.flags.jq !== undefined)
      throw usageError('--count prints a number and takes no --jq', 'leave one of them out');
    const total = isFilteredHere(plan, options) ? undefined : await readTotal(context, requests);
    let counted = 0;
    const count = (items: readonly Item<T>[]) => {
      counted += items.length;
    };
    if (total === undefined) incomplete = await readList(context, plan, options, count);
    await writeResult(context, `${total ?? counted}\n`);
  } else {
    await context.io.startPager(context.notice);
    const result = await openResult(context, plan.shape, plan.format);
    incomplete = await showList(context, { ...plan, requests }, options, result);
  }
  if (incomplete !== undefined) throw incomplete;
}

/** Whether fleet filters the items of the service. */
function isFilteredHere<T>({ keep }: ListPlan<T>, { where }: ListOptions): boolean {
  return keep !== undefined || where !== undefined;
}

/**
 * Hands every item of a list to `take`, for what is made of a whole list. Throws as `printList` does, but for items that did not come: that
 * error is returned, for when the result is out.
 */
export async function readList<T extends Listed>(
  context: Context,
  plan: ListPlan<T>,
  options: ListOptions,
  take: (items: readonly Item<T>[]) => void,
): Promise<FleetError | undefined> {
  const end = (footer: readonly string[] = []) => writeFooter(context, footer, false);
  const result = { write: async (items: readonly Item<T>[]) => take(items), end };
  return showList(
    context,
    { ...plan, requests: makeRequests(plan, options) },
    { ...options, all: true },
    result,
  );
}

/** Reads what is wanted and shows it: page by page as it comes, or the nearest first when all of it is there. */
async function showList<T extends Listed>(
  context: Context,
  plan: ListPlan<T>,
  options: ListOptions,
  result: Result<T>,
): Promise<FleetError | undefined> {
  const { distance, keep, extend } = plan;
  const { noun } = plan.shape;
  const { where = [], limit, all = false } = options;
  const tally = startTally();
  const { wallMs, monotonicMs: startedAt } = momentOf(context.clock);
  const now = { ms: wallMs, zone: context.zone };
  const draw = () => showProgress(tally, noun, context.clock.monotonicMs() - startedAt);
  const wanted = limit ?? (all ? Number.POSITIVE_INFINITY : undefined);
  const progress = wanted === undefined ? undefined : openProgress(context, { draw });
  const how = { isNearest: distance !== undefined, isFiltered: isFilteredHere(plan, options) };
  const isKept = (item: Item<T>) =>
    (keep?.(item) ?? true) && where.every((condition) => matches(condition, item.value, now));
  const show = async (kept: readonly Item<T>[]) => {
    const rows = wanted === undefined ? kept : kept.slice(0, wanted - tally.shown);
    tally.shown += rows.length;
    tally.hasMore ||= rows.length < kept.length;
    await result.write(rows);
  };
  let checked = 0;
  const gathered: { item: Item<T>; metres: number }[] = [];
  // A function of its own: what it names is let go of before the next page is read.
  const take = async (came: readonly Item<T>[]): Promise<void> => {
    const items = extend === undefined ? came : came.map(extend);
    if (checked === 0 && items.length > 0) checkFields(where, items, plan);
    checked += items.length;
    const kept = how.isFiltered ? items.filter(isKept) : items;
    tally.kept += kept.length;
    if (distance === undefined) return show(kept);
    for (const item of kept) gathered.push({ item, metres: distance(item) });
  };
  try {
    // How many items must come for --limit is known only where every item is shown.
    const most = how.isFiltered || how.isNearest ? undefined : wanted;
    for await (const items of readMerged(context, plan, tally, { wanted, limit: most })) {
      await take(items);
      if (wanted === undefined || tally.shown >= wanted) break;
    }
    gathered.sort((a, b) => a.metres - b.metres);
    if (how.isNearest) await show(gathered.map(({ item }) => item));
    progress?.end();
    // The service's total does not count matches of a condition, nor the items that fleet dropped.
    const isFiltered = options.where !== undefined || tally.kept < checked;
    const lines = closingLines(tally, noun, { ...options, ...how, isFiltered });
    if (wanted === undefined && tally.hasMore && plan.pageNote !== undefined)
      lines.push(plan.pageNote);
    await result.end(lines);
  } catch (thrown) {
    throw withListHint(thrown, plan, options);
  } finally {
    progress?.end();
  }
  return incompleteError(tally, noun);
}

/** Some fields are no order: a service answers 400 to them, or 500. A page that is not there is answered with 404, as a wrong address is. */
function withListHint<T>(
  thrown: unknown,
  { resource }: ListPlan<T>,
  { ordering, page = 1 }: ListOptions,
): unknown {
  const error = asFleetError(thrown);
  const { status } = error;
  const { orderings = [] } = resource ?? {};
  const isOdd = ordering?.split(',').some((field) => !orderings.includes(field.replace(/^-/, '')));
  if (isOdd === true && (status === 400 || status === 500))
    return withHint(error, `orderings that usually work: ${orderings.join(', ')}`);
  if (status !== 404 || page === 1) return thrown;
  return withHint(error, `there may be no page ${page}; --count prints how many items there are`);
}

/** The requests with page and further parameters. Throws a usage error for a parameter that is sent already. */
function makeRequests<T>({ requests }: ListPlan<T>, options: ListOptions): HttpRequest[] {
  const { page, param = [] } = options;
  const further: Query = page === undefined ? param : [...param, ['page', String(page)]];
  return requests.map((request) => {
    const query = request.query ?? [];
    const twice = param.find(
      ([name]) => name === 'page' || query.some(([known]) => known === name),
    );
    if (twice !== undefined)
      throw usageError(
        `the query parameter "${twice[0]}" is sent by a flag or the settings`,
        'leave it out of --param',
      );
    return further.length === 0 ? request : { ...request, query: [...query, ...further] };
  });
}

/**
 * Refuses a condition on a field that neither the document nor the first page knows, before anything is shown: with `!=` it would
 * match everything. As with `--columns`, the first page speaks for all.
 */
function checkFields<T>(
  conditions: readonly Condition[],
  items: readonly Item<T>[],
  { shape, resource }: ListPlan<T>,
): void {
  const values = items.map(({ value }) => value);
  for (const condition of conditions) {
    if (
      resource === undefined ||
      isDocumented(condition, resource) ||
      hasField(values, condition.field)
    )
      continue;
    throw unknownWord('field', firstSegment(condition.field), [
      ...new Set([...shape.fields, ...fieldsOf(values)]),
    ]);
  }
}

/** Returns the service's total of all requests, or undefined when the items must be counted because the service sends no total. */
async function readTotal(
  context: Context,
  requests: readonly HttpRequest[],
): Promise<number | undefined> {
  const client = await context.client();
  let total = 0;
  for (const request of requests) {
    const page = await firstPage(client, request);
    const all = page.next === undefined ? page.items.length : undefined;
    const part = hasTotal(page) ? page.count : all;
    if (part === undefined) return undefined;
    total += part;
  }
  return total;
}
