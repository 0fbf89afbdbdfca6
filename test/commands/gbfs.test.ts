// Tests GBFS feeds: valid by the schemas, private across rentals, and published completely or not
// at all, from mirror and list.

import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { type IncomingMessage, request } from 'node:http';
import { join } from 'node:path';
import fc from 'fast-check';
import { beforeAll, expect, test } from 'vitest';
import type { Bicycle } from '../../src/api/bicycle.js';
import {
  addVehicle,
  areasOf,
  drawFeed,
  type FeedSelection,
  type Vehicles,
} from '../../src/commands/gbfs/feed.js';
// Loaded in advance, because loading can take longer than the two seconds of a mirror query on a
// busy machine.
import '../../src/mirror/open.js';
import { FEED_VERSIONS } from '../../src/commands/gbfs/system-fields.js';
import { environmentOf } from '../support/environment.js';
import { newFolder } from '../support/folder.js';
import { type Documents, problemsOf, readDocuments } from '../support/gbfs.js';
import { makeMirror, organizationOf } from '../support/made-mirror.js';
import { useEngines, withDatabase } from '../support/mirror.js';
import { anyText, HOSTILE } from '../support/naughty.js';
import { often } from '../support/often.js';
import { runFleet } from '../support/run.js';
import { startFleet } from '../support/running.js';
import { useSandbox } from '../support/sandbox.js';
import { openServer, sendJson, sendPage } from '../support/server.js';

const sandbox = useSandbox({ bicycles: 120 });
const folder = newFolder();
const system = join(folder, 'system.json');
const SYSTEM = {
  system_id: 'city',
  name: 'City „Bike"',
  language: 'de-CH',
  timezone: 'Europe/Zurich',
  opening_hours: '24/7',
  feed_contact_email: 'feed@example.com',
  feed_url: 'https://example.com/gbfs',
  operator: 'City Ltd',
  url: 'https://example.com/?a=b#c',
  phone_number: '+41441234567',
  start_date: '2026-02-28',
};
let env: NodeJS.ProcessEnv = {};

beforeAll(async () => {
  writeFileSync(system, JSON.stringify(SYSTEM));
  env = {
    ...(await environmentOf(sandbox())),
    FLEET_ORGANIZATION: organizationOf(sandbox()),
    FLEET_CONFIG_DIR: folder,
  };
});

let feeds = 0;
/** Publishes to a new folder. */
async function publish(flags: readonly string[] = [], more: NodeJS.ProcessEnv = {}) {
  feeds += 1;
  const out = join(folder, `feed${feeds}`);
  const run = await runFleet(['gbfs', '--out', out, '--system', system, ...flags], {
    env: { ...env, ...more },
  });
  return { ...run, out, documents: run.code === 0 ? readDocuments(out) : {} };
}
const vehiclesOf = ({ vehicle_status: status, free_bike_status: old }: Documents): Documents[] =>
  status?.data.vehicles ?? old?.data.bikes;
const inStates = (...states: string[]) =>
  sandbox()
    .bicycles(organizationOf(sandbox()))
    .filter(({ state }) => states.includes(state));
const hasPlace = ({ latitude, longitude }: Bicycle) => latitude != null && longitude != null;

test.each(FEED_VERSIONS)(
  '`gbfs` writes a valid feed of version %s with the expected content',
  async (version) => {
    const { code, documents, stderr } = await publish([
      '--version',
      version,
      '--range',
      '60km',
      '--disabled',
    ]);
    expect(code).toBe(0);
    expect(await problemsOf(documents)).toEqual({});
    const shown = inStates('available', 'reserved', 'in_maintenance').filter(hasPlace);
    const charged = shown.filter(({ state_of_charge: charge }) => charge != null);
    const vehicles = vehiclesOf(documents);
    expect(vehicles).toHaveLength(charged.length);
    for (const flag of ['is_reserved', 'is_disabled'])
      expect(vehicles.filter((each) => each[flag])).toHaveLength(
        charged.filter(
          ({ state }) => state === (flag === 'is_reserved' ? 'reserved' : 'in_maintenance'),
        ).length,
      );
    const [one] = charged.filter(
      ({ latitude }) => charged.filter((each) => each.latitude === latitude).length === 1,
    );
    const found = vehicles.find(({ lat }) => Math.abs(lat - Number(one?.latitude)) < 1e-6);
    expect(found?.['current_range_meters']).toBe(Math.round(600 * Number(one?.state_of_charge)));
    expect(stderr).toContain(`published ${vehicles.length} vehicles from the list; left out: `);
    expect(stderr).toContain(`${inStates('rented').length} rented`);
    expect(documents['gbfs'].ttl).toBe(60);
  },
);

