// Tests lists that change during the reading, many readings and endless pages. The transcript
// test/transcripts/bicycles/list-incomplete.md shows lists with missing bicycles.

import { describe, expect, test } from 'vitest';
import { keepJq } from '../support/jq.js';
import { runFleet } from '../support/run.js';
import { openServer, sendJson, sendPart } from '../support/server.js';

keepJq();

interface Moving {
  /** The first bicycles of the fleet, newest first. */
  ids: readonly string[];
  pageSize?: number;
  /** Changes the fleet before this request is answered (1 is the first). */
  move?(ids: string[], request: number): void;
  /** A false count; null omits the count. */
  count?: number | null;
  isBareArray?: boolean;
}

interface Ended {
  code: number;
  ids: string[];
  stdout: string;
  stderr: string;
  requests: number;
}

const PLACE = { latitude: 52.5, longitude: 13.4 };

/** Lists a fleet that changes during the reading, with numbered pages like most services. */
async function listMoving(
  moving: Moving,
  args: readonly string[],
  command = ['bicycles', 'list'],
): Promise<Ended> {
  const { pageSize = 2, move, count, isBareArray } = moving;
  const ids = [...moving.ids];
  let requests = 0;
  const { env } = await openServer((response, { page }) => {
    requests += 1;
    move?.(ids, requests);
    const results = ids.slice((page - 1) * pageSize, page * pageSize).map((id) => ({
      uuid: id,
      name: `bike ${id}`,
      state: id.length > 1 ? 'lost' : 'available',
      ...PLACE,
    }));
    const next = page * pageSize < ids.length ? `http://x/?page=${page + 1}` : null;
    const total = count === null ? {} : { count: count ?? ids.length };
    return sendJson(response, 200, isBareArray ? results : { ...total, next, results });
  });
  const format = args.some((arg) => /^(-o|--json|--jq|--count)/.test(arg)) ? [] : ['-o', 'uuid'];
  const run = await runFleet([...command, ...args, ...format], { env });
  return { ...run, ids: run.stdout.split('\n').filter((line) => line !== ''), requests };
}

const SIX = ['f', 'e', 'd', 'c', 'b', 'a'];
/**
 * A bicycle is created while the list is read. It comes first in the list, so every later page
 * begins with a bicycle that was shown already.
 */
const oneIsCreated = (ids: string[], request: number) => void (request === 2 && ids.unshift('new'));

describe('a bicycle created during a list read', () => {
  test('rereads only the pages that may contain a bicycle created during the read', async () => {
    const { code, ids, stderr, requests } = await listMoving({ ids: SIX, move: oneIsCreated }, [
      '--all',
    ]);
    expect({ code, ids }).toEqual({ code: 0, ids: [...SIX, 'new'] });
    expect(stderr).toContain('the total changed from 6 to 7 while the list was read');
    expect(stderr).toContain('1 of 7 bicycles did not come; reading the pages again');
    // Prefetched pages may be in flight when the last page is found.
    expect(requests).toBeLessThanOrEqual(4 + 4);
  });

  test.each([
    [['--where', 'state=lost'], ['new']],
    [['--where', 'state=lost', '--limit', '5'], ['new']],
    [
      ['--limit', '7'],
      [...SIX, 'new'],
    ],
    [
      ['--near', '52.5,13.4', '--radius', '100'],
      [...SIX, 'new'],
    ],
    [
      ['--jq', '.[].uuid', '-q'],
      [...SIX, 'new'],
    ],
    [
      ['--jq', 'map(.uuid) | .[]'],
      [...SIX, 'new'],
    ],
    [['--count', '--where', 'state=lost'], ['1']],
    [['--count', '--near', '52.5,13.4', '--radius', '100'], ['7']],
    [['--json', '--jq', 'length'], ['7']],
  ])('lists the new bicycle with the flags %j', async (args, expected) => {
    const all = args.some((arg) => ['--limit', '--near', '--count'].includes(arg)) ? [] : ['--all'];
    const { code, ids } = await listMoving({ ids: SIX, move: oneIsCreated }, [...all, ...args]);
    expect({ code, ids }).toEqual({ code: 0, ids: expected });
  });

  test('does not read pages again when --limit is already reached', async () => {
    const { code, ids, stderr } = await listMoving({ ids: SIX, move: oneIsCreated }, [
      '--limit',
      '5',
    ]);
    expect({ code, ids }).toEqual({ code: 0, ids: SIX.slice(0, 5) });
    expect(stderr).not.toContain('reading the pages again');
  });

  test('a third read finds a bicycle that moves during the second read', async () => {
    const move = (ids: string[], request: number) => {
      const rest = ids.filter((id) => id !== 'new');
      // The bicycle moves to the front of the list after the first reading has passed the front,
      // then to the end, and to the front again while the second reading passes.
      if (request === 2 || request === 5) ids.splice(0, ids.length, 'new', ...rest);
      if (request === 4) ids.splice(0, ids.length, ...rest.slice(0, 3), 'new', ...rest.slice(3));
    };
    const { code, ids, stderr } = await listMoving({ ids: SIX, move, pageSize: 3 }, ['--all']);
    expect({ code, ids }).toEqual({ code: 0, ids: [...SIX, 'new'] });
    expect(stderr.match(/reading the pages again/g)).toHaveLength(2);
  });
});

