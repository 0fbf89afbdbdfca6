// Prints a list that comes in pages: complete or loud, each item once, page by page as it arrives.

import { unknownWord } from '../../cli/nearest.js';
import { sleep } from '../../clock.js';
import type { Context } from '../../context.js';
import { FleetError, usageError } from '../../errors.js';
import type { Client } from '../../http/client.js';
import { withHint } from '../../http/failure.js';
import type { HttpRequest, Item, Query } from '../../http/types.js';
import { exactValue } from '../../json/exact.js';
import { fieldsOf } from '../../terminal/formats/columns.js';
import { countNoun } from '../../terminal/formats/renderer.js';
import type { Format, Shape } from '../../terminal/formats.js';
import { openProgress, type Progress } from '../../terminal/progress.js';
import { readPath } from '../../terminal/values.js';
import { writeFooter } from '../footer.js';
import { isDecimal } from './decimals.js';
import type { ListOptions } from './flags.js';
import { type Batch, type Listed, readItems } from './read.js';
import { openResult, type Result } from './result.js';
import { closingLines, incompleteError, showProgress, startTally, type Tally } from './tally.js';
import { warnOfCondition, warnOfOrdering } from './warnings.js';
import { type Condition, isDocumented, matches, type Vocabulary } from './where.js';

/** What is to be listed. */
export interface ListPlan<T> {
  shape: Shape<T>;
  /** One request with the service's own filters; or several whose items belong together, such as the two halves of an area. */
  requests: readonly HttpRequest[];
  /** What the document says of the fields, for `--where`. */
  vocabulary?: Vocabulary;
  /** What every item is made into before anything else looks at it. */
  extend?(item: Item<T>): Item<T>;
  /** What is kept of what comes, before `--where`; everything when absent. */
  keep?(item: Item<T>): boolean;
  /** The order in which items are shown, which needs all of them first; as they come when absent. */
  compare?(a: Item<T>, b: Item<T>): number;
  /** Every page is wanted, also without `--all`. */
  isWhole?: boolean;
  /** Whether `compare` puts the nearest first, for the closing lines. */
  isNearest?: boolean;
  /** Instead of the format of the settings. */
  format?: Format;
  /** Takes the items instead of their being printed: for what is made of a whole list. */
  onlyReads?(items: readonly Item<T>[]): void;
}

/** A single page has none. */
const NO_PROGRESS: Progress = { async clear() {}, async end() {} };

/**
 * Prints a list as the operator asked, or with `--count` how many there are. Throws the failure of the first page that cannot be read,
 * after its retries, and a FleetError of kind `partial` when fewer items came than the service counts.
 */
export async function printList<T extends Listed>(
  context: Context,
  plan: ListPlan<T>,
  options: ListOptions,
): Promise<void> {
  const isFiltered = plan.keep !== undefined || options.where !== undefined;
  checkFlags(context, options, isFiltered);
  const requests = plan.requests.map((request) => addParameters(request, options));
  if (plan.vocabulary !== undefined) {
    await warnOfOrdering(context, options.ordering, plan.vocabulary);
    for (const condition of options.where ?? []) await warnOfCondition(context, condition, plan.vocabulary.words);
  }
  const client = await context.client();
  if (options.count === true && !isFiltered && (await printTotal(context, client, requests))) return;

  const { shape } = plan;
  const tally = startTally();
  const isWhole = options.all === true || options.count === true || plan.isWhole === true;
  const result = await chooseResult(context, plan, options, tally);
  const over = new AbortController();
  const startedAt = context.clock.monotonicMs();
  const progress =
    isWhole || options.limit !== undefined
      ? openProgress(context, { draw: () => showProgress(tally, shape.noun, context.clock.monotonicMs() - startedAt) })
      : NO_PROGRESS;
  const { isNearest = false, compare } = plan;
  const about = {
    ...options,
    isWhole,
    isNearest,
    isSorted: compare !== undefined,
    isFiltered: plan.keep !== undefined,
  };
  const visible = requests.map((request) => ({ ...request, ...waitVisibly(context, progress, over.signal) }));
  try {
    await showItems(context, client, { ...plan, requests: visible, isWhole }, { options, tally, result, progress });
    await progress.end();
    await result.end(closingLines(tally, shape.noun, about));
  } catch (thrown) {
    throw withPageHint(thrown, options.page);
  } finally {
    over.abort(new Error('the list has ended'));
    await progress.end();
  }
  const error = incompleteError(tally, shape.noun);
  if (error !== undefined) throw error;
}

