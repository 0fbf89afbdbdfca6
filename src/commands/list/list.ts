// Prints a list that comes in pages: complete or loud, each item once, page by page as it arrives.

import { unknownWord } from '../../cli/nearest.js';
import { sleep } from '../../clock.js';
import type { Context } from '../../context.js';
import { usageError } from '../../errors.js';
import type { Client } from '../../http/client.js';
import type { PageOptions } from '../../http/pages.js';
import type { HttpRequest, Item, Page, Query } from '../../http/types.js';
import { exactValue } from '../../json/exact.js';
import { fieldsOf } from '../../terminal/formats/columns.js';
import type { Format, Shape } from '../../terminal/formats.js';
import { openProgress, type Progress } from '../../terminal/progress.js';
import { readPath } from '../../terminal/values.js';
import { isDecimal } from './decimals.js';
import type { ListOptions } from './flags.js';
import { openResult } from './result.js';
import { showProgress, startTally, tellTally } from './tally.js';
import { type Condition, isDocumented, matches, type Vocabulary } from './where.js';

/** What is to be listed. */
export interface ListPlan<T> {
  shape: Shape<T>;
  /** One request with the service's own filters; or several whose items belong together, such as the two halves of an area. */
  requests: readonly HttpRequest[];
  /** What the document says of the fields, for `--where`. */
  vocabulary?: Vocabulary;
  /** What is kept of what comes, before `--where`; everything when absent. */
  keep?(item: Item<T>): boolean;
  /** The order in which items are shown, which needs all of them first; as they come when absent. */
  compare?(a: Item<T>, b: Item<T>): number;
  /** Every page is wanted, also without `--all`. */
  isWhole?: boolean;
  /** Whether `compare` puts the nearest first, for the closing words. */
  isNearest?: boolean;
  /** Instead of the format of the settings. */
  format?: Format;
}

/** A single page has none. */
const NO_PROGRESS: Progress = { async clear() {}, async end() {} };

/** Prints a list as the operator asked. Throws the failure of the first page that cannot be read, after its retries. */
export async function printList<T extends { uuid?: unknown }>(
  context: Context,
  plan: ListPlan<T>,
  options: ListOptions,
): Promise<void> {
  const requests = plan.requests.map((request) => addParameters(request, options));
  checkFlags(context, options);
  const client = await context.client();
  if (options.count === true) return printCount(context, client, requests);

  const { shape, compare, isNearest = false } = plan;
  const { limit, where: conditions = [] } = options;
  const isWhole = options.all === true || plan.isWhole === true;
  const wanted = limit ?? (isWhole ? Number.POSITIVE_INFINITY : undefined);
  const keep = chooseKeeper(plan, conditions, context.clock.wallMs());
  const result = await openResult(context, shape, plan.format);
  const tally = startTally();
  const over = new AbortController();
  const startedAt = context.clock.monotonicMs();
  const progress =
    wanted === undefined
      ? NO_PROGRESS
      : openProgress(context, { draw: () => showProgress(tally, shape.noun, context.clock.monotonicMs() - startedAt) });
  const { isTerminal } = context.io.stdout;
  const show = async (rows: readonly Item<T>[]) => {
    tally.shown += rows.length;
    if (isTerminal) await progress.clear();
    await result.write(rows);
    // A progress line would go over the beginning of a line that is not finished.
    if (isTerminal && result.isWithinLine()) await progress.end();
  };

  async function readAll(): Promise<void> {
    const seen = new Set<string>();
    const gathered: Item<T>[] = [];
    // How many items must come for --limit is known only where every item is shown.
    const most = keep === undefined && compare === undefined ? wanted : undefined;
    const ahead = wanted === undefined ? { ahead: 0 } : most === undefined ? {} : { limit: most };
    for (const [index, request] of requests.entries()) {
      const asked = { ...request, ...waitVisibly(context, progress, over.signal) };
      for await (const { items, count: total, next } of followEnough<T>(client, asked, ahead)) {
        if (tally.read === 0 && items.length > 0) checkFields(conditions, items, plan);
        const fresh = items.filter((item) => isFirstTime(item, seen));
        const kept = keep === undefined ? fresh : fresh.filter(keep);
        tally.pages += 1;
        tally.read += fresh.length;
        tally.twice += items.length - fresh.length;
        tally.kept += kept.length;
        tally.firstTotals[index] ??= total;
        tally.lastTotals[index] = total ?? tally.lastTotals[index];
        if (compare !== undefined) {
          for (const item of kept) gathered.push(item);
          continue;
        }
        const rows = wanted === undefined ? kept : kept.slice(0, wanted - tally.shown);
        await show(rows);
        tally.hasMore = next !== undefined || rows.length < kept.length || index + 1 < requests.length;
        if (tally.hasMore && (wanted === undefined || tally.shown >= wanted)) return;
      }
    }
    tally.isComplete = options.page === undefined;
    if (compare === undefined) return;
    gathered.sort(compare);
    await show(gathered.slice(0, wanted));
    tally.hasMore = tally.shown < gathered.length;
  }

  try {
    await readAll();
    await progress.end();
    await result.end();
  } finally {
    over.abort(new Error('the list has ended'));
    await progress.end();
  }
  for (const line of tellTally(tally, shape.noun, { ...options, isWhole, isNearest, isKept: plan.keep !== undefined }))
    await context.notice(line);
}

/** The pages of a list as far as they are wanted: whoever has enough stops asking. */
async function* followEnough<T>(
  client: Client,
  request: HttpRequest,
  options: Partial<PageOptions>,
): AsyncGenerator<Page<T>, void, undefined> {
  let next: Query | undefined;
  for await (const page of client.pages<T>(request, options)) {
    yield page;
    next = page.next;
  }
  // The client ends when as many items came as are wanted. Some came twice, or more would not have been asked for.
  if (next !== undefined) yield* client.pages<T>({ ...request, query: next }, { ahead: 0 });
}

function checkFlags({ flags }: Context, { page, all, limit, count, where }: ListOptions): void {
  if (all === true && page !== undefined) {
    throw usageError('--all and --page exclude each other', 'leave one of them out');
  }
  if (count !== true) return;
  if (all === true || limit !== undefined) {
    throw usageError("--count is the service's total and takes no --all or --limit", 'leave one of them out');
  }
  if (where !== undefined) {
    throw usageError(
      "--count is the service's total, which knows nothing of --where",
      'to count what matches, use --all -o uuid | wc -l instead',
    );
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

function isFirstTime(item: Item<{ uuid?: unknown }>, seen: Set<string>): boolean {
  const { uuid } = item.value;
  if (typeof uuid !== 'string') return true;
  if (seen.has(uuid)) return false;
  seen.add(uuid);
  return true;
}

/** Prints the service's total; a bare array carries none, so its length stands for it. */
async function printCount(context: Context, client: Client, [request]: readonly HttpRequest[]): Promise<void> {
  if (request === undefined) return;
  const first = await client.pages(request, { ahead: 0 }).next();
  const total = first.done === true ? 0 : (first.value.count ?? first.value.items.length);
  await context.io.stdout.write(`${total}\n`);
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