describe('bicycles missing from the list', () => {
  test('limits the number of additional reads even when many bicycles are missing', async () => {
    const { code, requests } = await listMoving({ ids: SIX, count: 1_000_000 }, ['--all', '-q']);
    expect(code).toBe(9);
    expect(requests).toBeLessThan(30);
  });
});

test('does not read a list again when its items have no UUID', async () => {
  const { env, asked } = await openServer((response) =>
    sendJson(response, 200, { count: 3, next: null, results: [{ at: 1 }, { at: 1 }] }),
  );
  const { code, stdout } = await runFleet(['api', '/history/', '--paginate', '--json', '-q'], {
    env,
  });
  expect({ code, items: JSON.parse(stdout), asked: asked.length }).toEqual({
    code: 9,
    items: [{ at: 1 }, { at: 1 }],
    asked: 1,
  });
});

describe('an endless list', () => {
  /** Every page has a `next` link with a new parameter. */
  const endless = async (
    results: (number: number) => unknown[],
    args = ['--all', '-o', 'uuid', '-q'],
  ) => {
    let number = 0;
    const { env, asked } = await openServer((response) =>
      sendJson(response, 200, { next: `http://x/?cursor=${++number}`, results: results(number) }),
    );
    return { ...(await runFleet(['bicycles', 'list', ...args], { env })), requests: asked.length };
  };

  test.each<[string, (number: number) => unknown[]]>([
    ['the same rows again and again', () => [{ uuid: 'a' }, { uuid: 'b' }]],
    ['the same rows in turn', (number) => [{ uuid: `u${number % 5}` }]],
    ['the same rows without a uuid', () => [{ name: 'a' }]],
    ['no rows at all', () => []],
  ])('stops reading a list that has %s', async (_what, results) => {
    const { code, stderr, requests } = await endless(results);
    expect(code).toBe(7);
    expect(stderr).toContain('the list does not end: 10 consecutive pages had no new item');
    expect(requests).toBeLessThan(40);
  });

  test("`bicycles list --limit` fails when the list is shorter than the service's total", async () => {
    expect((await endless(() => [{ uuid: 'a' }], ['--limit', '5', '-o', 'uuid'])).code).toBe(7);
    expect((await endless(() => [{ uuid: 'a' }], ['--count', '--where', 'name=x'])).code).toBe(7);
  });
});

test('prefetches fewer pages when the pages are large', async () => {
  const name = 'x'.repeat(1_000_000);
  let waiting = 0;
  let most = 0;
  const all = Array.from({ length: 24 }, (_, index) => ({ uuid: `u${index}`, name }));
  const { env } = await openServer(async (response, request) => {
    waiting += 1;
    most = Math.max(most, waiting);
    await new Promise((resolve) => setTimeout(resolve, 30));
    waiting -= 1;
    sendPart(response, request, all, 3);
  });
  const { code, stdout } = await runFleet(['bicycles', 'list', '--all', '-o', 'uuid'], { env });
  expect({ code, count: stdout.trimEnd().split('\n').length, most }).toEqual({
    code: 0,
    count: 24,
    most: 2,
  });
});

test('does not prefetch pages that become large', async () => {
  const name = 'x'.repeat(1_000_000);
  const all = Array.from({ length: 48 }, (_, index) => ({
    uuid: `u${index}`,
    ...(index < 12 ? {} : { name }),
  }));
  const { env, asked } = await openServer((response, request) =>
    sendPart(response, request, all, 12),
  );
  const { code, stdout, stderr } = await runFleet(['bicycles', 'list', '--all', '-o', 'uuid'], {
    env,
  });
  expect({ code, rows: stdout.split('\n').length - 1, stderr }).toEqual({
    code: 0,
    rows: 48,
    stderr: '',
  });
  // The prefetch stopped at 8 MB, and the page was requested again in order.
  expect(asked.filter(({ page }) => page === 2)).toHaveLength(2);
});
