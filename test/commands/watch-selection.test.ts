// Tests the selection of `fleet watch` and `mirror replay`: bicycles that enter and leave it, the
// time of lines, and short moves.

import { expect, onTestFinished, test } from 'vitest';
import type { Sandbox } from '../../src/sandbox/index.js';
import { startSandbox } from '../../src/sandbox/index.js';
import { environmentOf } from '../support/environment.js';
import { newFolder } from '../support/folder.js';
import { makeMirror } from '../support/made-mirror.js';
import { type RunOptions, runFleet } from '../support/run.js';
import { eventually, type Running, startFleet } from '../support/running.js';
import { useSandbox } from '../support/sandbox.js';

const sandbox = useSandbox({ bicycles: 60 });

function organizationOf(from: Sandbox): string {
  return from.organizations[0]?.uuid ?? '';
}

/** Returns a bicycle of the main organization in this state, with a position. */
function find(state: string, from: Sandbox = sandbox()) {
  const bicycle = from
    .bicycles(organizationOf(from))
    .find((one) => one.state === state && one.latitude !== null);
  if (bicycle === undefined) throw new Error(`the sandbox has no bicycle that is ${state}`);
  return { ...bicycle, latitude: Number(bicycle.latitude), longitude: Number(bicycle.longitude) };
}

interface Zone {
  name: string;
  polygon: { coordinates: [number, number][][] };
}

/** Whether the rectangle of a zone contains the bicycle. */
function contains(zone: Zone, { latitude, longitude }: { latitude: number; longitude: number }) {
  const corners = zone.polygon.coordinates[0] ?? [];
  const longitudes = corners.map(([degrees]) => degrees);
  const latitudes = corners.map(([, degrees]) => degrees);
  return (
    Math.min(...longitudes) < longitude &&
    longitude < Math.max(...longitudes) &&
    Math.min(...latitudes) < latitude &&
    latitude < Math.max(...latitudes)
  );
}

/** How long a watch may take to process the answers that it has received. */
const SETTLE_MS = 300;

/** Starts a watch, and resolves when it is connected and has read the whole list. */
async function startWatch(
  args: readonly string[],
  from: Sandbox = sandbox(),
  options: RunOptions = {},
): Promise<Running> {
  const pages = Math.ceil(from.bicycles(organizationOf(from)).length / 100);
  const read = () =>
    from.requests.filter(({ url, status }) => url.startsWith('/bicycles/?') && status === 200)
      .length;
  const before = read();
  const running = startFleet(['watch', organizationOf(from), ...args], {
    ...options,
    env: { ...(await environmentOf(from)), ...options.env },
  });
  onTestFinished(async () => void (await running.stop()));
  await running.until(() => /watching\s|"event":"open"/.test(running.stderr()));
  await eventually(() => read() >= before + pages, running.stderr);
  await new Promise((resolve) => setTimeout(resolve, SETTLE_MS));
  return running;
}

test('`watch --state` shows the bicycles that enter and leave, and hides the others', async () => {
  const [available, maintained] = [find('available'), find('in_maintenance')];
  const running = await startWatch(['--state', 'available', '--sender', 'bicycle']);
  sandbox().changeBicycle(maintained.uuid, { latitude: maintained.latitude + 0.01 });
  sandbox().act(available.uuid, 'rent');
  sandbox().changeBicycle(available.uuid, { latitude: available.latitude + 0.01 });
  sandbox().act(available.uuid, 'return');
  await running.until(() => running.stdout().includes('entered'));
  const { stdout } = await running.stop();
  expect(stdout.trimEnd().split('\n')).toEqual([
    expect.stringMatching(/ {2}left: available -> rented/),
    expect.stringMatching(/ {2}entered: rented -> available/),
  ]);
  expect(stdout).not.toContain(String(maintained.name));
});

test('`watch --json` prints the messages, and `entered` and `left` as events on stderr', async () => {
  const { uuid } = find('available');
  const running = await startWatch(['--state', 'available', '--sender', 'bicycle', '--json']);
  sandbox().act(uuid, 'rent');
  sandbox().act(uuid, 'return');
  await running.until(() => running.events('entered').length > 0);
  await running.stop();
  expect(running.events('left')).toMatchObject([{ uuid, bicycle: { uuid, state: 'rented' } }]);
  expect(running.events('entered')).toMatchObject([{ uuid, bicycle: { state: 'available' } }]);
  expect(running.objects()).toMatchObject([
    { message: { uuid, state: 'rented' } },
    { message: { uuid, state: 'available' } },
  ]);
});

test('a bicycle whose new state is not published leaves the selection once', async () => {
  const { uuid } = find('available');
  const running = await startWatch(['--state', 'available']);
  const topic = `/${organizationOf(sandbox())}/admin/bicycles/*`;
  sandbox().publish(topic, 'bicycle_leaving_state', { uuid, state: 'available' });
  await running.until(() => running.stdout().includes('left: leaves available'));
  sandbox().act(uuid, 'rent');
  sandbox().act(uuid, 'return');
  await running.until(() => running.stdout().includes('entered'));
  const { stdout } = await running.stop();
  expect(stdout.match(/ left: /g)).toHaveLength(1);
});

