// Tests `fleet rounds` over sockets: its selection, its limits, its reasons and invalid input.

import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { environmentOf } from '../support/environment.js';
import { newFolder } from '../support/folder.js';
import { type RunOptions, runFleet } from '../support/run.js';
import { openSandbox, useSandbox } from '../support/sandbox.js';
import { openServer, sendPage } from '../support/server.js';

const sandbox = useSandbox({ bicycles: 120 });

const folder = newFolder();

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

test('visits every bicycle of the selection once, without --all', async () => {
  const listed = await runFleet(['bicycles', 'list', ...NEAR, '--all', '-o', 'uuid'], {
    env: await environmentOf(sandbox()),
  });
  const { code, vans, left_out } = await roundsJson([...FROM, ...NEAR, '--vans', '2']);
  expect(code).toBe(0);
  expect(left_out).toEqual([]);
  const visited = vans.flatMap(({ stops }) => stops.map(({ uuid }) => uuid));
  expect(visited.length).toBeGreaterThan(5);
  expect(visited.sort()).toEqual(listed.stdout.trim().split('\n').sort());
});

test('adds the times of legs, stops and the way back', async () => {
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

test('ends a tour at --to', async () => {
  const env = await listOf([bicycleAt(1, 52.53, 13.4), bicycleAt(2, 52.55, 13.4)]);
  const words = ['--from', '52.52,13.4', '--to', '52.56,13.4'];
  const { vans } = await roundsJson(words, { env });
  expect(vans[0]?.stops.map(({ name }) => name)).toEqual(['Bike 1', 'Bike 2']);
  // Four hundredths of a degree, times 1.3.
  expect(vans[0]?.distance_m).toBeCloseTo(0.04 * 111_195 * 1.3, -2);
});

test('reads the bicycles that stdin names, and refuses unknown ones', async () => {
  const uuids = sandbox()
    .bicycles()
    .filter(({ latitude, longitude }) => latitude !== null && longitude !== null)
    .slice(0, 4)
    .map(({ uuid }) => uuid);
  const stdin = `${uuids.join('\n')}\n${uuids[0]}\n`;
  const { vans } = await roundsJson(['-', ...FROM, '--yes'], { stdin });
  expect(vans[0]?.stops.map(({ uuid }) => uuid).sort()).toEqual(uuids.sort());
  const unknown = '00000000-0000-4000-8000-00000000dead';
  const refused = await rounds(['-', ...FROM, '--yes'], { stdin: `${stdin}${unknown}\n` });
  expect([refused.code, refused.stdout]).toEqual([2, '']);
  expect(refused.stderr).toContain(unknown);
  const filtered = await rounds(['-', ...FROM, '--state', 'lost'], { stdin });
  expect(filtered.stderr).toContain('- and --state cannot be combined');
});

test('an empty selection is an empty plan', async () => {
  const { code, stdout } = await rounds(['-', ...FROM, '--json'], { stdin: '' });
  expect([code, JSON.parse(stdout)]).toEqual([0, { vans: [], left_out: [] }]);
});

test('lists every bicycle that does not fit with its reason, and exits with 9', async () => {
  const env = await listOf([
    bicycleAt(1, 52.521, 13.405),
    bicycleAt(2, 52.522, 13.405),
    bicycleAt(3, 52.523, 13.405),
    bicycleAt(4, null, null),
    bicycleAt(5, 0, 0),
    bicycleAt(6, 48.14, 11.58),
  ]);
  const words = [...FROM, '--capacity', '2', '--hours', '2'];
  const { code, stderr, vans, left_out } = await roundsJson(words, { env });
  expect(code).toBe(9);
  expect(vans[0]?.stops).toHaveLength(2);
  expect(left_out.map(({ uuid, reason }) => [uuid.slice(-1), reason])).toEqual([
    ['4', 'it has no position'],
    ['5', 'it has no position'],
    ['6', expect.stringContaining('longer than --hours 2')],
    ['3', 'every van is full (--capacity 2)'],
  ]);
  expect(stderr).toContain('4 bicycles left out');
  const table = await rounds(words, { env });
  expect(table.code).toBe(9);
  for (const { reason } of left_out) expect(table.stdout).toContain(reason);
});

test('does not suggest more vans when the bicycles have no position', async () => {
  const env = await listOf([bicycleAt(1, 52.521, 13.405), bicycleAt(2, null, null)]);
  const { code, stderr } = await rounds(FROM, { env });
  expect(code).toBe(9);
  expect(stderr).toContain('hint: look for bicycles without a position');
  expect(stderr).not.toContain('--vans');
});

test('suggests a larger --hours when no van has time left', async () => {
  const bicycles = Array.from({ length: 12 }, (_, at) => bicycleAt(at, 52.52 + at / 200, 13.405));
  const env = await listOf(bicycles);
  const { code, vans, left_out } = await roundsJson([...FROM, '--hours', '1'], { env });
  expect(code).toBe(9);
  expect(vans[0]?.duration_s).toBeLessThanOrEqual(3600);
  expect(new Set(left_out.map(({ reason }) => reason))).toEqual(
    new Set(['no van has time left for it (--hours 1)']),
  );
});

test('returns the same tours for any order of the list', async () => {
  const bicycles = Array.from({ length: 30 }, (_, at) =>
    bicycleAt(at, 52.5 + ((at * 37) % 100) / 1000, 13.3 + ((at * 61) % 100) / 1000),
  );
  const words = [...FROM, '--vans', '3', '--capacity', '12', '--json'];
  const one = await rounds(words, { env: await listOf(bicycles) });
  const other = await rounds(words, { env: await listOf(bicycles.toReversed()) });
  expect(other.stdout).toBe(one.stdout);
});

test.each<[string, string[], string]>([
  ['no start', [], '--from is needed'],
  [
    'a capacity of 0',
    [...FROM, '--capacity', '0'],
    '--capacity must be a whole number of 1 or more',
  ],
  ['no van', [...FROM, '--vans', '0'], '--vans must be a whole number from 1 to 200'],
  ['a swapped start', ['--from', '13.4,252.5'], 'out of range'],
  ['hours of 0', [...FROM, '--hours', '0'], '--hours must be a number of hours above 0'],
  [
    'a speed that takes millions of years',
    [...FROM, '--speed', '0.000000001', '--start', '07:30'],
    '--speed must be a number of kilometres per hour from 1 to 200',
  ],
  ['a radius with -', ['-', ...FROM, '--radius', '3km'], '- and --radius cannot be combined'],
  ['a time that does not exist', [...FROM, '--start', '24:10'], '--start must be a time of day'],
  ['a router without http', [...FROM, '--router', 'ftp://a'], '--router must be an http'],
  [
    'a router with a password',
    [...FROM, '--router', 'http://a:b@c'],
    'must not contain a user name',
  ],
  [
    'hours too short for a stop',
    [...FROM, ...NEAR, '--hours', '0.05'],
    'too short for a single stop',
  ],
  ['an operand', ['abc', ...FROM], 'accepts filters or -'],
  ['a workbook without a file', [...FROM, '-o', 'xlsx'], 'add --file PATH'],
  ['an svg', [...FROM, '-o', 'svg'], 'use fleet map -o svg'],
])('refuses %s', async (_what, words, reason) => {
  const { code, stdout, stderr } = await rounds(words);
  expect([code, stdout]).toEqual([2, '']);
  expect(stderr).toContain(reason);
});

test('refuses a selection without any position', async () => {
  const env = await listOf([bicycleAt(1, null, null), bicycleAt(2, '', '')]);
  const { code, stderr } = await rounds(FROM, { env });
  expect(code).toBe(2);
  expect(stderr).toContain('none of 2 selected bicycles has a position');
});

test('asks about a start that is more than 500 km from every bicycle', async () => {
  const env = await listOf([bicycleAt(1, 52.52, 13.405)]);
  const far = ['--from', '48.85,2.35'];
  const { code, stderr } = await rounds(far, { env });
  expect(code).toBe(2);
  expect(stderr).toContain('add --yes');
  expect((await rounds([...far, '--yes'], { env })).code).toBe(0);
  const asked = await rounds(far, { env, terminal: { columns: 120, rows: 30 }, stdin: 'n\n' });
  expect(asked.stderr).toMatch(/is 8\d\d km from the nearest bicycle/);
  expect(asked.code).toBe(2);
});

test('refuses more than 5,000 bicycles and says how to narrow the selection', async () => {
  const bicycles = Array.from({ length: 5001 }, (_, at) => bicycleAt(at, 52.5, 13.4));
  const { code, stdout, stderr } = await rounds(FROM, { env: await listOf(bicycles) });
  expect([code, stdout]).toEqual([2, '']);
  expect(stderr).toContain('more than 5,000 bicycles are selected');
  expect(stderr).toContain('--zone');
});

test('--plan also writes a plan that `fleet apply` carries out', async () => {
  const own = await openSandbox({ bicycles: 120 });
  const env = await environmentOf(own);
  const plan = join(folder, 'rounds.plan');
  const words = ['--state', 'available', ...NEAR, '--capacity', '3', '--plan', plan];
  // A reader such as `head` can end the output early, so the plan is written before it.
  const hadPlan: boolean[] = [];
  const onStdout = () => hadPlan.push(existsSync(plan));
  const { code, vans, stderr } = await roundsJson([...FROM, ...words], { env, onStdout });
  expect([code, hadPlan[0]]).toEqual([9, true]);
  expect(stderr).toContain('fleet apply');
  const planned = vans.flatMap(({ stops }) => stops.map(({ uuid }) => uuid));
  expect(planned).toHaveLength(3);
  const stateOf = (uuid: string) => own.bicycles().find((each) => each.uuid === uuid)?.state;
  expect(planned.map(stateOf)).toEqual(['available', 'available', 'available']);
  const applied = await runFleet(['apply', plan, '--yes', '--settle', '0'], { env });
  expect([applied.code, applied.stderr.includes('error')]).toEqual([0, false]);
  expect(planned.map(stateOf)).toEqual(Array(3).fill('in_maintenance'));
  const again = await rounds([...FROM, ...words], { env });
  expect([again.code, again.stdout]).toEqual([2, '']);
  expect(again.stderr).toContain('already exists');
});
