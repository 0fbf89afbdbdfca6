// Creation and transitions against interface.md sections 3.1, 4.2 and 4.3: every cell of the table, every role, every refusal.
import { expect, test } from 'vitest';
import type { SandboxState, ServedBicycle, ServedTransition, TokenOptions } from '../../src/sandbox/index.js';
import { useSandbox } from '../support/sandbox.js';

const sandbox = useSandbox({ service: 'interface', bicycles: 60 });

interface Answer {
  status: number;
  body: unknown;
}

async function post(
  path: string,
  body: unknown,
  token: TokenOptions = {},
  contentType = 'application/json',
): Promise<Answer> {
  const response = await fetch(`${sandbox().baseUrl}${path}`, {
    method: 'POST',
    headers: { Authorization: `JWT ${await sandbox().token(token)}`, 'Content-Type': contentType },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  });
  return { status: response.status, body: await response.json() };
}

const act = (uuid: string, type: unknown, token?: TokenOptions) => post(`/bicycles/${uuid}/actions/`, { type }, token);

/** A bicycle put into a state, whatever the transitions say. */
function bicycleIn(state: string): string {
  const uuid = sandbox().bicycles()[0]?.uuid ?? '';
  sandbox().changeBicycle(uuid, { state });
  return uuid;
}

const STATES: SandboxState[] = [
  'available',
  'in_maintenance',
  'rented',
  'lost',
  'unrecoverable',
  'retired',
  'reserved',
];

// The table of the issue, written down a second time so that one slip of the pen shows.
const TABLE: [ServedTransition, SandboxState[], SandboxState][] = [
  ['declare_available', ['in_maintenance', 'lost', 'unrecoverable'], 'available'],
  ['reserve', ['available'], 'reserved'],
  ['cancel_reservation', ['reserved'], 'available'],
  ['expire_reservation', ['reserved'], 'available'],
  ['rent', ['available', 'reserved'], 'rented'],
  ['return', ['rented'], 'available'],
  ['expire_rental_session', ['rented'], 'available'],
  ['declare_lost', ['in_maintenance', 'available', 'unrecoverable'], 'lost'],
  ['declare_unrecoverable', ['available', 'lost'], 'unrecoverable'],
  ['take_over', ['available', 'lost', 'in_maintenance', 'unrecoverable'], 'in_maintenance'],
  ['force_put_in_maintenance', ['reserved', 'rented', 'retired'], 'in_maintenance'],
  ['retire', ['in_maintenance'], 'retired'],
];

const AUTOMATIC: ServedTransition[] = ['expire_rental_session', 'expire_reservation'];
const RENTERS: ServedTransition[] = ['rent', 'return', 'reserve', 'cancel_reservation'];

const CELLS = TABLE.flatMap(([transition, sources, target]) =>
  STATES.map((state) => [transition, state, sources.includes(state) ? target : 'refused'] as const),
);

test.each(CELLS)('%s from %s: %s', async (transition, state, outcome) => {
  const uuid = bicycleIn(state);
  const before = sandbox().bicycle(uuid);
  const count = sandbox().actionCount(uuid);
  if (AUTOMATIC.includes(transition)) {
    expect((await act(uuid, transition)).status).toBe(403);
    expect(sandbox().bicycle(uuid)).toEqual(before);
    if (outcome === 'refused') expect(() => sandbox().act(uuid, transition)).toThrow(state);
    else expect(sandbox().act(uuid, transition).state).toBe(outcome);
    expect(sandbox().actionCount(uuid)).toBe(count);
    return;
  }
  const { status, body } = await act(uuid, transition);
  if (outcome === 'refused') {
    const message = `Action '${transition}' not allowed from current state '${state}'`;
    expect([status, body]).toEqual([400, { detail: { non_field_errors: [{ message, code: 'not_allowed' }] } }]);
    expect(sandbox().bicycle(uuid)).toEqual(before);
    expect(sandbox().actionCount(uuid)).toBe(count);
    return;
  }
  expect(status).toBe(200);
  expect(body).toEqual(sandbox().bicycle(uuid));
  const { modified, ...rest } = body as ServedBicycle;
  const { modified: modifiedBefore, ...restBefore } = before as ServedBicycle;
  expect(rest).toEqual({ ...restBefore, state: outcome });
  expect(modified > modifiedBefore).toBe(true);
  expect(sandbox().actionCount(uuid)).toBe(count + 1);
});