test('the feed contains nothing that identifies a bicycle', async () => {
  for (const version of FEED_VERSIONS) {
    const { documents } = await publish(['--version', version, '--disabled']);
    const text = JSON.stringify(documents).toLowerCase();
    for (const { uuid, name, serial_number, bleid } of sandbox().bicycles())
      for (const told of [uuid, name, serial_number, bleid])
        if (typeof told === 'string' && told !== '') expect(text).not.toContain(told.toLowerCase());
    expect(text).not.toMatch(/[\da-f]{8}-[\da-f]{4}-[\da-f]{4}/);
    for (const { name, uuid } of [...sandbox().zones, ...sandbox().models])
      for (const told of [uuid, name]) expect(text).not.toContain(told.toLowerCase());
  }
});

/** Rents and returns a bicycle without moving it. */
function rent(uuid: string): void {
  for (const transition of ['rent', 'return'] as const) sandbox().act(uuid, transition);
}

test('without a mirror, renting a bicycle changes only its own vehicle id', async () => {
  const [rented, other] = inStates('available').filter(
    (each, _, all) =>
      hasPlace(each) && all.filter(({ latitude }) => latitude === each.latitude).length === 1,
  );
  const idOf = (documents: Documents, bicycle: Bicycle | undefined) =>
    vehiclesOf(documents).find(({ lat }) => Math.abs(lat - Number(bicycle?.latitude)) < 1e-6)
      ?.vehicle_id;
  const before = (await publish()).documents;
  const again = (await publish()).documents;
  expect(idOf(before, rented)).toMatch(/^[\da-f]{32}$/);
  expect(idOf(again, rented)).toBe(idOf(before, rented));
  rent(rented?.uuid ?? '');
  const after = (await publish()).documents;
  expect(idOf(after, rented)).toMatch(/^[\da-f]{32}$/);
  expect(vehiclesOf(before).map(({ vehicle_id: id }) => id)).not.toContain(idOf(after, rented));
  expect(idOf(after, other)).toBe(idOf(before, other));
  // The position in the file must not identify the bicycle.
  const ids = vehiclesOf(after).map(({ vehicle_id: id }) => id);
  expect(ids).toEqual([...ids].sort());
});

test('deletes outdated feed files and abandoned drafts from the output folder', async () => {
  const { out, documents } = await publish();
  expect(Object.keys(documents)).toContain('geofencing_zones');
  for (const name of [
    `gbfs.json.${process.pid}.draft`,
    `vehicle_status.json.${randomUUID()}.draft`,
    'index.html',
  ])
    writeFileSync(join(out, name), '{');
  const { url } = await openServer((response) => sendPage(response, []));
  const flags = ['--version', '2.3', '--no-mirror', '--out', out, '--system', system];
  const run = await runFleet(['gbfs', ...flags], { env: { ...env, FLEET_BASE_URL: url } });
  expect([run.code, run.stderr]).toEqual([0, expect.stringContaining('published 0 vehicles')]);
  const expected = [
    'free_bike_status.json',
    'gbfs.json',
    'index.html',
    'system_information.json',
    'vehicle_types.json',
  ];
  expect(readdirSync(out).sort()).toEqual(expected);
});

test('omits last_reported when it falls in the same second as a rental', () => {
  const since = Date.parse('2026-11-22T10:00:00.500Z');
  const reportedAt = (time: string) => {
    const vehicles: Vehicles = { all: new Map(), leftOut: {} };
    const selection: FeedSelection = {
      organization: ORGANIZATION,
      nowMs: Date.parse('2026-11-22T12:00:00Z'),
      maxAgeMs: undefined,
      withDisabled: false,
      rangeOf: () => undefined,
    };
    const bicycle = {
      uuid: 'u1',
      state: 'available',
      latitude: 1,
      longitude: 1,
      latest_gps_timestamp: `2026-11-22T10:00:${time}Z`,
    };
    addVehicle(vehicles, bicycle as Bicycle, selection, { idOf: () => 'id', sinceMs: since });
    return vehicles.all.get('id')?.reportedMs;
  };
  expect(reportedAt('00.400')).toBeUndefined();
  expect(reportedAt('00.900')).toBeUndefined();
  expect(reportedAt('01.000')).toBe(Date.parse('2026-11-22T10:00:01Z'));
});

