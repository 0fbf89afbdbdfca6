// Tests the lists of bicycles and alerts against interface.md sections 2.6, 4.1 and 4.5 with fetch.
import { expect, test } from 'vitest';
import type { Role } from '../../src/sandbox/index.js';
import { useSandbox, withSandbox } from '../support/sandbox.js';
import { type Answer, ask, askAll, type Item, linkOf, UNKNOWN, uuidsOf } from './ask.js';

const sandbox = useSandbox({ service: 'interface' });
/** Large pages for tests of the order. */
const largePages = useSandbox({ service: 'interface', pageSize: 100 });

function get(path: string, role: Role = 'fleet_operator', organization?: string): Promise<Answer> {
  return ask(sandbox(), path, {
    token: organization === undefined ? { role } : { role, organization },
  });
}

const all = (path: string, role: Role = 'fleet_operator') =>
  askAll(largePages(), path, { token: { role } });
const organization = (index: number) => sandbox().organizations[index]?.uuid ?? '';

test('each page has absolute links with all parameters', async () => {
  const base = sandbox().baseUrl;
  const first = (await get('/bicycles/')).body;
  expect(first).toEqual({
    count: 500,
    next: `${base}/bicycles/?page=2`,
    previous: null,
    results: expect.any(Array),
  });
  expect(first['results']).toHaveLength(20);
  const last = (await get('/bicycles/?page=25')).body;
  expect([last['next'], last['previous']]).toEqual([null, `${base}/bicycles/?page=24`]);
  const query = `organization=${organization(0)}&ordering=-modified&bbox=180%2C90%2C-180%2C-90`;
  const second = (await get(`/bicycles/?${query}&page=2&unknown=x`)).body;
  expect(second['next']).toBe(`${base}/bicycles/?${query}&page=3&unknown=x`);
  expect(second['previous']).toBe(`${base}/bicycles/?${query}&unknown=x`);
  expect(uuidsOf(await askAll(sandbox(), '/bicycles/'))).toEqual(uuidsOf(sandbox().bicycles()));
});

test.each([
  [
    '/bicycles/',
    'uuid created latitude longitude latest_gps_accuracy latest_gps_timestamp state_of_charge name description model bleid device_type lock image_url serial_number state modified',
  ],
  [
    '/alerts/',
    'uuid created modified roles user causality alert_type message extra bicycle organization url state',
  ],
])('returns the documented fields for %s', async (path, fields) => {
  const [item = {}] = (await get(path)).body['results'] as object[];
  expect(Object.keys(item).sort()).toEqual(fields.split(' ').sort());
});

test('filters by organization from the query or the token', async () => {
  const own = uuidsOf(sandbox().bicycles(organization(1)));
  const token = { organization: organization(1) };
  expect(
    uuidsOf(await askAll(sandbox(), `/bicycles/?organization=${organization(1).toUpperCase()}`)),
  ).toEqual(own);
  expect(uuidsOf(await askAll(sandbox(), '/bicycles/', { token }))).toEqual(own);
  for (const wanted of [organization(0), UNKNOWN])
    expect(await askAll(sandbox(), `/bicycles/?organization=${wanted}`, { token })).toEqual([]);
  for (const asking of [{ token }, {}])
    for (const alert of await askAll(sandbox(), `/alerts/?organization=${organization(1)}`, asking))
      expect(alert['organization']).toBe(linkOf(sandbox(), 1));
});

test('combines the zone filter with other filters', async () => {
  for (const { uuid, name, organization: owner, box } of largePages().zones) {
    const corners = [box.east, box.north, box.west, box.south].join(',');
    const inBox = uuidsOf(await all(`/bicycles/?organization=${owner}&bbox=${corners}`));
    expect(inBox.length, name).toBeGreaterThan(0);
    expect(uuidsOf(await all(`/bicycles/?zone=${uuid}`))).toEqual(inBox);
    const half = uuidsOf(
      await all(`/bicycles/?zone=${uuid}&bbox=${box.east},90,${box.west},52.52`),
    );
    expect(half).toEqual(
      inBox.filter((each) => Number(largePages().bicycle(each)?.latitude) >= 52.52),
    );
  }
  const foreign = sandbox().zones.find((zone) => zone.organization === organization(1));
  const refused = await get(`/bicycles/?organization=${organization(0)}&zone=${foreign?.uuid}`);
  expect([refused.status, refused.text]).toEqual([
    400,
    expect.stringContaining('must belong to the same organization'),
  ]);
});

