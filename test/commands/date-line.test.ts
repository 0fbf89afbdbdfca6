// Tests `--bbox` across the date line, which needs two requests, and the check of areas in fleet
// itself.

import { describe, expect, test } from 'vitest';
import { runFleet } from '../support/run.js';
import { type Answer, openServer, sendJson } from '../support/server.js';

interface Placed {
  uuid: string;
  name: string;
  state: string;
  latitude: number | null;
  longitude: number | string | null;
  state_of_charge: number | null;
  created: string;
}

function bicycle(
  number: number,
  longitude: Placed['longitude'],
  latitude: number | null = -17,
): Placed {
  return {
    uuid: `${String(number).padStart(8, '0')}-0000-4000-8000-000000000000`,
    name: `Bike ${number}`,
    state: number % 2 === 0 ? 'lost' : 'available',
    latitude,
    longitude,
    state_of_charge: number === 4 ? null : (number * 37) % 100,
    created: `2026-03-01T10:00:${String(number).padStart(2, '0')}Z`,
  };
}

const WEST = [1, 2, 3, 4, 5].map((number) => bicycle(number, 179 + number / 10));
const EAST = [6, 7, 8].map((number) => bicycle(number, String(-180 + number / 10)));
const ON_THE_LINE = [bicycle(9, 180), bicycle(10, -180)];
const INSIDE = [...WEST, ...EAST, ...ON_THE_LINE];
const OUTSIDE = [
  bicycle(11, 13.4, 52.5),
  bicycle(12, 0),
  bicycle(13, 178.9),
  bicycle(14, null, null),
];
const BOX = '-179,-16,179,-18';

interface Service {
  /** Selects the bicycles that the service returns for a box; by default those inside it. */
  select?: (box: number[]) => readonly Placed[];
  pageSize?: number;
  hasCount?: boolean;
}

function inBox([east = 0, north = 0, west = 0, south = 0]: number[]): Placed[] {
  const [left, right] = [Math.min(east, west), Math.max(east, west)];
  return [...INSIDE, ...OUTSIDE].filter(
    ({ latitude, longitude }) =>
      latitude !== null &&
      latitude <= north &&
      latitude >= south &&
      Number(longitude) >= left &&
      Number(longitude) <= right,
  );
}

function sorted(bicycles: readonly Placed[], ordering: string | null): Placed[] {
  if (ordering === null) return [...bicycles];
  const sign = ordering.startsWith('-') ? -1 : 1;
  const field = ordering.replace('-', '') as keyof Placed;
  return bicycles.toSorted((a, b) => {
    const [left, right] = [a[field], b[field]];
    if (left === right) return 0;
    if (left === null) return 1;
    if (right === null) return -1;
    return sign * (left < right ? -1 : 1);
  });
}

function service({ select = inBox, pageSize = 2, hasCount = true }: Service = {}): Answer {
  return (response, { path, page }) => {
    const query = new URL(path, 'http://x').searchParams;
    const box = (query.get('bbox') ?? '180,90,-180,-90').split(',').map(Number);
    const found = sorted(select(box), query.get('ordering'));
    if (page > 1 && (page - 1) * pageSize >= found.length)
      return sendJson(response, 404, { detail: 'Invalid page.' });
    query.set('page', String(page + 1));
    sendJson(response, 200, {
      ...(hasCount ? { count: found.length } : {}),
      next: page * pageSize < found.length ? `http://x/?${query}` : null,
      results: found.slice((page - 1) * pageSize, page * pageSize),
    });
  };
}

async function list(args: readonly string[], options?: Service, box = BOX) {
  const server = await openServer(service(options));
  const run = await runFleet(['bicycles', 'list', '--bbox', box, ...args], { env: server.env });
  return { ...run, asked: server.asked };
}

const namesOf = (bicycles: readonly Placed[]) => bicycles.map(({ name }) => `${name}\n`).join('');
const NAMES = ['--jq', '.[].name'];