const engines = useEngines();

test.each(engines)(
  'changes a vehicle id after each rental and never reuses it (%s)',
  async (_kind, newText) => {
    const address = await newText();
    const config = newFolder();
    writeFileSync(
      join(config, 'config.json'),
      JSON.stringify({ profiles: { default: { mirror: address } } }),
      {
        mode: 0o600,
      },
    );
    await makeMirror(address, { sandbox: sandbox() });
    const execute = (sql: string) => withDatabase(address, (database) => database.all(sql));
    let reported = 0;
    const published = async () => {
      const now = new Date().toISOString();
      await execute(`UPDATE writers SET heartbeat = '${now}'`);
      const { requests } = sandbox();
      const before = requests.length;
      const { code, stderr, documents } = await publish([], { FLEET_CONFIG_DIR: config });
      reported = vehiclesOf(documents).filter((each) => each.last_reported !== undefined).length;
      expect([code, stderr]).toEqual([0, expect.stringContaining('from the mirror')]);
      expect(requests.slice(before).filter(({ url }) => url.startsWith('/bicycles'))).toEqual([]);
      return vehiclesOf(documents).map(
        ({ vehicle_id: id, lat, lon }) => [`${lat} ${lon}`, String(id)] as const,
      );
    };
    const [bicycle] = inStates('available').filter(hasPlace);
    const place = `${Number(Number(bicycle?.latitude).toFixed(6))} ${Number(Number(bicycle?.longitude).toFixed(6))}`;
    const change = (field: string, old: string | null, next: string) =>
      execute(
        `INSERT INTO changes (at, received, bicycle, version, field, old, new, source) VALUES ('2026-11-22T10:00:00.000000Z',
      '2026-11-22T10:00:00.000000Z', '${bicycle?.uuid}', 1, '${field}', ${old === null ? 'NULL' : `'${old}'`}, '${next}', 'push')`,
      );
    const first = await published();
    expect(first.length).toBeGreaterThan(20);
    await change('state', '"available"', '"reserved"');
    await change('latitude', '1', '1.001');
    const reportedBefore = reported;
    expect(await published()).toEqual(first);

    const seen = new Set(first.map(([, id]) => id));
    const others = (pairs: typeof first) =>
      pairs.filter(([at]) => at !== place).map(([, id]) => id);
    const ownOf = (pairs: typeof first) => pairs.find(([at]) => at === place)?.[1] ?? 'none';
    for (const [field, old, next] of [
      ['state', '"rented"', '"available"'],
      ['state', '"available"', '"rented"'],
      // One unknown new state, and one unknown old state.
      ['state', '"available"', '"riding"'],
      ['state', null, '"available"'],
      // The bicycle left its state, the new state was not published, and it returned.
      ['state', '"available"', 'null'],
      ['state', 'null', '"available"'],
      // The bicycle moved without a message.
      ['latitude', '"1.001"', '"1.01"'],
      ['longitude', '1.01', '1'],
      ['rental_session', 'null', '"/rental_sessions/1/"'],
      ['gone', 'null', '"2026-11-22T10:00:00Z"'],
    ] as const) {
      await change(field, old, next);
      const pairs = await published();
      if (next === 'null') expect(ownOf(pairs)).toBe('none');
      expect(seen).not.toContain(ownOf(pairs));
      seen.add(ownOf(pairs));
      expect(others(pairs)).toEqual(others(first));
    }
    // A position from before the last rental would connect the feeds before and after it.
    await execute(`UPDATE changes SET at = '2036-01-01T00:00:00.000000Z' WHERE field = 'gone'`);
    await published();
    expect(reported).toBe(reportedBefore - 1);
    await execute(`UPDATE changes SET at = '2026-11-22T10:00:00.000000Z' WHERE field = 'gone'`);
    // The bicycle left its state and the writer ended. The list after the gap shows the true state.
    await change('state', '"available"', 'null');
    expect(ownOf(await published())).toBe('none');
    await execute(`INSERT INTO gaps (started, ended, reason, found)
      VALUES ('2026-11-22T10:00:01.000000Z', '2026-11-22T10:00:02.000000Z', 'cut', 0)`);
    expect(ownOf(await published())).not.toBe('none');
    await execute('DELETE FROM gaps');
    await change('state', 'null', '"available"');
    // A gap or deleted records may hide a rental.
    const utc = (time: string) => `'2026-11-${time}:00.000000Z'`;
    const keep = (time: string) =>
      execute(`INSERT INTO meta (key, value) VALUES ('kept_since', ${utc(time)})
        ON CONFLICT (key) DO UPDATE SET value = excluded.value`);
    const gap = (started: string, ended: string) =>
      execute(
        `INSERT INTO gaps (started, ended, reason, found) VALUES (${utc(started)}, ${utc(ended)}, 'cut', 0)`,
      );
    const lost = [
      () => keep('22T08:00'),
      () => gap('22T10:00', '22T10:01'),
      // The writer deletes gaps at once and changes in small steps.
      async () => [await keep('22T10:30'), await execute('DELETE FROM gaps')],
      () => execute('DELETE FROM changes'),
      () => keep('22T11:00'),
      () => gap('22T12:00', '22T12:01'),
      async () => [await keep('22T12:30'), await execute('DELETE FROM gaps')],
    ];
    for (const lose of lost) {
      const before = await published();
      for (const [, id] of before) seen.add(id);
      await lose();
      for (const [, id] of await published())
        if (!before.some((pair) => pair[1] === id)) expect(seen).not.toContain(id);
    }
    const list = vehiclesOf(
      (await publish(['--no-mirror'], { FLEET_CONFIG_DIR: config })).documents,
    );
    for (const { vehicle_id: id } of list) expect(seen).not.toContain(id);
  },
);

