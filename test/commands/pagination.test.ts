// Tests lists of services with other kinds of pages: `links.next`, `Link` headers, and cursors
// without counts.

import { describe, expect, test } from 'vitest';
import { runFleet } from '../support/run.js';
import { type Answer, openServer, sendJson, type TestServer } from '../support/server.js';

const BICYCLES = Array.from({ length: 7 }, (_, index) => ({
  uuid: `0000000${index}-0000-4000-8000-000000000000`,
  name: `Bike ${index}`,
  state: index < 3 ? 'lost' : 'available',
}));
const SIZE = 3;

/** Answers with one page; `start` is the index of its first bicycle. */
type SendPage = (
  response: Parameters<Answer>[0],
  page: object[],
  at: { start: number; next: number | undefined },
) => void;

function pagedBy(parameter: string, send: SendPage): Answer {
  return (response, { path }) => {
    const start = Number(new URL(path, 'http://x').searchParams.get(parameter) ?? 0);
    const end = start + SIZE;
    const next = end < BICYCLES.length ? end : undefined;
    send(response, BICYCLES.slice(start, end), { start, next });
  };
}

/** Page numbers start at 1. */
function numbered(send: SendPage): Answer {
  return (response, { page }) => {
    const start = (page - 1) * SIZE;
    const next = start + SIZE < BICYCLES.length ? page + 1 : undefined;
    send(response, BICYCLES.slice(start, start + SIZE), { start, next });
  };
}

const inFields =
  (field: string): SendPage =>
  (response, page, { next }) =>
    sendJson(response, 200, {
      links: { first: '?', next: next === undefined ? null : `https://elsewhere/v2/?page=${next}` },
      [field]: page,
      meta: { pagination: { page: 1, pages: 3, count: BICYCLES.length } },
    });

const cursorLink = (next: number | undefined) =>
  next === undefined ? null : `/bicycles/?cursor=${next}`;

const SERVICES: readonly (readonly [name: string, answer: Answer])[] = [
  ['links.next, meta.pagination and data', numbered(inFields('data'))],
  ['links.next, meta.pagination and results', numbered(inFields('results'))],
  ['links.next, meta.pagination and items', numbered(inFields('items'))],
  [
    'links.next that the last page leaves out',
    pagedBy('page[offset]', (response, page, { next }) =>
      sendJson(response, 200, {
        data: page,
        links: { self: '?', ...(next === undefined ? {} : { next: `?page%5Boffset%5D=${next}` }) },
      }),
    ),
  ],
  [
    'links.next as an object',
    pagedBy('cursor', (response, page, { next }) =>
      sendJson(response, 200, {
        data: page,
        links: { next: next === undefined ? null : { href: `?cursor=${next}` } },
      }),
    ),
  ],
  [
    'a count of the items on the page and a total',
    numbered((response, page, { next }) =>
      sendJson(response, 200, {
        data: page,
        meta: {
          pagination: {
            total: BICYCLES.length,
            count: page.length,
            links: next === undefined ? {} : { next: `?page=${next}` },
          },
        },
      }),
    ),
  ],
  [
    'a bare array and a Link header',
    numbered((response, page, { next }) =>
      sendJson(response, 200, page, {
        link: [
          '<https://elsewhere/bicycles/?page=1>; rel="first"; title="a, b"',
          ...(next === undefined ? [] : [`<https://elsewhere/bicycles/?page=${next}>; rel="next"`]),
        ].join(', '),
      }),
    ),
  ],
  [
    'cursors without counts',
    pagedBy('cursor', (response, page, { next }) =>
      sendJson(response, 200, { next: cursorLink(next), previous: null, results: page }),
    ),
  ],
  [
    'a count of the items on the page and a cursor',
    pagedBy('cursor', (response, page, { next }) =>
      sendJson(response, 200, { count: page.length, next: cursorLink(next), results: page }),
    ),
  ],
];

const uuidsOf = (bicycles: readonly { uuid: string }[]) =>
  bicycles.map(({ uuid }) => `${uuid}\n`).join('');

