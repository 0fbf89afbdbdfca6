// The lists of bicycles and alerts against interface.md sections 2.6, 4.1 and 4.5, with plain fetch.
import { expect, test } from 'vitest';
import type { Role } from '../../src/sandbox/index.js';
import { useSandbox, withSandbox } from '../support/sandbox.js';

interface Item {
  uuid: string;
  [field: string]: unknown;
}

interface Page {
  count: number;
  next: string | null;
  previous: string | null;
  results: Item[];
}

const sandbox = useSandbox({ service: 'interface' });
/** Where order counts and pages do not. */
const largePages = useSandbox({ service: 'interface', pageSize: 100 });

async function get(path: string, role: Role = 'fleet_operator', organization?: string): Promise<Response> {
  const claims = organization === undefined ? { role } : { role, organization };
  const { baseUrl, token } = path.startsWith(largePages().baseUrl) ? largePages() : sandbox();
  const url = path.startsWith('http') ? path : `${baseUrl}${path}`;
  return fetch(url, { headers: { Authorization: `JWT ${await token(claims)}` }, redirect: 'manual' });
}

async function page(path: string, role?: Role, organization?: string): Promise<Page> {
  const response = await get(path, role, organization);
  expect(response.status, path).toBe(200);
  return (await response.json()) as Page;
}

async function all(path: string, role?: Role, organization?: string): Promise<Item[]> {
  const items: Item[] = [];
  let total = 0;
  for (let next: string | null = path; next !== null; ) {
    const { results, count, next: following } = await page(next, role, organization);
    items.push(...results);
    total = count;
    next = following;
  }
  expect(items).toHaveLength(total);
  return items;
}

const organization = (index: number) => sandbox().organizations[index]?.uuid ?? '';
const uuids = (items: { uuid: string }[]) => items.map(({ uuid }) => uuid);

test('the envelope of the first, a middle and the last page, with absolute links', async () => {
  const base = sandbox().baseUrl;
  const first = await page('/bicycles/');
  expect(Object.keys(first)).toEqual(['count', 'next', 'previous', 'results']);
  expect([first.count, first.next, first.previous, first.results.length]).toEqual([
    500,
    `${base}/bicycles/?page=2`,
    null,
    20,
  ]);
  const second = await page('/bicycles/?page=2');
  expect([second.next, second.previous]).toEqual([`${base}/bicycles/?page=3`, `${base}/bicycles/`]);
  const last = await page('/bicycles/?page=25');
  expect([last.next, last.previous, last.results.length]).toEqual([null, `${base}/bicycles/?page=24`, 20]);
});

test('next and previous keep the other parameters', async () => {
  const query = `organization=${organization(0)}&ordering=-modified&bbox=180%2C90%2C-180%2C-90`;
  const { next, previous } = await page(`/bicycles/?${query}&page=2&unknown=x`);
  expect(next).toBe(`${sandbox().baseUrl}/bicycles/?${query}&page=3&unknown=x`);
  expect(previous).toBe(`${sandbox().baseUrl}/bicycles/?${query}&unknown=x`);
  const alerts = await page('/alerts/?state=new&state=escalated');
  expect(alerts.next).toBe(`${sandbox().baseUrl}/alerts/?state=new&state=escalated&page=2`);
});

test('following next gives every bicycle once', async () => {
  expect(uuids(await all('/bicycles/'))).toEqual(uuids(sandbox().bicycles()));
});

test('a bicycle has the fields of section 2.1, with absolute links', async () => {
  const [bicycle] = (await page('/bicycles/')).results;
  expect(Object.keys(bicycle ?? {}).sort()).toEqual(
    [
      ...['uuid', 'created', 'latitude', 'longitude', 'latest_gps_accuracy', 'latest_gps_timestamp', 'state_of_charge'],
      ...['name', 'description', 'model', 'bleid', 'device_type', 'lock', 'image_url', 'serial_number', 'state'],
      'modified',
    ].sort(),
  );
  for (const link of ['model', 'lock']) expect(String(bicycle?.[link])).toContain(`${sandbox().baseUrl}/`);
});

test('organization', async () => {
  expect(uuids(await all(`/bicycles/?organization=${organization(1)}`))).toEqual(
    uuids(sandbox().bicycles(organization(1))),
  );
  expect((await page(`/bicycles/?organization=${organization(0).toUpperCase()}`)).count).toBeGreaterThan(450);
  expect((await page('/bicycles/?organization=00000000-0000-4000-8000-000000000000')).count).toBe(0);
});