test.each(TABLE.map(([transition, [state = 'available'], target]) => [transition, state, target] as const))(
  '%s by each role',
  async (transition, state, target) => {
    for (const role of ['admin', 'fleet_operator', 'renter'] as const) {
      const uuid = bicycleIn('in_maintenance');
      // The renter has to be the one who rents or reserved.
      if (state === 'rented' || state === 'reserved') {
        sandbox().act(uuid, 'declare_available');
        sandbox().act(uuid, state === 'rented' ? 'rent' : 'reserve', sandbox().users[2]);
      } else sandbox().changeBicycle(uuid, { state });
      const allowed = !AUTOMATIC.includes(transition) && (role !== 'renter' || RENTERS.includes(transition));
      expect((await act(uuid, transition, { role })).status, role).toBe(allowed ? 200 : 403);
      expect(sandbox().bicycle(uuid)?.state).toBe(allowed ? target : state);
    }
  },
);

test('a renter has nothing to do with what another one rents or reserved', async () => {
  const renter: TokenOptions = { role: 'renter' };
  const another: TokenOptions = { role: 'renter', subject: sandbox().users[9] ?? '' };
  const uuid = bicycleIn('available');
  expect((await act(uuid, 'reserve', another)).status).toBe(200);
  expect((await act(uuid, 'rent', renter)).status).toBe(403);
  expect((await act(uuid, 'cancel_reservation', renter)).status).toBe(403);
  expect((await act(uuid, 'rent', another)).status).toBe(200);
  expect((await act(uuid, 'return', renter)).status).toBe(404);
  expect((await act(uuid, 'return', another)).status).toBe(200);
});

test('a token of one organization acts on no bicycle of another', async () => {
  const [first, second] = sandbox().organizations.map(({ uuid }) => uuid);
  const uuid = sandbox().bicycles(first)[0]?.uuid ?? '';
  expect((await act(uuid, 'take_over', { organization: second ?? '' })).status).toBe(404);
});

test('further fields of the body are ignored', async () => {
  const uuid = bicycleIn('available');
  const { status } = await post(`/bicycles/${uuid}/actions/`, { type: 'rent', comment: 'x', type2: [] });
  expect(status).toBe(200);
});

test('uuids are taken in either case', async () => {
  const uuid = bicycleIn('available');
  expect((await act(uuid.toUpperCase(), 'rent')).status).toBe(200);
});

test.each<[string, unknown, string, string]>([
  ['no type', {}, 'type', 'required'],
  ['an unknown type', { type: 'fly' }, 'type', 'invalid_choice'],
  ['a type that is no text', { type: 7 }, 'type', 'invalid_choice'],
  ['a list', [], 'non_field_errors', 'invalid'],
  ['null', 'null', 'non_field_errors', 'invalid'],
  ['no JSON', '{', 'non_field_errors', 'parse_error'],
  ['nothing', '', 'non_field_errors', 'parse_error'],
])('an action with %s is refused', async (_, body, field, code) => {
  const uuid = bicycleIn('available');
  const answer = await post(`/bicycles/${uuid}/actions/`, body);
  expect(answer.status).toBe(400);
  expect(answer.body).toEqual({ detail: { [field]: [{ message: expect.any(String), code }] } });
});

test.each(['00000000-0000-4000-8000-000000000000', 'x'])('an action on %s finds nothing', async (uuid) => {
  const { status, body } = await act(uuid, 'rent');
  expect([status, body]).toEqual([
    404,
    { detail: { non_field_errors: [{ message: 'Not found.', code: 'not_found' }] } },
  ]);
});

test.each(['text/plain', 'application/x-www-form-urlencoded', ''])('a body of type "%s" is refused', async (type) => {
  const uuid = bicycleIn('available');
  expect((await post(`/bicycles/${uuid}/actions/`, { type: 'rent' }, {}, type)).status).toBe(415);
  expect((await post('/bicycles/', {}, {}, type)).status).toBe(415);
  expect(sandbox().bicycle(uuid)?.state).toBe('available');
});

test('a charset may follow the type; a huge body is refused', async () => {
  const uuid = bicycleIn('available');
  const path = `/bicycles/${uuid}/actions/`;
  expect((await post(path, { type: 'rent' }, {}, 'application/json; charset=utf-8')).status).toBe(200);
  expect((await post(path, { type: 'return', padding: 'x'.repeat(2 ** 20) })).status).toBe(413);
});

const link = (collection: string, uuid: string | undefined) => `${sandbox().baseUrl}/${collection}/${uuid}/`;
const organizationLink = () => link('organizations', sandbox().organizations[0]?.uuid);

