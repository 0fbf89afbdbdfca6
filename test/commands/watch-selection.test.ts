// Tests the time in the lines of `fleet watch`, and the selection of its board and of
// `mirror replay`.

import { expect, onTestFinished, test } from 'vitest';
import type { Sandbox } from '../../src/sandbox/index.js';
import { startSandbox } from '../../src/sandbox/index.js';
import { environmentOf } from '../support/environment.js';
import { newFolder } from '../support/folder.js';
import { makeMirror } from '../support/made-mirror.js';
import { runFleet } from '../support/run.js';
import { startFleet } from '../support/running.js';
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

test('`watch` shows the time of each event, and -o wide adds the time of receipt', async () => {
  const HOUR_MS = 3_600_000;
  const from = await startSandbox({ bicycles: 20, rate: 0, now: () => Date.now() - HOUR_MS });
  onTestFinished(() => from.close());
  const { uuid } = find('available', from);
  const running = startFleet(['watch', organizationOf(from), '-o', 'wide', '--sender', 'bicycle'], {
    env: await environmentOf(from),
  });
  onTestFinished(async () => void (await running.stop()));
  await running.until(() => running.stderr().includes('watching'));
  const startedMs = Date.now();
  from.act(uuid, 'rent');
  await running.until(() => running.stdout().includes('rented'));
  const [line = ''] = (await running.stop()).stdout.split('\n');
  const [, event = '', received = ''] = /^(\S+) .* received (\S+)$/.exec(line) ?? [];
  expect(startedMs - Date.parse(event)).toBeGreaterThan(HOUR_MS / 2);
  expect(Math.abs(startedMs - Date.parse(received))).toBeLessThan(HOUR_MS / 2);
});

test('`mirror replay` accepts the filters of `watch`', async () => {
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

test('the board of --live shows only the selected bicycles', async () => {
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