/** A page that is not there is answered with 404, as a wrong address is. */
function withPageHint(thrown: unknown, page: number | undefined): unknown {
  if (!(thrown instanceof FleetError) || thrown.status !== 404 || page === undefined || page === 1) return thrown;
  return withHint(thrown, `there may be no page ${page}; --count prints how many items there are`);
}

interface ShowOptions<T> {
  options: ListOptions;
  tally: Tally;
  result: Result<T>;
  progress: Progress;
}

/** Reads what is wanted and shows it: page by page as it comes, or sorted when all of it is there. */
async function showItems<T extends Listed>(
  context: Context,
  client: Client,
  plan: ListPlan<T>,
  { options, tally, result, progress }: ShowOptions<T>,
): Promise<void> {
  const { requests, compare, shape, isWhole } = plan;
  const conditions = options.where ?? [];
  const keep = chooseKeeper(plan, conditions, context.clock.wallMs());
  const wanted = options.limit ?? (isWhole === true ? Number.POSITIVE_INFINITY : undefined);
  const { isTerminal } = context.io.stdout;
  const show = async (rows: readonly Item<T>[]) => {
    tally.shown += rows.length;
    if (isTerminal) await progress.clear();
    await result.write(rows);
    // A progress line would go over the beginning of a line that is not finished.
    if (isTerminal && result.isWithinLine()) await progress.end();
  };
  const gathered: Item<T>[] = [];
  const batches = readItems<T>(client, requests, tally, {
    isWhole: wanted !== undefined,
    // How many items must come for --limit is known only where every item is shown.
    limit: keep === undefined && compare === undefined ? wanted : undefined,
    async onShort(missing, total) {
      await progress.clear();
      await context.notice(
        `${missing} of ${countNoun(total, shape.noun)} ${missing === 1 ? 'is' : 'are'} missing; reading the pages again`,
      );
    },
  });
  let isChecked = false;
  // A function of its own: what it names is let go of before the next page is read.
  const take = async ({ items: came, hasMore }: Batch<T>): Promise<boolean> => {
    const items = plan.extend === undefined ? came : came.map(plan.extend);
    if (!isChecked && items.length > 0) checkFields(conditions, items, plan);
    isChecked ||= items.length > 0;
    const kept = keep === undefined ? items : items.filter(keep);
    tally.kept += kept.length;
    if (compare !== undefined) {
      for (const item of kept) gathered.push(item);
      return false;
    }
    const rows = wanted === undefined ? kept : kept.slice(0, wanted - tally.shown);
    await show(rows);
    tally.hasMore = hasMore || rows.length < kept.length;
    return wanted === undefined || tally.shown >= wanted;
  };
  for await (const batch of batches) if (await take(batch)) return;
  if (compare === undefined) return;
  gathered.sort(compare);
  await show(gathered.slice(0, wanted));
  tally.hasMore = tally.shown < gathered.length;
}

function checkFlags({ flags }: Context, { page, all, limit, count }: ListOptions, isFiltered: boolean): void {
  if (all === true && page !== undefined) {
    throw usageError('--all and --page cannot be used together', 'leave one of them out');
  }
  if (count !== true) return;
  if (limit !== undefined) throw usageError('--count counts everything and takes no --limit', 'leave one of them out');
  if (page !== undefined && isFiltered) {
    throw usageError('--count with a filter reads every page and takes no --page', 'leave one of them out');
  }
  if (flags.jq !== undefined) throw usageError('--count prints a number and takes no --jq', 'leave one of them out');
}

