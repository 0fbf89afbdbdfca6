// Tests the selection of `fleet alerts watch`: alerts about a part of the fleet.

import { expect, onTestFinished, test } from 'vitest';
import { type Sandbox, type SandboxOptions, startSandbox } from '../../src/sandbox/index.js';
import { environmentOf } from '../support/environment.js';
import { type Running, startFleet } from '../support/running.js';

/** Starts a service and an alerts watch that ends with the test. */
async function startWatch(
  args: (sandbox: Sandbox) => readonly string[],
  options: SandboxOptions = {},
): Promise<{ sandbox: Sandbox; running: Running }> {
  const sandbox = await startSandbox({ bicycles: 40, rate: 0, ...options });
  const words = ['alerts', 'watch', '--json', '--every', '100ms', ...args(sandbox)];
  const running = startFleet(words, { env: await environmentOf(sandbox) });
  onTestFinished(async () => {
    await running.stop();
    await sandbox.close();
  });
  await running.until(() => running.stderr().includes('"event":"open"'));
  return { sandbox, running };
}

/** Raises an alert about each bicycle. Returns the UUIDs of the alerts in this order. */
function raiseAll(sandbox: Sandbox, bicycles: readonly { uuid: string }[]): string[] {
  return bicycles.map(({ uuid }) => sandbox.raiseAlert(uuid, 'lock.bat.low').uuid);
}

const shown = (running: Running) => running.objects().map(({ uuid }) => uuid);

test.each(['observed', 'interface'] as const)(
  'shows only alerts about selected bicycles (%s)',
  async (service) => {
    const { sandbox, running } = await startWatch(() => ['--bicycle-state', 'lost'], { service });
    const [lost, available] = ['lost', 'available'].map((state) =>
      sandbox.bicycles().find((bicycle) => bicycle.state === state),
    );
    if (lost === undefined || available === undefined) throw new Error('no such bicycles');
    const [, wanted] = raiseAll(sandbox, [available, lost]);
    await running.until(() => running.objects().length > 0);
    const [, second] = raiseAll(sandbox, [available, lost]);
    await running.until(() => running.objects().length > 1);
    expect(shown(running)).toEqual([wanted, second]);
  },
);
