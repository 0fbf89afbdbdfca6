// Tests lists page by page: both shapes, links, circles, prefetched pages and exact texts.

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { FleetError } from '../../src/errors.js';
import type { PageOptions } from '../../src/http/pages.js';
import type { Page } from '../../src/http/types.js';
import { propertyStart, splitArray, splitProperty, squeeze } from '../../src/json/text.js';
import { systemClock } from '../../src/system/clock.js';
import { openTestClient } from '../support/client.js';
import { isLong } from '../support/often.js';
import { refusal } from '../support/refusal.js';
import { type Answer, openServer, sendJson, sendPage, type TestServer } from '../support/server.js';

interface Read {
  pages: Page[];
  uuids: unknown[];
  server: TestServer;
  error: FleetError | undefined;
}

async function readAll(
  answer: Answer,
  options: Partial<PageOptions> = {},
  prefix = '',
): Promise<Read> {
  const server = await openServer(answer);
  const { client } = await openTestClient(server.url + prefix, { retries: 0 });
  const pages: Page[] = [];
  let error: FleetError | undefined;
  try {
    for await (const page of client.pages(
      { path: '/bicycles/', query: [['ordering', 'name']] },
      options,
    ))
      pages.push(page);
  } catch (thrown) {
    expect(thrown).toBeInstanceOf(FleetError);
    error = thrown as FleetError;
  }
  return {
    pages,
    uuids: pages.flatMap(({ items }) => items.map(({ value }) => value['uuid'])),
    server,
    error,
  };
}

/** A service of `total` items in pages of two, with links made by `link`. */
function paged(
  total: number,
  link = (page: number) => `http://127.0.0.1/bicycles/?ordering=name&page=${page}`,
): Answer {
  return (response, { page }) => {
    const items = upTo(total).slice(page * 2 - 2, page * 2);
    if (items.length === 0) return sendJson(response, 404, { detail: 'Invalid page.' });
    const results = items.map((uuid) => ({ uuid }));
    sendPage(response, results, {
      count: total,
      ...(page * 2 < total ? { next: link(page + 1) } : {}),
    });
  };
}

const upTo = (most: number) => Array.from({ length: most }, (_, index) => `u${index + 1}`);

test('follows the links of a list to its last page and requests each page once', async () => {
  const { uuids, server, error } = await readAll(paged(23));
  expect(error).toBeUndefined();
  expect(uuids).toEqual(upTo(23));
  const asked = server.asked.map(({ path }) => path);
  expect(new Set(asked).size).toBe(asked.length);
  expect(asked).toHaveLength(12);
});

test('treats a bare array as the only page of a list without a total', async () => {
  const { pages, uuids } = await readAll((response) => sendJson(response, 200, [{ uuid: 'u1' }]));
  expect(uuids).toEqual(['u1']);
  expect(pages[0]?.count).toBeUndefined();
});

test.each([null, '', undefined])('treats a `next` of %j as the last page', async (next) => {
  const { uuids } = await readAll((response) =>
    sendJson(response, 200, { count: 1, next, results: [{ uuid: 'u1' }] }),
  );
  expect(uuids).toEqual(['u1']);
});

test.each([
  [
    'another scheme and host',
    (page: number) => `https://elsewhere.example:8443/bicycles/?ordering=name&page=${page}`,
  ],
  [
    'another prefix',
    (page: number) => `http://internal/v7/fleet/bicycles/?ordering=name&page=${page}`,
  ],
  ['a relative link', (page: number) => `?ordering=name&page=${page}`],
])('uses only the query of a `next` link with %s (promise 3)', async (_case, link) => {
  const { uuids, server, error } = await readAll(paged(5, link), {}, '/api');
  expect(error).toBeUndefined();
  expect(uuids).toEqual(upTo(5));
  expect(new Set(server.asked.map(({ path }) => path.split('?')[0]))).toEqual(
    new Set(['/api/bicycles/']),
  );
  expect(new Set(server.asked.map(({ headers }) => headers.authorization))).toEqual(
    new Set(['JWT secret-token']),
  );
});

test('fails when `next` leads back to an earlier page', async () => {
  const { uuids, error } = await readAll(
    paged(6, (page) => `?ordering=name&page=${page === 3 ? 2 : page}`),
  );
  expect(uuids).toEqual(upTo(2));
  expect(error).toMatchObject(refusal('service', /repeats/));
});

test('fails after ten pages without a new item', async () => {
  const { error, server } = await readAll((response, { page }) =>
    sendJson(response, 200, { count: 2, next: `?page=${page + 1}`, results: [] }),
  );
  expect(error?.message).toContain('does not end');
  expect(server.asked.length).toBeLessThan(20);
});