describe.each(SERVICES)('%s', (_name, answer) => {
  async function list(args: readonly string[]) {
    const server = await openServer(answer);
    const run = await runFleet(['bicycles', 'list', ...args], { env: server.env });
    return { ...run, server };
  }

  test('--all shows every bicycle', async () => {
    const { code, stdout, stderr, server } = await list(['--all', '-o', 'uuid']);
    expect({ code, stdout, stderr }).toEqual({ code: 0, stdout: uuidsOf(BICYCLES), stderr: '' });
    expectOwnAddress(server);
  });

  test('--limit reads only as many pages as needed', async () => {
    const { code, stdout } = await list(['--limit', '5', '-o', 'uuid']);
    expect({ code, stdout }).toEqual({ code: 0, stdout: uuidsOf(BICYCLES.slice(0, 5)) });
  });

  test('prints a notice when the list has further pages', async () => {
    const { code, stdout, stderr } = await list(['-o', 'uuid']);
    expect({ code, stdout }).toEqual({ code: 0, stdout: uuidsOf(BICYCLES.slice(0, SIZE)) });
    expect(stderr).toMatch(
      /^Showing 3 (of 7 bicycles|bicycles; there are more)\. .*Everything: --all\n$/,
    );
  });

  test('--count prints the total number of bicycles', async () => {
    const { code, stdout } = await list(['--count']);
    expect({ code, stdout }).toEqual({ code: 0, stdout: '7\n' });
  });

  test('--count with --where checks the bicycles on every page', async () => {
    const { code, stdout } = await list(['--count', '--where', 'state=available']);
    expect({ code, stdout }).toEqual({ code: 0, stdout: '4\n' });
  });

  test('`api --paginate` prints every item', async () => {
    const { env } = await openServer(answer);
    const { code, stdout } = await runFleet(
      ['api', '/bicycles/', '--paginate', '--jq', '.[].uuid'],
      { env },
    );
    expect({ code, stdout }).toEqual({ code: 0, stdout: uuidsOf(BICYCLES) });
  });
});

function expectOwnAddress({ asked }: TestServer): void {
  for (const { path } of asked) expect(path).toMatch(/^\/bicycles\/(\?|$)/);
}

test('the notice mentions the next page only when its link has a page number', async () => {
  const withNumbers = await openServer(numbered(inFields('data')));
  const numbers = await runFleet(['bicycles', 'list'], { env: withNumbers.env });
  expect(numbers.stderr).toContain('Next page: --page 2.');
  const withCursors = await openServer(SERVICES[7]?.[1] as Answer);
  const cursors = await runFleet(['bicycles', 'list'], { env: withCursors.env });
  expect(cursors.stderr).toBe('Showing 3 bicycles; there are more. Everything: --all\n');
});

test('does not prefetch pages by number when the link also has a cursor', async () => {
  const server = await openServer(
    numbered((response, page, { next }) =>
      sendJson(response, 200, {
        count: BICYCLES.length,
        next: next === undefined ? null : `?page=${next}&cursor=after-${next}`,
        results: page,
      }),
    ),
  );
  const { code, stdout } = await runFleet(['bicycles', 'list', '--all', '-o', 'uuid'], {
    env: server.env,
  });
  expect({ code, stdout }).toEqual({ code: 0, stdout: uuidsOf(BICYCLES) });
  expect(server.asked.map(({ path }) => path.split('?')[1])).toEqual([
    'page_size=100',
    'page=2&cursor=after-2',
    'page=3&cursor=after-3',
  ]);
});

test('rejects a Link header that leads back to an earlier page', async () => {
  const { env } = await openServer((response) =>
    sendJson(response, 200, BICYCLES, { link: '<?cursor=1>; rel=next' }),
  );
  const { code, stderr } = await runFleet(['bicycles', 'list', '--all'], { env });
  expect(code).toBe(7);
  expect(stderr).toContain('the list repeats');
});

test('exits with 9 when the list is shorter than its total', async () => {
  const { env } = await openServer((response) =>
    sendJson(response, 200, { items: BICYCLES, total: 9, page: 1, pages: 2 }),
  );
  const { code, stderr } = await runFleet(['bicycles', 'list', '--all', '-o', 'uuid'], { env });
  expect(code).toBe(9);
  expect(stderr).toContain('2 of 9 bicycles are missing');
});

test.each([
  ['links.next, meta.pagination and data', '7 bicycles at'],
  ['a bare array and a Link header', '3 or more bicycles at'],
])('`doctor` counts the bicycles of %s', async (name, text) => {
  const answer = SERVICES.find(([known]) => known === name)?.[1] as Answer;
  const { env } = await openServer(answer);
  const { stdout } = await runFleet(['doctor'], { env });
  expect(stdout).toContain(text);
});