test.each([
  ...[
    'uuid',
    'latitude',
    'latest_gps_timestamp',
    'state_of_charge',
    'image_url',
    'state',
    'modified',
  ].map((field) => ['/bicycles/', field]),
  ...['created', 'modified', 'alert_type', 'message'].map((field) => ['/alerts/', field]),
])('%s: orders by %s in both directions, with empty values last', async (path = '', field = '') => {
  const numeric = ['latitude', 'state_of_charge'].includes(field);
  for (const sign of ['', '-']) {
    const values = (await all(`${path}?ordering=${sign}${field}`)).map((item) => item[field]);
    const present = values
      .filter((value) => value !== null)
      .map((value) => (numeric ? Number(value) : String(value)));
    expect(values.slice(present.length).every((value) => value === null)).toBe(true);
    const ascending = [...present].sort((left, right) =>
      left < right ? -1 : left > right ? 1 : 0,
    );
    expect(present).toEqual(sign === '' ? ascending : ascending.reverse());
  }
});

test('the order -modified puts the latest change first', () =>
  withSandbox(
    { service: 'interface', bicycles: 50, now: () => Date.UTC(2026, 0, 1) },
    async (still) => {
      const list = () => askAll(still, '/bicycles/?ordering=-modified');
      await list();
      const changed = uuidsOf(still.bicycles()).slice(10, 20);
      for (const uuid of changed) still.changeBicycle(uuid, { description: 'changed' });
      const items = await list();
      expect(uuidsOf(items).slice(0, 10)).toEqual([...changed].reverse());
      const times = items.map(({ modified }) => String(modified));
      expect(times).toEqual([...new Set(times)].sort().reverse());
    },
  ));

test('keeps the list in the requested order when bicycles are changed or created', () =>
  withSandbox({ service: 'interface', bicycles: 30, pageSize: 100 }, async (still) => {
    const byName = async () => uuidsOf(await askAll(still, '/bicycles/?ordering=name'));
    const last = (await byName()).at(-1) ?? '';
    still.changeBicycle(last, { name: '!first' });
    expect((await byName())[0]).toBe(last);
    const { uuid } = (
      await ask(still, '/bicycles/', { body: { name: '!!', organization: linkOf(still) } })
    ).body;
    expect((await byName()).slice(0, 2)).toEqual([uuid, last]);
  }));

test('shows renters only free bicycles and their own rentals', async () => {
  const [, , renter = '', another = ''] = largePages().users;
  const inState = (wanted: string) =>
    largePages()
      .bicycles()
      .filter(({ state }) => state === wanted);
  const uuid = inState('available')[0]?.uuid ?? '';
  largePages().act(uuid, 'rent', renter);
  const seen = new Set(uuidsOf(await all('/bicycles/', 'renter')));
  const own = inState('rented').filter((candidate) => seen.has(candidate.uuid));
  expect(uuidsOf(own)).toContain(uuid);
  expect(seen.size).toBe(500 - inState('rented').length + own.length);
  largePages().act(uuid, 'return');
  largePages().act(uuid, 'rent', another);
  expect(uuidsOf(await all('/bicycles/', 'renter'))).not.toContain(uuid);
  expect(uuidsOf(await all('/bicycles/'))).toContain(uuid);
});

