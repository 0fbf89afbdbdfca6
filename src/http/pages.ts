// A list as pages: envelope or bare array, next links followed on our own address, some pages fetched ahead.

import { FleetError } from '../errors.js';
import { propertyStart } from '../json/text.js';
import { pairItems, readJson } from './json.js';
import type { HttpAnswer, HttpRequest, Page, Query } from './types.js';

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function notAList(answer: HttpAnswer, what: string): FleetError {
  return new FleetError('service', `the answer is not what the interface says: ${what}`, {
    status: answer.status,
    trace: answer.trace,
    hint: 'check that the base URL is that of the service, prefix such as /api included',
  });
}

/**
 * Reads one page of a list: "The bicycle list sample shows a bare array of bicycles, while the pagination rule
 * describes the envelope" (section 4): both work. Throws a FleetError of kind `service` for anything else.
 */
export function readPage<T>(answer: HttpAnswer): Page<T> {
  const body = readJson(answer);
  const text = answer.text;
  const start = text.search(/[[{]/);
  const { trace } = answer;
  const page = (array: readonly unknown[], at: number, count: number | undefined, next: Query | undefined): Page<T> => {
    const odd = array.findIndex((element) => !isObject(element));
    if (odd >= 0) throw notAList(answer, `item ${odd + 1} of the list is not an object`);
    return { count, items: pairItems<T>(array, text, at), next, trace };
  };
  if (Array.isArray(body)) return page(body, start, undefined, undefined);
  if (!isObject(body)) throw notAList(answer, 'neither a page nor an array');
  const results = body['results'];
  if (!Array.isArray(results)) throw notAList(answer, 'a page without an array of results');
  const at = propertyStart(text, start, 'results') ?? start;
  return page(results, at, readCount(body['count']), readNext(answer, body['next']));
}

function readCount(count: unknown): number | undefined {
  const value = typeof count === 'string' ? Number(count) : count;
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : undefined;
}

/**
 * The query of the next page. "Absolute URL of the next page, or empty when none" (section 2.6): it may come with
 * another scheme, host or prefix, so nothing but its query is used (cli.md section 4, promise 3).
 */
function readNext(answer: HttpAnswer, next: unknown): Query | undefined {
  if (next === null || next === undefined || next === '') return undefined;
  // The base only makes a relative link readable; it is never asked.
  const url =
    typeof next === 'string' && URL.canParse(next, 'http://localhost/')
      ? new URL(next, 'http://localhost/')
      : undefined;
  if (url === undefined)
    throw notAList(answer, `a "next" link that is no address (${JSON.stringify(next)?.slice(0, 100)})`);
  return [...url.searchParams];
}

function keyOf(query: Query): string {
  return JSON.stringify([...query].sort(([a, b], [c, d]) => (a === c ? (b < d ? -1 : 1) : a < c ? -1 : 1)));
}

/** The page number in a query, when there is exactly one. */
function pageNumber(query: Query): number | undefined {
  const numbers = query.filter(([name]) => name === 'page').map(([, value]) => Number(value));
  const [number] = numbers;
  return numbers.length === 1 && number !== undefined && Number.isSafeInteger(number) ? number : undefined;
}

function withPage(query: Query, page: number): Query {
  return query.map(([name, value]) => (name === 'page' ? [name, String(page)] : [name, value]));
}

export interface PageOptions {
  /** How many pages may be on their way or waiting while one is being used; 0 asks for each when it is wanted. */
  ahead: number;
  /** How many items are wanted in all; no page beyond them is asked for. */
  limit?: number;
}

/**
 * Follows a list page by page, in order. Pages ahead are asked for by counting `page` on from the next link, and used
 * only when the links confirm them. Ends after the page without `next`; throws when a link leads back to a page already read.
 */
export async function* followPages<T>(
  request: HttpRequest,
  fetchPage: (request: HttpRequest) => Promise<Page<T>>,
  { ahead, limit = Number.POSITIVE_INFINITY }: PageOptions,
): AsyncGenerator<Page<T>, void, undefined> {
  const seen = new Set<string>();
  let underWay = new Map<string, Promise<Page<T>>>();
  let query: Query | undefined = request.query ?? [];
  let itemsRead = 0;
  let emptyPages = 0;

  const stop = new AbortController();
  const start = (pageQuery: Query): Promise<Page<T>> => {
    const key = keyOf(pageQuery);
    let promise = underWay.get(key);
    if (promise === undefined) {
      promise = fetchPage({ ...request, query: pageQuery, signal: stop.signal });
      // A page that was asked for too early may fail without anybody waiting for it.
      promise.catch(() => {});
      underWay.set(key, promise);
    }
    return promise;
  };

  try {
    while (query !== undefined) {
      const key = keyOf(query);
      const page: Page<T> = await start(query);
      underWay.delete(key);
      seen.add(key);
      itemsRead += page.items.length;
      emptyPages = page.items.length === 0 ? emptyPages + 1 : 0;
      if (emptyPages >= EMPTY_PAGES_LIMIT && page.next !== undefined) throw endless(page);
      const next: Query | undefined = itemsRead < limit ? page.next : undefined;
      if (next !== undefined && seen.has(keyOf(next))) throw circle(page, next);
      if (next !== undefined && ahead > 0) {
        const wanted = [next, ...guessFurther(next, page, itemsRead, limit, ahead - 1)];
        const keys = new Set(wanted.map(keyOf));
        underWay = new Map([...underWay].filter(([waiting]) => keys.has(waiting)));
        for (const further of wanted) start(further);
      }
      yield page;
      query = next;
    }
  } finally {
    stop.abort(new Error('the rest of the list is not wanted'));
  }
}

/** So many pages in a row without an item, each of which promises another one, are no list. */
const EMPTY_PAGES_LIMIT = 10;

function endless<T>(page: Page<T>): FleetError {
  return new FleetError(
    'service',
    `the list has no end: ${EMPTY_PAGES_LIMIT} pages in a row were empty and named a next one`,
    {
      trace: page.trace,
      hint: 'what was shown so far may be incomplete; report the request id to the service',
    },
  );
}

function circle<T>(page: Page<T>, next: Query): FleetError {
  return new FleetError('service', 'the list leads in a circle: "next" names a page that was already read', {
    trace: page.trace,
    detail: { next: Object.fromEntries(next) },
    hint: 'what was shown so far is incomplete; report the request id to the service',
  });
}

/** The queries behind the next one, as far as the total and the limit say there are pages. */
function guessFurther<T>(next: Query, page: Page<T>, itemsRead: number, limit: number, most: number): Query[] {
  const number = pageNumber(next);
  const size = page.items.length;
  if (number === undefined || page.count === undefined || size === 0) return [];
  const left = Math.min(page.count, limit) - itemsRead;
  const pagesLeft = Math.ceil(left / size);
  const further = Math.max(0, Math.min(most, pagesLeft - 1));
  return Array.from({ length: further }, (_, index) => withPage(next, number + index + 1));
}
