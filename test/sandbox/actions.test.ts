// Tests creation and transitions against interface.md sections 3.1, 4.2 and 4.3: every transition,
// role and refusal.
import { expect, test } from 'vitest';
import { BICYCLE_STATES } from '../../src/api/bicycle.js';
import type {
  SandboxState,
  ServedBicycle,
  ServedTransition,
  TokenOptions,
} from '../../src/sandbox/index.js';
import { useSandbox } from '../support/sandbox.js';
import { actOn, ask, bicycleIn, linkOf, UNKNOWN } from './ask.js';

const sandbox = useSandbox({ service: 'interface', bicycles: 60 });

const act = (uuid: string, type: unknown, token: TokenOptions = {}) =>
  actOn(sandbox(), uuid, { type }, { token });
const create = (body: object, token: TokenOptions = {}) =>
  ask(sandbox(), '/bicycles/', { body, token });

// A second copy of the sandbox's table, so that a typing error is detected.
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

test.each(TABLE)(
  'allows the transition %s only from its source states',
  async (transition, sources, target) => {
    for (const state of BICYCLE_STATES) {
      const uuid = bicycleIn(sandbox(), state);
      const before = sandbox().bicycle(uuid) as ServedBicycle;
      const count = sandbox().actionCount(uuid);
      const { status, body, text } = await act(uuid, transition);
      if (AUTOMATIC.includes(transition) || !sources.includes(state)) {
        expect([state, status]).toEqual([state, AUTOMATIC.includes(transition) ? 403 : 400]);
        if (status === 400)
          expect(text).toContain(
            `Action '${transition}' not allowed from current state '${state}'`,
          );
        expect([sandbox().bicycle(uuid), sandbox().actionCount(uuid)]).toEqual([before, count]);
        if (sources.includes(state)) expect(sandbox().act(uuid, transition).state).toBe(target);
        else expect(() => sandbox().act(uuid, transition)).toThrow(state);
        continue;
      }
      expect([state, status, body]).toEqual([state, 200, sandbox().bicycle(uuid)]);
      expect(body).toEqual({ ...before, state: target, modified: body['modified'] });
      expect(String(body['modified']) > before.modified).toBe(true);
      expect(sandbox().actionCount(uuid)).toBe(count + 1);
    }
  },
);

test.each(TABLE)(
  'checks the transition %s for each role',
  async (transition, [state = 'available'], target) => {
    for (const role of ['admin', 'fleet_operator', 'renter'] as const) {
      const uuid = bicycleIn(sandbox(), 'in_maintenance');
      // Only the renter who rented or reserved the bicycle may return it.
      if (state === 'rented' || state === 'reserved') {
        sandbox().act(uuid, 'declare_available');
        sandbox().act(uuid, state === 'rented' ? 'rent' : 'reserve', sandbox().users[2]);
      } else sandbox().changeBicycle(uuid, { state });
      const allowed =
        !AUTOMATIC.includes(transition) && (role !== 'renter' || RENTERS.includes(transition));
      expect((await act(uuid, transition, { role })).status, role).toBe(allowed ? 200 : 403);
      expect(sandbox().bicycle(uuid)?.state).toBe(allowed ? target : state);
    }
  },
);

test("rejects a renter's actions on bicycles that another renter rented or reserved", async () => {
  const renter: TokenOptions = { role: 'renter' };
  const another: TokenOptions = { role: 'renter', subject: sandbox().users[9] ?? '' };
  const uuid = bicycleIn(sandbox(), 'available');
  expect((await act(uuid, 'reserve', another)).status).toBe(200);
  expect((await act(uuid, 'rent', renter)).status).toBe(403);
  expect((await act(uuid, 'rent', another)).status).toBe(200);
  expect((await act(uuid, 'return', renter)).status).toBe(404);
  expect((await act(uuid.toUpperCase(), 'return', another)).status).toBe(200);
});

