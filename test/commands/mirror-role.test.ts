// Tests a mirror of a role from which the lists hide bicycles.

import { expect, test } from 'vitest';
import { useEngines, withDatabase } from '../support/mirror.js';
import { openScenes } from '../support/mirror-scene.js';
import { runFleet } from '../support/run.js';

/** The whole list is compared every five minutes. */
const SPEED = 40;
const { openScene, clock } = openScenes(SPEED);
const [[, newSqlite]] = useEngines();

test("a mechanic's mirror finds deletions by comparing complete lists", async () => {
  const scene = await openScene(await newSqlite());
  const { sandbox, organization, run, to, until } = scene;
  Object.assign(scene.env, { FLEET_TOKEN: await sandbox.token({ affiliations: ['mechanic'] }) });
  const status = () => runFleet(['mirror', 'status', '--to', to], { env: scene.env, clock });
  const running = run('--json');
  const available = sandbox.bicycles(organization).filter(({ state }) => state === 'available');
  const [deleted = '', rented = ''] = available.map(({ uuid }) => uuid);
  await until('select count(*) as n from bicycles', { n: available.length });
  await running.until(() => running.events('open').length > 0);
  sandbox.act(rented, 'rent');
  await until(`select state from bicycles where uuid = '${rented}'`, { state: 'rented' });
  const operator = { ...scene.env, FLEET_TOKEN: await sandbox.token() };
  const path = `/bicycles/${deleted}/`;
  await runFleet(['api', '-X', 'DELETE', path, '--yes'], { env: operator });

  await until(`select count(*) as n from bicycles where gone is not null`, { n: 1 });
  await until(`select count(*) as n from bicycles where uuid = '${deleted}' and gone is not null`, {
    n: 1,
  });
  await running.stop('SIGTERM');
  // The database has its own clock. A living writer with a last whole reading that is older than ten minutes.
  await withDatabase(to, async (database) => {
    const [row] = await database.all('select state from writers');
    const state = JSON.parse(String(row?.['state']));
    state.proven.atMs = Date.now() - 11 * 60_000;
    const heartbeat = new Date().toISOString();
    await database.all('update writers set state = ?, heartbeat = ?, owner = ?', [
      JSON.stringify(state),
      heartbeat,
      state.owner,
    ]);
  });
  const old = await status();
  expect([old.code, old.stderr]).toEqual([9, expect.stringContaining('last whole reading')]);
});
