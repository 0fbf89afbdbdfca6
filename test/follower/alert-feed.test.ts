// Tests the feed of alerts with a list that changes while its pages are read.

import { expect, test } from 'vitest';
import type { Alert } from '../../src/api/alert.js';
import { FleetError } from '../../src/errors.js';
import { type AlertFeedReading, readAlertFeed } from '../../src/follower/alert-feed.js';
import type { Page, Query } from '../../src/http/types.js';

const PAGE_ITEMS = 10;

/** A list of alerts with pages. `change` is called after each page was read. */
function openList(size: number, options: { isCounted?: boolean; change?: (page: number) => void }) {
  const names = Array.from({ length: size }, (_, index) => `alert-${index}`);
  const asked: Query[] = [];
  const readPage = async (query: Query): Promise<Page<Alert>> => {
    asked.push(query);
    const number = Number(query.find(([name]) => name === 'page')?.[1] ?? 1);
    const start = (number - 1) * PAGE_ITEMS;
    if (number > 1 && start >= names.length)
      throw new FleetError('not-found', 'Invalid page.', { status: 404 });
    const items = names.slice(start, start + PAGE_ITEMS).map((uuid) => {
      const value: Alert = { uuid, state: 'new', modified: '2026-03-01T12:00:00Z' };
      return { value, json: JSON.stringify(value) };
    });
    const hasNext = start + PAGE_ITEMS < names.length;
    const page: Page<Alert> = {
      count: options.isCounted === false ? undefined : names.length,
      items,
      next: hasNext ? [['page', String(number + 1)]] : undefined,
      trace: {},
    };
    options.change?.(number);
    return page;
  };
  return { names, asked, readPage };
}

/** Reads a feed to its end, or until a page has only known alerts. */
async function read(
  list: Pick<AlertFeedReading, 'readPage'>,
  options: Partial<AlertFeedReading> & { known?: Set<string>; untilKnown?: boolean } = {},
) {
  const { known = new Set<string>(), untilKnown = false, ...more } = options;
  const pages: string[][] = [];
  const isProven = await readAlertFeed({
    filters: [],
    order: 'modified',
    hasLargePages: false,
    readPage: list.readPage,
    takePage(alerts) {
      const uuids = alerts.map(({ value }) => String(value.uuid));
      const hasNews = uuids.some((uuid) => !known.has(uuid));
      for (const uuid of uuids) known.add(uuid);
      pages.push(uuids);
      return { hasNews, isEnough: untilKnown && !hasNews };
    },
    ...more,
  });
  return { known, pages, isProven };
}

/** Calls the action after the page with this number was read for the first time. */
function onceAfter(page: number, action: () => void) {
  let isDone = false;
  return (number: number) => {
    if (number !== page || isDone) return;
    isDone = true;
    action();
  };
}

test('finds every alert when another alert is deleted between two pages', async () => {
  const list = openList(35, { change: onceAfter(1, () => list.names.splice(0, 1)) });
  const { known, isProven } = await read(list);
  expect(known.size).toBe(35);
  expect(isProven).toBe(true);
});

test('reads at least as many pages as the previous read', async () => {
  const known = new Set(Array.from({ length: 30 }, (_, index) => `alert-${index + 25}`));
  // After page 2 the list loses an alert, so that alert 20 moves from page 3 to page 2.
  const list = openList(55, { change: onceAfter(2, () => list.names.splice(0, 1)) });
  const { pages } = await read(list, { known, untilKnown: true });
  expect(known).toContain('alert-20');
  expect(pages.length).toBeGreaterThan(4);
});

test('stops at the first page without new or changed alerts', async () => {
  const known = new Set(Array.from({ length: 45 }, (_, index) => `alert-${index + 10}`));
  const list = openList(55, {});
  expect((await read(list, { known, untilKnown: true })).pages).toHaveLength(2);
});

test('returns an alert once when a new alert shifts the pages', async () => {
  const list = openList(15, { change: onceAfter(1, () => list.names.unshift('new')) });
  const { pages } = await read(list);
  expect(pages.flat()).toEqual(Array.from({ length: 15 }, (_, index) => `alert-${index}`));
});

test('reads until a page has no new alerts when counts are missing', async () => {
  const list = openList(35, { isCounted: false });
  const { known, isProven } = await read(list);
  expect(isProven).toBe(false);
  expect((await read(list, { known })).isProven).toBe(true);
});

test('does not claim completeness when the list shrinks during every read', async () => {
  const list = openList(40, {
    change(page) {
      if (page === 1) list.names.splice(0, 1);
    },
  });
  expect((await read(list)).isProven).toBe(false);
});

test('reads the pages again when the last page no longer exists', async () => {
  const list = openList(21, {
    isCounted: false,
    change: onceAfter(2, () => list.names.splice(0, 1)),
  });
  const { known } = await read(list);
  expect(known.size).toBe(21);
});

test('falls back to creation order when the service cannot sort by modification', async () => {
  const list = openList(15, {});
  const readPage = async (query: Query) => {
    if (query.some(([, value]) => value === '-modified'))
      throw new FleetError('rejected', 'no such ordering', { status: 400 });
    return list.readPage(query);
  };
  expect((await read({ readPage })).known.size).toBe(15);
  expect(list.asked[0]).toContainEqual(['ordering', '-created']);
});

test('fails when the service repeats a page of alerts', async () => {
  const list = openList(15, {});
  const readPage = async () => ({
    ...(await list.readPage([])),
    next: [['page', '1'] as const],
  });
  await expect(read({ readPage })).rejects.toThrow('the list of alerts does not end');
});

test('rethrows the error when a page cannot be read', async () => {
  const readPage = () => Promise.reject(new FleetError('network', 'connection refused'));
  await expect(read({ readPage })).rejects.toThrow('connection refused');
});