/** Starts a small service that a test can break. */
async function openService() {
  const modified = '2026-11-22T10:00:00Z';
  const bicycles: object[] = [1, 2, 3].map((n) => ({
    uuid: `u${n}`,
    state: 'available',
    modified,
    latitude: n,
    longitude: n,
  }));
  const service = { isShort: false, refusal: 0, bicycles };
  const { url } = await openServer((response, { path }) => {
    if (!path.startsWith('/bicycles/')) return sendJson(response, 404, { detail: 'Not found.' });
    if (service.refusal !== 0)
      return sendJson(response, service.refusal, { detail: `not now ${service.refusal}` });
    return sendPage(response, service.bicycles, service.isShort ? { count: 9 } : {});
  });
  return { url, service };
}

test('--serve keeps serving the old feed when an update fails', async () => {
  const { url, service } = await openService();
  const out = join(folder, 'every');
  const flags = ['--every', '1s', '--serve', '0', '--json', '--retries', '0', '--out', out];
  const running = startFleet(['gbfs', '--system', system, ...flags], {
    env: { ...env, FLEET_BASE_URL: url },
  });
  const ofEvent = (name: string): { vehicles?: number; message?: string; url?: string }[] =>
    running.objects().filter(({ event }) => event === name);
  await running.until(() => ofEvent('published').length > 0);
  expect(ofEvent('published')[0]).toMatchObject({ vehicles: 3, source: 'list', ttl_s: 1 });
  const base = String(ofEvent('serving')[0]?.url).replace(/gbfs\.json$/, '');
  const file = `${base}vehicle_status.json`;
  const fetched = await fetch(file);
  expect(fetched.status).toBe(200);
  expect(((await fetched.json()) as Documents)['data'].vehicles).toHaveLength(3);
  expect((await fetch(file, { method: 'POST' })).status).toBe(405);
  const none = await fetch(`${base}../secret`);
  expect([none.status, await none.text()]).toEqual([
    404,
    expect.stringContaining('/vehicle_status.json\n/'),
  ]);
  const whole = request({ port: new URL(base).port, path: file }).end();
  const [proxied] = (await once(whole, 'response')) as [IncomingMessage];
  expect(proxied.resume().statusCode).toBe(200);
  const head = await fetch(file, { method: 'HEAD' });
  expect([head.status, await head.text()]).toEqual([200, '']);
  // The ETag depends only on the text: a repeated request with the tag gets 304 until the feed
  // changes.
  const tag = (await fetch(`${base}system_information.json`)).headers.get('etag') ?? '';
  expect(tag).toMatch(/^"[\w-]+"$/);

  service.isShort = true;
  await running.until(() => ofEvent('failed').length > 0);
  expect(ofEvent('failed')[0]?.message).toMatch(
    /not published: .*missing.*; the old one stays, .* old \(ttl 1 s\)/,
  );
  const [before] = [await (await fetch(file)).text()];
  const known = (await fetch(file)).headers.get('etag') ?? '';
  expect((await fetch(file, { headers: { 'if-none-match': `"x", W/${known}` } })).status).toBe(304);
  for (const [tags, status] of [
    ['*', 304],
    ['"a*b"', 200],
    [`"x${known.slice(1)}`, 200],
  ] as const)
    expect((await fetch(file, { headers: { 'if-none-match': tags } })).status).toBe(status);
  expect(readFileSync(join(out, 'vehicle_status.json'), 'utf8')).toBe(before);

  service.isShort = false;
  // A gateway may temporarily refuse requests that it accepted before.
  for (const status of [401, 403, 404]) {
    service.refusal = status;
    await running.until(() =>
      ofEvent('failed').some(({ message }) => message?.includes(`not now ${status}`)),
    );
  }
  service.refusal = 0;
  service.bicycles.pop();
  await running.until(() => ofEvent('published').some(({ vehicles }) => vehicles === 2));
  expect(((await (await fetch(file)).json()) as Documents)['data'].vehicles).toHaveLength(2);
  expect((await running.stop()).code).toBe(130);
  expect(await problemsOf(readDocuments(out))).toEqual({});
});

