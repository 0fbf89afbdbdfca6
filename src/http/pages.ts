// Reads lists page by page. Accepts envelopes and bare arrays, follows `next` links on the base
// URL, and requests some pages ahead.

import { setMaxListeners } from 'node:events';
import { FleetError } from '../errors.js';
import { DEPTH_LIMIT, isObject, parseJson, VALUE_LIMIT } from '../json/parse.js';
import { findExcess, type SplitArray, splitArray, splitProperty, squeeze } from '../json/text.js';
import type { Clock } from '../system/clock.js';
import { ITEM_LIMIT_BYTES, TOO_BIG_CODE } from './body.js';
import { hasUuid, openSeen, type Seen } from './distinct.js';
import { ExchangeError } from './exchange.js';
import { readJson, unexpected } from './json.js';
import { findLink } from './link-header.js';
import { answeredAtMs } from './retry.js';
import type { AnswerDate, HttpAnswer, HttpRequest, Item, Page, Query } from './types.js';

/**
 * The fields of an envelope that may contain the items. The interface documents only the first
 * field. JSON:API and common frameworks use the others.
 */
export const ITEM_FIELDS = ['results', 'data', 'items'] as const;

/**
 * Parses one page of a list. Accepts a bare array and an envelope, because section 4 of the
 * interface description shows both. Also reads envelopes of other services and `Link` headers.
 * Throws a FleetError of kind `service` for any other body.
 */
export function readPage<T>(answer: HttpAnswer): Page<T> {
  const { headers, trace } = answer;
  const { envelope, items } = readAtOnce<T>(answer) ?? readByItem<T>(answer);
  const link = findNext(envelope);
  const next = readNext(answer, link === undefined ? findLink(headers['link'], 'next') : link);
  const count = findCount(envelope) ?? readCount(headers['x-total-count']);
  return { count, items, next, trace, dated: dateOf(headers) };
}

/** A parsed page. A bare array has an empty envelope. */
interface ParsedPage<T> {
  envelope: Envelope;
  items: Item<T>[];
}

/** Pages with more characters than this are parsed item by item, which needs less memory. */
const AT_ONCE_CHARACTERS = 1024 * 1024;

/**
 * Parses a page with a single call, which takes half the time of parsing item by item. Returns
 * undefined for a large or unusual page. For such a page, `readByItem` must parse it or report its
 * error.
 */
function readAtOnce<T>(answer: HttpAnswer): ParsedPage<T> | undefined {
  const { text } = answer;
  if (text.length > AT_ONCE_CHARACTERS) return undefined;
  let body: unknown;
  try {
    body = JSON.parse(text);
  } catch {
    return undefined;
  }
  const split = findItems(text);
  if (split === undefined || findExcess(restOf(text, split), DEPTH_LIMIT, VALUE_LIMIT))
    return undefined;
  const values = Array.isArray(body) ? body : itemsIn(body);
  if (values?.length !== split.texts.length) return undefined;
  const items: Item<T>[] = [];
  for (const [index, json] of split.texts.entries()) {
    const value: unknown = values[index];
    if (!isObject(value) || findExcess(json, DEPTH_LIMIT, VALUE_LIMIT)) return undefined;
    items.push({ json: squeeze(json), value: value as T });
  }
  return { envelope: isObject(body) ? body : {}, items };
}

/** Returns the array of items in a parsed envelope, or undefined when there is none. */
function itemsIn(body: unknown): unknown[] | undefined {
  if (!isObject(body)) return undefined;
  return ITEM_FIELDS.map((field) => body[field]).find((value) => Array.isArray(value));
}

/** Parses a page item by item. Throws a FleetError that says why the page is invalid. */
function readByItem<T>(answer: HttpAnswer): ParsedPage<T> {
  const split = splitPage(answer);
  // When the text contains no list, the whole text is parsed to find the reason.
  const body = readJson(answer, split?.rest);
  if (!isObject(body) && !Array.isArray(body))
    throw unexpected(answer, 'neither a page nor an array');
  if (split === undefined) throw unexpected(answer, 'a page without an array of results');
  return { envelope: isObject(body) ? body : {}, items: itemsOf<T>(answer, split.texts) };
}