test('a token of one organization sees no other', async () => {
  const second = organization(1);
  const own = uuids(sandbox().bicycles(second));
  expect(uuids(await all('/bicycles/', 'fleet_operator', second))).toEqual(own);
  expect((await page(`/bicycles/?organization=${organization(0)}`, 'fleet_operator', second)).count).toBe(0);
  for (const alert of await all('/alerts/', 'admin', second)) {
    expect(alert['organization']).toBe(`${sandbox().baseUrl}/organizations/${second}/`);
  }
});

test.each([
  ['around Berlin', '14,53,13,52'],
  ['the whole earth', '180,90,-180,-90'],
  ['the west', '0,90,-180,-90'],
  ['the south', '180,0,-180,-90'],
  ['across the antimeridian', '-179.9,-16,179.9,-17'],
  ['across the antimeridian, nearly around', '13,90,14,-90'],
  ['a line', '13.4,90,13.4,-90'],
  ['nothing', '1,1,0,0'],
])('bbox %s', async (_, bbox) => {
  const [east = 0, north = 0, west = 0, south = 0] = bbox.split(',').map(Number);
  const inside = largePages()
    .bicycles()
    .filter(({ latitude, longitude }) => {
      if (latitude === null || longitude === null) return false;
      const [up, right] = [Number(latitude), Number(longitude)];
      const between = west <= east ? right >= west && right <= east : right >= west || right <= east;
      return up >= south && up <= north && between;
    });
  expect(uuids(await all(`${largePages().baseUrl}/bicycles/?bbox=${bbox}`))).toEqual(uuids(inside));
});

test('the box across the antimeridian holds bicycles of both sides', async () => {
  const items = await all('/bicycles/?bbox=-179.9,-16,179.9,-17');
  expect(items.some(({ longitude }) => Number(longitude) > 0)).toBe(true);
  expect(items.some(({ longitude }) => Number(longitude) < 0)).toBe(true);
});

test('zone: the bicycles inside, of the same organization', async () => {
  const list = `${largePages().baseUrl}/bicycles/`;
  for (const zone of largePages().zones) {
    const inBox = await all(`${list}?organization=${zone.organization}&bbox=${zone.bbox.join(',')}`);
    expect(inBox.length, zone.name).toBeGreaterThan(0);
    expect(uuids(await all(`${list}?zone=${zone.uuid}`))).toEqual(uuids(inBox));
    expect(uuids(await all(`${list}?zone=${zone.uuid}&organization=${zone.organization}`))).toEqual(uuids(inBox));
  }
});

test('filters hold together', async () => {
  const zone = sandbox().zones[0];
  const half = [zone?.bbox[0], 90, zone?.bbox[2], 52.52].join(',');
  const items = await all(`/bicycles/?zone=${zone?.uuid}&bbox=${half}&ordering=-latitude`);
  const latitudes = items.map(({ latitude }) => Number(latitude));
  expect(latitudes.length).toBeGreaterThan(0);
  expect(latitudes).toEqual([...latitudes].sort((left, right) => right - left));
  expect(Math.min(...latitudes)).toBeGreaterThanOrEqual(52.52);
});

test.each([
  'uuid',
  'created',
  'latitude',
  'longitude',
  'latest_gps_accuracy',
  'latest_gps_timestamp',
  'state_of_charge',
  'name',
  'description',
  'model',
  'bleid',
  'device_type',
  'lock',
  'image_url',
  'serial_number',
  'state',
  'modified',
])('ordering %s, up and down, those without a value last', async (field) => {
  const numeric = ['latitude', 'longitude', 'latest_gps_accuracy', 'state_of_charge'].includes(field);
  for (const sign of ['', '-']) {
    const values = (await all(`${largePages().baseUrl}/bicycles/?ordering=${sign}${field}`)).map((item) => item[field]);
    const present = values.filter((value) => value !== null).map((value) => (numeric ? Number(value) : String(value)));
    expect(values.slice(present.length).every((value) => value === null)).toBe(true);
    const ascending = [...present].sort((left, right) => (left < right ? -1 : left > right ? 1 : 0));
    expect(present).toEqual(sign === '' ? ascending : ascending.reverse());
  }
});

test('-modified shows the last change first, however fast changes come and whatever the clock does', () =>
  withSandbox({ service: 'interface', bicycles: 50, now: () => Date.UTC(2026, 0, 1) }, async (still) => {
    const headers = { Authorization: `JWT ${await still.token()}` };
    const list = async () =>
      (await (await fetch(`${still.baseUrl}/bicycles/?ordering=-modified`, { headers })).json()) as Page;
    await list();
    const changed = uuids(still.bicycles()).slice(10, 20);
    for (const uuid of changed) still.changeBicycle(uuid, { description: 'changed' });
    const { results } = await list();
    expect(uuids(results).slice(0, 10)).toEqual([...changed].reverse());
    const times = results.map(({ modified }) => String(modified));
    expect(new Set(times).size).toBe(times.length);
    expect(times).toEqual([...times].sort().reverse());
  }));

