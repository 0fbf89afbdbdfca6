// Tests the functions of the sandbox beyond interface.md, which were observed at a real service,
// and that `service: 'interface'` does not have them.
import { expect, test } from 'vitest';
import type { ServedBicycle, TokenOptions } from '../../src/sandbox/index.js';
import { useSandbox, withSandbox } from '../support/sandbox.js';
import { type Asking, actOn, ask, bicycleIn, type Item, linkOf, UNKNOWN, uuidsOf } from './ask.js';

const sandbox = useSandbox({ bicycles: 60 });

const results = async (path: string, own = sandbox()) =>
  (await ask(own, path)).body['results'] as Item[];
const act = (uuid: string, body: object, asking?: Asking) => actOn(sandbox(), uuid, body, asking);
const edit = (uuid: string, body: object, method = 'PATCH') =>
  ask(sandbox(), `/bicycles/${uuid}/`, { method, body });

test('returns one bicycle at its own URL', async () => {
  const uuid = bicycleIn(sandbox(), 'available');
  const { status, body } = await ask(sandbox(), `/bicycles/${uuid.toUpperCase()}/`);
  expect([status, body]).toEqual([200, sandbox().bicycle(uuid)]);
  expect(body).toMatchObject({ short_id: uuid.slice(0, 8), organization: linkOf(sandbox()) });
  const missing = await ask(sandbox(), `/bicycles/${UNKNOWN}/`);
  const detail = [{ message: 'No Bicycle matches the given query.', code: 'not_found' }];
  expect([missing.status, missing.body]).toEqual([404, { detail }]);
});

test('returns times in whole seconds and increasing versions', async () => {
  const uuid = bicycleIn(sandbox(), 'available');
  const version = () =>
    sandbox().changeBicycle(uuid, { description: 'x' }).concurrency_version ?? 0;
  const versions = [version(), version(), version()];
  expect(versions).toEqual([...new Set(versions)].sort((a, b) => a - b));
  for (const row of [...(await results('/bicycles/')), ...(await results('/alerts/'))]) {
    for (const field of ['created', 'modified'])
      expect(row[field]).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);
  }
});

test('PATCH changes the given fields, and PUT requires name and organization', async () => {
  const uuid = bicycleIn(sandbox(), 'available');
  const {
    modified,
    concurrency_version: version,
    ...rest
  } = sandbox().bicycle(uuid) as ServedBicycle;
  const { status, body } = await edit(uuid, {
    name: 'New',
    note: 'n',
    state: 'lost',
    concurrency_version: version,
  });
  expect([status, body]).toEqual([200, sandbox().bicycle(uuid)]);
  expect(body).toMatchObject({ ...rest, name: 'New', note: 'n', state: 'available' });
  expect(Number(body['concurrency_version'])).toBeGreaterThan(Number(version));
  expect(JSON.parse(sandbox().pushLog.at(-1)?.message ?? '')).toMatchObject({ uuid, name: 'New' });
  const bare = await edit(uuid, { description: 'x' }, 'PUT');
  expect([bare.status, Object.keys(bare.body['detail'] as object)]).toEqual([
    400,
    ['name', 'organization'],
  ]);
  const whole = await edit(
    uuid,
    { name: 'New', organization: rest['organization'], description: 'put' },
    'PUT',
  );
  expect([whole.status, whole.body['description']]).toEqual([200, 'put']);
});

test('rejects an outdated version but accepts a missing version', async () => {
  const uuid = bicycleIn(sandbox(), 'available');
  const version = sandbox().bicycle(uuid)?.concurrency_version;
  sandbox().changeBicycle(uuid, { description: 'meanwhile' });
  const stale = await edit(uuid, { description: 'mine', concurrency_version: version });
  const detail = {
    message: expect.stringContaining('Concurrent edition'),
    code: 'concurrent_edition',
  };
  expect([stale.status, stale.body]).toEqual([409, { detail }]);
  expect(sandbox().bicycle(uuid)?.description).toBe('meanwhile');
  expect((await edit(uuid, { description: 'mine' })).status).toBe(200);
});

test('allows lock changes only in maintenance', async () => {
  const uuid = bicycleIn(sandbox(), 'available');
  expect((await edit(uuid, { lock: null })).body['detail']).toHaveProperty('lock');
  bicycleIn(sandbox(), 'in_maintenance');
  const refused = await act(uuid, { type: 'retire' });
  expect([refused.status, Object.keys(refused.body['detail'] as object)]).toEqual([
    400,
    ['actions'],
  ]);
  expect((await edit(uuid, { lock: null })).body).toMatchObject({ lock: null, devices: [] });
  expect((await act(uuid, { type: 'retire' })).status).toBe(200);
  sandbox().changeBicycle(uuid, { state: 'in_maintenance', device_type: null });
  expect((await act(uuid, { type: 'declare_available' })).text).toContain('no device');
  sandbox().changeBicycle(uuid, {
    device_type: 'lock',
    lock: `${sandbox().baseUrl}/locks/${uuid}/`,
  });
});

