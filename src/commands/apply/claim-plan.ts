// Records where each plan was applied first, so that a copy of the plan is not applied again on
// this machine.

import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import type { Context } from '../../context.js';
import { isObject, parseJson } from '../../json/parse.js';
import { findStateFolder } from '../../settings/config-folder.js';
import { hasCode, makeFolder, OWN_FILE_MODE, OWN_FOLDER_MODE } from '../../system/folder.js';
import { writeWholeFile } from '../../system/whole-file.js';

/**
 * Returns the path under which this plan is applied. This is the path of the first `fleet apply`
 * for the plan, if the folder of that path still exists. Otherwise it is the given path. Copies of
 * a plan therefore share one journal, which only one run can open at a time.
 *
 * Without a state folder, returns the given path.
 */
export async function claimPlan(
  { io }: Pick<Context, 'io'>,
  path: string,
  checksum: string,
): Promise<string> {
  const claim = claimFile(io.env, checksum);
  if (claim === undefined) return path;
  const text = `${JSON.stringify({ path: resolve(path) })}\n`;
  try {
    await makeFolder(dirname(claim), OWN_FOLDER_MODE);
    writeWholeFile(claim, text, { isNew: true, mode: OWN_FILE_MODE });
    return path;
  } catch (error) {
    // When the record cannot be written, the plan is still applied. The service's history also
    // shows whether a copy was applied before.
    if (!hasCode(error, 'EEXIST')) return path;
  }
  const first = await readClaim(claim);
  if (first === undefined || first === resolve(path)) return path;
  if (existsSync(dirname(first))) return first;
  writeWholeFile(claim, text, { mode: OWN_FILE_MODE });
  return path;
}

/** Returns the path of the file that `claimPlan` would create, without creating it. */
export async function findClaim(
  { io }: Pick<Context, 'io'>,
  path: string,
  checksum: string,
): Promise<string> {
  const claim = claimFile(io.env, checksum);
  const first = claim && (await readClaim(claim));
  if (first === undefined || first === resolve(path)) return path;
  return existsSync(dirname(first)) ? first : path;
}

/**
 * Returns the path of the file that records where a plan was applied, or undefined when there is no
 * state folder.
 */
function claimFile(env: NodeJS.ProcessEnv, checksum: string): string | undefined {
  const folder = findStateFolder(env);
  return folder && join(folder, 'plans', `${checksum.replace(/\W/g, '-')}.json`);
}

async function readClaim(claim: string): Promise<string | undefined> {
  try {
    const value = parseJson(await readFile(claim, 'utf8'));
    return isObject(value) && typeof value['path'] === 'string' ? value['path'] : undefined;
  } catch {
    return undefined;
  }
}
