// Tests `fleet mirror upgrade` with an older mirror and with a missing one.

import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { migrate, SCHEMA_NUMBER, writeMeta } from '../../src/mirror/schema.js';
import { newFolder } from '../support/folder.js';
import { makeOld, useEngines, withDatabase } from '../support/mirror.js';
import { runFleet } from '../support/run.js';

const env = { FLEET_CONFIG_DIR: '/nonexistent/fleet-tests', FLEET_BASE_URL: 'http://127.0.0.1:9' };

test.each(useEngines())(
  '`mirror upgrade` upgrades the previous schema once (%s)',
  async (_kind, newText) => {
    const to = await newText();
    await withDatabase(to, (database) => makeOld(database));
    const old = await runFleet(['mirror', 'status', '--to', to], { env });
    expect([old.code, old.stderr]).toEqual([
      3,
      expect.stringContaining('upgrade it: fleet mirror upgrade'),
    ]);
    for (const said of [`was upgraded from schema 3 to ${SCHEMA_NUMBER}`, 'is up to date']) {
      const { code, stderr } = await runFleet(['mirror', 'upgrade', '--to', to], { env });
      expect([code, stderr]).toEqual([0, expect.stringContaining(said)]);
    }
    expect((await runFleet(['mirror', 'status', '--to', to], { env })).code).toBe(9);
    await withDatabase(to, (database) => writeMeta(database, { schema: '2' }));
    for (const verb of ['status', 'upgrade']) {
      const { code, stderr } = await runFleet(['mirror', verb, '--to', to], { env });
      expect([code, stderr]).toEqual([
        3,
        expect.stringMatching(
          /has schema 2, and this version of fleet upgrades only schema 3 .*\nhint: to start a new mirror/,
        ),
      ]);
    }
  },
);

test.each(useEngines())(
  '`mirror upgrade` adds the names of bicycles to a mirror with schema 5 (%s)',
  async (_kind, newText) => {
    const to = await newText();
    await withDatabase(to, async (database) => {
      await migrate(database);
      await database.all('drop table names');
      await writeMeta(database, { schema: '5' });
    });
    const { code, stderr } = await runFleet(['mirror', 'upgrade', '--to', to], { env });
    expect([code, stderr]).toEqual([0, expect.stringContaining('from schema 5 to 6')]);
    expect(await withDatabase(to, (database) => database.all('select * from names'))).toEqual([]);
  },
);

test('`mirror upgrade` does not create a missing database', async () => {
  const path = join(newFolder(), 'none.db');
  const { code, stderr } = await runFleet(['mirror', 'upgrade', '--to', `sqlite:${path}`], { env });
  expect([code, stderr]).toEqual([3, expect.stringContaining('there is no mirror at')]);
  expect(existsSync(path)).toBe(false);
});
