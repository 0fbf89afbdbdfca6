// Prints a list page by page. Prints each item once, and fails when items are missing.

import type { Resource } from '../api/resource.js';
import type { Context } from '../context.js';
import { asFleetError, type FleetError, usageError } from '../errors.js';
import { firstPage } from '../http/first-page.js';
import { hasTotal } from '../http/pages.js';
import type { HttpRequest, Item, Query } from '../http/types.js';
import { momentOf } from '../system/clock.js';
import type { Format, Shape } from '../terminal/formats.js';
import { openProgress } from '../terminal/progress.js';
import { checkFields } from './check-fields.js';
import type { ListOptions } from './flags.js';
import { closingLines, incompleteError, showProgress, startTally } from './footer.js';
import { readMerged } from './merged.js';
import { writeResult } from './output-file.js';
import { openResult, type Result } from './result.js';
import { matches } from './where.js';
import { writeFooter } from './write-footer.js';

/** An item of a list. Its uuid identifies it. */
export interface Listed {
  uuid?: unknown;
}

/** Describes a list to print. */
export interface ListPlan<T> {
  shape: Shape<T>;
  /**
   * The requests, including the filters that the service applies. The results of several requests
   * form one list. The requests have the same ordering, and no item is in two results.
   */
  requests: readonly HttpRequest[];
  /** A line to print after a single page when there are more pages. */
  pageNote?: string;
  /** Lines to print when the list is empty, such as a note about an unknown state. */
  emptyNotes?: readonly string[];
  /** The documented fields, orderings and words, for `--where` and for hints. */
  resource?: Pick<Resource, 'fields' | 'orderings' | 'words'>;
  /** Changes an item before it is filtered and shown. */
  extend?(item: Item<T>): Item<T>;
  /** Whether to keep an item; checked before `--where`. By default all items are kept. */
  keep?(item: Item<T>): boolean;
  /**
   * Returns the distance of an item in metres. If this function is set, all items are read and the
   * nearest items are shown first. By default, the items keep the service's order.
   */
  distance?(item: Item<T>): number;
  /** The output format. It overrides the settings. */
  format?: Format;
}

/**
 * Prints a list, or the number of its items with `--count`. If a page cannot be read even after
 * retries, throws the error of the page. If fewer items arrived than the service counts, throws a
 * FleetError of kind `partial`.
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
      throw usageError('--count prints a number and does not support --jq', 'remove one of them');
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

/** Whether fleet itself filters items, in addition to the service. */
function isFilteredHere<T>({ keep }: ListPlan<T>, { where }: ListOptions): boolean {
  return keep !== undefined || where !== undefined;
}

/**
 * Passes all items of a list to `take`, for results that need the whole list. Throws the same
 * errors as `printList`, except when items are missing. It then returns the error, so that the
 * caller can print the result first.
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

/**
 * Reads and shows a list. Each page is shown when it arrives. When the nearest items are wanted,
 * all items are read first.
 */
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
  // This is a separate function, so that the variables of one page can be freed before the next
  // page is read.
  const take = async (came: readonly Item<T>[]): Promise<void> => {
    const items = extend === undefined ? came : came.map(extend);
    if (checked === 0 && items.length > 0 && plan.resource !== undefined) {
      const values = items.map(({ value }) => value);
      checkFields(where, values, plan.resource, plan.shape.fields);
    }
    checked += items.length;
    const kept = how.isFiltered ? items.filter(isKept) : items;
    tally.kept += kept.length;
    if (distance === undefined) return show(kept);
    for (const item of kept) gathered.push({ item, metres: distance(item) });
  };
  try {
    // If items are filtered or sorted by distance, fleet must read more items than it shows. The
    // number of requested items is then unlimited.
    const most = how.isFiltered || how.isNearest ? undefined : wanted;
    for await (const items of readMerged(context, plan, tally, { wanted, limit: most })) {
      await take(items);
      if (wanted === undefined || tally.shown >= wanted) break;
    }
    gathered.sort((a, b) => a.metres - b.metres);
    if (how.isNearest) await show(gathered.map(({ item }) => item));
    progress?.end();
    // The service's total is wrong for the result when fleet itself has removed items.
    const isFiltered = options.where !== undefined || tally.kept < checked;
    const lines = closingLines(tally, noun, { ...options, ...how, isFiltered });
    if (wanted === undefined && tally.hasMore && plan.pageNote !== undefined)
      lines.push(plan.pageNote);
    if (tally.shown === 0) lines.push(...(plan.emptyNotes ?? []));
    await result.end(lines);
  } catch (thrown) {
    throw withListHint(thrown, plan, options);
  } finally {
    progress?.end();
  }
  return incompleteError(tally, noun);
}

/**
 * Adds a hint to a list error. Services answer 400 or 500 to an unsupported ordering. They answer
 * 404 to a missing page, but also to a wrong URL, so the hint depends on the request.
 */
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
    return error.with({ hint: `orderings that usually work: ${orderings.join(', ')}` });
  if (status !== 404 || page === 1) return thrown;
  return error.with({
    hint: `there may be no page ${page}; --count prints how many items there are`,
  });
}

/**
 * Adds `--page` and `--param` to the requests. Throws a usage error for a parameter that a request
 * already has.
 */
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
        `the query parameter "${twice[0]}" belongs to a flag or a setting`,
        'remove it from --param',
      );
    return further.length === 0 ? request : { ...request, query: [...query, ...further] };
  });
}

/**
 * Returns the service's total over all requests. Returns undefined when the service sends no total.
 * In that case, the items must be counted.
 */
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
