// Life in the sandbox: what happens by itself, at the rate asked for, within the rules.
import { expect, test } from 'vitest';
import { TRANSITION_TABLE } from '../../src/sandbox/index.js';
import { withSandbox } from '../support/sandbox.js';

test('riders ride, rent, return and reserve, reservations expire, alerts appear and stop', () =>
  withSandbox({ bicycles: 200, rate: 2000 }, async (sandbox) => {
    const before = new Map(sandbox.bicycles().map((bicycle) => [bicycle.uuid, bicycle]));
    while (sandbox.actionLog.length < 3000) await new Promise((resolve) => setTimeout(resolve, 20));
    const lines = sandbox.actionLog.slice(0, 3000);
    const transitions = new Set(lines.map(({ transition }) => transition));
    for (const transition of [
      'rent',
      'return',
      'reserve',
      'expire_reservation',
      'expire_rental_session',
      'cancel_reservation',
    ]) {
      expect(transitions).toContain(transition);
    }
    expect(new Set(lines.map(({ kind }) => kind))).toEqual(
      new Set(['transition', 'change', 'alert-raised', 'alert-changed']),
    );
    expect(lines.every(({ by }) => by === 'service')).toBe(true);
    const states = new Map([...before].map(([uuid, { state }]) => [uuid, state]));
    for (const { uuid, kind, transition, from, to } of lines) {
      if (kind !== 'transition' || transition === undefined) continue;
      expect(states.get(uuid)).toBe(from);
      expect(TRANSITION_TABLE[transition].from).toContain(from);
      expect(TRANSITION_TABLE[transition].to).toBe(to);
      states.set(uuid, to ?? '');
    }
    const moved = sandbox.bicycles().filter(({ uuid, latitude }) => latitude !== before.get(uuid)?.latitude);
    expect(moved.length).toBeGreaterThan(5);
    for (const bicycle of moved) {
      expect(Math.abs(Number(bicycle.longitude))).toBeLessThanOrEqual(180);
      const charge = before.get(bicycle.uuid)?.state_of_charge;
      if (charge !== null) expect(Number(bicycle.state_of_charge)).toBeLessThanOrEqual(Number(charge));
    }
    expect(sandbox.alerts().some(({ state }) => state === 'stopped')).toBe(true);
  }));

test('rate 0 is still', () =>
  withSandbox({ rate: 0 }, async (sandbox) => {
    await new Promise((resolve) => setTimeout(resolve, 200));
    expect([sandbox.actionLog, sandbox.pushLog]).toEqual([[], []]);
  }));

test('an empty fleet lives without harm', () =>
  withSandbox({ bicycles: 0, rate: 1000 }, async (sandbox) => {
    await new Promise((resolve) => setTimeout(resolve, 100));
    expect(sandbox.actionLog).toEqual([]);
  }));