test('moves a bicycle to another organization, and deletes a bicycle', () =>
  withSandbox({ bicycles: 30 }, async (own) => {
    const [first, second] = uuidsOf(own.organizations);
    const uuid = own.bicycles(first)[3]?.uuid ?? '';
    const counts = () =>
      Promise.all(
        [first, second].map(
          async (one) => (await ask(own, `/bicycles/?organization=${one}`)).body['count'],
        ),
      );
    const [a, b] = (await counts()).map(Number) as [number, number];
    const organization = linkOf(own, 1);
    const moved = await ask(own, `/bicycles/${uuid}/`, { method: 'PATCH', body: { organization } });
    expect([moved.body['organization'], await counts()]).toEqual([organization, [a - 1, b + 1]]);
    expect((await ask(own, `/bicycles/${uuid}/`, { method: 'DELETE' })).status).toBe(204);
    expect((await ask(own, `/bicycles/${uuid}/`)).status).toBe(404);
    expect(await counts()).toEqual([a - 1, b]);
  }));

test('returns the transition history in pages, newest first', () =>
  withSandbox({ bicycles: 10 }, async (own) => {
    const uuid = bicycleIn(own, 'available');
    for (const type of ['take_over', 'declare_available', 'put_in_maintenance'])
      await actOn(own, uuid, { type });
    own.act(uuid, 'declare_lost');
    const { body } = await ask(own, `/bicycles/${uuid}/transitions/?page_size=2`);
    expect(body).toMatchObject({
      next: expect.stringContaining('page=2'),
      results: [
        { state: 'lost', transition: 'declare_lost', by: null },
        {
          state: 'in_maintenance',
          transition: 'put_in_maintenance',
          by: `${own.baseUrl}/users/${own.users[1]}/`,
        },
      ],
    });
    const states = own.history(uuid).map(({ state }) => state);
    expect(states).toEqual(['available', 'in_maintenance', 'available', 'in_maintenance', 'lost']);
    for (const { timestamp } of own.history(uuid)) expect(timestamp).toMatch(/:\d\dZ$/);
  }));

test('the `name` filter distinguishes accents, and the `query` filter ignores them', () =>
  withSandbox({ bicycles: 3 }, async (own) => {
    const uuid = bicycleIn(own, 'available');
    own.changeBicycle(uuid, { name: 'Zoë' });
    const queries = ['name=zo%C3%AB', 'name=zoe', 'query=zoe'];
    const found = await Promise.all(
      queries.map(async (query) => uuidsOf(await results(`/bicycles/?${query}`, own))),
    );
    expect(found).toEqual([[uuid], [], [uuid]]);
  }));

test('limits pages to 100 items and returns the newest items first', () =>
  withSandbox({ bicycles: 130 }, async (own) => {
    const sizes = ['500', '7', 'x'].map(
      async (size) => (await results(`/bicycles/?page_size=${size}`, own)).length,
    );
    expect(await Promise.all(sizes)).toEqual([100, 7, 20]);
    const pages = ['/bicycles/?page_size=100', '/bicycles/?page_size=100&page=2', '/alerts/'];
    const [first = [], second = [], alerts = []] = await Promise.all(
      pages.map((path) => results(path, own)),
    );
    for (const items of [[...first, ...second], alerts]) {
      const created = items.map((item) => String(item['created']));
      expect(created).toEqual([...created].sort().reverse());
    }
    const made = await ask(own, '/bicycles/', {
      body: { name: 'Newest', organization: linkOf(own) },
    });
    expect((await results('/bicycles/', own))[0]?.uuid).toBe(made.body['uuid']);
  }));

test('sorts a list by several fields, and refuses unsupported fields', async () => {
  const items = await results('/bicycles/?ordering=state,-name&page_size=100');
  const keys = items.map(({ state, name }) => [String(state), String(name)] as const);
  expect(keys).toEqual(
    keys.toSorted(([a, b], [c, d]) => (a < c ? -1 : a > c ? 1 : b < d ? 1 : b > d ? -1 : 0)),
  );
  for (const [ordering, status] of [
    ['latitude', 400],
    ['name,description', 400],
    ['colour', 400],
    ['bleid', 500],
  ])
    expect((await ask(sandbox(), `/bicycles/?ordering=${ordering}`)).status).toBe(status);
});

