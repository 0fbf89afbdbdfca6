// Reads files that only the operator can write, with the same checks as ssh.

import {
  closeSync,
  constants,
  fstatSync,
  openSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  type Stats,
  statSync,
} from 'node:fs';
import { dirname, isAbsolute, join, resolve } from 'node:path';
import { configError, FleetError, reasonOf } from '../errors.js';
import { hasCode, untilFree } from '../system/folder.js';
import { quoteForShell } from '../system/shell-words.js';
import { nameOfUser } from '../system/user.js';

/** The permission bits that allow write access for the group or for others. */
const OTHERS_WRITE_BITS = 0o022;
const ROOT = 0;

/**
 * Throws a FleetError of kind `config` when the file or folder belongs to another user, or when
 * other users can write to it. `found` is the result of `stat`.
 */
function refuseForeign(path: string, found: Pick<Stats, 'uid' | 'mode'>): void {
  // Node cannot read owners and modes on Windows.
  if (process.platform === 'win32') return;
  const own = process.geteuid?.() ?? ROOT;
  const isOthers = found.uid !== own && found.uid !== ROOT;
  if (!isOthers && (found.mode & OTHERS_WRITE_BITS) === 0) return;
  const what = isOthers
    ? `belongs to another user (uid ${found.uid})`
    : `can be written by others (mode ${showMode(found.mode)})`;
  const command = isOthers
    ? `sudo chown ${quoteForShell(nameOfUser() ?? String(own))}`
    : 'chmod go-w';
  const hint = `look at it first; if it is right, run: ${command} ${quoteForShell(path)}`;
  throw configError(`${path} ${what}, and is not used`, hint);
}

/** The permission bits that allow read access for the group or for others. */
const OTHERS_READ_BITS = 0o044;

/**
 * Returns a warning when other users can read a file with secrets; otherwise undefined. fleet still
 * uses the file. The operator may have restored it from a backup, and some backups do not keep
 * permissions.
 */
export function warnOfReaders(path: string): string | undefined {
  // Node cannot read modes on Windows.
  if (process.platform === 'win32') return undefined;
  const mode = statIfThere(path)?.mode ?? 0;
  if ((mode & OTHERS_READ_BITS) === 0) return undefined;
  const command = `chmod 600 ${quoteForShell(path)}`;
  return `warning: other users can read ${path} (mode ${showMode(mode)}), which contains the token; run: ${command}`;
}

function showMode(mode: number): string {
  return (mode & 0o777).toString(8).padStart(4, '0');
}

/**
 * Checks the path's folder in the same way as `refuseForeign` checks a file. For a symbolic link,
 * also checks the target's folder. Accepts a folder that does not exist.
 */
export function refuseForeignFolders(path: string): void {
  for (const folder of new Set([dirname(path), dirname(trustTargetOf(path))])) {
    const found = statIfThere(folder);
    if (found === undefined) continue;
    refuseForeign(folder, found);
    refuseOpenParents(folder);
  }
}

/** The sticky bit: only the owner of an entry can delete or rename it, as in /tmp. */
const STICKY_BIT = 0o1000;

/**
 * Throws a FleetError of kind `config` when other users may replace this folder.
 *
 * Other users can replace the folder when they may write to a parent folder that does not have the
 * sticky bit. The same applies to the folders above a symbolic link that leads to the folder.
 */
function refuseOpenParents(folder: string): void {
  if (process.platform === 'win32') return;
  for (const parent of foldersOnTheWay(folder)) {
    const mode = statIfThere(parent)?.mode ?? 0;
    if ((mode & OTHERS_WRITE_BITS) === 0 || (mode & STICKY_BIT) !== 0) continue;
    const octal = (mode & 0o7777).toString(8).padStart(4, '0');
    throw configError(
      `${folder} is not used: others can replace it, because they can write ${parent} (mode ${octal})`,
      `run: chmod go-w ${quoteForShell(parent)}; or: chmod +t ${quoteForShell(parent)}; or set FLEET_CONFIG_DIR`,
    );
  }
}

/** The maximum number of symbolic links in a path, as on Linux. */
const MOST_LINKS = 40;

/**
 * Returns each folder that the system reads when it resolves the path. This includes the folders of
 * symbolic links along the path.
 */
function foldersOnTheWay(path: string): Set<string> {
  const folders = new Set<string>();
  const names = resolve(path).split('/');
  let links = 0;
  let at = '/';
  for (let name = names.shift(); name !== undefined; name = names.shift()) {
    if (name === '' || name === '.') continue;
    folders.add(at);
    const next = join(at, name);
    const target = name === '..' || links >= MOST_LINKS ? undefined : linkTarget(next);
    if (target === undefined) {
      at = next;
      continue;
    }
    links++;
    names.unshift(...target.split('/'));
    if (isAbsolute(target)) at = '/';
  }
  return folders;
}

function linkTarget(path: string): string | undefined {
  try {
    return readlinkSync(path);
  } catch {
    return undefined;
  }
}

/**
 * Returns the text of a file that only the operator can write, or undefined when it does not exist.
 * Throws a FleetError of kind `config` when the file cannot be read. Works synchronously. The
 * startup has to wait for the settings anyway, and `fs/promises` would first have to start threads.
 */
export function readOwnFile(path: string, limitBytes: number, hint: string): string | undefined {
  let file: number | undefined;
  try {
    // The file is opened without blocking, because opening a named pipe could wait forever.
    file = untilFree(() => openSync(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0)));
    const found = fstatSync(file);
    refuseForeign(path, found);
    if (!found.isFile()) throw new Error('it is not a regular file');
    if (found.size > limitBytes) throw new Error(`it is larger than ${limitBytes / 1_000_000} MB`);
    return readFileSync(file, 'utf8');
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return undefined;
    if (error instanceof FleetError) throw error;
    throw configError(`${path} cannot be read: ${reasonOf(error)}`, hint, error);
  } finally {
    if (file !== undefined) closeSync(file);
  }
}

/** Resolves the symbolic links in a path. Returns the path itself when it does not exist. */
export function trustTargetOf(path: string): string {
  try {
    return realpathSync.native(path);
  } catch {
    return path;
  }
}

/** Returns the result of `stat`, or undefined when it fails. */
export function statIfThere(path: string): Stats | undefined {
  try {
    return statSync(path, { throwIfNoEntry: false });
  } catch {
    return undefined;
  }
}
