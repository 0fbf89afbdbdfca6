// Tests a mirror whose database returns to an older state while a writer runs, from a backup or a
// standby.

import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { Database } from '../../src/mirror/database.js';
import { newFolder } from '../support/folder.js';
import { useEngines, withDatabase } from '../support/mirror.js';
import { openScenes } from '../support/mirror-scene.js';

const { openScene } = openScenes(20);
const folder = newFolder();
const TABLES = ['bicycles', 'alerts', 'changes', 'gaps', 'writers', 'meta', 'listed'];

interface Backup {
  /** Copies the tables. */
  save(database: Database): Promise<void>;
  /** Puts the saved rows back in one transaction, as `.restore` of SQLite does. */
  restore(database: Database): Promise<void>;
}

function openBackup(kind: string): Backup {
  const file = join(folder, 'backup.db');
  const replace = (database: Database) =>
    database.transaction(async () => {
      for (const table of TABLES) {
        await database.all(`delete from ${table}`);
        await database.all(`insert into ${table} select * from backup.${table}`);
      }
    });
  if (kind === 'sqlite')
    return {
      save: async (database) => void (await database.all(`vacuum into '${file}'`)),
      async restore(database) {
        await database.all(`attach '${file}' as backup`);
        await replace(database);
      },
    };
  return {
    async save(database) {
      await database.all('create schema backup');
      for (const table of TABLES)
        await database.all(`create table backup.${table} as select * from ${table}`);
    },
    restore: replace,
  };
}

describe.each(useEngines())('%s', (kind, newText) => {
  test('opens a gap and reads the whole list again when the database was restored to an older state', async () => {
    const text = await newText();
    const scene = await openScene(text);
    const { sandbox, run, ask, until } = scene;
    const running = run('--json');
    const [one = '', two = ''] = scene.uuids();
    await running.until(() => running.events('open').length > 0);
    await scene.isWhole();
    sandbox.changeBicycle(one, { description: 'before the backup' });
    await until(`select description from bicycles where uuid = '${one}'`, {
      description: 'before the backup',
    });
    const backup = openBackup(kind);
    await withDatabase(text, backup.save);
    sandbox.changeBicycle(one, { description: 'after the backup' });
    await scene.remove(two);
    await until(`select description from bicycles where uuid = '${one}'`, {
      description: 'after the backup',
    });
    await withDatabase(text, backup.restore);

    await until(
      "select count(*) as n from gaps where reason like '%set back%' and ended is not null",
      { n: 1 },
    );
    expect(await ask(`select description from bicycles where uuid = '${one}'`)).toEqual([
      { description: 'after the backup' },
    ]);
    await until(`select gone is not null as is_gone from bicycles where uuid = '${two}'`, {
      is_gone: kind === 'sqlite' ? 1 : true,
    });
    expect(await ask('select count(*) as n from gaps where ended is null')).toEqual([{ n: 0 }]);
    expect(await running.stop('SIGTERM')).toMatchObject({
      code: 143,
      stderr: expect.stringContaining('the database was set back to an earlier state'),
    });
  });
});