test('lists the available transitions when it refuses a transition', async () => {
  const refused = await act(bicycleIn(sandbox(), 'lost'), { type: 'rent' });
  const message =
    "Action 'rent' not allowed from current state 'lost'. Available actions: declare_available, declare_unrecoverable, take_over, put_in_maintenance";
  expect(refused.body).toEqual({ detail: { actions: [{ message, code: 'not_allowed' }] } });
  for (const state of ['available', 'lost', 'unrecoverable', 'rented']) {
    const { status } = await act(bicycleIn(sandbox(), state), { type: 'put_in_maintenance' });
    expect([state, status]).toEqual([state, state === 'rented' ? 400 : 200]);
  }
  // Permission is checked before the state.
  const byRenter = await act(
    bicycleIn(sandbox(), 'available'),
    { type: 'retire' },
    { token: { role: 'renter' } },
  );
  expect(byRenter.status).toBe(403);
});

test('a dry_run request does not change anything', async () => {
  const uuid = bicycleIn(sandbox(), 'available');
  const before = [sandbox().bicycle(uuid), sandbox().actionCount(uuid)];
  const allowed = await act(uuid, { type: 'rent', dry_run: true });
  expect([allowed.status, allowed.text]).toEqual([204, '']);
  expect((await act(uuid, { type: 'return', dry_run: true })).status).toBe(400);
  expect([sandbox().bicycle(uuid), sandbox().actionCount(uuid)]).toEqual(before);
});

test('only the renter can return a bicycle', () =>
  withSandbox({ bicycles: 40 }, async (own) => {
    const free = own
      .bicycles(own.organizations[0]?.uuid)
      .filter(({ state }) => state === 'available');
    const [first = '', second = ''] = uuidsOf(free);
    const token: TokenOptions = { role: 'renter', subject: own.users[20] ?? '' };
    for (const bicycle of own.bicycles())
      if (bicycle['rental_session'] !== null) own.act(bicycle.uuid, 'return');
    expect((await actOn(own, first, { type: 'rent' }, { token })).status).toBe(200);
    expect((await actOn(own, second, { type: 'reserve' }, { token })).text).toContain('already');
    expect((await actOn(own, first, { type: 'return' })).status).toBe(403);
    expect((await actOn(own, first, { type: 'return' }, { token })).status).toBe(200);
    const user = `${own.baseUrl}/users/${own.users[20]}/`;
    expect((await actOn(own, second, { type: 'rent', user })).status).toBe(200);
    expect((await actOn(own, second, { type: 'return' }, { token })).status).toBe(200);
  }));

test('rejects duplicate names and names over 128 characters', async () => {
  const create = (name: string) =>
    ask(sandbox(), '/bicycles/', { body: { name, organization: linkOf(sandbox()) } });
  for (const name of ['', '', '🚲'.repeat(128), 'Twin'])
    expect((await create(name)).status).toBe(201);
  expect((await create('x'.repeat(129))).body).toMatchObject({
    detail: { name: [{ code: 'max_length' }] },
  });
  expect((await create('Twin')).body).toMatchObject({ detail: [{ code: 'unique' }] });
});

test('requires a version in the Accept header and a trailing slash for POST', async () => {
  expect((await ask(sandbox(), '/bicycles/', { headers: { Accept: '*/*' } })).status).toBe(406);
  const uuid = bicycleIn(sandbox(), 'available');
  const moved = await ask(sandbox(), `/bicycles/${uuid}/actions`, { body: { type: 'rent' } });
  expect([moved.status, moved.headers.get('Location')]).toEqual([
    301,
    `/bicycles/${uuid}/actions/`,
  ]);
  const unknown = await ask(sandbox(), '/bicycle/');
  expect([unknown.status, unknown.headers.get('Content-Type')]).toEqual([
    404,
    'text/html; charset=utf-8',
  ]);
});

