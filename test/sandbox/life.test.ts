// Tests the simulated life of the sandbox and its rate.
import { expect, test } from 'vitest';
import { type ServedTransition, TRANSITION_TABLE } from '../../src/sandbox/index.js';
import { withSandbox } from '../support/sandbox.js';

test('the sandbox simulates rides, rentals, returns, expiring reservations and alerts', () =>
  withSandbox({ bicycles: 200, rate: 2000 }, async (sandbox) => {
    const before = new Map(sandbox.bicycles().map((bicycle) => [bicycle.uuid, bicycle]));
    const alerts = sandbox.alerts().length;
    while (sandbox.pushLog.length < 3000) await new Promise((resolve) => setTimeout(resolve, 20));
    const histories = sandbox.bicycles().map(({ uuid }) => sandbox.history(uuid));
    const transitions = new Set(
      histories.flatMap((history) => history.slice(1).map(({ transition }) => transition)),
    );
    expect([...transitions].sort()).toEqual(
      [
        'rent',
        'return_',
        'reserve',
        'expire_reservation',
        'expire_rental_session',
        'cancel_reservation',
      ].sort(),
    );
    for (const history of histories)
      for (const [index, { transition, state, by }] of history.entries()) {
        if (index === 0 || transition === null) continue;
        const name = transition.replace(/_$/, '') as ServedTransition;
        expect(TRANSITION_TABLE[name].from).toContain(history[index - 1]?.state);
        expect([state, by]).toEqual([TRANSITION_TABLE[name].to, null]);
      }
    const moved = sandbox
      .bicycles()
      .filter(({ uuid, latitude }) => latitude !== before.get(uuid)?.latitude);
    expect(moved.length).toBeGreaterThan(5);
    for (const bicycle of moved) {
      expect(Math.abs(Number(bicycle.longitude))).toBeLessThanOrEqual(180);
      const charge = before.get(bicycle.uuid)?.state_of_charge;
      if (charge !== null)
        expect(Number(bicycle.state_of_charge)).toBeLessThanOrEqual(Number(charge));
    }
    expect(sandbox.alerts().length).toBeGreaterThan(alerts);
    expect(sandbox.alerts().some(({ state }) => state === 'stopped')).toBe(true);
  }));

test.each([
  [500, 0],
  [0, 1000],
])('publishes nothing with %i bicycles and %i events per second', (bicycles, rate) =>
  withSandbox({ bicycles, rate }, async (sandbox) => {
    await new Promise((resolve) => setTimeout(resolve, 100));
    expect(sandbox.pushLog).toEqual([]);
  }),
);