test('keeps the old feed when the list is incomplete or cannot be read', async () => {
  const { out } = await publish();
  const old = readFileSync(join(out, 'gbfs.json'), 'utf8');
  const { url, service } = await openService();
  service.isShort = true;
  const args = ['gbfs', '--out', out, '--system', system, '--retries', '0'];
  const short = await runFleet(args, { env: { ...env, FLEET_BASE_URL: url } });
  expect(short.code).toBe(9);
  expect(short.stderr).toMatch(
    /the feed was not published: .*missing.*; the old one stays, \d+ m?s old \(ttl 1 min\)/,
  );
  const nobody = { ...env, FLEET_BASE_URL: 'http://127.0.0.1:1' };
  expect((await runFleet(args, { env: nobody })).code).toBe(8);
  const later = { env: nobody, now: () => Date.now() + 71_000 };
  expect((await runFleet(args, later)).code).toBe(9);
  expect(readFileSync(join(out, 'gbfs.json'), 'utf8')).toBe(old);
  expect(readdirSync(out).filter((name) => !name.endsWith('.json'))).toEqual([]);
  const check = (now: () => number) => runFleet(['gbfs', '--check', '--out', out], { env, now });
  expect((await check(() => Date.now() + 50_000)).code).toBe(0);
  expect((await check(() => Date.now() + 71_000)).code).toBe(9);
  expect((await runFleet(['gbfs', '--check', '--out', join(folder, 'none')], { env })).code).toBe(
    9,
  );
});

// Tests with random fleets.

const ORGANIZATION = 'a087eaf3-00b3-49c9-8706-c4ebfb2627fd';
const text = fc.oneof(
  fc.constantFrom(...HOSTILE),
  anyText({ maxLength: 20 }),
  fc.constantFrom(null, '', 7),
);
const number = fc.oneof(
  fc.double({ min: -200, max: 200 }),
  fc.double().map(String),
  fc.constantFrom(null, undefined, '', 'x', true, [], -0, '52.50', 1e-7),
);
const time = fc.oneof(
  fc
    .date({ min: new Date('2010-01-01'), max: new Date('2040-01-01'), noInvalidDate: true })
    .map((date) => date.toISOString()),
  text,
);
const mostly = <T, U>(often: fc.Arbitrary<T>, seldom: fc.Arbitrary<U>) =>
  fc.oneof<[fc.WeightedArbitrary<T>, fc.WeightedArbitrary<U>]>(
    { weight: 9, arbitrary: often },
    { weight: 1, arbitrary: seldom },
  );
