// Prints a list that comes in pages: complete or loud, each item once, page by page as it arrives.

import type { Context } from '../context.js';
import { usageError } from '../errors.js';
import type { HttpRequest, Item } from '../http/types.js';
import type { Shape } from '../terminal/formats.js';
import type { ListOptions } from './list-words.js';
import { openResult } from './result.js';

/** Prints a list as the operator asked; the request carries the service's own filters. */
export async function printList<T extends { uuid?: unknown }>(
  context: Context,
  request: HttpRequest,
  shape: Shape<T>,
  options: ListOptions,
): Promise<void> {
  const { page, all, limit, count } = options;
  if (all === true && page !== undefined)
    throw usageError('--all and --page exclude each other', 'leave one of them out');
  if (count === true && (all === true || limit !== undefined)) {
    throw usageError("--count is the service's total and takes no --all or --limit", 'leave one of them out');
  }
  const client = await context.client();
  const query = [...(request.query ?? []), ...(page === undefined ? [] : [['page', String(page)] as const])];
  const wanted = limit ?? (all === true ? Number.POSITIVE_INFINITY : undefined);
  const isOnePage = wanted === undefined || count === true;
  const pages = client.pages<T>({ ...request, query }, isOnePage ? { ahead: 0 } : { limit: wanted });
  if (count === true) return printCount(context, pages);

  const result = await openResult(context, shape);
  const seen = new Set<string>();
  let firstTotal: number | undefined;
  let lastTotal: number | undefined;
  let shown = 0;
  let twice = 0;
  let hasMore = false;
  for await (const { items, count: total, next } of pages) {
    const fresh = items.filter((item) => isFirstTime(item, seen));
    twice += items.length - fresh.length;
    const rows = wanted === undefined ? fresh : fresh.slice(0, wanted - shown);
    shown += rows.length;
    hasMore = next !== undefined || rows.length < fresh.length;
    firstTotal ??= total;
    lastTotal = total ?? lastTotal;
    await result.write(rows);
    if (wanted === undefined || shown >= wanted) break;
  }
  await result.end();

  const { many } = shape.noun;
  if (firstTotal !== lastTotal) {
    await context.notice(`the total changed from ${firstTotal} to ${lastTotal} while the list was read`);
  }
  if (twice > 0) {
    await context.notice(
      `${twice} ${many} came twice and ${twice === 1 ? 'is' : 'are'} shown once: the fleet moved while it was read, so some may be missing; run it again, or order by a field that does not move`,
    );
  }
  if (shown === 0) await context.notice(`no ${many} found`);
  else if (hasMore) {
    const more =
      limit === undefined
        ? `--page ${(page ?? 1) + 1} shows the next page, --all all of them`
        : '--all shows all of them';
    await context.notice(`${shown}${lastTotal === undefined ? '' : ` of ${lastTotal}`} ${many}; ${more}`);
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
async function printCount(
  context: Context,
  pages: AsyncGenerator<{ count: number | undefined; items: unknown[] }>,
): Promise<void> {
  const first = await pages.next();
  const total = first.done === true ? 0 : (first.value.count ?? first.value.items.length);
  await context.io.stdout.write(`${total}\n`);
}