test('creation with everything: 201, the bicycle, last in the list and in maintenance', async () => {
  const lock = link('locks', '01234567-89ab-4cde-8f01-23456789abcd');
  const given = { name: ' Ἀθηνᾶ 🚲 ', model: sandbox().models[1]?.url, lock, serial_number: 'F 1', description: 'red' };
  const { status, body } = await post('/bicycles/', { ...given, organization: organizationLink(), colour: 'red' });
  expect(status).toBe(201);
  expect(body).toEqual(sandbox().bicycles().at(-1));
  expect(body).toMatchObject({ ...given, state: 'in_maintenance', latitude: null, state_of_charge: null });
  expect(body).not.toHaveProperty('colour');
  expect(sandbox().bicycles(sandbox().organizations[0]?.uuid).at(-1)).toEqual(body);
});

test('creation with the least; null means not given', async () => {
  const least = { name: 'x', organization: organizationLink() };
  expect((await post('/bicycles/', least, { role: 'admin' })).status).toBe(201);
  const { status } = await post('/bicycles/', {
    ...least,
    model: null,
    lock: null,
    serial_number: null,
    description: null,
  });
  expect(status).toBe(201);
});

test('the links of a proxy in front count by their path', async () => {
  const organization = organizationLink().replace(/^http:\/\/[^/]+/, 'https://fleet.example');
  expect((await post('/bicycles/', { name: 'x', organization })).status).toBe(201);
});

const UNKNOWN = '00000000-0000-4000-8000-000000000000';

test.each<[string, () => { [field: string]: unknown }, { [field: string]: string }]>([
  ['nothing', () => ({}), { name: 'required', organization: 'required' }],
  ['null', () => ({ name: null, organization: null }), { name: 'required', organization: 'required' }],
  ['a blank name', () => ({ name: ' ', organization: organizationLink() }), { name: 'blank' }],
  ['a name that is a number', () => ({ name: 7, organization: organizationLink() }), { name: 'invalid' }],
  [
    'a bare identifier',
    () => ({ name: 'x', organization: sandbox().organizations[0]?.uuid }),
    { organization: 'no_match' },
  ],
  ['a link elsewhere', () => ({ name: 'x', organization: link('models', UNKNOWN) }), { organization: 'no_match' }],
  [
    'a link without its slash',
    () => ({ name: 'x', organization: organizationLink().slice(0, -1) }),
    { organization: 'no_match' },
  ],
  [
    'a path only',
    () => ({ name: 'x', organization: new URL(organizationLink()).pathname }),
    { organization: 'no_match' },
  ],
  ['a link that is a number', () => ({ name: 'x', organization: 7 }), { organization: 'incorrect_type' }],
  [
    'an unknown organization',
    () => ({ name: 'x', organization: link('organizations', UNKNOWN) }),
    { organization: 'does_not_exist' },
  ],
  [
    'wrong others',
    () => ({ name: 'x', organization: organizationLink(), model: 'x', lock: 1, serial_number: [], description: {} }),
    { model: 'no_match', lock: 'incorrect_type', serial_number: 'invalid', description: 'invalid' },
  ],
  [
    'an unknown model',
    () => ({ name: 'x', organization: organizationLink(), model: link('bicycle_models', UNKNOWN) }),
    { model: 'does_not_exist' },
  ],
])('creation with %s is refused', async (_, body, codes) => {
  const count = sandbox().bicycles().length;
  const answer = await post('/bicycles/', body());
  expect(answer.status).toBe(400);
  const detail = Object.entries(codes).map(([field, code]) => [field, [{ message: expect.any(String), code }]]);
  expect(answer.body).toEqual({ detail: Object.fromEntries(detail) });
  expect(sandbox().bicycles()).toHaveLength(count);
});

test('creation by a renter, or in another organization than the token says, is refused', async () => {
  const body = { name: 'x', organization: organizationLink() };
  expect((await post('/bicycles/', body, { role: 'renter' })).status).toBe(403);
  expect((await post('/bicycles/', body, { organization: sandbox().organizations[1]?.uuid ?? '' })).status).toBe(403);
});

test('the log says who did what', async () => {
  const uuid = bicycleIn('available');
  await act(uuid, 'rent');
  sandbox().act(uuid, 'expire_rental_session');
  expect(sandbox().actionLog.slice(-3)).toMatchObject([
    { uuid, kind: 'change', to: 'available', by: 'service' },
    { uuid, kind: 'transition', transition: 'rent', from: 'available', to: 'rented', by: 'client' },
    { uuid, kind: 'transition', transition: 'expire_rental_session', from: 'rented', to: 'available', by: 'service' },
  ]);
});
