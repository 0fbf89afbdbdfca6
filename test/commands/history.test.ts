// Tests that `fleet bicycles history` merges the histories of service and mirror. The transcripts
// test/transcripts/bicycles/history*.md show the history of a service.

import { expect, test } from 'vitest';
import type { Sandbox } from '../../src/sandbox/index.js';
import { newFolder } from '../support/folder.js';
import { runFleet } from '../support/run.js';
import { openSandbox } from '../support/sandbox.js';

async function fleet(sandbox: Sandbox, args: readonly string[], folder = '/nonexistent') {
  const env = {
    FLEET_BASE_URL: sandbox.baseUrl,
    FLEET_SSE_URL: sandbox.sseUrl,
    FLEET_TOKEN: await sandbox.token(),
  };
  return runFleet(args, { env: { ...env, FLEET_CONFIG_DIR: folder } });
}

/** A bicycle that was reserved, released and taken over. */
async function openPast() {
  const sandbox = await openSandbox({ bicycles: 20 });
  const { uuid, name } = sandbox.bicycles().find(({ state }) => state === 'available') ?? {
    uuid: '',
    name: '',
  };
  sandbox.act(uuid, 'reserve', sandbox.users[2]);
  sandbox.act(uuid, 'expire_reservation');
  const run = await fleet(sandbox, ['bicycles', 'act', uuid, 'put_in_maintenance']);
  expect(run.code).toBe(0);
  return { sandbox, uuid, name };
}

test('merges the histories of the service and the mirror by time', async () => {
  const folder = newFolder();
  const { sandbox, uuid } = await openPast();
  expect((await fleet(sandbox, ['mirror', 'once'], folder)).code).toBe(0);
  // Entries that only the service has are newer than the mirror.
  expect((await fleet(sandbox, ['bicycles', 'history', uuid], folder)).stderr).toBe('');
  const status = await fleet(sandbox, ['mirror', 'status'], folder);
  expect([status.code, status.stderr]).toEqual([
    9,
    expect.stringContaining('its bicycles are complete as of '),
  ]);
  sandbox.changeBicycle(uuid, { state_of_charge: 7 });
  expect((await fleet(sandbox, ['mirror', 'once'], folder)).code).toBe(0);
  expect((await fleet(sandbox, ['bicycles', 'history', uuid], folder)).stderr).toContain(
    'from the mirror, ',
  );
  const run = await fleet(sandbox, ['bicycles', 'history', uuid, '--json'], folder);
  expect(run.code).toBe(0);
  const steps = JSON.parse(run.stdout) as { at: string; source: string; field: string }[];
  expect(steps.filter(({ source }) => source === 'service')).toHaveLength(
    sandbox.history(uuid).length,
  );
  expect(
    steps.filter(({ source, field }) => source === 'list' && field === 'state_of_charge'),
  ).toHaveLength(1);
  const times = steps.map(({ at }) => Date.parse(at));
  expect(times).toEqual(times.toSorted((a, b) => a - b));
  // The service is down, so only the mirror is used, and this is reported.
  await sandbox.close();
  const alone = await fleet(
    sandbox,
    ['bicycles', 'history', uuid, '--json', '--retries', '0'],
    folder,
  );
  expect([alone.code, alone.stderr]).toEqual([
    0,
    expect.stringContaining('only the history in the mirror is shown: cannot reach'),
  ]);
});