function addParameters(request: HttpRequest, { page, param = [] }: ListOptions): HttpRequest {
  const query = request.query ?? [];
  for (const [name] of param) {
    if (name === 'page') throw usageError('--param page is spelled --page', 'use --page N');
    if (query.some(([taken]) => taken === name)) {
      throw usageError(
        `the query parameter "${name}" is sent already, by its flag or by the settings`,
        'leave --param out',
      );
    }
  }
  const further: Query = page === undefined ? param : [...param, ['page', String(page)]];
  return further.length === 0 ? request : { ...request, query: [...query, ...further] };
}

/** What decides whether an item is shown; undefined when every one is, so that nothing is spent on it. */
function chooseKeeper<T>(
  { keep }: ListPlan<T>,
  conditions: readonly Condition[],
  now: number,
): ((item: Item<T>) => boolean) | undefined {
  if (conditions.length === 0) return keep;
  // Reading exactly takes time, and nothing but numbers is read inexactly.
  const isExact = conditions.some(({ value }) => isDecimal(value));
  return (item) => {
    if (keep !== undefined && !keep(item)) return false;
    const value = isExact ? exactValue(item) : item.value;
    return conditions.every((condition) => matches(condition, value, now));
  };
}

/**
 * Refuses a condition on a field that neither the document nor the first page knows, before anything is shown: with `!=` it would
 * match everything. As with `--columns`, the first page speaks for all.
 */
function checkFields<T>(
  conditions: readonly Condition[],
  items: readonly Item<T>[],
  { shape, vocabulary }: ListPlan<T>,
): void {
  for (const condition of conditions) {
    if (vocabulary === undefined || isDocumented(condition, vocabulary)) continue;
    const first = condition.field.split('.', 1)[0] ?? condition.field;
    const isThere = ({ value }: Item<T>) =>
      readPath(value, condition.field) !== undefined || Object.hasOwn(value as object, first);
    if (items.some(isThere)) continue;
    throw unknownWord('field', first, [...new Set([...shape.fields, ...fieldsOf(items.map(({ value }) => value))])]);
  }
}

/**
 * Prints the service's total and says so; false when it has to be counted, because the service gives none. A bare array carries none, so
 * its length stands for it.
 */
async function printTotal(context: Context, client: Client, requests: readonly HttpRequest[]): Promise<boolean> {
  let sum = 0;
  for (const request of requests) {
    const { value: page } = await client.pages(request, { ahead: 0 }).next();
    if (page === undefined || (page.count === undefined && page.next !== undefined)) return false;
    sum += page.count ?? page.items.length;
  }
  await context.io.stdout.write(`${sum}\n`);
  return true;
}

async function chooseResult<T>(
  context: Context,
  { shape, format, onlyReads }: ListPlan<T>,
  { count }: ListOptions,
  tally: Tally,
): Promise<Result<T>> {
  if (onlyReads !== undefined)
    return {
      write: async (items) => onlyReads(items),
      end: (footer = []) => writeFooter(context, footer, false),
      isWithinLine: () => false,
    };
  return count === true ? openCounter(context, tally) : openResult(context, shape, format);
}

/** A result that is the number of those that were kept. */
function openCounter<T>(context: Context, tally: Tally): Result<T> {
  return {
    async write() {},
    async end(footer = []) {
      await context.io.stdout.write(`${tally.kept}\n`);
      await writeFooter(context, footer, context.io.stdout.isTerminal);
    },
    isWithinLine: () => false,
  };
}

/** On a terminal the announcement of a retry takes the place of the progress line, instead of running through it. */
function waitVisibly(context: Context, progress: Progress, over: AbortSignal): Pick<HttpRequest, 'pause'> {
  if (!context.io.stderr.isTerminal) return {};
  return {
    async pause(milliseconds, failure) {
      await progress.clear();
      await context.notice(`${failure.message}; trying again in ${(milliseconds / 1000).toFixed(1)} s`);
      await sleep(context.clock, milliseconds, AbortSignal.any([context.signal, over]));
    },
  };
}
