// Tests a mirror with a database that returns to an older state while a writer runs, from a backup or a
// standby.

import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { openBackup } from '../support/backup.js';
import { newFolder } from '../support/folder.js';
import { useEngines, withDatabase } from '../support/mirror.js';
import { openScenes } from '../support/mirror-scene.js';

const { openScene } = openScenes(20);
describe.each(useEngines())('%s', (kind, newText) => {
  test('reads the whole list again when the database was restored from a backup', async () => {
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
    const backup = openBackup(join(newFolder(), 'backup.db'));
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