test.each<[string, Role, (alert: Item) => boolean]>([
  ['', 'admin', () => true],
  ['', 'renter', () => true],
  [
    'state=new&state=escalated',
    'fleet_operator',
    ({ state }) => state === 'new' || state === 'escalated',
  ],
  [
    'alert_type=lock.bat.low&alert_type=lock.shutdown&state=stopped',
    'fleet_operator',
    ({ alert_type, state }) =>
      ['lock.bat.low', 'lock.shutdown'].includes(String(alert_type)) && state === 'stopped',
  ],
])('returns alerts for the query %s and the role %s', async (query, role, fits) => {
  const expected = largePages()
    .alerts()
    .filter((alert) => alert.roles.includes(role) && fits(alert));
  expect(expected.length).toBeGreaterThan(0);
  expect(uuidsOf(await all(`/alerts/?${query}`, role))).toEqual(uuidsOf(expected));
});

test('returns the alerts of one bicycle, including new and changed ones', async () => {
  const uuid = sandbox().bicycles()[0]?.uuid ?? '';
  const raised = sandbox().raiseAlert(uuid, 'bicycle.lost_reported', { message: 'where is it?' });
  const newest = async (query: string) =>
    ((await get(`/alerts/?${query}`)).body['results'] as Item[])[0];
  expect(await newest(`ordering=-created&bicycle=${uuid}`)).toEqual(raised);
  for (const item of await askAll(sandbox(), `/alerts/?bicycle=${uuid}`))
    expect(item['bicycle']).toBe(`${sandbox().baseUrl}/bicycles/${uuid}/`);
  sandbox().changeAlert(raised.uuid, { state: 'resolved' });
  expect(await newest('ordering=-modified&state=resolved')).toEqual(sandbox().alert(raised.uuid));
});

test.each(['/bicycles/', '/alerts/'])(
  '%s: answers 404 for pages that do not exist',
  async (path) => {
    for (const wrong of ['0', '-1', 'x', '', '1.5', '9999']) {
      const { status, body } = await get(`${path}?page=${wrong}`);
      expect([status, body]).toEqual([
        404,
        { detail: [{ message: 'Invalid page.', code: 'not_found' }] },
      ]);
    }
  },
);

test('an empty list has one empty page', async () => {
  expect((await get('/bicycles/?bbox=1,1,0,0')).body).toEqual({
    count: 0,
    next: null,
    previous: null,
    results: [],
  });
  expect((await get('/bicycles/?bbox=1,1,0,0&page=2')).status).toBe(404);
});

test.each([
  ['/bicycles/?organization=x', 'organization'],
  ['/bicycles/?zone=x', 'zone'],
  ['/bicycles/?bbox=1,2,3', 'bbox'],
  ['/bicycles/?bbox=1e-5,2,0,0', 'bbox'],
  ['/bicycles/?bbox=13,52,14,53', 'bbox'],
  ['/bicycles/?bbox=181,2,0,0', 'bbox'],
  ['/bicycles/?bbox=1,91,0,0', 'bbox'],
  ['/bicycles/?ordering=--name', 'ordering'],
  ['/bicycles/?ordering=', 'ordering'],
  ['/alerts/?state=new,stopped', 'state'],
  ['/alerts/?alert_type=lock', 'alert_type'],
  ['/alerts/?ordering=roles', 'ordering'],
])('rejects the parameter %s and mentions it in the error', async (path, parameter) => {
  const { status, body } = await get(path);
  const reason = { message: expect.any(String), code: expect.any(String) };
  expect([status, body]).toEqual([400, { detail: { [parameter]: [reason] } }]);
});

test('adds the path prefix to paths and links', () =>
  withSandbox({ service: 'interface', prefix: '/api', bicycles: 30 }, async (prefixed) => {
    expect(prefixed.baseUrl).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/api$/);
    const { next, results } = (await ask(prefixed, '/bicycles/')).body as {
      next: string;
      results: Item[];
    };
    expect(next).toBe(`${prefixed.baseUrl}/bicycles/?page=2`);
    expect(results[0]?.['model']).toContain(`${prefixed.baseUrl}/bicycle_models/`);
    expect((await ask(prefixed, new URL('/bicycles/', prefixed.baseUrl).href)).status).toBe(404);
  }));