const bicycle = fc.record(
  {
    uuid: mostly(fc.uuid(), text),
    name: text,
    serial_number: text,
    bleid: text,
    description: text,
    note: text,
    bicycle_model_name: text,
    state: mostly(
      fc.constantFrom('available', 'reserved', 'in_maintenance'),
      fc.oneof(fc.constantFrom('rented', 'lost', 'retired', 'broken'), text),
    ),
    latitude: mostly(fc.double({ min: -90, max: 90, noNaN: true }), number),
    longitude: mostly(fc.double({ min: -180, max: 180, noNaN: true }), number),
    state_of_charge: mostly(fc.integer({ min: 0, max: 100 }), number),
    latest_gps_timestamp: time,
    last_cellular_update: time,
    modified: time,
    model: fc.oneof(fc.constantFrom('/bicycle_models/1/', '/bicycle_models/2/'), text),
    organization: mostly(fc.constantFrom(ORGANIZATION, null), fc.oneof(text, fc.uuid())),
  },
  { requiredKeys: ['uuid', 'state', 'latitude', 'longitude'] },
);
const ring = fc.array(fc.tuple(number, number), { maxLength: 6 });
const zone = fc.record({
  type: fc.oneof(fc.constantFrom('service_area', 'Service area'), text),
  name: text,
  polygon: fc.oneof(
    fc.record({ type: fc.constant('Polygon'), coordinates: fc.array(ring, { maxLength: 2 }) }),
    fc
      .tuple(fc.integer({ min: -170, max: 170 }), fc.integer({ min: -80, max: 80 }), fc.boolean())
      .map(([x, y, isTurned]) => {
        const box = [
          [x, y],
          [x + 2, y],
          [x + 2, y + 1],
          [x, y + 1],
          [x, y],
        ];
        return { type: 'MultiPolygon', coordinates: [[isTurned ? box.reverse() : box]] };
      }),
    text,
  ),
});

test('feeds of random fleets are valid and contain no hostile names', async () => {
  const fleets = fc.record({
    bicycles: fc.array(bicycle, { maxLength: 12 }),
    zones: fc.array(zone, { maxLength: 4 }),
    version: fc.constantFrom(...FEED_VERSIONS),
    range: fc.constantFrom(undefined, 1, 60_000),
    withDisabled: fc.boolean(),
    maxAgeMs: fc.constantFrom(undefined, 3_600_000),
  });
  let published = 0;
  const numRuns = often(100);
  await fc.assert(
    fc.asyncProperty(
      fleets,
      async ({ bicycles, zones, version, range, withDisabled, maxAgeMs }) => {
        const vehicles: Vehicles = { all: new Map(), leftOut: {} };
        let ids = 0;
        const selection: FeedSelection = {
          organization: ORGANIZATION,
          nowMs: Date.parse('2026-11-22T12:00:00Z'),
          maxAgeMs,
          withDisabled,
          rangeOf: ({ model }) => (model === '/bicycle_models/1/' ? 40_000 : range),
        };
        for (const each of bicycles) {
          const idOf = () => `id-${ids++}`;
          addVehicle(vehicles, each as Bicycle, selection, { idOf, sinceMs: undefined });
        }
        const { areas } = areasOf(zones, ORGANIZATION);
        const files = drawFeed({
          version,
          system: SYSTEM,
          vehicles: [...vehicles.all],
          ranges: [40_000, range],
          areas,
          updatedMs: selection.nowMs,
          ttlMs: 60_000,
        });
        const documents: Documents = {};
        for (const [name, document] of files)
          documents[name.replace('.json', '')] = JSON.parse(JSON.stringify(document));
        expect(await problemsOf(documents)).toEqual({});
        published += vehicles.all.size;
        const leftOut = Object.values(vehicles.leftOut).reduce((sum, count) => sum + count, 0);
        expect(vehicles.all.size + leftOut).toBe(bicycles.length);
        const all = JSON.stringify(files);
        for (const { name, serial_number: serial } of bicycles)
          for (const told of [name, serial])
            if (typeof told === 'string' && told.length > 3)
              expect(all).not.toContain(JSON.stringify(told).slice(1, -1));
      },
    ),
    { numRuns },
  );
  // Random fleets vary too much for a larger bound: in 25 runs the smallest feed had 10 bicycles.
  expect(published).toBeGreaterThan(0);
});
