// Tests `fleet bicycles history` with the service's transitions, with and without a mirror.

import { describe, expect, test } from 'vitest';
import type { Sandbox } from '../../src/sandbox/index.js';
import { newFolder } from '../support/folder.js';
import { runFleet } from '../support/run.js';
import { openSandbox } from '../support/sandbox.js';
import { openServer, sendJson } from '../support/server.js';

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

test('prints time, states, transition and author without a mirror', async () => {
  const { sandbox, uuid, name } = await openPast();
  for (const text of [uuid, uuid.slice(0, 8), name]) {
    const run = await fleet(sandbox, ['bicycles', 'history', text, '--json']);
    expect([run.code, run.stderr]).toEqual([0, '']);
    const steps = JSON.parse(run.stdout) as { [field: string]: unknown }[];
    expect(
      steps.slice(-3).map((step) => [step['old'], step['new'], step['transition'], step['source']]),
    ).toEqual([
      ['available', 'reserved', 'reserve', 'service'],
      ['reserved', 'available', 'expire_reservation', 'service'],
      ['available', 'in_maintenance', 'put_in_maintenance', 'service'],
    ]);
    expect(steps.at(-1)).toMatchObject({
      by: 'operator',
      at: sandbox.history(uuid).at(-1)?.timestamp,
    });
    expect(steps[0]).toMatchObject({ old: null });
  }
  const table = await fleet(sandbox, ['bicycles', 'history', uuid]);
  expect(table.stdout).toMatch(/^AT +FIELD +OLD +NEW +TRANSITION +BY +SOURCE/);
  const none = await fleet(sandbox, ['bicycles', 'history', uuid, '--field', 'state_of_charge']);
  expect([none.code, none.stdout]).toEqual([0, expect.not.stringContaining('reserve')]);
  expect((await fleet(sandbox, ['bicycles', 'history', 'Nobody'])).code).toBe(5);
});

test('merges the histories of service and mirror by time and shows their sources', async () => {
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
    expect.stringContaining('only from the mirror: cannot reach'),
  ]);
});

test('exits with 5 and one line at a service without a history', async () => {
  const sandbox = await openSandbox({ bicycles: 3, service: 'interface' });
  const uuid = sandbox.bicycles()[0]?.uuid ?? '';
  const run = await fleet(sandbox, ['bicycles', 'history', uuid]);
  expect([run.code, run.stdout]).toEqual([5, '']);
  expect(run.stderr).toMatch(
    /^error: this service lists no transitions of [0-9a-f-]+\nhint: .*mirror run\n$/,
  );
});

test('uses author names from the entries without reading the users, and keeps unknown UUIDs', async () => {
  const { env } = await openServer((response, { path }) => {
    const stranger = '11111111-1111-4111-8111-111111111111';
    if (path.includes('/transitions/'))
      return sendJson(response, 200, [
        {
          timestamp: '2026-03-01T12:00:02Z',
          to_state: 'lost',
          transition: 'declare_lost',
          by: { username: 'ann' },
        },
        {
          timestamp: '2026-03-01T12:00:01Z',
          state: 'available',
          transition: 'return',
          by: `/users/${stranger}/`,
        },
        {
          timestamp: '2026-03-01T12:00:00Z',
          state: 'rented',
          transition: 'rent',
          by: 'bob@example.org',
        },
      ]);
    sendJson(response, path.startsWith('/users/') ? 403 : 404, { detail: 'no' });
  });
  const uuid = '22222222-2222-4222-8222-222222222222';
  const run = await runFleet(
    ['bicycles', 'history', uuid, '-o', 'csv', '--columns', 'by,old,new'],
    { env },
  );
  expect(run.stdout).toBe(
    'by,old,new\nbob@example.org,,rented\n11111111-1111-4111-8111-111111111111,rented,available\nann,available,lost\n',
  );
});

describe('a history that the service does not show', () => {
  const UUID = '1c2d3e4f-0000-4000-8000-000000000009';

  test('names the role when the service answers 403', async () => {
    const { env } = await openServer((response) =>
      sendJson(response, 403, { detail: 'You do not have permission.' }),
    );
    const run = await runFleet(['bicycles', 'history', UUID], { env });
    expect([run.code, run.stderr]).toEqual([
      4,
      expect.stringContaining(`this token may not read the history of ${UUID}: You do not have`),
    ]);
  });

  test('names a deleted bicycle', async () => {
    const sandbox = await openSandbox({ bicycles: 5 });
    const env = { FLEET_BASE_URL: sandbox.baseUrl, FLEET_TOKEN: await sandbox.token() };
    const run = await runFleet(['bicycles', 'history', UUID], { env });
    expect([run.code, run.stderr]).toEqual([
      5,
      expect.stringContaining(`the bicycle ${UUID} was deleted, or you have no access`),
    ]);
  });
});
