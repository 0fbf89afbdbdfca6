// Tests `fleet rounds` over sockets: its times, its tours and its limits.

import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { environmentOf } from '../support/environment.js';
import { newFolder } from '../support/folder.js';
import { type RunOptions, runFleet } from '../support/run.js';
import { useSandbox } from '../support/sandbox.js';
import { openServer, sendPage } from '../support/server.js';

const sandbox = useSandbox({ bicycles: 120 });

const FROM = ['--from', '52.52,13.405'];
/** A part of the sandbox's fleet around the start. */
const NEAR = ['--near', '52.52,13.405', '--radius', '20km'];

async function rounds(words: readonly string[], options: RunOptions = {}) {
  const env = { ...(await environmentOf(sandbox())), ...options.env };
  return runFleet(['rounds', ...words], { ...options, env });
}

interface RoundsJson {
  vans: {
    van: number;
    distance_m: number;
    duration_s: number;
    stops: { uuid: string; name: string; leg_m: number; arrival_s: number }[];
  }[];
  left_out: { uuid: string; reason: string }[];
}

async function roundsJson(words: readonly string[], options: RunOptions = {}) {
  const { code, stdout, stderr } = await rounds([...words, '--json'], options);
  return { code, stderr, ...(JSON.parse(stdout) as RoundsJson) };
}

/** Serves a list of bicycles that fits on one page. */
async function listOf(bicycles: readonly { [field: string]: unknown }[]) {
  const server = await openServer((response) => sendPage(response, [...bicycles]));
  return { FLEET_BASE_URL: server.url, FLEET_TOKEN: 'x.y.z' };
}

function bicycleAt(index: number, latitude: unknown, longitude: unknown) {
  const uuid = `00000000-0000-4000-8000-${String(index).padStart(12, '0')}`;
  return { uuid, name: `Bike ${index}`, state: 'available', latitude, longitude };
}

test('the time of a tour includes the legs, the stops and the return', async () => {
  const { vans } = await roundsJson([...FROM, ...NEAR, '--stop', '10', '--speed', '36']);
  const [van] = vans;
  let seconds = 0;
  for (const { leg_m, arrival_s } of van?.stops ?? []) {
    seconds += Math.round(leg_m / 10);
    expect(arrival_s).toBe(seconds);
    seconds += 600;
  }
  const legs = (van?.stops ?? []).reduce((sum, { leg_m }) => sum + leg_m, 0);
  const back = (van?.distance_m ?? 0) - legs;
  expect(back).toBeGreaterThan(0);
  expect(van?.duration_s).toBe(seconds + Math.round(back / 10));
});

test('a tour ends at the --to location', async () => {
  const env = await listOf([bicycleAt(1, 52.53, 13.4), bicycleAt(2, 52.55, 13.4)]);
  const words = ['--from', '52.52,13.4', '--to', '52.56,13.4'];
  const { vans } = await roundsJson(words, { env });
  expect(vans[0]?.stops.map(({ name }) => name)).toEqual(['Bike 1', 'Bike 2']);
  // Four hundredths of a degree, times 1.3.
  expect(vans[0]?.distance_m).toBeCloseTo(0.04 * 111_195 * 1.3, -2);
});

test('returns the same tours for any order of the input list', async () => {
  const bicycles = Array.from({ length: 30 }, (_, at) =>
    bicycleAt(at, 52.5 + ((at * 37) % 100) / 1000, 13.3 + ((at * 61) % 100) / 1000),
  );
  const words = [...FROM, '--vans', '3', '--capacity', '12', '--json'];
  const one = await rounds(words, { env: await listOf(bicycles) });
  const other = await rounds(words, { env: await listOf(bicycles.toReversed()) });
  expect(other.stdout).toBe(one.stdout);
});

test('refuses more than 5,000 bicycles and says how to select fewer', async () => {
  const bicycles = Array.from({ length: 5001 }, (_, at) => bicycleAt(at, 52.5, 13.4));
  const { code, stdout, stderr } = await rounds(FROM, { env: await listOf(bicycles) });
  expect([code, stdout]).toEqual([2, '']);
  expect(stderr).toContain('more than 5,000 bicycles are selected');
  expect(stderr).toContain('--zone');
});

test('--plan writes the plan file before fleet prints any output', async () => {
  const plan = join(newFolder(), 'rounds.plan');
  const hadPlan: boolean[] = [];
  const onStdout = () => hadPlan.push(existsSync(plan));
  const { code } = await roundsJson([...FROM, ...NEAR, '--plan', plan], { onStdout });
  expect([code, hadPlan[0]]).toEqual([0, true]);
});
