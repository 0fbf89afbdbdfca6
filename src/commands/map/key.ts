// The part of a served page's address that nobody can guess: kept between runs, so that a page that stays open finds fleet again.

import { randomBytes } from 'node:crypto';
import { open, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Context } from '../../context.js';
import { makeFolder, OWN_FOLDER_MODE } from '../../folder.js';
import { findStateFolder } from '../../settings/place.js';

const KEY_BYTES = 18;
const KEY = /^[\w-]{24}$/;
const OWN_FILE = 0o600;

/** The key of this user's state folder, made where there is none; where it cannot be kept, one for this run alone. */
export async function pageKey({ io, notice }: Context): Promise<string> {
  const folder = findStateFolder(io.env);
  if (folder === undefined) return newKey();
  const path = join(folder, 'page.key');
  try {
    await makeFolder(folder, OWN_FOLDER_MODE);
    return (await readKey(path)) ?? (await writeKey(path));
  } catch (error) {
    await notice(`the address is for this run alone: ${error instanceof Error ? error.message : String(error)}`);
    return newKey();
  }
}

function newKey(): string {
  return randomBytes(KEY_BYTES).toString('base64url');
}

async function readKey(path: string): Promise<string | undefined> {
  const text = (await readFile(path, 'utf8').catch(() => '')).trim();
  return KEY.test(text) ? text : undefined;
}

/** Of two runs that start at once, both take the key of the one that was faster. */
async function writeKey(path: string): Promise<string> {
  await rm(path, { force: true });
  const key = newKey();
  try {
    const file = await open(path, 'wx', OWN_FILE);
    await file.writeFile(`${key}\n`).finally(() => file.close());
    return key;
  } catch (error) {
    const other = await readKey(path);
    if (other === undefined) throw error;
    return other;
  }
}