test('an order that has been asked for follows changes and creations', () =>
  withSandbox({ service: 'interface', bicycles: 30, pageSize: 100 }, async (still) => {
    const headers = { Authorization: `JWT ${await still.token()}`, 'Content-Type': 'application/json' };
    const byName = async () =>
      uuids(((await (await fetch(`${still.baseUrl}/bicycles/?ordering=name`, { headers })).json()) as Page).results);
    const last = (await byName()).at(-1) ?? '';
    still.changeBicycle(last, { name: '!first' });
    expect((await byName())[0]).toBe(last);
    const body = JSON.stringify({
      name: '!!',
      organization: `${still.baseUrl}/organizations/${still.organizations[0]?.uuid}/`,
    });
    const created = (await (
      await fetch(`${still.baseUrl}/bicycles/`, { method: 'POST', headers, body })
    ).json()) as Item;
    expect((await byName()).slice(0, 2)).toEqual([created.uuid, last]);
    expect(await byName()).toHaveLength(31);
  }));

test('a renter sees what nobody rents and what is rented by himself', async () => {
  const list = `${largePages().baseUrl}/bicycles/`;
  const [, , renter = '', another = ''] = largePages().users;
  const [bicycle] = largePages()
    .bicycles()
    .filter(({ state }) => state === 'available');
  const uuid = bicycle?.uuid ?? '';
  largePages().act(uuid, 'rent', renter);
  const rented = largePages()
    .bicycles()
    .filter(({ state }) => state === 'rented');
  const seen = new Set(uuids(await all(list, 'renter')));
  const own = rented.filter((candidate) => seen.has(candidate.uuid));
  expect(uuids(own)).toContain(uuid);
  expect(own.length).toBeLessThan(rented.length);
  expect(seen.size).toBe(500 - rented.length + own.length);
  largePages().act(uuid, 'return');
  largePages().act(uuid, 'rent', another);
  expect(uuids(await all(list, 'renter'))).not.toContain(uuid);
  expect(uuids(await all(list, 'fleet_operator'))).toContain(uuid);
});

test('alerts have the fields of section 2.2', async () => {
  const [alert] = (await page('/alerts/')).results;
  expect(Object.keys(alert ?? {}).sort()).toEqual(
    [
      ...['uuid', 'created', 'modified', 'roles', 'user', 'causality', 'alert_type', 'message', 'extra', 'bicycle'],
      ...['organization', 'url', 'state'],
    ].sort(),
  );
});

test.each<[string, (alert: Item) => boolean]>([
  ['state=new', ({ state }) => state === 'new'],
  ['state=new&state=escalated', ({ state }) => state === 'new' || state === 'escalated'],
  ['alert_type=lock.bat.low', ({ alert_type }) => alert_type === 'lock.bat.low'],
  [
    'alert_type=lock.bat.low&alert_type=lock.shutdown&state=stopped',
    ({ alert_type, state }) => ['lock.bat.low', 'lock.shutdown'].includes(String(alert_type)) && state === 'stopped',
  ],
])('alerts: %s', async (query, fits) => {
  const expected = sandbox()
    .alerts()
    .filter((alert) => alert.roles.includes('fleet_operator') && fits(alert));
  expect(expected.length).toBeGreaterThan(0);
  expect(uuids(await all(`/alerts/?${query}`))).toEqual(uuids(expected));
});

test('alerts of one bicycle and of one organization', async () => {
  const base = sandbox().baseUrl;
  const [alert] = sandbox().alerts();
  const bicycle = String(alert?.bicycle).split('/').at(-2) ?? '';
  for (const item of await all(`/alerts/?bicycle=${bicycle}`, 'admin'))
    expect(item['bicycle']).toBe(`${base}/bicycles/${bicycle}/`);
  for (const index of [0, 1]) {
    const items = await all(`/alerts/?organization=${organization(index)}`);
    expect(items.length).toBeGreaterThan(0);
    for (const item of items) expect(item['organization']).toBe(`${base}/organizations/${organization(index)}/`);
  }
});

test.each(['created', 'modified', 'alert_type', 'state', 'message'])(
  'alerts: ordering %s, up and down',
  async (field) => {
    const values = (await all(`/alerts/?ordering=${field}`)).map((item) => String(item[field]));
    expect(values).toEqual([...values].sort((left, right) => (left < right ? -1 : left > right ? 1 : 0)));
    const down = (await all(`/alerts/?ordering=-${field}`)).map((item) => String(item[field]));
    expect(down).toEqual([...values].reverse());
  },
);

