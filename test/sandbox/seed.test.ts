// Tests the seeded fleet: it is reproducible and contains all cases that a client must handle.
import { expect, test } from 'vitest';
import { ALERT_STATES, ALERT_TYPES } from '../../src/api/alert.js';
import type { Sandbox } from '../../src/sandbox/index.js';
import { often } from '../support/often.js';
import { openSandbox, useSandbox, withSandbox } from '../support/sandbox.js';
import { ask } from './ask.js';

const NOW = Date.UTC(2026, 0, 2, 3, 4, 5);

/** Serializes the fleet of a seed without the port, which differs. */
async function fingerprintOf(seed: number): Promise<string> {
  const own = await openSandbox({ service: 'interface', seed, bicycles: 120, now: () => NOW });
  const { organizations, zones, models, users } = own;
  const all = {
    organizations,
    zones,
    models,
    users,
    bicycles: own.bicycles(),
    alerts: own.alerts(),
  };
  return JSON.stringify(all).replaceAll(own.baseUrl, '');
}

test('the same seed and size always create the same fleet', async () => {
  const first = await fingerprintOf(7);
  expect(await fingerprintOf(7)).toBe(first);
  expect(await fingerprintOf(8)).not.toBe(first);
});

const sandbox = useSandbox({ service: 'interface' });

test('assigns almost all of 500 bicycles to the first of two organizations', () => {
  const { organizations } = sandbox();
  expect(organizations).toHaveLength(2);
  const [main = 0, second = 0] = organizations.map(({ uuid }) => sandbox().bicycles(uuid).length);
  expect(main + second).toBe(500);
  expect(second).toBeGreaterThan(10);
  expect(main).toBeGreaterThan(450);
});

test('creates bicycles in every state, even in a fleet of ten', async () => {
  const states = [
    'available',
    'in_maintenance',
    'lost',
    'rented',
    'reserved',
    'retired',
    'unrecoverable',
  ];
  const statesOf = (own: Sandbox) => [...new Set(own.bicycles().map(({ state }) => state))].sort();
  expect(statesOf(sandbox())).toEqual(states);
  await withSandbox({ bicycles: 10 }, async (small) => expect(statesOf(small)).toEqual(states));
  await withSandbox({ bicycles: 0 }, async (none) => expect(none.bicycles()).toEqual([]));
});

test('creates positions in all hemispheres and on both sides of the antimeridian', () => {
  const positions = sandbox()
    .bicycles()
    .filter(({ latitude }) => latitude !== null);
  const [norths, easts] = [
    positions.map(({ latitude }) => Number(latitude)),
    positions.map((one) => Number(one.longitude)),
  ];
  for (const values of [norths, easts])
    for (const sign of [1, -1])
      expect(values.filter((value) => value * sign > 0).length).toBeGreaterThan(50);
  for (const sign of [1, -1])
    expect(easts.filter((value) => value * sign > 179).length).toBeGreaterThan(5);
  expect([
    norths.filter((north) => Math.abs(north) > 90),
    easts.filter((east) => Math.abs(east) > 180),
  ]).toEqual([[], []]);
});

test('creates some bicycles without a position or charge, and some charges as strings', () => {
  const bicycles = sandbox().bicycles();
  expect(bicycles.some(({ latitude, longitude }) => latitude === null && longitude === null)).toBe(
    true,
  );
  expect(bicycles.some(({ state_of_charge }) => state_of_charge === null)).toBe(true);
  expect(bicycles.some(({ state_of_charge }) => typeof state_of_charge === 'string')).toBe(true);
  expect(
    bicycles.filter(({ state_of_charge }) => typeof state_of_charge === 'number').length,
  ).toBeGreaterThan(400);
});

test('creates names in many scripts, some of them long', () => {
  const names = sandbox()
    .bicycles()
    .map(({ name }) => name);
  for (const script of [
    'Cyrillic',
    'Greek',
    'Arabic',
    'Hebrew',
    'Han',
    'Hiragana',
    'Hangul',
    'Devanagari',
    'Thai',
  ]) {
    expect(names.join()).toMatch(new RegExp(`\\p{Script=${script}}`, 'u'));
  }
  expect(names.some((name) => name.includes('\u200d'))).toBe(true);
  expect(names.some((name) => name.length > 100)).toBe(true);
  expect(names.filter((name) => /^[A-Z][a-z]+ \d{4}$/.test(name)).length).toBeGreaterThan(400);
});

test('creates alerts of every type and state with the documented fields', () => {
  const alerts = sandbox().alerts();
  const kinds = new Set(alerts.map(({ alert_type, state }) => `${alert_type} ${state}`));
  expect(kinds.size).toBe(ALERT_TYPES.length * ALERT_STATES.length);
  for (const alert of alerts) {
    const [causality = '', ...properties] = {
      lock: ['locks', 'lock_uuid', 'lock_bleid'],
      bicycle: ['bicycles', 'bicycle_name', 'bicycle_uuid'],
      zone: ['zones', 'zone_uuid', 'zone_name'],
    }[alert.alert_type.split('.', 1)[0] as 'lock'];
    expect(alert.url).toBe(`${sandbox().baseUrl}/alerts/${alert.uuid}/`);
    expect(alert.causality).toContain(`/${causality}/`);
    for (const property of properties) expect(alert.extra).toHaveProperty(property);
  }
});

test('creates alerts that match the state of their bicycles', () => {
  const subject = (url: unknown) => sandbox().bicycle(String(url).split('/').at(-2) ?? '');
  for (const { alert_type, bicycle } of sandbox().alerts()) {
    if (alert_type === 'lock.bat.low')
      expect(Number(subject(bicycle)?.state_of_charge)).toBeLessThan(20);
    if (alert_type === 'bicycle.lost_reported') expect(subject(bicycle)?.state).toBe('lost');
  }
});

const LARGE = often(40_000);
test(`starts with a fleet of ${LARGE} bicycles and serves the last page of the list`, () =>
  withSandbox({ service: 'interface', bicycles: LARGE, pageSize: 100 }, async (large) => {
    const { body } = await ask(large, `/bicycles/?page=${LARGE / 100}`);
    expect(body).toMatchObject({ count: LARGE, next: null, results: { length: 100 } });
  }));