test('accepts each refresh token once and locks an account after failed logins', async () => {
  const claims = (token: unknown) =>
    JSON.parse(Buffer.from(String(token).split('.')[1] ?? '', 'base64url').toString());
  const [first = '', second = ''] = uuidsOf(sandbox().organizations);
  const email = 'operator@example.com';
  const logIn = (password: string) => ask(sandbox(), '/jwt/login/', { body: { email, password } });
  const { token, user, refresh_token: refreshToken } = (await logIn('x')).body;
  expect(user).toEqual({ uuid: sandbox().users[1] });
  const payload = claims(token);
  expect(payload.affs).toEqual({ [first]: ['fleet_operator'], [second]: ['fleet_operator'] });
  expect(payload.exp - payload.iat).toBeLessThanOrEqual(30 * 60 + 1);
  const refresh = (body: object) => ask(sandbox(), '/jwt/refresh_token/', { body });
  expect(await refresh({ token })).toMatchObject({
    status: 400,
    body: { detail: { client_id: [{ code: 'required' }], refresh_token: [{ code: 'required' }] } },
  });
  const form = { client_id: 'fleet', refresh_token: refreshToken };
  const renewed = (await refresh(form)).body;
  const refreshed = renewed['token'];
  expect(refreshed).not.toBe(token);
  expect(renewed['refresh_token']).not.toBe(refreshToken);
  expect((await refresh(form)).status).toBe(401);
  const own = await ask(sandbox(), '/me/', { headers: { Authorization: `JWT ${refreshed}` } });
  expect(own.body).toMatchObject({
    uuid: sandbox().users[1],
    username: 'operator',
    role: 'fleet_operator',
  });
  const ofOne = await sandbox().token({ organization: second });
  expect(claims(ofOne).affs).toEqual({ [second]: ['admin', 'fleet_operator'] });
  const statuses = [];
  for (const number of [1, 2, 3, 4, 5, 6]) statuses.push((await logIn(`wrong${number}`)).status);
  expect(statuses).toEqual([400, 400, 400, 400, 400, 400]);
  expect(await logIn('x')).toMatchObject({
    status: 403,
    body: { detail: [{ code: 'account_locked' }] },
  });
});

test.each(['organizations', 'zones', 'bicycle_models', 'locks', 'users'])(
  'serves /%s/ and its items',
  async (name) => {
    const items = await results(`/${name}/?page_size=100`);
    expect(items.length).toBeGreaterThan(1);
    const [item] = items;
    expect((await ask(sandbox(), `/${name}/${item?.uuid}/`)).body).toEqual(item);
    expect((await ask(sandbox(), String(item?.['url']))).body).toEqual(item);
    expect((await ask(sandbox(), `/${name}/${UNKNOWN}/`)).status).toBe(404);
  },
);

test.each<[string, string[]]>([
  ['new', ['resolve', 'silence', 'escalate', 'stop']],
  ['escalated', ['resolve', 'silence', 'stop']],
  ['silenced', ['stop']],
  ['resolved', []],
  ['stopped', []],
])('an alert in the state %s accepts the actions %j', async (state, allowed) => {
  const targets = {
    resolve: 'resolved',
    silence: 'silenced',
    escalate: 'escalated',
    stop: 'stopped',
  };
  const { uuid } = sandbox().raiseAlert(bicycleIn(sandbox(), 'available'), 'lock.shutdown');
  const run = (type: string) =>
    ask(sandbox(), `/alerts/${uuid}/actions/`, { body: { type, severity: 'high', dry_run: true } });
  for (const [type, target] of Object.entries(targets)) {
    sandbox().changeAlert(uuid, { state });
    const { status } = await run(type);
    const isAllowed = allowed.includes(type);
    expect([type, status, sandbox().alert(uuid)?.state]).toEqual([
      type,
      ...(isAllowed ? [200, target] : [400, state]),
    ]);
  }
  expect((await run('fly')).status).toBe(404);
  expect((await ask(sandbox(), `/alerts/${uuid}/`)).body).toEqual(sandbox().alert(uuid));
});

test('the service "interface" rejects or ignores unsupported requests', () =>
  withSandbox({ service: 'interface', bicycles: 30 }, async (own) => {
    const uuid = bicycleIn(own, 'available');
    const statusOf = async (path: string, method = 'GET') =>
      (await ask(own, path, { method })).status;
    for (const method of ['GET', 'PATCH', 'PUT'])
      expect(await statusOf(`/bicycles/${uuid}/`, method)).toBe(404);
    for (const path of [`/bicycles/${uuid}/transitions/`, '/organizations/'])
      expect(await statusOf(path)).toBe(404);
    expect(await statusOf(`/alerts/${own.alerts()[0]?.uuid}/actions/`, 'POST')).toBe(404);
    expect((await ask(own, '/bicycles/?state=lost&query=x&page_size=3')).body).toMatchObject({
      count: 30,
    });
    expect(await statusOf('/bicycles/?ordering=latitude')).toBe(200);
    expect(await statusOf('/bicycles/?ordering=state,name')).toBe(400);
    expect((await actOn(own, uuid, { type: 'put_in_maintenance' })).status).toBe(404);
    const [first] = await results('/bicycles/', own);
    for (const field of ['concurrency_version', 'organization', 'short_id'])
      expect(first).not.toHaveProperty(field);
    expect(first?.['created']).toMatch(/\.\d{6}Z$/);
  }));