test.each(['admin', 'fleet_operator', 'renter'] as const)('%s sees the alerts whose roles say so', async (role) => {
  const expected = sandbox()
    .alerts()
    .filter(({ roles }) => roles.includes(role));
  expect(expected.length).toBeGreaterThan(0);
  expect(expected.length).toBeLessThan(sandbox().alerts().length);
  expect(uuids(await all('/alerts/', role))).toEqual(uuids(expected));
});

test('a raised alert, a changed one', async () => {
  const [bicycle] = sandbox().bicycles();
  const raised = sandbox().raiseAlert(bicycle?.uuid ?? '', 'bicycle.lost_reported', { message: 'where is it?' });
  expect((await page('/alerts/?ordering=-created')).results[0]).toEqual(raised);
  sandbox().changeAlert(raised.uuid, { state: 'resolved' });
  expect((await page('/alerts/?ordering=-modified&state=resolved')).results[0]).toEqual(sandbox().alert(raised.uuid));
});

const INVALID_PAGE = { detail: { non_field_errors: [{ message: 'Invalid page.', code: 'not_found' }] } };

test.each(['/bicycles/', '/alerts/'])('%s: pages that are not there', async (path) => {
  for (const wrong of ['0', '-1', 'x', '', '1.5', '1,2', 'last', '9999']) {
    const response = await get(`${path}?page=${wrong}`);
    expect([response.status, await response.json()], wrong).toEqual([404, INVALID_PAGE]);
  }
});

test('the first page of nothing is empty, the second is not there', async () => {
  expect(await page('/bicycles/?bbox=1,1,0,0')).toEqual({ count: 0, next: null, previous: null, results: [] });
  expect((await get('/bicycles/?bbox=1,1,0,0&page=2')).status).toBe(404);
});

test.each([
  ['/bicycles/?organization=x', 'organization'],
  ['/bicycles/?organization=', 'organization'],
  ['/bicycles/?zone=x', 'zone'],
  ['/bicycles/?zone=00000000-0000-4000-8000-000000000000', 'zone'],
  ['/bicycles/?bbox=', 'bbox'],
  ['/bicycles/?bbox=1,2,3', 'bbox'],
  ['/bicycles/?bbox=1,2,3,4,5', 'bbox'],
  ['/bicycles/?bbox=1,2,3,x', 'bbox'],
  ['/bicycles/?bbox=1e-5,2,0,0', 'bbox'],
  ['/bicycles/?bbox=13,52,14,53', 'bbox'],
  ['/bicycles/?bbox=181,2,0,0', 'bbox'],
  ['/bicycles/?bbox=1,91,0,0', 'bbox'],
  ['/bicycles/?ordering=colour', 'ordering'],
  ['/bicycles/?ordering=--name', 'ordering'],
  ['/bicycles/?ordering=', 'ordering'],
  ['/alerts/?organization=x', 'organization'],
  ['/alerts/?bicycle=x', 'bicycle'],
  ['/alerts/?state=old', 'state'],
  ['/alerts/?state=new,stopped', 'state'],
  ['/alerts/?state=new&state=x', 'state'],
  ['/alerts/?alert_type=lock', 'alert_type'],
  ['/alerts/?ordering=roles', 'ordering'],
])('%s is refused, naming the parameter', async (path, parameter) => {
  const response = await get(path);
  expect(response.status).toBe(400);
  const { detail } = (await response.json()) as { detail: { [field: string]: unknown } };
  expect(detail).toEqual({ [parameter]: [{ message: expect.any(String), code: expect.any(String) }] });
});

test('a zone of the other organization is refused', async () => {
  const zone = sandbox().zones.find((candidate) => candidate.organization === organization(1));
  const response = await get(`/bicycles/?organization=${organization(0)}&zone=${zone?.uuid}`);
  expect(response.status).toBe(400);
  expect(await response.text()).toContain('The zone must belong to the same organization as the bicycles.');
});

test('a prefix stands in front of paths and links', () =>
  withSandbox({ service: 'interface', prefix: '/api', bicycles: 30 }, async (prefixed) => {
    expect(prefixed.baseUrl).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/api$/);
    const headers = { Authorization: `JWT ${await prefixed.token()}` };
    const first = (await (await fetch(`${prefixed.baseUrl}/bicycles/`, { headers })).json()) as Page;
    expect(first.next).toBe(`${prefixed.baseUrl}/bicycles/?page=2`);
    expect(first.results[0]?.['model']).toContain(`${prefixed.baseUrl}/bicycle_models/`);
    expect((await fetch(new URL('/bicycles/', prefixed.baseUrl), { headers })).status).toBe(404);
  }));
