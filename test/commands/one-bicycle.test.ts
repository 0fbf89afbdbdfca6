// Tests the commands for one bicycle: names, the card and edits (section 4.4), on services with and
// without a URL per bicycle.

import { describe, expect, test } from 'vitest';
import { environmentOf } from '../support/environment.js';
import { type RunOptions, type RunResult, runFleet } from '../support/run.js';
import { openSandbox } from '../support/sandbox.js';
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

describe.each(KINDS)('a service %s', (_kind, isObserved) => {
  test.each([
    ['its UUID', UUID_1],
    ['its UUID in capitals', UUID_1.toUpperCase()],
    ['its link', `https://elsewhere.example.com/api/bicycles/${UUID_1}/`],
    ['the first eight digits', UUID_1.slice(0, 8)],
    ['four digits', UUID_1.slice(0, 4)],
    ['digits beyond the first dash', UUID_1.slice(0, 15)],
    ['its name', 'Emmy 0001'],
    ['its serial number', 'SN-1'],
    ['its bleid', 'AXA:1'],
  ])('get finds a bicycle by %s', async (_what, text) => {
    const { code, stdout, stderr } = await run({ isObserved }, ['get', text, '--json']);
    expect([code, stderr]).toEqual([0, '']);
    expect(JSON.parse(stdout)).toEqual(bicycleOf(1));
    expect(stdout).toContain('"57.50"');
  });

  test('lists all bicycles that match the text and sends nothing', async () => {
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

  test('exits with 5 for an unknown name and explains how to name a bicycle', async () => {
    const { code, stderr } = await run({ isObserved }, ['get', 'Nobody']);
    expect([code, stderr]).toEqual([5, expect.stringContaining('no bicycle is named "Nobody"')]);
    expect(stderr).toContain('a part of a name');
  });

  test('looks up a text of any length and shortens it in the error', async () => {
    const { code, stderr } = await run({ isObserved }, ['get', 'x'.repeat(100_000)]);
    expect(code).toBe(5);
    expect(stderr.length).toBeLessThan(1000);
  });

  test('exits with 5 for an unknown UUID', async () => {
    const { code, stderr } = await run({ isObserved }, [
      'get',
      '6f1c0b5e-2f0e-4c56-9d3a-0d6f3a1f7c11',
    ]);
    expect([code, stderr]).toEqual([
      5,
      expect.stringMatching(/No Bicycle matches|not found, or you have no access/),
    ]);
  });
});

test('finds a UUID prefix among 20,000 bicycles with a few requests', async () => {
  const wanted = bicycleOf(12_345);
  const { stdout, asked } = await run({ isObserved: true, bicycles: 20_000 }, [
    'get',
    String(wanted['uuid']).slice(0, 8),
    '--json',
  ]);
  expect(JSON.parse(stdout)).toEqual(wanted);
  expect(asked.length).toBeLessThan(15);
});

describe('the card of `bicycles get`', () => {
  const card = (columns: number) =>
    run({ isObserved: true }, ['get', 'SN-1'], { terminal: { columns }, env: { NO_COLOR: '1' } });

  test('lists the fields at 80 columns', async () => {
    const { stdout } = await card(80);
    expect(stdout).toMatchInlineSnapshot(`
      "Emmy 0001  available

      state        available
      charge       58 %
      seen         3 min ago (2026-03-01 11:57:00)
      place        geo:52.52,13.4049
      lock         -
      open alerts  1

      uuid                 9e3779b1-0000-4000-8000-000000000001
      serial_number        SN-1
      bleid                AXA:1
      organization         1c2d3e4f-0000-4000-8000-000000000009
      concurrency_version  8
      weight               21
      Not set: description

      Newest alerts
      2 h ago     lock.bat.low            new        its own
      "
    `);
  });

  test.each([60, 80, 140])(
    'the card of `bicycles get` is never wider than %i columns',
    async (columns) => {
      const { stdout } = await card(columns);
      expect(Math.max(...stdout.split('\n').map((line) => [...line].length))).toBeLessThanOrEqual(
        columns,
      );
      expect(stdout).not.toContain('of another');
    },
  );

  test('prints every complete field on its own line to a pipe', async () => {
    const { stdout } = await run({ isObserved: true }, ['get', 'SN-1']);
    expect(stdout).toMatch(/^state +available\nstate_of_charge +57.50\nlatest_gps_timestamp /);
    expect(stdout).toMatch(new RegExp(`^uuid +${UUID_1}$`, 'm'));
    expect(stdout).toMatch(/^state_of_charge +57.50$/m);
    expect(stdout).toMatch(/^weight +21$/m);
  });
});

describe('`bicycles edit`', () => {
  const accept: Service['edit'] = (asked, bicycle) => [
    200,
    { ...bicycle, ...(JSON.parse(asked.body) as Bicycle) },
  ];
  const sent = ({ asked }: Ran) => asked.filter(({ method }) => method !== 'GET');

  test('sends all writable fields, the changes and the version with PUT', async () => {
    const ran = await run({ isObserved: true, edit: accept }, ['edit', UUID_1, '--name', 'Ada']);
    expect([ran.code, ran.stderr]).toEqual([
      0,
      expect.stringMatching(/\(Emmy 0001\) +name +Emmy 0001 -> Ada\n$/),
    ]);
    expect(ran.stdout).toMatch(/^Ada +available /m);
    expect(sent(ran).map(({ method, body }) => [method, JSON.parse(body)])).toEqual([
      [
        'PUT',
        {
          name: 'Ada',
          organization: bicycleOf(1)['organization'],
          serial_number: 'SN-1',
          description: null,
          concurrency_version: 8,
        },
      ],
    ]);
  });

  test('sends only the changes with PATCH when the service does not support PUT', async () => {
    const patchOnly: Service['edit'] = (asked, bicycle) =>
      asked.method === 'PATCH'
        ? accept(asked, bicycle)
        : [405, { detail: 'Method "PUT" not allowed.' }];
    const ran = await run({ isObserved: true, edit: patchOnly }, [
      'edit',
      UUID_1,
      '--field',
      'weight=22.50',
    ]);
    expect(ran.code).toBe(0);
    expect(sent(ran).map(({ method, body }) => [method, body])).toEqual([
      ['PUT', expect.stringContaining('"weight":22.50')],
      ['PATCH', '{"concurrency_version":8,"weight":22.50}'],
    ]);
  });

  test('exits with 5 when the service supports neither PUT nor PATCH', async () => {
    const ran = await run({ isObserved: true }, ['edit', UUID_1, '--name', 'Ada']);
    expect(ran.code).toBe(5);
    expect(ran.stderr).toContain('does not edit bicycles by PUT or PATCH; nothing was changed');
  });

  test('exits with 6 when another user edited the bicycle', async () => {
    const conflict: Service['edit'] = () => [
      409,
      { detail: { message: 'concurrent edition', code: 'conflict' } },
    ];
    const ran = await run({ isObserved: true, edit: conflict }, ['edit', UUID_1, '--name', 'Ada']);
    expect([ran.code, ran.stderr]).toEqual([6, expect.stringContaining('concurrent edition')]);
    expect(sent(ran)).toHaveLength(1);
  });

  test('requires --yes for a looked-up bicycle when stdin is not a terminal', async () => {
    const ran = await run({ isObserved: true, edit: accept }, [
      'edit',
      'Emmy 0001',
      '--name',
      'Ada',
    ]);
    expect(ran.code).toBe(2);
    expect(sent(ran)).toEqual([]);
    const sure = await run({ isObserved: true, edit: accept }, [
      'edit',
      'Emmy 0001',
      '--name',
      'Ada',
      '--yes',
    ]);
    expect(sure.code).toBe(0);
  });

  test.each([
    ['concurrency_version=3', '"concurrency_version":3}'],
    ['__proto__=1', '"__proto__":1'],
  ])('sends --field %s as shown in the preview', async (field, sentText) => {
    const ran = await run({ isObserved: true, edit: accept }, [
      'edit',
      UUID_1,
      '--field',
      field,
      '--dry-run',
    ]);
    expect([ran.code, ran.stdout]).toEqual([0, expect.stringContaining(sentText)]);
  });

  test.each([
    ['another bicycle', { uuid: UUID_2 }],
    ['an error', { error: 'no' }],
    ['no object', []],
    ['of a uuid that is a number', { uuid: 5 }],
    ['more than is read', 'x'.repeat(65 * 1024 * 1024)],
  ])('reports an unknown outcome with exit 7 when the answer is %s', async (_what, body) => {
    const ran = await run({ isObserved: true, edit: () => [200, body] }, [
      'edit',
      UUID_1,
      '--name',
      'Ada',
    ]);
    expect([ran.code, ran.stderr]).toEqual([7, expect.stringContaining('unknown')]);
  });

  test.each([
    ['every field', ['--name', 'Ada'], 'nothing was changed'],
    ['one of two', ['--name', 'Ada', '--field', 'weight=22'], 'the other fields were changed'],
  ])(
    'exits with 9 and prints the result when the service did not change %s',
    async (_what, flags, hint) => {
      const ignore: Service['edit'] = (asked, bicycle) => [
        200,
        { ...bicycle, ...JSON.parse(asked.body), name: 'Emmy 0001' },
      ];
      const ran = await run({ isObserved: true, edit: ignore }, ['edit', UUID_1, ...flags]);
      expect(ran.code).toBe(9);
      expect(ran.stderr).toContain(
        'error: the service ignored the change of: name (Emmy 0001) (HTTP 200, ',
      );
      expect(ran.stderr).toContain(`hint: ${hint}`);
      expect(ran.stdout).toMatch(/^Emmy 0001 +available /m);
      const json = await run({ isObserved: true, edit: ignore }, [
        'edit',
        UUID_1,
        ...flags,
        '--json',
      ]);
      expect([json.code, JSON.parse(json.stdout)]).toEqual([
        9,
        expect.objectContaining({ name: 'Emmy 0001' }),
      ]);
    },
  );

  test('rejects an unknown model name and sends nothing', async () => {
    const ran = await run({ isObserved: true, edit: accept }, ['edit', UUID_1, '--model', 'city']);
    expect([ran.code, sent(ran)]).toEqual([5, []]);
    expect(ran.stderr).toContain('no model is named "city"');
  });

  test('exits with 9 when the answer lacks the edited field', async () => {
    const ignore: Service['edit'] = (_asked, bicycle) => [200, bicycle];
    const ran = await run({ isObserved: true, edit: ignore }, [
      'edit',
      UUID_1,
      '--field',
      'nonsense=1',
    ]);
    expect(ran.code).toBe(9);
    expect(ran.stderr).toContain('the service ignored the change of: nonsense (not in its answer)');
  });

  test.each([
    ['name=true', 'true'],
    ['serial_number=42', '42'],
    ['bleid=7', '7'],
    ['name="true"', 'true'],
    ['weight=5', 5],
    ['weight="5"', '5'],
  ])('converts the value of --field %s', async (field, value) => {
    const ran = await run({ isObserved: true, edit: accept }, ['edit', UUID_1, '--field', field]);
    const [name = ''] = field.split('=');
    expect(JSON.parse(sent(ran)[0]?.body ?? '{}')[name]).toBe(value);
  });

  test('sets --note, and clears fields with null', async () => {
    const sandbox = await openSandbox({ bicycles: 60 });
    const { uuid = '' } =
      sandbox.bicycles().find(({ state, lock }) => state === 'in_maintenance' && lock) ?? {};
    const args = ['bicycles', 'edit', uuid, '--note', 'n', '--lock', 'null', '--model', 'null'];
    const { code, stderr } = await runFleet(args, { env: await environmentOf(sandbox) });
    expect([code, stderr]).toEqual([0, expect.stringMatching(/lock +http.* -> \(none\)/)]);
    expect(sandbox.bicycle(uuid)).toMatchObject({ lock: null, model: null, note: 'n' });
  });

  test('reports that nothing was changed after a 404', async () => {
    const missing: Service['edit'] = () => [404, { detail: 'Not found.' }];
    const ran = await run({ isObserved: true, edit: missing }, ['edit', UUID_1, '--name', 'Ada']);
    expect(ran.code).toBe(5);
    expect(ran.stderr).toContain(`the service cannot edit ${UUID_1} (Emmy 0001): Not found.`);
    expect(ran.stderr).not.toContain('prefix');
  });

  test('sends nothing when nothing changes', async () => {
    const same = await run({ isObserved: true, edit: accept }, [
      'edit',
      UUID_1,
      '--name',
      'Emmy 0001',
    ]);
    expect([same.code, sent(same)]).toEqual([0, []]);
    const none = await run({ isObserved: true, edit: accept }, ['edit', UUID_1]);
    expect([none.code, none.asked]).toEqual([2, []]);
  });
});

test.each([
  ['bicycles act', ['bicycles', 'act', 'ADDRESS', 'reserve'], 'alerts', 'an alert'],
  ['bicycles act -', ['bicycles', 'act', '-', 'reserve', '--yes'], 'alerts', 'an alert'],
  ['bicycles edit', ['bicycles', 'edit', 'ADDRESS', '--note', 'x'], 'locks', 'a lock'],
  ['alerts act', ['alerts', 'act', 'ADDRESS', 'resolve'], 'bicycles', 'a bicycle'],
  ['alerts act -', ['alerts', 'act', '-', 'resolve', '--yes'], 'bicycles', 'a bicycle'],
])('rejects the URL of another kind of resource for %s', async (_name, args, collection, what) => {
  const address = `http://service/api/${collection}/1c2d3e4f-0000-4000-8000-000000000009/`;
  const { env, asked } = await openServer((response) => sendJson(response, 200, {}));
  const run = await runFleet(
    args.map((word) => (word === 'ADDRESS' ? address : word)),
    { env, stdin: `${address}\n` },
  );
  expect([run.code, run.stderr]).toEqual([
    2,
    expect.stringContaining(`"${address}" is the address of ${what}`),
  ]);
  expect(asked).toEqual([]);
});

test('rejects the URL of another kind of resource for --organization and --model', async () => {
  const address = `http://service/api/zones/1c2d3e4f-0000-4000-8000-000000000009/`;
  const { env, asked } = await openServer((response) => sendJson(response, 200, {}));
  const list = await runFleet(['bicycles', 'list', '--organization', address], { env });
  const create = await runFleet(
    ['bicycles', 'create', '--name', 'x', '--organization', UUID_1, '--model', address, '--yes'],
    { env },
  );
  expect([list.code, create.code]).toEqual([2, 2]);
  expect(create.stderr).toContain(`"${address}" is the address of a zone, not of a model`);
  expect(asked).toEqual([]);
});
