// A random key that is kept between runs. It is used for the address of a served page and for the
// IDs of a feed.

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
 * Returns the key with this name from the user's state folder, and creates the key when it does not
 * exist. When the key cannot be stored, returns a key for this run only and prints a notice.
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
    // When two runs start at the same moment, both use the key of the run that writes the file
    // first.
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
    await notice(
      `${what} can be used only in this run, because the key was not stored: ${reasonOf(error)}`,
    );
  }
  return fresh;
}