test('`--until left` ends the watch when a bicycle leaves a zone', async () => {
  const bicycle = find('available');
  const zones = await runFleet(['zones', 'list', '--json'], {
    env: await environmentOf(sandbox()),
  });
  const zone = JSON.parse(zones.stdout).find((one: Zone) => contains(one, bicycle));
  const running = await startWatch(['--zone', zone.name, '--until', 'left']);
  sandbox().changeBicycle(bicycle.uuid, { latitude: bicycle.latitude + 5 });
  const { code, stdout } = await running.ended;
  sandbox().changeBicycle(bicycle.uuid, { latitude: bicycle.latitude });
  expect([code, stdout]).toEqual([0, expect.stringMatching(/ {2}left: moved [\d,.]+ km/)]);
});

test.each([
  [['--until', 'left'], '--until left needs a selection'],
  [['--near', '52.52,13.4'], '--near needs --radius'],
  [['--zone', 'Atlantis'], 'no zone is named "Atlantis"'],
])('`watch` refuses %j before it follows', async (args, message) => {
  const { sseUrl: _, ...env } = await environmentOf(sandbox());
  const run = await runFleet(['watch', organizationOf(sandbox()), ...args], { env });
  expect([run.code > 0, run.stdout]).toEqual([true, '']);
  expect(run.stderr).toContain(message);
});

test('lines carry the time of the event, and -o wide adds the time of receipt', async () => {
  const HOUR_MS = 3_600_000;
  const from = await startSandbox({ bicycles: 20, rate: 0, now: () => Date.now() - HOUR_MS });
  onTestFinished(() => from.close());
  const { uuid } = find('available', from);
  const running = await startWatch(['-o', 'wide', '--sender', 'bicycle'], from);
  const startedMs = Date.now();
  from.act(uuid, 'rent');
  await running.until(() => running.stdout().includes('rented'));
  const [line = ''] = (await running.stop()).stdout.split('\n');
  const [, event = '', received = ''] = /^(\S+) .* received (\S+)$/.exec(line) ?? [];
  expect(startedMs - Date.parse(event)).toBeGreaterThan(HOUR_MS / 2);
  expect(Math.abs(startedMs - Date.parse(received))).toBeLessThan(HOUR_MS / 2);
});

test('the summary counts hidden short moves, and --all shows them', async () => {
  const { uuid, latitude } = find('available');
  const hidden = await startWatch(['--sender', 'bicycle']);
  sandbox().changeBicycle(uuid, { latitude: latitude + 0.00002 });
  sandbox().act(uuid, 'rent');
  await hidden.until(() => hidden.stdout().includes('rented'));
  const { stdout, stderr } = await hidden.stop();
  expect(stdout).not.toContain('moved');
  expect(stderr).toContain('1 move of less than 5 m hidden (--all shows them)');
  const shown = await startWatch(['--sender', 'bicycle', '--all']);
  sandbox().changeBicycle(uuid, { latitude });
  await shown.until(() => shown.stdout().includes('moved 2 m'));
  expect((await shown.stop()).stderr).not.toContain('hidden');
  sandbox().act(uuid, 'return');
});

test('`mirror replay` accepts the selection', async () => {
  const to = `sqlite:${newFolder()}/fleet.db`;
  const [one, other] = sandbox().bicycles(organizationOf(sandbox()));
  const change = (at: string, bicycle: string | undefined, old: string, state: string) => ({
    at,
    bicycle: bicycle ?? '',
    field: 'state',
    old,
    new: state,
  });
  await makeMirror(to, {
    sandbox: sandbox(),
    changes: [
      change('2026-03-01T12:00:00.000000Z', one?.uuid, 'available', 'rented'),
      change('2026-03-01T12:00:01.000000Z', other?.uuid, 'lost', 'in_maintenance'),
      change('2026-03-01T13:00:00.000000Z', one?.uuid, 'rented', 'available'),
    ],
  });
  const words = ['mirror', 'replay', '--to', to, '--speed', 'max', '--state', 'rented'];
  const run = await runFleet(words, { env: await environmentOf(sandbox()) });
  expect(run.stdout.trimEnd().split('\n')).toEqual([
    expect.stringMatching(/^2026-03-01T12:00:00.000Z .* entered: available -> rented/),
    expect.stringMatching(/^2026-03-01T13:00:00.000Z .* left: rented -> available/),
  ]);
});

test('the board of --live shows the selected bicycles', async () => {
  const lost = find('lost');
  const running = startFleet(['watch', organizationOf(sandbox()), '--live', '--state', 'lost'], {
    env: { ...(await environmentOf(sandbox())), NO_COLOR: '1' },
    terminal: { columns: 120, rows: 50 },
  });
  onTestFinished(async () => void (await running.stop()));
  await running.until(() => running.stdout().includes(lost.name));
  const { stdout } = await running.stop();
  const others = sandbox()
    .bicycles(organizationOf(sandbox()))
    .filter(({ state, name }) => state !== 'lost' && name.length > 5);
  // The list of alerts names bicycles in any state.
  const fleetRows = stdout.slice(0, stdout.indexOf('ALERTS'));
  expect(others.filter(({ name }) => fleetRows.includes(name)).map(({ name }) => name)).toEqual([]);
});

test('shows a bicycle that left the selection during a gap, and no other one', async () => {
  const from = await startSandbox({ bicycles: 30, rate: 0, replay: 0 });
  onTestFinished(() => from.close());
  const { uuid } = find('available', from);
  const running = await startWatch(['--state', 'available', '--json'], from);
  from.dropStreams();
  from.act(uuid, 'rent');
  await running.until(() => running.events('left').length > 0);
  await running.until(() => running.events('resync').some(({ since }) => since !== undefined));
  await running.stop();
  expect(running.events('left')).toMatchObject([{ uuid, bicycle: { state: 'rented' } }]);
  expect(running.events('entered')).toEqual([]);
});
