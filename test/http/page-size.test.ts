// Readings of several pages request large pages, and omit the size when a service rejects it.

import { describe, expect, test } from 'vitest';
import { runFleet } from '../support/run.js';
import { withSandbox } from '../support/sandbox.js';
import { openServer, sendJson } from '../support/server.js';

describe('reading a whole list', () => {
  const count = (bicycles: number, flags: readonly string[]) =>
    withSandbox({ bicycles }, async ({ baseUrl, token, requests }) => {
      const env = { FLEET_BASE_URL: baseUrl, FLEET_TOKEN: await token() };
      const run = await runFleet(['bicycles', 'list', '-o', 'uuid', ...flags], { env });
      expect(run.code).toBe(0);
      const lists = requests.filter(({ url }) => url.startsWith('/bicycles/'));
      return { requests: lists.length, items: run.stdout.split('\n').length - 1 };
    });

  test.each<[readonly string[], number, number]>([
    [['--all'], 3, 216],
    [['--all', '--page-size', '50'], 5, 216],
    [['--limit', '5'], 1, 5],
    [['--limit', '120'], 2, 120],
    [[], 1, 20],
    [['--page-size', '70'], 1, 70],
    [['--page', '3', '--limit', '30'], 2, 30],
  ])('reading 216 bicycles with %j sends %i requests', async (flags, requests, items) => {
    expect(await count(216, flags)).toEqual({ requests, items });
  });

  test('keeps the page size when the user requests a page number', () =>
    withSandbox({ bicycles: 60 }, async (own) => {
      const env = { FLEET_BASE_URL: own.baseUrl, FLEET_TOKEN: await own.token() };
      const run = await runFleet(['bicycles', 'list', '--page', '2', '-o', 'uuid'], { env });
      expect(run.stdout.trim().split('\n')).toEqual(
        own
          .bicycles()
          .slice(20, 40)
          .map(({ uuid }) => uuid),
      );
    }));
});

test('stops sending page_size after the service rejects it with a 400', async () => {
  const { env, asked } = await openServer((response, { path }) => {
    const { searchParams } = new URL(path, 'http://x');
    if (searchParams.has('page_size'))
      return sendJson(response, 400, { page_size: ['Not allowed.'] });
    const page = Number(searchParams.get('page') ?? 1);
    const next = page < 3 ? `http://x/bicycles/?page=${page + 1}` : null;
    sendJson(response, 200, {
      count: 3,
      next,
      previous: null,
      results: [{ uuid: `u${page}`, name: 'Ada' }],
    });
  });
  const run = await runFleet(['bicycles', 'list', '--all', '-o', 'uuid'], { env });
  expect(run).toEqual({ code: 0, stdout: 'u1\nu2\nu3\n', stderr: '' });
  expect(asked.map(({ path }) => path)).toEqual([
    '/bicycles/?page_size=100',
    '/bicycles/',
    '/bicycles/?page=2',
    '/bicycles/?page=3',
  ]);
});

test('keeps the original error when page_size did not cause the 400', async () => {
  const { env, asked } = await openServer((response) =>
    sendJson(response, 400, { organization: ['Enter a valid UUID.'] }),
  );
  const run = await runFleet(['bicycles', 'list', '--all'], { env });
  expect([run.code, asked.length]).toEqual([6, 2]);
  expect(run.stderr).toContain('organization: Enter a valid UUID.');
});