/** Returns the time at which the service wrote a response, according to its headers. */
function dateOf(headers: HttpAnswer['headers']): AnswerDate {
  const age = Number(headers['age'] ?? 0);
  return {
    dateMs: answeredAtMs(headers),
    ageMs: Number.isFinite(age) && age > 0 ? age * 1000 : 0,
  };
}

type Envelope = { readonly [field: string]: unknown };

function objectAt(envelope: Envelope, field: string): Envelope {
  const value = envelope[field];
  return isObject(value) ? value : {};
}

/**
 * Returns the next link of an envelope without parsing it. Returns null or '' on the last page, and
 * undefined when the envelope has no field for the link.
 */
function findNext(envelope: Envelope): unknown {
  const pagination = objectAt(objectAt(envelope, 'meta'), 'pagination');
  const places = [
    envelope,
    objectAt(envelope, 'links'),
    objectAt(envelope, '_links'),
    objectAt(pagination, 'links'),
  ];
  const links = places
    .filter((place) => Object.hasOwn(place, 'next'))
    .map(({ next }) => (isObject(next) ? next['href'] : next));
  return links.find((link) => link !== null && link !== '') ?? links[0];
}

/**
 * Returns the total number of items that an envelope states, or undefined when the envelope states
 * no total.
 */
function findCount(envelope: Envelope): number | undefined {
  const meta = objectAt(envelope, 'meta');
  const pagination = objectAt(meta, 'pagination');
  // Some frameworks send both `count` and `total`. Then `count` is the number of items on this
  // page, and `total` is the number of items in the list.
  const counts = [
    envelope['count'],
    envelope['total'],
    pagination['total'],
    pagination['total_count'],
    pagination['count'],
    meta['total'],
    meta['total_count'],
    meta['count'],
  ];
  return counts.map(readCount).find((each) => each !== undefined);
}

/**
 * Whether a page's count can be the list's total. Some services send the number of items on the
 * page instead. Returns false when there is a next page, but this page alone already has `count`
 * items.
 */
export function hasTotal({ count, items, next }: Page<unknown>): boolean {
  if (count === undefined) return false;
  return next === undefined || items.length === 0 || count > items.length;
}

/**
 * The maximum number of items on a page. Each item needs more memory than its text: a page with 64
 * MB of empty items would need 2.7 GB. Items with a UUID have at least 50 characters, so real pages
 * of 64 MB hardly exceed this limit.
 */
const MOST_ITEMS = 1_500_000;

/**
 * Splits a page's text into its items and the surrounding text. Returns undefined when the text
 * contains no array of items.
 */
function splitPage(answer: HttpAnswer): { rest: string; texts: string[] } | undefined {
  const { text } = answer;
  const split = findItems(text);
  if (split === undefined) return undefined;
  if (split.texts.length > MOST_ITEMS)
    throw unexpected(answer, `a page of more than ${MOST_ITEMS / 1e6} million items`);
  const long = split.texts.findIndex(({ length }) => length > ITEM_LIMIT_BYTES);
  if (long >= 0)
    throw unexpected(
      answer,
      `item ${long + 1} of the list is larger than ${ITEM_LIMIT_BYTES / 2 ** 20} MB`,
    );
  return { rest: restOf(text, split), texts: split.texts };
}

/** Returns a page's text with an empty array in place of its items. */
function restOf(text: string, { start, end }: SplitArray): string {
  return `${text.slice(0, start)}[]${text.slice(end)}`;
}

/**
 * Finds the array of items and splits it. Returns undefined when the array is missing or malformed.
 */
