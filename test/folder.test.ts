// Folders are made with the mode that is asked for, and what takes none is an error at once.

import { existsSync } from 'node:fs';
import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { makeFolder, OWN_FOLDER_MODE } from '../src/folder.js';
import { newFolder } from './support/folder.js';

test('each folder that is made is for the owner alone; one that is there stays as it is', async () => {
  const base = newFolder();
  const { mode } = await stat(base);
  await makeFolder(join(base, 'a', 'b'), OWN_FOLDER_MODE);
  await makeFolder(join(base, 'a', 'b'), OWN_FOLDER_MODE);
  expect((await stat(base)).mode).toBe(mode);
  for (const name of ['a', 'a/b']) expect((await stat(join(base, name))).mode & 0o777).toBe(0o700);
});

// Node's own way would try again for ever.
test.runIf(existsSync('/proc/self'))('a file system that takes no folders is an error', async () => {
  await expect(makeFolder('/proc/fleet/a')).rejects.toThrow('ENOENT');
});