test('a token allows actions only in its own organization', async () => {
  const [first, second = ''] = sandbox().organizations.map(({ uuid }) => uuid);
  const uuid = sandbox().bicycles(first)[0]?.uuid ?? '';
  expect((await act(uuid, 'take_over', { organization: second })).status).toBe(404);
  expect(
    (await create({ name: 'x', organization: organizationLink() }, { organization: second }))
      .status,
  ).toBe(403);
  expect(
    (await create({ name: 'x', organization: organizationLink() }, { role: 'renter' })).status,
  ).toBe(403);
});

test.each<[string, unknown, number]>([
  ['no type', {}, 400],
  ['an unknown type', { type: 'fly' }, 404],
  ['a list', [], 400],
  ['no JSON', '{', 400],
])('rejects an action with %s', async (_, body, status) => {
  const uuid = bicycleIn(sandbox(), 'available');
  expect((await actOn(sandbox(), uuid, body as object)).status).toBe(status);
  expect((await act(UNKNOWN, 'rent')).status).toBe(404);
  const asForm = await actOn(
    sandbox(),
    uuid,
    { type: 'rent' },
    { headers: { 'Content-Type': 'text/plain' } },
  );
  expect([asForm.status, sandbox().bicycle(uuid)?.state]).toEqual([415, 'available']);
});

const link = (collection: string, uuid: string | undefined) =>
  `${sandbox().baseUrl}/${collection}/${uuid}/`;
const organizationLink = () => linkOf(sandbox());

test('creates a bicycle in maintenance with all fields and lists it last', async () => {
  const lock = link('locks', '01234567-89ab-4cde-8f01-23456789abcd');
  const given = {
    name: ' Ἀθηνᾶ 🚲 ',
    model: sandbox().models[1]?.url,
    lock,
    serial_number: 'F 1',
    description: 'red',
  };
  // Only the path of a link matters, because a proxy may change its host.
  const organization = organizationLink().replace(/^http:\/\/[^/]+/, 'https://fleet.example');
  const { status, body } = await create({ ...given, organization, colour: 'red' });
  expect([status, body]).toEqual([201, sandbox().bicycles().at(-1)]);
  expect(body).toMatchObject({
    ...given,
    state: 'in_maintenance',
    latitude: null,
    state_of_charge: null,
  });
  expect(body).not.toHaveProperty('colour');
  expect(sandbox().bicycles(sandbox().organizations[0]?.uuid).at(-1)).toEqual(body);
});

test.each<[string, () => { [field: string]: unknown }, { [field: string]: string }]>([
  ['nothing', () => ({ name: null }), { name: 'required', organization: 'required' }],
  [
    'a bare identifier',
    () => ({ organization: sandbox().organizations[0]?.uuid }),
    { organization: 'no_match' },
  ],
  [
    'a link without its slash',
    () => ({ organization: organizationLink().slice(0, -1) }),
    { organization: 'no_match' },
  ],
  [
    'an unknown organization and model',
    () => ({
      organization: link('organizations', UNKNOWN),
      model: link('bicycle_models', UNKNOWN),
    }),
    { organization: 'does_not_exist', model: 'does_not_exist' },
  ],
  [
    'wrong others',
    () => ({
      organization: organizationLink(),
      model: 'x',
      lock: 1,
      serial_number: [],
      description: {},
    }),
    { model: 'no_match', lock: 'no_match', serial_number: 'invalid', description: 'invalid' },
  ],
])('rejects a create request with %s', async (_, body, codes) => {
  const count = sandbox().bicycles().length;
  const answer = await create({ name: 'x', ...body() });
  const detail = Object.entries(codes).map(([field, code]) => [
    field,
    [{ message: expect.any(String), code }],
  ]);
  expect([answer.status, answer.body]).toEqual([400, { detail: Object.fromEntries(detail) }]);
  expect(sandbox().bicycles()).toHaveLength(count);
});