test('requests pages sequentially when their links have no page numbers', async () => {
  const { uuids, server } = await readAll((response, { path }) => {
    const cursor = Number(new URL(path, 'http://x').searchParams.get('cursor') ?? 0);
    const next = cursor < 3 ? `?cursor=${cursor + 1}` : '';
    sendJson(response, 200, { count: 4, next, results: [{ uuid: `u${cursor + 1}` }] });
  });
  expect(uuids).toEqual(upTo(4));
  expect(server.asked).toHaveLength(4);
});

test('ignores a failed prefetch of a page that no link points to', async () => {
  // The total promises five pages, but the links end after two.
  const { uuids, error } = await readAll((response, { page }) => {
    if (page > 2) return sendJson(response, 500, 'no');
    const next = page === 1 ? '?ordering=name&page=2' : null;
    sendJson(response, 200, {
      count: 10,
      next,
      results: [{ uuid: `u${page * 2 - 1}` }, { uuid: `u${page * 2}` }],
    });
  });
  expect(error).toBeUndefined();
  expect(uuids).toEqual(upTo(4));
});

test('does not request pages beyond the limit', async () => {
  expect((await readAll(paged(100), { limit: 5 })).server.asked).toHaveLength(3);
});

test('prefetches at most `ahead` pages', async () => {
  for (const ahead of [0, 3]) {
    const server = await openServer(paged(100));
    const { client } = await openTestClient(server.url);
    const pages = client.pages({ path: '/bicycles/', query: [['ordering', 'name']] }, { ahead });
    await pages.next();
    await expect.poll(() => server.asked.length).toBe(1 + ahead);
    await new Promise((resolve) => setTimeout(resolve, 150));
    expect(server.asked).toHaveLength(1 + ahead);
    await pages.return();
  }
});

test('adjusts the number of prefetched pages to the speed of the service', async () => {
  const clock = { ...systemClock(), monotonicMs: () => nowMs };
  let nowMs = 0;
  const answerPage = paged(200);
  const server = await openServer((response, asked, socket) => {
    nowMs += asked.page >= 20 && asked.page < 40 ? 10_000 : 0;
    return answerPage(response, asked, socket);
  });
  const { client } = await openTestClient(server.url, { clock });
  const pages = client.pages({ path: '/bicycles/', query: [['ordering', 'name']] });
  /** Reads up to this page. Returns how many later pages were requested. */
  const aheadAfter = async (page: number) => {
    let read = server.asked.length === 0 ? 0 : readPages;
    for (; read < page; read++) await pages.next();
    readPages = read;
    await new Promise((resolve) => setTimeout(resolve, 150));
    return server.asked.length - page;
  };
  let readPages = 0;
  expect(await aheadAfter(15)).toBe(10);
  expect(await aheadAfter(39)).toBeLessThanOrEqual(3);
  expect(await aheadAfter(70)).toBe(10);
  await pages.return();
});

test.each([
  ['', 'an empty body'],
  ['<html><head><title>Welcome</title></head></html>', 'an HTML page "Welcome"'],
  ['{"count": 1, "results": [', 'incomplete JSON'],
  ['{"count": 1, "results": ]}', 'broken JSON'],
  ['hello', 'text ("hello")'],
  ['"hello"', 'neither a page nor an array'],
  ['{"detail": "?"}', 'without an array of results'],
  ['[1]', 'item 1 of the list is not an object'],
  ['{"results": [], "next": 5}', '"next" link'],
])('rejects a response that is not a list: %s', async (body, words) => {
  const { error } = await readAll((response) => sendJson(response, 200, body));
  const message = expect.stringContaining(words);
  expect(error).toMatchObject({ kind: 'service', trace: { requestId: 'request-1' }, message });
});

