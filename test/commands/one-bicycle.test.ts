// Tests the commands for one bicycle where only code shows the case: many bicycles, long texts and large
// answers. The transcripts test/transcripts/bicycles/get*.md and edit*.md show the rest.

import { describe, expect, test } from 'vitest';
import { type RunOptions, type RunResult, runFleet } from '../support/run.js';
import { type Answer, type Asked, openServer, sendJson, sendPage } from '../support/server.js';

type Bicycle = { [field: string]: unknown };

/** Creates bicycle number `n`. UUIDs are spread evenly and are not sorted by number. */
function bicycleOf(n: number): Bicycle {
  const digits = (from: number) => ((from * 2_654_435_761) % 2 ** 32).toString(16).padStart(8, '0');
  // Every tenth UUID has the same prefix as the one before it.
  const head = digits(n % 10 === 0 ? n - 1 : n).slice(0, 4) + digits(n).slice(4);
  return {
    uuid: `${head}-0000-4000-8000-${String(n).padStart(12, '0')}`,
    name: `Emmy ${String(n).padStart(4, '0')}`,
    serial_number: `SN-${n}`,
    bleid: `AXA:${n}`,
    state: 'available',
    state_of_charge: '57.50',
    latitude: 52.52,
    longitude: 13.4049,
    description: null,
    organization: 'http://service/organizations/1c2d3e4f-0000-4000-8000-000000000009/',
    latest_gps_timestamp: '2026-03-01T11:57:00Z',
    concurrency_version: 7 + n,
    weight: 21,
  };
}

interface Service {
  /**
   * Whether the service behaves as observed: bicycle URLs, `query`, `ordering=uuid` and
   * `page_size`.
   */
  isObserved: boolean;
  bicycles?: number;
  edit?: (asked: Asked, bicycle: Bicycle) => readonly [status: number, body: unknown];
}

function service({ isObserved, bicycles: count = 30, edit }: Service): Answer {
  const bicycles = Array.from({ length: count }, (_, index) => bicycleOf(index + 1));
  return (response, asked) => {
    const url = new URL(asked.path, 'http://service');
    const uuid = /^\/bicycles\/([^/]+)\/$/.exec(url.pathname)?.[1];
    if (url.pathname === '/alerts/')
      return sendJson(response, 200, alertsOf(String(url.searchParams.get('bicycle'))));
    if (uuid !== undefined) {
      const bicycle = bicycles.find((each) => each['uuid'] === uuid);
      if (!isObserved)
        return void response
          .writeHead(404, { 'content-type': 'text/html' })
          .end('<title>Not here</title>');
      if (bicycle === undefined)
        return sendJson(response, 404, { detail: 'No Bicycle matches the given query.' });
      if (asked.method === 'GET') return sendJson(response, 200, bicycle);
      return sendJson(
        response,
        ...(edit?.(asked, bicycle) ?? ([405, { detail: 'Method not allowed.' }] as const)),
      );
    }
    const query = isObserved ? (url.searchParams.get('query') ?? '') : '';
    const chosen = bicycles.filter(({ name, serial_number, bleid }) =>
      [name, serial_number, bleid].some((text) => String(text).includes(query)),
    );
    if (isObserved && url.searchParams.get('ordering') === 'uuid')
      chosen.sort((a, b) => (String(a['uuid']) < String(b['uuid']) ? -1 : 1));
    const size = isObserved ? Number(url.searchParams.get('page_size') ?? 20) : 20;
    const { page } = asked;
    const isLast = page * size >= chosen.length;
    url.searchParams.set('page', String(page + 1));
    const results = chosen.slice((page - 1) * size, page * size);
    sendPage(response, results, { count: chosen.length, ...(isLast ? {} : { next: url.href }) });
  };
}

function alertsOf(bicycle: string): unknown {
  const alert = (message: string, uuid: string) => ({
    uuid: '5b9f2c1e-3d4a-4b5c-8d6e-7f8091a2b3c4',
    created: '2026-03-01T10:00:00Z',
    alert_type: 'lock.bat.low',
    state: 'new',
    message,
    bicycle: `http://service/bicycles/${uuid}/`,
  });
  // A service that ignores the filter also returns alerts of other bicycles.
  return {
    count: 2,
    next: null,
    previous: null,
    results: [alert('its own', bicycle), alert('of another', UUID_2)],
  };
}

const UUID_1 = String(bicycleOf(1)['uuid']);
const UUID_2 = String(bicycleOf(2)['uuid']);
const NOW = () => Date.parse('2026-03-01T12:00:00Z');

interface Ran extends RunResult {
  asked: Asked[];
}

async function run(kind: Service, args: readonly string[], options: RunOptions = {}): Promise<Ran> {
  const { env, asked } = await openServer(service(kind));
  const run = await runFleet(['bicycles', ...args], {
    now: NOW,
    ...options,
    env: { ...env, ...options.env },
  });
  return { ...run, asked };
}

const KINDS = [
  ['observed', true],
  ['of the interface alone', false],
] as const;

describe.each(KINDS)('ambiguous and long bicycle arguments (service %s)', (_kind, isObserved) => {
  test('lists all bicycles that match an ambiguous argument and does not send a change', async () => {
    const { code, stderr } = await run({ isObserved }, [
      'get',
      String(bicycleOf(20)['uuid']).slice(0, 4),
    ]);
    expect([code, stderr]).toEqual([
      2,
      expect.stringContaining('matches 2 bicycles; nothing was sent'),
    ]);
    expect(stderr).toMatch(/\(Emmy 00(19|20)\), /);
  });

  test('shortens a long argument in the error message', async () => {
    const { code, stderr } = await run({ isObserved }, ['get', 'x'.repeat(100_000)]);
    expect(code).toBe(5);
    expect(stderr.length).toBeLessThan(1000);
  });
});

test('needs only a few requests to find a UUID prefix among 20,000 bicycles', async () => {
  const wanted = bicycleOf(12_345);
  const { stdout, asked } = await run({ isObserved: true, bicycles: 20_000 }, [
    'get',
    String(wanted['uuid']).slice(0, 8),
    '--json',
  ]);
  expect(JSON.parse(stdout)).toEqual(wanted);
  expect(asked.length).toBeLessThan(15);
});

describe('`bicycles edit`', () => {
  const accept: Service['edit'] = (asked, bicycle) => [
    200,
    { ...bicycle, ...(JSON.parse(asked.body) as Bicycle) },
  ];

  test.each([['__proto__=1', '"__proto__":1']])(
    'sends the value of --field %s that the preview showed',
    async (field, sentText) => {
      const ran = await run({ isObserved: true, edit: accept }, [
        'edit',
        UUID_1,
        '--field',
        field,
        '--dry-run',
      ]);
      expect([ran.code, ran.stdout]).toEqual([0, expect.stringContaining(sentText)]);
    },
  );

  test.each([['more than is read', 'x'.repeat(65 * 1024 * 1024)]])(
    'reports an unknown outcome with exit 7 when the answer is %s',
    async (_what, body) => {
      const ran = await run({ isObserved: true, edit: () => [200, body] }, [
        'edit',
        UUID_1,
        '--name',
        'Ada',
      ]);
      expect([ran.code, ran.stderr]).toEqual([7, expect.stringContaining('unknown')]);
    },
  );
});
