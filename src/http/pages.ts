// Reads lists page by page: parses envelopes and bare arrays, follows `next` links on the base URL,
// and requests some pages ahead.

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
 * Fields of an envelope that may contain the items. The first field is documented; the others are
 * from JSON:API and common frameworks.
 */
export const ITEM_FIELDS = ['results', 'data', 'items'] as const;

/**
 * Parses one page of a list. Section 4 of the interface shows both a bare array and an envelope, so
 * both are accepted. Envelopes of other services and `Link` headers are also read. Throws a
 * FleetError of kind `service` for any other body.
 */
export function readPage<T>(answer: HttpAnswer): Page<T> {
  const { headers, trace } = answer;
  const { envelope, items } = readAtOnce<T>(answer) ?? readByItem<T>(answer);
  const link = findNext(envelope);
  const next = readNext(answer, link === undefined ? findLink(headers['link'], 'next') : link);
  const count = findCount(envelope) ?? readCount(headers['x-total-count']);
  return { count, items, next, trace, dated: dateOf(headers) };
}

/** A parsed page. The envelope of a bare array is empty. */
interface ParsedPage<T> {
  envelope: Envelope;
  items: Item<T>[];
}

/** A page with more text than this is parsed item by item, which needs less memory. */
const AT_ONCE_CHARACTERS = 1024 * 1024;

/**
 * Parses a page of usual size with a single call, which takes half the time of parsing each item.
 * Returns undefined for a large or unusual page. `readByItem` then reads the page, or throws the
 * reason why it is not valid.
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

/** Returns the array of items in a parsed envelope. */
function itemsIn(body: unknown): unknown[] | undefined {
  if (!isObject(body)) return undefined;
  return ITEM_FIELDS.map((field) => body[field]).find((value) => Array.isArray(value));
}

/**
 * Parses the items of a page one by one. Throws a FleetError that says why the page is not valid.
 */
function readByItem<T>(answer: HttpAnswer): ParsedPage<T> {
  const split = splitPage(answer);
  // The text does not contain a list. Parsing all of it shows the reason.
  const body = readJson(answer, split?.rest);
  if (!isObject(body) && !Array.isArray(body))
    throw unexpected(answer, 'neither a page nor an array');
  if (split === undefined) throw unexpected(answer, 'a page without an array of results');
  return { envelope: isObject(body) ? body : {}, items: itemsOf<T>(answer, split.texts) };
}

/** Reads when the service wrote an answer. */
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
 * Returns the next link of an envelope, unparsed: null or '' on the last page, and undefined when
 * the envelope does not have such a field.
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

/** Returns the total of an envelope, or undefined when the service sends no total. */
function findCount(envelope: Envelope): number | undefined {
  const meta = objectAt(envelope, 'meta');
  const pagination = objectAt(meta, 'pagination');
  // In the pagination object of some frameworks `count` is the number of items on this page, next
  // to a `total`.
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
 * Whether the count of a page can be the total of the list. Some services send the number of items
 * on the page as the count. This is the case when a next page exists although this page already has
 * as many items as its count.
 */
export function hasTotal({ count, items, next }: Page<unknown>): boolean {
  if (count === undefined) return false;
  return next === undefined || items.length === 0 || count > items.length;
}

/**
 * The maximum number of items on a page, because each item needs memory in addition to its text: a
 * page of 64 MB with empty items would take 2.7 GB. An item with a UUID has at least 50 characters,
 * so a page of 64 MB cannot have many more items than this limit.
 */
const MOST_ITEMS = 1_500_000;

/**
 * Splits the text of a page into its items and the rest. Returns undefined when it does not contain
 * an array of items.
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

/** Returns the text of a page with an empty array of items. */
function restOf(text: string, { start, end }: SplitArray): string {
  return `${text.slice(0, start)}[]${text.slice(end)}`;
}

/** Splits the array of items. Returns undefined when it does not exist or is broken. */
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
    // A key is not valid JSON.
    return undefined;
  }
}

/**
 * The values of larger pages are not kept, because they need five times the memory of their text
 * (promise 6: 400 MB). This also limits the total size of all pages that are requested ahead.
 */
const LARGE_CHARACTERS = 8 * 1024 * 1024;

/** Each item is parsed once to make sure that it is a JSON object. */
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
 * The prototype of the items of large pages. A getter in each item would need more memory than the
 * item.
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
 * Returns the query of the next page, or undefined on the last page. The link may have another
 * scheme, host or prefix (section 2.6), so only its query is used (cli.md section 4, promise 3).
 */
