// Stores a random key between runs. The URL of a served page contains such a key. Feeds use a key
// to create their IDs.

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
 * Returns the stored random key with this name. Creates and stores the key on first use. If it
 * cannot be stored, prints a notice and returns a key for this run only.
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
    // If two runs start at the same moment, one of them creates the file first. The other run then
    // fails here and uses the key in that file.
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
