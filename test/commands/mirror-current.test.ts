// Tests the automatic use of a current mirror for lookups, `watch` and the earlier state of a
// change.

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Database } from '../../src/mirror/database.js';
import { openDatabase } from '../../src/mirror/open.js';
import { environmentOf } from '../support/environment.js';
import { newFolder } from '../support/folder.js';
import { makeMirror, organizationOf } from '../support/made-mirror.js';
import { addressOf, useEngines, withDatabase } from '../support/mirror.js';
import { runFleet } from '../support/run.js';
import { useSandbox } from '../support/sandbox.js';

const sandbox = useSandbox({ bicycles: 150 });
const folder = newFolder();
const mirror = `sqlite:${join(folder, 'state', 'default.db')}`;
let env: NodeJS.ProcessEnv = {};
/** Keeps the database open as a writer does, so that its -wal file exists. */
let open: Database | undefined;
let bicycle = { uuid: '', name: '' };
let second = bicycle;

beforeAll(async () => {
  await makeMirror(mirror, { sandbox: sandbox() });
  open = await openDatabase(addressOf(mirror), {
    access: 'write',
    signal: new AbortController().signal,
    env: {},
  });
  const organization = organizationOf(sandbox());
  env = {
    ...(await environmentOf(sandbox())),
    FLEET_ORGANIZATION: organization,
    FLEET_CONFIG_DIR: folder,
  };
  // A bicycle at the end of the list, so that a few pages do not contain it.
  const found = sandbox()
    .bicycles(organization)
    .filter(({ name, state }) => typeof name === 'string' && state === 'available');
  const sorted = found.sort((a, b) => String(a.modified).localeCompare(String(b.modified)));
  const [oldest, next] = sorted.map(({ uuid, name }) => ({ uuid, name: String(name) }));
  if (oldest !== undefined && next !== undefined) [bicycle, second] = [oldest, next];
});

afterAll(() => open?.close());

const execute = (sql: string) => withDatabase(mirror, (database) => database.all(sql));

/** Writes a heartbeat of this age; a writer sends one every five seconds. */
function beat(secondsAgo = 0): Promise<unknown> {
  const heartbeat = new Date(Date.now() - secondsAgo * 1000).toISOString();
  return execute(`UPDATE writers SET heartbeat = '${heartbeat}'`);
}

async function requestsOf(args: readonly string[], more: NodeJS.ProcessEnv = {}) {
  const { requests } = sandbox();
  const before = requests.length;
  const run = await runFleet(args, { env: { ...env, ...more } });
  return { ...run, paths: requests.slice(before).map(({ url }) => url.split('?')[0] ?? '') };
}

test.each([
  ['a writer that is silent for 16 s', async () => beat(16), {}],
  [
    'a gap that is open',
    async () =>
      execute("INSERT INTO gaps (started, reason) VALUES ('2026-03-02T00:00:00.000000Z', 'cut')"),
    {},
  ],
  [
    'an incomplete reading',
    async () =>
      execute(`UPDATE writers SET state = replace(state, '"isWhole":true', '"isWhole":false')`),
    {},
  ],
  ['another organization', async () => beat(), { FLEET_ORGANIZATION: '' }],
])('asks the service instead of the mirror with %s', async (_name, prepare, more) => {
  await beat();
  await prepare();
  const run = await requestsOf(['bicycles', 'get', bicycle.name, '--jq', '.uuid'], more);
  expect(run.stdout).toBe(`${bicycle.uuid}\n`);
  expect(run.paths.length).toBeGreaterThan(1);
  await execute('DELETE FROM gaps');
  await execute(`UPDATE writers SET state = replace(state, '"isWhole":false', '"isWhole":true')`);
});

test('asks the service when a name is ambiguous in the mirror', async () => {
  await beat();
  await execute(
    `UPDATE bicycles SET name = '${bicycle.name}' WHERE uuid = (SELECT min(uuid) FROM bicycles WHERE uuid <> '${bicycle.uuid}')`,
  );
  const twice = await requestsOf(['bicycles', 'get', bicycle.name, '--jq', '.uuid']);
  expect(twice.stdout).toBe(`${bicycle.uuid}\n`);
  expect(twice.paths.length).toBeGreaterThan(1);
});

test.each(useEngines())(
  'looks up the names of input rows in the mirror: %s',
  async (_, newText) => {
    const address = await newText();
    await makeMirror(address, { sandbox: sandbox() });
    const own = newFolder();
    const profiles = { default: { mirror: address } };
    writeFileSync(join(own, 'config.json'), JSON.stringify({ profiles }));
    const act = async (input: string, flags: readonly string[] = []) => {
      const before = sandbox().requests.length;
      const args = ['bicycles', 'act', '-', 'put_in_maintenance', '--dry-run', ...flags];
      const run = await runFleet(args, {
        env: { ...env, FLEET_CONFIG_DIR: own },
        stdin: Readable.from([input]),
      });
      return { ...run, count: sandbox().requests.length - before };
    };
    const known = await act(`name\n${second.name}\n`);
    expect([known.code, known.count, known.stdout]).toEqual([
      0,
      0,
      expect.stringContaining(second.uuid),
    ]);
    const serial = sandbox().bicycle(bicycle.uuid)?.serial_number;
    const mixed = await act(`serial_number,name\n${serial},${bicycle.name}\n,${second.name}\n`);
    expect([mixed.count, mixed.stdout]).toEqual([
      0,
      expect.stringMatching(`${bicycle.uuid}[^]*${second.uuid}`),
    ]);
    expect((await act(`name\n${second.name}\n`, ['--no-mirror'])).count).toBeGreaterThan(0);
    const unknown = await act(`name\n${second.name}\nnobody\n`);
    expect([unknown.code, unknown.count > 0]).toEqual([2, true]);
  },
);

test('asks the service when the mirror file is damaged', async () => {
  const other = newFolder();
  writeFileSync(join(other, 'default.db'), 'no database'.repeat(1000));
  const run = await requestsOf(['bicycles', 'get', bicycle.name, '--jq', '.uuid'], {
    XDG_STATE_HOME: other,
  });
  expect([run.code, run.stdout, run.stderr]).toEqual([0, `${bicycle.uuid}\n`, '']);
});

test("`watch` starts with the mirror's bicycles and any later changes", async () => {
  const seen = async ({ uuid }: { uuid: string }, flags: readonly string[]) => {
    await beat();
    const { requests } = sandbox();
    const before = requests.length;
    const args = [
      'watch',
      '--until',
      'state=unrecoverable',
      '--for',
      '20s',
      '--resync-pages',
      '1',
      ...flags,
    ];
    const isOpen = setInterval(() => {
      if (!requests.slice(before).some(({ url }) => url.includes('/subscribe/'))) return;
      clearInterval(isOpen);
      setTimeout(() => sandbox().changeBicycle(uuid, { state: 'unrecoverable' }), 300);
    }, 20);
    return runFleet(args, { env });
  };
  // The fleet changed after the mirror was created, and these changes are caught up.
  const changed = sandbox()
    .bicycles(organizationOf(sandbox()))
    .find(
      ({ uuid, state }) => ![bicycle.uuid, second.uuid].includes(uuid) && state === 'available',
    );
  sandbox().changeBicycle(String(changed?.uuid), { state: 'lost' });
  const known = await seen(bicycle, []);
  expect(known.stdout).toContain('available -> unrecoverable');
  expect(known.stdout).toContain('available -> lost');
  const unknown = await seen(second, ['--no-mirror']);
  expect(unknown.stdout).not.toContain('available -> unrecoverable');
});