function readNext(answer: HttpAnswer, next: unknown): Query | undefined {
  if (next === null || next === undefined || next === '') return undefined;
  // URL needs a base to parse a relative link. No request is sent to this base.
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

/** Returns the page number in a query, or undefined unless there is exactly one. */
export function pageNumber(query: Query): number | undefined {
  const numbers = query.filter(([name]) => name === 'page').map(([, value]) => Number(value));
  const [number] = numbers;
  return numbers.length === 1 && number !== undefined && Number.isSafeInteger(number)
    ? number
    : undefined;
}

/**
 * Whether the next page differs from the page before only by its number. If the link also has a
 * cursor, later pages cannot be guessed by counting.
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
 * The number of pages that are requested ahead: enough to hide 20 ms of latency without burdening
 * the service.
 */
export const PAGES_AHEAD = 10;

export interface PageOptions {
  /**
   * The number of pages that may be in flight or waiting while a page is processed. It is smaller
   * when pages are large. With 0, each page is requested when it is needed.
   */
  ahead: number;
  /**
   * The number of different items that the caller needs. Once they were read, no further page is
   * requested.
   */
  limit?: number;
  /**
   * The items that an earlier reading of the list contained. New items are added. A set with a
   * limit bounds the memory.
   */
  seen?: Seen;
  /**
   * The maximum number of pages to read. With a maximum, pages without new items are allowed, as in
   * a second reading of a list.
   */
  mostPages?: number;
}

/** A page of a list, with its new items. */
export interface ListPage<T> extends Page<T> {
  fresh: Item<T>[];
}

/** The list is endless after this number of consecutive pages without a new item. */
const PAGES_WITHOUT_NEWS_LIMIT = 10;
/**
 * The list counts as endless if it contains this many items more than twice its count. A small list
 * may grow while it is read.
 */
const MOST_BEYOND_COUNT = 1_000;

/**
 * Reads a list page by page, in order, until a page has no `next`. Requests pages ahead by
 * increasing the `page` of the next link, and uses them only when the links confirm them. Throws a
 * FleetError of kind `service` when a link leads back to an earlier page, when many consecutive
 * pages have no new item, or when the list has far more items than its count. When a page vanished
 * because the list became shorter (404), reads the list again once.
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
        // Read the list from its first page, because items may have moved to pages that were read
        // before.
        isReadAgain = true;
        Object.assign(read, { pages: 0, items: 0 });
        withoutNews = 0;
        queries.clear();
        wanted = request.query ?? [];
        continue;
      }
      // Pages that were requested ahead wait as bytes, which need less memory than parsed items.
      const page: Page<T> = readPage<T>(answer);
      queries.add(keyOf(wanted));
      const seenBefore = seen.size;
      // An item without a uuid may be repeated on purpose. It is returned, but does not count as
      // new.
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
        // A second reading of the same pages mostly finds items that are already known.
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

/** Observed: a page beyond the end of a list is answered with 404 "Invalid page.". */
function isPageGone(thrown: unknown): boolean {
  return thrown instanceof FleetError && thrown.status === 404;
}

/** The pages that are requested ahead: the next page, and later pages by their numbers. */
function openQueue(
  request: HttpRequest,
  send: (request: HttpRequest) => Promise<HttpAnswer>,
  all: AbortSignal,
  window: Window,
) {
  const stop = new AbortController();
  const signal = AbortSignal.any([all, stop.signal]);
  // Each request in flight adds a listener.
  setMaxListeners(0, signal);
  const early = new Map<string, Promise<HttpAnswer>>();
  const start = (query: Query, more: Partial<HttpRequest> = {}) =>
    window.measure(() => send({ ...request, query, signal, ...more }));
  return {
    take(query: Query): Promise<HttpAnswer> {
      const page = early.get(keyOf(query));
      // The next link differs from the guessed page number. The pages that were requested ahead are
      // wrong too, so drop them.
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
      for (let index = 0; index < count; index++) {
        const query = index === 0 ? next : withPage(next, (number ?? 0) + index);
        if (early.has(keyOf(query))) continue;
        // The page is larger than expected. It is requested again when it is needed.
        const page = start(query, { limitBytes: LARGE_CHARACTERS });
        // The request may fail although no code waits for its page.
        page.catch(() => {});
        early.set(keyOf(query), page);
      }
    },
    stop: () => stop.abort(new Error('the rest of the list is not wanted')),
  };
}

/** How many pages may be requested ahead at the moment. */
interface Window {
  size(): number;
  /** Sends a request, and adapts the number of pages ahead to the time of its answer. */
  measure(send: () => Promise<HttpAnswer>): Promise<HttpAnswer>;
}

/** An answer that takes this many times as long as the fastest answer is slow. */
const SLOW_FACTOR = 4;
/** Smaller delays are noise of the network or of a busy machine. */
const NOISE_MS = 250;

/**
 * Opens a window of at most `most` pages. A slow answer halves it, because the service is busy or
 * asked to wait with 429. Each other answer makes it larger by one page.
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

/** Whether the answer was a success that exceeded the size limit. */
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
