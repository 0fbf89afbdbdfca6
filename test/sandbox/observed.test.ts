// What the sandbox does beyond interface.md, as a running service of this kind was observed to do, and that `service: 'interface'` does none of it.
import { expect, test } from 'vitest';
import { type Sandbox, type ServedTransition, type TokenOptions, TRANSITION_TABLE } from '../../src/sandbox/index.js';
import { headersFor, useSandbox, withSandbox } from '../support/sandbox.js';

const sandbox = useSandbox({ bicycles: 60 });

interface Answer {
  status: number;
  headers: Headers;
  text: string;
  // Each test knows what it reads.
  body: { [field: string]: unknown };
}

type Asking = { method?: string; body?: unknown; token?: TokenOptions; own?: Sandbox; headers?: object };

async function ask(
  path: string,
  { method = 'GET', body, token, own = sandbox(), headers }: Asking = {},
): Promise<Answer> {
  const response = await fetch(path.startsWith('http') ? path : `${own.baseUrl}${path}`, {
    method,
    redirect: 'manual',
    headers: { ...(await headersFor(own, token)), 'Content-Type': 'application/json', ...headers },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  const isJson = response.headers.get('Content-Type')?.startsWith('application/json') === true && text !== '';
  return { status: response.status, headers: response.headers, text, body: isJson ? JSON.parse(text) : {} };
}

type Item = { uuid: string; [field: string]: unknown };

const results = async (path: string, asking?: Asking) => (await ask(path, asking)).body['results'] as Item[];
const uuids = (items: readonly { uuid: string }[]) => items.map(({ uuid }) => uuid);
const act = (uuid: string, body: object, asking: Asking = {}) =>
  ask(`/bicycles/${uuid}/actions/`, { method: 'POST', body, ...asking });

/** A bicycle put into a state, whatever the transitions say. */
function bicycleIn(state: string, own = sandbox()): string {
  const uuid = own.bicycles(own.organizations[0]?.uuid)[0]?.uuid ?? '';
  own.changeBicycle(uuid, { state });
  return uuid;
}

test('one bicycle at its own address', async () => {
  const uuid = bicycleIn('available');
  const { status, body } = await ask(`/bicycles/${uuid.toUpperCase()}/`);
  expect([status, body]).toEqual([200, sandbox().bicycle(uuid)]);
  expect(body).toMatchObject({
    short_id: uuid.slice(0, 8),
    url: `${sandbox().baseUrl}/bicycles/${uuid}/`,
    organization: `${sandbox().baseUrl}/organizations/${sandbox().organizations[0]?.uuid}/`,
  });
  const missing = await ask('/bicycles/00000000-0000-4000-8000-000000000000/');
  expect([missing.status, missing.body]).toEqual([
    404,
    { detail: [{ message: 'No Bicycle matches the given query.', code: 'not_found' }] },
  ]);
});

test('times have whole seconds; versions grow, not by one', async () => {
  const uuid = bicycleIn('available');
  const before = sandbox().bicycle(uuid);
  const [first, second] = [1, 2].map(
    () => sandbox().changeBicycle(uuid, { description: 'x' }).concurrency_version ?? 0,
  );
  expect(first).toBeGreaterThan(before?.concurrency_version ?? 0);
  expect(second).toBeGreaterThan(first ?? 0);
  for (const row of [...(await results('/bicycles/')), ...(await results('/alerts/'))]) {
    for (const field of ['created', 'modified']) expect(row[field]).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);
  }
});

test('PATCH changes what it names, keeps the rest, ignores the state, and is pushed', async () => {
  const uuid = bicycleIn('available');
  const before = sandbox().bicycle(uuid);
  const { status, body } = await ask(`/bicycles/${uuid}/`, {
    method: 'PATCH',
    body: { name: 'New name', note: 'n', state: 'lost', concurrency_version: before?.concurrency_version },
  });
  expect(status).toBe(200);
  expect(body).toEqual(sandbox().bicycle(uuid));
  const { modified, concurrency_version, ...rest } = before ?? {};
  expect(body).toMatchObject({ ...rest, name: 'New name', note: 'n', state: 'available' });
  expect(Number(body['concurrency_version'])).toBeGreaterThan(Number(concurrency_version));
  expect(JSON.parse(sandbox().pushLog.at(-1)?.message ?? '')).toMatchObject({ uuid, name: 'New name' });
});

test('PUT wants name and organization', async () => {
  const uuid = bicycleIn('available');
  const { name, organization }: { [field: string]: unknown } = sandbox().bicycle(uuid) ?? {};
  const bare = await ask(`/bicycles/${uuid}/`, { method: 'PUT', body: { description: 'x' } });
  expect(bare.status).toBe(400);
  expect(Object.keys(bare.body['detail'] as object)).toEqual(['name', 'organization']);
  const whole = await ask(`/bicycles/${uuid}/`, { method: 'PUT', body: { name, organization, description: 'put' } });
  expect([whole.status, whole.body['description']]).toEqual([200, 'put']);
});

test('a stale version is 409 and not carried out; none is not checked', async () => {
  const uuid = bicycleIn('available');
  const version = sandbox().bicycle(uuid)?.concurrency_version;
  sandbox().changeBicycle(uuid, { description: 'meanwhile' });
  const edit = (body: object) => ask(`/bicycles/${uuid}/`, { method: 'PATCH', body });
  const stale = await edit({ description: 'mine', concurrency_version: version });
  expect([stale.status, stale.body]).toEqual([
    409,
    { detail: { message: expect.stringContaining('Concurrent edition'), code: 'concurrent_edition' } },
  ]);
  expect(sandbox().bicycle(uuid)?.description).toBe('meanwhile');
  expect((await edit({ description: 'mine' })).status).toBe(200);
});

test('a lock changes in the workshop only; retire needs it unpaired, declare_available a device', async () => {
  const uuid = bicycleIn('available');
  const edit = (body: object) => ask(`/bicycles/${uuid}/`, { method: 'PATCH', body });
  expect((await edit({ lock: null })).body['detail']).toHaveProperty('lock');
  bicycleIn('in_maintenance');
  const refused = await act(uuid, { type: 'retire' });
  expect([refused.status, Object.keys(refused.body['detail'] as object)]).toEqual([400, ['actions']]);
  expect((await edit({ lock: null })).body).toMatchObject({ lock: null, devices: [] });
  expect((await act(uuid, { type: 'retire' })).status).toBe(200);
  sandbox().changeBicycle(uuid, { state: 'in_maintenance', device_type: null });
  expect((await act(uuid, { type: 'declare_available' })).text).toContain('no device');
  sandbox().changeBicycle(uuid, { device_type: 'lock', lock: `${sandbox().baseUrl}/locks/${uuid}/` });
});

test('a bicycle can move to another organization, and be deleted', () =>
  withSandbox({ bicycles: 30 }, async (own) => {
    const [first, second] = own.organizations.map(({ uuid }) => uuid);
    const uuid = own.bicycles(first)[3]?.uuid ?? '';
    const count = async (organization: string | undefined) =>
      (await ask(`/bicycles/?organization=${organization}`, { own })).body['count'];
    const before = [await count(first), await count(second)].map(Number);
    const organization = `${own.baseUrl}/organizations/${second}/`;
    expect((await ask(`/bicycles/${uuid}/`, { own, method: 'PATCH', body: { organization } })).body).toMatchObject({
      organization,
    });
    expect([await count(first), await count(second)]).toEqual([(before[0] ?? 0) - 1, (before[1] ?? 0) + 1]);
    expect((await ask(`/bicycles/${uuid}/`, { own, method: 'DELETE' })).status).toBe(204);
    expect((await ask(`/bicycles/${uuid}/`, { own })).status).toBe(404);
    expect(await count(second)).toBe(before[1]);
  }));

test('the history of transitions, the newest first, page by page', () =>
  withSandbox({ bicycles: 10 }, async (own) => {
    const uuid = bicycleIn('available', own);
    const operator = `${own.baseUrl}/users/${own.users[1]}/`;
    for (const type of ['take_over', 'declare_available', 'put_in_maintenance']) await act(uuid, { type }, { own });
    own.act(uuid, 'declare_lost');
    const { body } = await ask(`/bicycles/${uuid}/transitions/?page_size=2`, { own });
    expect(body).toMatchObject({
      next: expect.stringContaining('page=2'),
      results: [
        { state: 'lost', transition: 'declare_lost', by: null },
        { state: 'in_maintenance', transition: 'put_in_maintenance', by: operator },
      ],
    });
    expect(own.history(uuid).map(({ state }) => state)).toEqual([
      'available',
      'in_maintenance',
      'available',
      'in_maintenance',
      'lost',
    ]);
    for (const { timestamp } of own.history(uuid)) expect(timestamp).toMatch(/:\d\dZ$/);
  }));

test.each<[string, (item: Item) => boolean]>([
  ['state=available', ({ state }) => state === 'available'],
  ['state=available,lost', ({ state }) => state === 'available' || state === 'lost'],
  ['state=available&state=reserved', ({ state }) => state === 'available' || state === 'reserved'],
  ['state__exclude=available,rented', ({ state }) => state !== 'available' && state !== 'rented'],
  ['query=SN0', ({ serial_number }) => String(serial_number).includes('SN0')],
  ['query=emmy', ({ name }) => String(name).toLowerCase().includes('emmy')],
  [
    'min_state_of_charge=50&max_state_of_charge=70',
    ({ state_of_charge }) => Math.abs(Number(state_of_charge ?? 0) - 60) <= 10,
  ],
  ['device_type=lock', ({ device_type }) => device_type === 'lock'],
  ['has_lock=false', ({ lock }) => lock === null],
])('bicycles: %s', async (query, fits) => {
  const items = await results(`/bicycles/?${query}&page_size=100&ordering=uuid`);
  const expected = sandbox()
    .bicycles()
    .filter((bicycle) => fits(bicycle as Item));
  expect(uuids(items)).toEqual(uuids(expected).sort());
});

test('pages: a size up to 100 that is cut silently, the last one by name, the newest first', () =>
  withSandbox({ bicycles: 130 }, async (own) => {
    const page = async (query: string) => (await ask(`/bicycles/?${query}`, { own })).body;
    expect(await results('/bicycles/?page_size=500', { own })).toHaveLength(100);
    expect(await results('/bicycles/?page_size=7', { own })).toHaveLength(7);
    expect(await results('/bicycles/?page_size=x', { own })).toHaveLength(20);
    const last = await page('page=last&page_size=50');
    expect([last['next'], (last['results'] as Item[]).length]).toEqual([null, 30]);
    const created = [await page('page_size=100'), await page('page_size=100&page=2')].flatMap((one) =>
      (one['results'] as Item[]).map((item) => String(item['created'])),
    );
    expect(created).toEqual([...created].sort().reverse());
    const organization = `${own.baseUrl}/organizations/${own.organizations[0]?.uuid}/`;
    const made = await ask('/bicycles/', { own, method: 'POST', body: { name: 'Newest', organization } });
    expect((await results('/bicycles/', { own }))[0]?.uuid).toBe(made.body['uuid']);
    const alerts = (await results('/alerts/', { own })).map((item) => String(item['created']));
    expect(alerts).toEqual([...alerts].sort().reverse());
  }));

test.each([
  ['created', 200],
  ['-modified', 200],
  ['state,-name', 200],
  ['-state,state_of_charge,uuid', 200],
  ['distance', 200],
  ['latitude', 400],
  ['latest_gps_accuracy', 400],
  ['name,description', 400],
  ['lock', 400],
  ['image_url', 400],
  ['colour', 400],
])('ordering=%s: %i', async (ordering, status) => {
  expect((await ask(`/bicycles/?ordering=${ordering}`)).status).toBe(status);
});

test('several orderings: the first counts most', async () => {
  const items = await results('/bicycles/?ordering=state,-name&page_size=100');
  const keys = items.map(({ state, name }) => [String(state), String(name)] as const);
  const sorted = [...keys].sort(([a, b], [c, d]) => (a < c ? -1 : a > c ? 1 : b < d ? 1 : b > d ? -1 : 0));
  expect(keys).toEqual(sorted);
});

test.each(['bleid', 'device_type'])('ordering=%s fails with a page of HTML', async (ordering) => {
  const { status, headers, text } = await ask(`/bicycles/?ordering=${ordering}`);
  expect([status, headers.get('Content-Type')]).toEqual([500, 'text/html; charset=utf-8']);
  expect(text).toContain('<title>Server Error (500)</title>');
});

test('bbox takes its corners in any order and adds a distance; an unknown zone is empty', async () => {
  const right = await results('/bicycles/?bbox=14,53,13,52&ordering=distance&page_size=100');
  expect(right.length).toBeGreaterThan(3);
  const distances = right.map(({ distance }) => Number(distance));
  expect(distances).toEqual([...distances].sort((left, other) => left - other));
  for (const bbox of ['13,52,14,53', '13,53,14,52', '14,52,13,53']) {
    expect(uuids(await results(`/bicycles/?bbox=${bbox}&ordering=distance&page_size=100`))).toEqual(uuids(right));
  }
  expect((await ask('/bicycles/?zone=00000000-0000-4000-8000-000000000000')).body['count']).toBe(0);
});

test('fields leaves the others out', async () => {
  const items = await results('/bicycles/?fields=uuid,name');
  expect(new Set(items.flatMap((item) => Object.keys(item)))).toEqual(new Set(['uuid', 'name']));
});

test('a refused transition names those that are available; an unknown one is not found', async () => {
  const uuid = bicycleIn('lost');
  expect((await act(uuid, { type: 'rent' })).body).toEqual({
    detail: {
      actions: [
        {
          message:
            "Action 'rent' not allowed from current state 'lost'. Available actions: declare_available, declare_unrecoverable, take_over, put_in_maintenance",
          code: 'not_allowed',
        },
      ],
    },
  });
  const unknown = await act(uuid, { type: 'fly' });
  expect([unknown.status, unknown.body]).toEqual([404, { detail: [{ message: 'Not found.', code: 'not_found' }] }]);
});

test('dry_run: 204 when it would be allowed, the refusal when not, and nothing changes', async () => {
  const uuid = bicycleIn('available');
  const before = sandbox().bicycle(uuid);
  const count = sandbox().actionCount(uuid);
  const allowed = await act(uuid, { type: 'rent', dry_run: true });
  expect([allowed.status, allowed.text]).toEqual([204, '']);
  expect((await act(uuid, { type: 'return', dry_run: true })).status).toBe(400);
  expect(sandbox().bicycle(uuid)).toEqual(before);
  expect(sandbox().actionCount(uuid)).toBe(count);
});

test('put_in_maintenance starts where nobody rides; permission is checked before the state', async () => {
  for (const state of ['available', 'lost', 'unrecoverable']) {
    const uuid = bicycleIn(state);
    expect((await act(uuid, { type: 'put_in_maintenance' })).body).toMatchObject({ state: 'in_maintenance' });
  }
  const rented = bicycleIn('rented');
  expect((await act(rented, { type: 'put_in_maintenance' })).status).toBe(400);
  expect((await act(bicycleIn('available'), { type: 'retire' }, { token: { role: 'renter' } })).status).toBe(403);
});

test('only who rents may return, one reservation or rental a renter', () =>
  withSandbox({ bicycles: 40 }, async (own) => {
    const [first = '', second = ''] = own
      .bicycles(own.organizations[0]?.uuid)
      .filter(({ state }) => state === 'available')
      .map(({ uuid }) => uuid);
    const token: TokenOptions = { role: 'renter', subject: own.users[20] ?? '' };
    for (const bicycle of own.bicycles()) if (bicycle['rental_session'] !== null) own.act(bicycle.uuid, 'return');
    expect((await act(first, { type: 'rent' }, { own, token })).status).toBe(200);
    expect((await act(second, { type: 'reserve' }, { own, token })).text).toContain('already');
    expect((await act(first, { type: 'return' }, { own })).status).toBe(403);
    expect((await act(first, { type: 'return' }, { own, token })).status).toBe(200);
    expect((await act(second, { type: 'rent', user: `${own.baseUrl}/users/${own.users[20]}/` }, { own })).status).toBe(
      200,
    );
    expect((await act(second, { type: 'return' }, { own, token })).status).toBe(200);
  }));

test('throttle: 429 for the same bicycle and user, after the date has moved on 200 again', () => {
  let now = Date.UTC(2026, 10, 21);
  return withSandbox(
    { bicycles: 10, now: () => now, faults: [{ kind: 'throttle', milliseconds: 5000 }] },
    async (own) => {
      const uuid = bicycleIn('available', own);
      expect((await act(uuid, { type: 'take_over' }, { own })).status).toBe(200);
      const again = await act(uuid, { type: 'take_over' }, { own });
      expect([again.status, again.headers.get('Retry-After')]).toEqual([429, '5']);
      expect((await act(uuid, { type: 'take_over' }, { own, token: { role: 'admin' } })).status).toBe(200);
      now += 5000;
      expect((await act(uuid, { type: 'take_over' }, { own })).status).toBe(200);
    },
  );
});

test('creation: an empty name, 128 characters at most, a name once in an organization', async () => {
  const organization = `${sandbox().baseUrl}/organizations/${sandbox().organizations[0]?.uuid}/`;
  const create = (name: string) => ask('/bicycles/', { method: 'POST', body: { name, organization } });
  for (const name of ['', '', '🚲'.repeat(128), 'Twin']) expect((await create(name)).status).toBe(201);
  expect((await create('x'.repeat(129))).body).toEqual({
    detail: { name: [{ message: expect.any(String), code: 'max_length' }] },
  });
  const twin = await create('Twin');
  expect([twin.status, twin.body]).toEqual([400, { detail: [{ message: expect.any(String), code: 'unique' }] }]);
});

test('a version in Accept is needed; a POST without its slash is sent on; unknown addresses are pages of HTML', async () => {
  for (const accept of ['application/json', '*/*']) {
    expect((await ask('/bicycles/', { headers: { Accept: accept } })).status).toBe(406);
  }
  const uuid = bicycleIn('available');
  const moved = await ask(`/bicycles/${uuid}/actions`, { method: 'POST', body: { type: 'rent' } });
  expect([moved.status, moved.headers.get('Location')]).toEqual([301, `/bicycles/${uuid}/actions/`]);
  const unknown = await ask('/bicycle/');
  expect([unknown.status, unknown.headers.get('Content-Type')]).toEqual([404, 'text/html; charset=utf-8']);
});

test('without a token, what open fleets have available; a bad token is 401', async () => {
  const Accept = 'application/json; version=1.0';
  const response = await fetch(`${sandbox().baseUrl}/bicycles/`, { headers: { Accept } });
  const { results: items } = (await response.json()) as { results: Item[] };
  expect(response.status).toBe(200);
  expect(uuids(items).sort()).toEqual(
    uuids(
      sandbox()
        .bicycles(sandbox().organizations[1]?.uuid)
        .filter(({ state }) => state === 'available'),
    ).sort(),
  );
  for (const path of ['/alerts/', '/organizations/']) {
    expect((await fetch(`${sandbox().baseUrl}${path}`, { headers: { Accept } })).status).toBe(401);
  }
  expect((await ask('/bicycles/', { headers: { Authorization: 'JWT x' } })).status).toBe(401);
});

test('tokens: log in, refresh, and the affiliations in the claims', async () => {
  const claims = (token: unknown) => JSON.parse(Buffer.from(String(token).split('.')[1] ?? '', 'base64url').toString());
  const [first = '', second = ''] = uuids(sandbox().organizations);
  const login = await ask('/jwt/login/', { method: 'POST', body: { email: 'operator@example.com', password: 'x' } });
  const payload = claims(login.body['token']);
  expect(payload.affs).toEqual({ [first]: ['fleet_operator'], [second]: ['fleet_operator'] });
  expect(payload.exp - payload.iat).toBeLessThanOrEqual(30 * 60 + 1);
  const refreshed = await ask('/jwt/refresh_token/', { method: 'POST', body: { token: login.body['token'] } });
  expect(refreshed.body['token']).not.toBe(login.body['token']);
  const Authorization = `JWT ${refreshed.body['token']}`;
  expect((await ask('/bicycles/', { headers: { Authorization } })).status).toBe(200);
  expect(claims(await sandbox().token({ organization: second })).affs).toEqual({
    [second]: ['admin', 'fleet_operator'],
  });
  const refused = await ask('/jwt/login/', {
    method: 'POST',
    body: { email: 'operator@example.com', password: 'wrong' },
  });
  expect(refused.status).toBe(400);
});

test.each(['organizations', 'zones', 'bicycle_models', 'locks', 'users'])('/%s/ and its items', async (name) => {
  const items = await results(`/${name}/?page_size=100`);
  expect(items.length).toBeGreaterThan(1);
  const [item] = items;
  expect((await ask(`/${name}/${item?.uuid}/`)).body).toEqual(item);
  expect((await ask(String(item?.['url']))).body).toEqual(item);
  expect((await ask(`/${name}/00000000-0000-4000-8000-000000000000/`)).status).toBe(404);
});

test('the filter name takes accents as they are, query leaves them out', () =>
  withSandbox({ bicycles: 3 }, async (own) => {
    const [bicycle] = own.bicycles();
    own.changeBicycle(bicycle?.uuid ?? '', { name: 'Zoë' });
    const found = async (query: string) => (await results(`/bicycles/?${query}`, { own })).map(({ uuid }) => uuid);
    expect(await found('name=zo%C3%AB')).toEqual([bicycle?.uuid]);
    expect(await found('name=zoe')).toEqual([]);
    expect(await found('query=zoe')).toEqual([bicycle?.uuid]);
  }));

test('/me/', async () => {
  expect((await ask('/me/')).body).toMatchObject({
    uuid: sandbox().users[1],
    username: 'operator',
    role: 'fleet_operator',
  });
});

test('alerts: the further types, those of zones without a bicycle, positions in micro-degrees', async () => {
  const zone = await results('/alerts/?alert_type=zone.high_threshold&page_size=100');
  expect(zone.length).toBeGreaterThan(0);
  for (const alert of zone) expect(alert).toMatchObject({ bicycle: null, extra: { zone_name: expect.any(String) } });
  const [stolen] = await results('/alerts/?alert_type=bicycle.bike_stolen');
  const extra = stolen?.['extra'] as { [property: string]: unknown };
  expect(extra).toMatchObject({ bicycle_state: expect.any(String), bicycle_model_name: expect.any(String) });
  const extras = (await results('/alerts/?page_size=100')).map(
    (alert) => alert['extra'] as { [property: string]: unknown },
  );
  const placed = extras.filter((one) => 'bicycle_gps_latitude' in one);
  expect(placed.length).toBeGreaterThan(0);
  for (const { bicycle_gps_latitude: latitude, bicycle_coordinates: coordinates } of placed) {
    expect(latitude).toBe(Math.round(Number((coordinates as number[])[1]) * 1e6));
  }
});

test.each<[string, string[], string[]]>([
  ['new', ['resolve', 'silence', 'escalate', 'stop'], []],
  ['escalated', ['resolve', 'silence', 'stop'], ['escalate']],
  ['silenced', ['stop'], ['resolve', 'silence', 'escalate']],
  ['resolved', [], ['resolve', 'silence', 'escalate', 'stop']],
  ['stopped', [], ['resolve', 'silence', 'escalate', 'stop']],
])('actions on an alert that is %s', async (state, allowed, refused) => {
  const targets: { [action: string]: string } = {
    resolve: 'resolved',
    silence: 'silenced',
    escalate: 'escalated',
    stop: 'stopped',
  };
  const { uuid } = sandbox().raiseAlert(bicycleIn('available'), 'lock.shutdown');
  for (const type of [...allowed, ...refused]) {
    sandbox().changeAlert(uuid, { state });
    const answer = await ask(`/alerts/${uuid}/actions/`, {
      method: 'POST',
      body: { type, severity: 'high', dry_run: true },
    });
    expect([type, answer.status]).toEqual([type, allowed.includes(type) ? 200 : 400]);
    expect(sandbox().alert(uuid)?.state).toBe(allowed.includes(type) ? targets[type] : state);
  }
  expect((await ask(`/alerts/${uuid}/actions/`, { method: 'POST', body: { type: 'fly' } })).status).toBe(404);
  expect((await ask(`/alerts/${uuid}/`)).body).toEqual(sandbox().alert(uuid));
});

test('the trace headers of another family', () =>
  withSandbox({ bicycles: 1, traceFamily: 'Velo' }, async (own) => {
    const { headers } = await ask('/bicycles/', { own });
    expect(headers.get('x-velo-requestid')).toBe(own.requests.at(-1)?.requestId);
    expect(headers.get('x-service-requestid')).toBeNull();
  }));

test('every transition leads where the table says, put_in_maintenance included', () => {
  const names = Object.keys(TRANSITION_TABLE) as ServedTransition[];
  expect(names).toContain('put_in_maintenance');
  expect(TRANSITION_TABLE.put_in_maintenance.from).not.toContain('rented');
});

test('a service that follows interface.md alone has none of it', () =>
  withSandbox({ service: 'interface', bicycles: 30 }, async (own) => {
    const uuid = bicycleIn('available', own);
    const get = (path: string, method = 'GET') => ask(path, { own, method, ...(method === 'GET' ? {} : { body: {} }) });
    expect((await get(`/bicycles/${uuid}/`)).status).toBe(404);
    expect((await get(`/bicycles/${uuid}/`, 'PATCH')).status).toBe(404);
    expect((await get(`/bicycles/${uuid}/`, 'PUT')).status).toBe(404);
    expect((await get(`/bicycles/${uuid}/transitions/`)).status).toBe(404);
    expect((await get('/organizations/')).status).toBe(404);
    expect((await get(`/alerts/${own.alerts()[0]?.uuid}/actions/`, 'POST')).status).toBe(404);
    expect((await get('/bicycles/?state=lost&query=x&page_size=3')).body).toMatchObject({ count: 30 });
    expect((await get('/bicycles/?ordering=latitude')).status).toBe(200);
    expect((await get('/bicycles/?ordering=state,name')).status).toBe(400);
    expect((await act(uuid, { type: 'put_in_maintenance' }, { own })).status).toBe(400);
    const [first] = await results('/bicycles/', { own });
    for (const field of ['concurrency_version', 'organization', 'short_id']) expect(first).not.toHaveProperty(field);
    expect(first?.['created']).toMatch(/\.\d{6}Z$/);
    expect(own.alerts().some(({ alert_type }) => alert_type.startsWith('zone.'))).toBe(false);
  }));