function findItems(text: string): SplitArray | undefined {
  const start = text.search(/[[{]/);
  if (text[start] === '[') {
    const array = splitArray(text, start, MOST_ITEMS);
    return array === undefined ? undefined : { start, ...array };
  }
  if (text[start] !== '{') return undefined;
  try {
    return splitProperty(text, start, ITEM_FIELDS, MOST_ITEMS);
  } catch {
    // `splitProperty` throws when a key is not valid JSON.
    return undefined;
  }
}

/**
 * Pages with more characters than this keep only the text of their items, because parsed values
 * need five times the memory (promise 6: 400 MB). The limit also bounds all pages that are
 * requested ahead.
 */
const LARGE_CHARACTERS = 8 * 1024 * 1024;

/** Returns the items of a page. Parses each item once, to check that it is a JSON object. */
function itemsOf<T>(answer: HttpAnswer, texts: readonly string[]): Item<T>[] {
  const isLarge = answer.text.length > LARGE_CHARACTERS;
  return texts.map((text, index) => {
    const value = readJson(answer, text);
    if (!isObject(value))
      throw unexpected(answer, `item ${index + 1} of the list is not an object`);
    const json = squeeze(text);
    return isLarge ? Object.assign(Object.create(LARGE_ITEM), { json }) : { json, value };
  });
}

/**
 * The prototype of the items of large pages. It parses an item's JSON text on each access. A getter
 * per item would need more memory than the item.
 */
const LARGE_ITEM = {
  json: '',
  get value(): unknown {
    return parseJson(this.json);
  },
};

function readCount(count: unknown): number | undefined {
  const value = typeof count === 'string' && count.trim() !== '' ? Number(count) : count;
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : undefined;
}

/**
 * Returns the query of the next page, or undefined on the last page. Uses only the query of the
 * link, because proxies can change its scheme, host and prefix (section 2.6; cli.md section 4,
 * promise 3).
 */
function readNext(answer: HttpAnswer, next: unknown): Query | undefined {
  if (next === null || next === undefined || next === '') return undefined;
  // The base is needed to parse relative links. It is never requested.
  const url =
    typeof next === 'string' && URL.canParse(next, 'http://localhost/')
      ? new URL(next, 'http://localhost/')
      : undefined;
  if (url === undefined)
    throw unexpected(answer, `an invalid "next" link (${JSON.stringify(next)?.slice(0, 100)})`);
  return [...url.searchParams];
}

function keyOf(query: Query): string {
  return JSON.stringify(
    [...query].sort(([a, b], [c, d]) => (a === c ? (b < d ? -1 : 1) : a < c ? -1 : 1)),
  );
}

/**
 * Returns the page number in a query. Returns undefined when the query has no page number or more
 * than one.
 */
export function pageNumber(query: Query): number | undefined {
  const numbers = query.filter(([name]) => name === 'page').map(([, value]) => Number(value));
  const [number] = numbers;
  return numbers.length === 1 && number !== undefined && Number.isSafeInteger(number)
    ? number
    : undefined;
}

/**
 * Whether the link to the next page differs from the previous link only in the page number. If the
 * link also contains a cursor, the page number is not enough to request later pages.
 */
function isNumbered(before: Query, next: Query): boolean {
  return next.every(
    ([name, value]) =>
      name === 'page' || before.some(([known, same]) => known === name && same === value),
  );
}

function withPage(query: Query, page: number): Query {
  return query.map(([name, value]) => (name === 'page' ? [name, String(page)] : [name, value]));
}

/**
 * The number of pages that are requested ahead. This number is enough to hide a latency of 20 ms,
 * and does not overload the service.
 */
export const PAGES_AHEAD = 10;

export interface PageOptions {
  /**
   * The maximum number of pages that are requested ahead while a page is processed. The number is
   * smaller for large pages. With 0, each page is requested only when it is needed.
   */
  ahead: number;
  /**
   * The number of distinct items that the caller needs. When it has them, no further page is
   * requested.
   */
  limit?: number;
  /**
   * The items that an earlier read of the list returned. New items are added. Use a set with a size
   * limit to bound memory use.
   */
  seen?: Seen;
  /**
   * The maximum number of pages to read. Callers set it when they read a list again. Most items are
   * then already known, and many pages without new items are not an error.
   */
  mostPages?: number;
}

/** A page of a list, and the items on it that are new. */
export interface ListPage<T> extends Page<T> {
  fresh: Item<T>[];
}

/** After this many consecutive pages without a new item, the list is considered endless. */
const PAGES_WITHOUT_NEWS_LIMIT = 10;
/**
 * A list is considered endless when it returns more items than twice its count plus this number.
 * The margin allows a small list to grow while it is read.
 */
const MOST_BEYOND_COUNT = 1_000;

/**
 * Yields the pages of a list in order, until a page has no `next`. Requests pages ahead by their
 * `page` number, and uses them only when the links confirm the numbers. When a page returns 404
 * because the list became shorter, starts once more from the first page.
 *
 * Throws a FleetError of kind `service` for an endless list: a link leads back to an earlier page,
 * or many consecutive pages have no new item. Throws the same error when the list has far more
 * items than its count.
 */
export async function* followPages<T>(
  request: HttpRequest,
  send: (request: HttpRequest) => Promise<HttpAnswer>,
  {
    ahead,
    limit = Number.POSITIVE_INFINITY,
    seen = openSeen(),
    mostPages,
    signal,
    clock,
  }: PageOptions & { signal: AbortSignal; clock: Pick<Clock, 'monotonicMs'> },
): AsyncGenerator<ListPage<T>, void, undefined> {
  const queue = openQueue(request, send, signal, openWindow(ahead, clock));
  const queries = new Set<string>();
  const read = { pages: 0, items: 0, distinct: 0 };
  let withoutNews = 0;
  let isReadAgain = false;
  let wanted: Query | undefined = request.query ?? [];
  try {
    while (wanted !== undefined) {
      const answer: HttpAnswer | undefined = await queue.take(wanted).catch((thrown: unknown) => {
        if (isReadAgain || read.pages === 0 || !isPageGone(thrown)) throw thrown;
        return undefined;
      });
      if (answer === undefined) {
        // Starts again at the first page, because items may have moved to pages that were already
        // read.
        isReadAgain = true;
        Object.assign(read, { pages: 0, items: 0 });
        withoutNews = 0;
        queries.clear();
        wanted = request.query ?? [];
        continue;
      }
      // Each page is parsed only when it is needed, because its parsed items need more memory than
      // its bytes.
      const page: Page<T> = readPage<T>(answer);
      queries.add(keyOf(wanted));
      const seenBefore = seen.size;
      // An item without a uuid may be repeated on purpose, so it is always treated as new.
      const fresh = page.items.filter((item) => seen.add(item) || !hasUuid(item));
      read.pages += 1;
      read.items += page.items.length;
      read.distinct += fresh.length;
      withoutNews = seen.size > seenBefore ? 0 : withoutNews + 1;
      const isEnough: boolean = read.distinct >= limit || read.pages === mostPages;
      const next: Query | undefined = isEnough ? undefined : page.next;
      if (next !== undefined) {
        if (queries.has(keyOf(next)))
          throw endless(page, next, 'the list repeats: "next" names a page that was already read');
        // When a list is read again, most of its items are already known, so pages without new
        // items are not an error.
        const mayRepeat = isReadAgain || mostPages !== undefined;
        if (!mayRepeat && withoutNews >= PAGES_WITHOUT_NEWS_LIMIT)
          throw endless(
            page,
            next,
            `the list does not end: ${withoutNews} consecutive pages had no new item`,
          );
        if (read.items > 2 * (page.count ?? Number.POSITIVE_INFINITY) + MOST_BEYOND_COUNT)
          throw endless(
            page,
            next,
            `the list does not end: ${read.items} items arrived, but its count is ${page.count}`,
          );
        const left =
          Math.min((page.count ?? 0) - read.items, limit - read.distinct) / page.items.length;
        queue.prepare(
          wanted,
          next,
          Math.min(pagesThatFit(page), Number.isFinite(left) ? Math.max(1, left) : 1),
        );
      }
      yield Object.assign(page, { fresh });
      wanted = next;
    }
  } finally {
    queue.stop();
  }
}

/** Observed: the service returns 404 "Invalid page." for a page beyond the end of a list. */
function isPageGone(thrown: unknown): boolean {
  return thrown instanceof FleetError && thrown.status === 404;
}

/**
 * Opens a queue that requests pages ahead of time: the next page, and later pages by their number.
 */
function openQueue(
  request: HttpRequest,
  send: (request: HttpRequest) => Promise<HttpAnswer>,
  all: AbortSignal,
  window: Window,
) {
  const stop = new AbortController();
  const signal = AbortSignal.any([all, stop.signal]);
  // Each request in flight adds a listener to the signal. This call prevents Node's warning about
  // many listeners.
  setMaxListeners(0, signal);
  const early = new Map<string, Promise<HttpAnswer>>();
  const start = (query: Query, more: Partial<HttpRequest> = {}) =>
    window.measure(() => send({ ...request, query, signal, ...more }));
  return {
    take(query: Query): Promise<HttpAnswer> {
      const page = early.get(keyOf(query));
      // The next link points to an unexpected page, so the prefetched pages have the wrong numbers
      // and are dropped.
      if (page === undefined) early.clear();
      early.delete(keyOf(query));
      return (
        page?.catch((error) => (isTooBig(error) ? start(query) : Promise.reject(error))) ??
        start(query)
      );
    },
    prepare(before: Query, next: Query, most: number): void {
      const number = isNumbered(before, next) ? pageNumber(next) : undefined;
      const count = Math.min(most, window.size(), number === undefined ? 1 : most);
      // The pages of `early` follow each other, so only later pages are new.
      for (let index = early.size; index < count; index++) {
        const query = index === 0 ? next : withPage(next, (number ?? 0) + index);
        if (early.has(keyOf(query))) continue;
        // Requests a page ahead of time with a size limit. If the page is larger, it is requested
        // again when it is needed.
        const page = start(query, { limitBytes: LARGE_CHARACTERS });
        // The request for a page may fail while no caller awaits it. This prevents an unhandled
        // rejection.
        page.catch(() => {});
        early.set(keyOf(query), page);
      }
    },
    stop: () => stop.abort(new Error('the rest of the list is not wanted')),
  };
}

/** Controls how many pages are requested ahead, depending on the service's response time. */
interface Window {
  size(): number;
  /** Sends a request, and adjusts the number of pages to its response time. */
  measure(send: () => Promise<HttpAnswer>): Promise<HttpAnswer>;
}

/**
 * A response is slow when it takes longer than the fastest response multiplied by this number, plus
 * NOISE_MS.
 */
const SLOW_FACTOR = 4;
/** Delays up to this length are normal for a network or a busy machine. */
const NOISE_MS = 250;

/**
 * Opens a window of at most `most` pages. A slow response halves the window, because the service is
 * busy or is rate limiting (429). Every other response adds one page.
 */
function openWindow(most: number, clock: Pick<Clock, 'monotonicMs'>): Window {
  let size = most;
  let fastestMs = Number.POSITIVE_INFINITY;
  return {
    size: () => size,
    async measure(send) {
      const startedAt = clock.monotonicMs();
      const answer = await send();
      const tookMs = clock.monotonicMs() - startedAt;
      fastestMs = Math.min(fastestMs, tookMs);
      const isSlow = tookMs > SLOW_FACTOR * fastestMs + NOISE_MS;
      size = isSlow ? Math.min(most, Math.max(1, Math.floor(size / 2))) : Math.min(most, size + 1);
      return answer;
    },
  };
}

/** Whether a request failed because its response exceeded the size limit. */
function isTooBig(error: unknown): boolean {
  return (
    error instanceof FleetError &&
    error.cause instanceof ExchangeError &&
    error.cause.code === TOO_BIG_CODE
  );
}

function pagesThatFit<T>({ items }: Page<T>): number {
  const characters = items.reduce((sum, { json }) => sum + json.length, 0);
  return Math.floor(LARGE_CHARACTERS / Math.max(1, characters));
}

function endless<T>({ trace }: Page<T>, next: Query, why: string): FleetError {
  const hint = 'the result may be incomplete; report the request id to the operator of the service';
  return new FleetError('service', why, {
    trace,
    detail: { next: Object.fromEntries(next) },
    hint,
  });
}
