// A random key that is kept between runs: for the address of a served page and the IDs of a feed.

import { randomBytes } from 'node:crypto';
import { chmod, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Context } from '../context.js';
import { reasonOf } from '../errors.js';
import { findStateFolder } from '../settings/config-folder.js';
import { hasCode, makeFolder, OWN_FILE_MODE, OWN_FOLDER_MODE } from '../system/folder.js';
import { writeWholeFile } from '../system/whole-file.js';

const KEY_BYTES = 18;
const KEY = /^[\w-]{24}\n$/;

/**
 * Returns the key with this name from the user's state folder; creates it when it does not exist.
 * When the key cannot be stored, returns one for this run and prints a notice.
 */
export async function keptKey(
  { io, notice }: Context,
  name: string,
  what: string,
): Promise<string> {
  const fresh = randomBytes(KEY_BYTES).toString('base64url');
  const folder = findStateFolder(io.env);
  try {
    if (folder === undefined) throw new Error('no folder of this user is known');
    const path = join(folder, name);
    const write = (isNew: boolean) =>
      writeWholeFile(path, `${fresh}\n`, { isNew, mode: OWN_FILE_MODE });
    await makeFolder(folder, OWN_FOLDER_MODE);
    // When two runs start at the same moment, the first run to write the file decides the key of
    // both.
    try {
      write(true);
    } catch (error) {
      if (!hasCode(error, 'EEXIST')) throw error;
    }
    await chmod(path, OWN_FILE_MODE);
    const kept = await readFile(path, 'utf8');
    if (KEY.test(kept)) return kept.trim();
    write(false);
  } catch (error) {
    await notice(`${what} only valid for this run: ${reasonOf(error)}`);
  }
  return fresh;
}