describe('--bbox across the date line', () => {
  test('--all shows the bicycles on both sides of the date line', async () => {
    const { code, stdout, stderr } = await list(['--all', ...NAMES]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout.split('\n').sort()).toEqual(namesOf(INSIDE).split('\n').sort());
  });

  test.each(['name', '-name', 'state_of_charge', '-state_of_charge', 'created', '-created'])(
    '--ordering %s sorts the bicycles of both sides in one order',
    async (ordering) => {
      const { code, stdout } = await list(['--all', '--ordering', ordering, ...NAMES]);
      expect({ code, stdout }).toEqual({ code: 0, stdout: namesOf(sorted(INSIDE, ordering)) });
    },
  );

  test('--limit counts the bicycles on both sides of the date line together', async () => {
    const { stdout, stderr } = await list(['--limit', '4', '--ordering', '-created', ...NAMES]);
    expect(stdout).toBe(namesOf(sorted(INSIDE, '-created').slice(0, 4)));
    expect(stderr).toBe('Showing 4 of 10 bicycles. Everything: --all\n');
  });

  test('--page treats both sides of the date line as one list', async () => {
    const first = await list(['--ordering', 'created', ...NAMES]);
    expect(first.stdout).toBe(
      namesOf(sorted([...WEST.slice(0, 2), ...EAST.slice(0, 2)], 'created')),
    );
    expect(first.stderr).toBe(
      'Showing 4 of 10 bicycles. Next page: --page 2. Everything: --all\n' +
        'The box crosses the date line and is read as two boxes: a page has that page of both.\n',
    );
    const third = await list(['--ordering', 'created', '--page', '3', ...NAMES]);
    expect({ code: third.code, stdout: third.stdout }).toEqual({
      code: 0,
      stdout: namesOf([...WEST, bicycle(9, 180)].slice(4)),
    });
    expect((await list(['--page', '4'])).code).toBe(5);
  });

  test('--count prints the number of bicycles on both sides of the date line', async () => {
    expect((await list(['--count'])).stdout).toBe('10\n');
    expect((await list(['--count', '--where', 'state=lost'])).stdout).toBe('5\n');
    expect((await list(['--count'], { hasCount: false })).stdout).toBe('10\n');
  });

  test('`bicycles stats` and `map` count bicycles on both sides of the date line', async () => {
    const { env } = await openServer(service());
    const stats = await runFleet(
      [
        'bicycles',
        'stats',
        '--by',
        'state',
        '--bbox',
        BOX,
        '-o',
        'csv',
        '--columns',
        'value,count',
      ],
      { env },
    );
    expect([stats.code, stats.stderr]).toEqual([0, '']);
    expect(stats.stdout).toContain('available,5\nlost,5\n');
    const map = await runFleet(['map', '--bbox', BOX, '-q'], { env });
    expect([map.code, map.stdout]).toEqual([0, expect.stringContaining('10 bicycles')]);
  });

  test("exits with 9 when one side's list has fewer bicycles than its total", async () => {
    const hidesOne = service();
    const { env } = await openServer((response, asked, socket) => {
      const isEast = asked.path.includes('-180%2C') || asked.path.includes('-180,-18');
      if (!isEast) return hidesOne(response, asked, socket);
      sendJson(response, 200, { count: 4, next: null, results: EAST });
    });
    const { code, stderr } = await runFleet(
      ['bicycles', 'list', '--bbox', BOX, '--all', '-o', 'uuid'],
      { env },
    );
    expect(code).toBe(9);
    expect(stderr).toContain('1 of 10 bicycles is missing');
  });

  test('shows a bicycle once when both sides of the date line list it', async () => {
    const { code, stdout, stderr } = await list(['--all', ...NAMES], {
      select: () => INSIDE.slice(0, 3),
    });
    expect({ code, stdout }).toEqual({ code: 0, stdout: namesOf(INSIDE.slice(0, 3)) });
    expect(stderr).toContain('3 bicycles came twice and are shown once');
  });

  test('rejects `--ordering distance`, because the service orders each side separately', async () => {
    const { code, stderr, asked } = await list(['--ordering', '-distance']);
    expect({ code, asked }).toEqual({ code: 2, asked: [] });
    expect(stderr).toContain('--near LAT,LON --radius METRES');
  });

  test.each([
    ['13.3,52.6,13.5,52.4', '13.5,52.6,13.3,52.4'],
    ['-1,-16,1,-18', '1,-16,-1,-18'],
    ['0,-16,179,-18', '179,-16,0,-18'],
  ])('rejects the box %s because its corners are swapped', async (box, corrected) => {
    const { code, stderr, asked } = await list([], {}, box);
    expect({ code, asked }).toEqual({ code: 2, asked: [] });
    expect(stderr).toContain(`--bbox ${corrected}`);
  });
});

describe('a service that returns wrong results for a bounding box', () => {
  const wrong = { select: () => [...INSIDE, ...OUTSIDE] };

  test.each([
    ['across the date line', BOX, INSIDE],
    ['in Berlin', '13.5,52.6,13.3,52.4', [bicycle(11, 13.4, 52.5)]],
  ])('shows only bicycles inside the box %s', async (_where, box, inside) => {
    const all = await list(['--all', ...NAMES], wrong, box);
    expect(all.stdout.split('\n').sort()).toEqual(namesOf(inside).split('\n').sort());
    const count = await list(['--count'], wrong, box);
    expect(count.stdout).toBe(`${inside.length}\n`);
  });

  test("rejects `--param fields` when it omits the bicycles' position", async () => {
    const { code, stderr, asked } = await list(['--param', 'fields=uuid,name']);
    expect({ code, asked }).toEqual({ code: 2, asked: [] });
    expect(stderr).toContain('latitude,longitude');
  });
});

test.each([
  ['the date line', '-17,179.95', '20km', [bicycle(9, 180), bicycle(10, -180)]],
  ['the south pole', '-90,0', '9000km', INSIDE.concat(OUTSIDE.slice(1, 3))],
])('--near finds bicycles on both sides of %s', async (_where, near, radius, expected) => {
  const { env } = await openServer(service());
  const { code, stdout } = await runFleet(
    ['bicycles', 'list', '--near', near, '--radius', radius, '-q', ...NAMES],
    { env },
  );
  expect(code).toBe(0);
  expect(stdout.split('\n').sort()).toEqual(namesOf(expected).split('\n').sort());
});

test('`--near --ordering distance` prints the nearest bicycle first', async () => {
  const { env, asked } = await openServer(service());
  const { stdout } = await runFleet(
    [
      'bicycles',
      'list',
      '--near',
      '-17,179.55',
      '--radius',
      '30km',
      '--ordering',
      'distance',
      ...NAMES,
    ],
    { env },
  );
  expect(stdout).toBe('Bike 5\nBike 4\nBike 3\n');
  expect(asked[0]?.path).not.toContain('ordering');
});