describe('the JSON text of items', () => {
  test('keeps the exact text of large numbers, unknown fields and spacing', async () => {
    const item =
      '{"uuid":"u1","big":12345678901234567890,"fine":0.1234567890123456789012345,"\\u0061":[{"x":"]}\\""}],"e":1E+2}';
    const { pages } = await readAll((response) =>
      sendJson(response, 200, `{ "count": "1",\n "results" : [ ${item} ] , "next":null}`),
    );
    expect(pages[0]?.count).toBe(1);
    expect(pages[0]?.items[0]?.json).toBe(item);
  });

  test('prints an indented item from the service on one line', async () => {
    const { pages } = await readAll((response) =>
      sendJson(
        response,
        200,
        JSON.stringify([{ uuid: 'u1', name: 'a  b', extra: { x: [1] } }], null, 2),
      ),
    );
    expect(pages[0]?.items[0]?.json).toBe('{"uuid":"u1","name":"a  b","extra":{"x":[1]}}');
  });

  test('splits any JSON array into the JSON text of its elements (property-based)', () => {
    fc.assert(
      fc.property(
        fc.array(fc.jsonValue()),
        fc.constantFrom(undefined, 1, '\t'),
        (values, indent) => {
          const text = JSON.stringify(values, null, indent);
          const cut = (splitArray(text, 0)?.texts ?? []).map(squeeze);
          expect(cut.map((element) => JSON.parse(element))).toEqual(JSON.parse(text));
          expect(cut.join('')).not.toMatch(/[\r\n]/);
        },
      ),
    );
  });

  test('finds a property of an item at any position (property-based)', () => {
    fc.assert(
      fc.property(
        fc.dictionary(fc.string(), fc.jsonValue()),
        fc.array(fc.jsonValue()),
        (object, results) => {
          const text = JSON.stringify({ ...object, results });
          const at = propertyStart(text, 0, 'results');
          const expected = JSON.parse(JSON.stringify(results));
          expect(splitArray(text, at ?? 0)?.texts.map((element) => JSON.parse(element))).toEqual(
            expected,
          );
          const split = splitProperty(text, 0, ['results', 'data']);
          expect(split?.texts.map((element) => JSON.parse(element))).toEqual(expected);
          expect(text.slice(split?.start, split?.end)).toBe(JSON.stringify(results));
        },
      ),
    );
  });
});

describe('a large page that is read item by item', () => {
  const fill = `"note":"${'x'.repeat(1_000_000)}"`;
  const item = (index: number, more = fill) => `{"uuid":"u${index}","exact":1.50,\n${more}}`;
  const items = Array.from({ length: 9 }, (_, index) => item(index));
  const page = (results: string) => `{"count":9,"next":null,"results":${results},"previous":null}`;
  const read = (body: string) => readAll((response) => void response.end(body));

  test.each([
    ['an envelope', page(`[${items.join(' , ')}]`), 9],
    ['a bare array', `\n[${items.join(',\n')} ]\n`, undefined],
    [
      'results twice, of which the last counts',
      page(`[{"uuid":"no"}],"results":[${items.join(',')}]`),
      9,
    ],
  ])('reads a large page with %s', async (_what, body, count) => {
    const { pages, uuids, error } = await read(body);
    expect(error).toBeUndefined();
    expect(uuids).toEqual(items.map((_, index) => `u${index}`));
    expect(pages[0]?.count).toBe(count);
    expect(pages[0]?.items[3]?.json).toBe(`{"uuid":"u3","exact":1.50,${fill}}`);
  });

  test.each([
    ['a broken item', page(`[${items.join(',')},{"uuid":}]`), 'broken JSON'],
    ['no comma', page(`[${items.join(' ')}]`), 'broken JSON'],
    ['a comma too many', page(`[${items.join(',')},]`), 'broken JSON'],
    ['something behind it', `${page(`[${items.join(',')}]`)}]`, 'broken JSON'],
    ['one that breaks off', page(`[${items.join(',')}]`).slice(0, -30), 'incomplete JSON'],
    [
      'an item of more than 1 MB',
      page(`[${items.join(',')},${item(9, `${fill},"more":"${'x'.repeat(100_000)}"`)}]`),
      'item 10 of the list is larger than 1 MB',
    ],
    [
      'an item that is not an object',
      page(`[${items.join(',')},5]`),
      'item 10 of the list is not an object',
    ],
    ['a name that is not text', page(`[${items.join(',')}],"\\x":1`), 'broken JSON'],
  ])('rejects a large page with %s', async (_what, body, message) => {
    const { error, uuids } = await read(body);
    expect(error).toMatchObject({ kind: 'service', message: expect.stringContaining(message) });
    expect(uuids).toEqual([]);
  });

  test.runIf(isLong)('reads more than 4 million values in less than 64 MB', async () => {
    const numbers = `"many":[${'1,'.repeat(500_000)}1]`;
    const many = Array.from({ length: 9 }, (_, index) => item(index, numbers));
    const { uuids, error } = await read(page(`[${many.join(',')}]`));
    expect(error).toBeUndefined();
    expect(uuids).toHaveLength(9);
  });

  test('rejects a page with more than 1.5 million items', async () => {
    const { error } = await read(`[${'{},'.repeat(1_600_000)}{}]`);
    expect(error?.message).toContain('a page of more than 1.5 million items');
    // Items above the limit use no memory; 64 MB of them needed a gigabyte.
    expect(splitArray(`[${'{},'.repeat(100)}{}]`, 0, 10)?.texts).toHaveLength(11);
  });
});
