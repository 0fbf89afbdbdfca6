// The part of a served page's address that nobody can guess: kept between runs, so that a page that stays open finds fleet again.

import { randomBytes } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Context } from '../../context.js';
import { reasonOf } from '../../errors.js';
import { hasCode, makeFolder, OWN_FOLDER_MODE } from '../../folder.js';
import { findStateFolder } from '../../settings/place.js';

const KEY_BYTES = 18;
const KEY = /^[\w-]{24}\n$/;
const OWN_FILE = 0o600;

/** The key of this user's state folder, made where there is none; where it cannot be kept, one for this run alone. */
export async function pageKey({ io, notice }: Context): Promise<string> {
  const fresh = randomBytes(KEY_BYTES).toString('base64url');
  const folder = findStateFolder(io.env);
  if (folder === undefined) return fresh;
  const path = join(folder, 'page.key');
  const write = (flag: 'wx' | 'w') => writeFile(path, `${fresh}\n`, { flag, mode: OWN_FILE });
  try {
    await makeFolder(folder, OWN_FOLDER_MODE);
    // Of two runs that start at once, both take the key of the one that was faster.
    await write('wx').catch((error) => (hasCode(error, 'EEXIST') ? undefined : Promise.reject(error)));
    const kept = await readFile(path, 'utf8');
    if (KEY.test(kept)) return kept.trim();
    await write('w');
  } catch (error) {
    await notice(`the address is for this run alone: ${reasonOf(error)}`);
  }
  return fresh;
}
