// Writes whole files atomically. A reader sees the complete old file or the complete new file, even
// when the process is killed or the machine loses power.

import {
  constants,
  copyFileSync,
  promises as files,
  linkSync,
  readlinkSync,
  realpathSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { hasCode, moveFile } from './folder.js';

export interface WholeFileOptions {
  /**
   * The permissions of the file. Default: the permissions of the replaced file, or those that the
   * umask allows for a new file.
   */
  mode?: number;
  /** Whether to throw an error with the code EEXIST when the file exists. */
  isNew?: boolean;
  /**
   * Whether the caller holds a lock on the file. The draft then has a fixed name, so that it
   * replaces the draft of a killed process.
   */
  isLocked?: boolean;
}

const PERMISSIONS = 0o777;

/**
 * Returns the path to which symbolic links lead. The target does not have to exist. Writing
 * replaces the target and keeps the link.
 */
export function followLinks(file: string): string {
  try {
    return realpathSync.native(file);
  } catch {
    return targetOfDanglingLink(file) ?? file;
  }
}

function targetOfDanglingLink(file: string): string | undefined {
  try {
    return resolve(dirname(file), readlinkSync(file));
  } catch {
    return undefined;
  }
}

/** The longest file name in common file systems, in bytes. */
const LONGEST_NAME_BYTES = 255;

/**
 * Returns the path of a draft. The draft is in the target's folder, and thus in the same file
 * system. It can then be moved without being copied.
 */
function draftOf(path: string): string {
  const ending = `.${crypto.randomUUID()}.draft`;
  const isShort = Buffer.byteLength(basename(path) + ending) <= LONGEST_NAME_BYTES;
  return isShort ? path + ending : join(dirname(path), `fleet${ending}`);
}

/** Returns the target of a write, its draft, and the permissions. */
function prepare(file: string, { mode, isNew = false, isLocked = false }: WholeFileOptions) {
  const path = isNew ? file : followLinks(file);
  const replaced = isNew ? undefined : statSync(path, { throwIfNoEntry: false });
  const draft = isLocked ? `${path}.draft` : draftOf(path);
  if (isLocked) rmSync(draft, { force: true });
  return { path, draft, mode: mode ?? (replaced && replaced.mode & PERMISSIONS) };
}

/** Moves a complete draft to its path. */
function publish(draft: string, path: string, isNew = false): void {
  if (!isNew) {
    moveFile(draft, path);
    return;
  }
  try {
    // Creating a link fails when the file exists. A rename would replace the file.
    linkSync(draft, path);
  } catch (error) {
    if (!['EPERM', 'ENOTSUP', 'ENOSYS'].some((code) => hasCode(error, code))) throw error;
    // The file system does not support hard links, so the draft is copied instead of linked.
    copyFileSync(draft, path, constants.COPYFILE_EXCL);
  }
}

/**
 * Opens a draft for a file that is written in parts. `end` moves the draft to its path; `discard`
 * removes it, also after `end`. Throws the errors of the file system.
 */
export async function openWholeFile(file: string, options: WholeFileOptions = {}) {
  const { path, draft, mode } = prepare(file, options);
  const handle = await files.open(draft, 'wx', mode);
  // The umask must not change the permissions of a replaced file, so they are set explicitly.
  if (mode !== undefined) await handle.chmod(mode).catch(() => {});
  return {
    write: (text: string | Buffer): Promise<void> => handle.appendFile(text),
    async end(): Promise<void> {
      await handle.sync();
      await handle.close();
      publish(draft, path, options.isNew);
    },
    async discard(): Promise<void> {
      await handle.close().catch(() => {});
      await files.rm(draft, { force: true });
    },
  };
}

/**
 * Writes a small file. Throws the errors of the file system, and leaves no draft. Works
 * synchronously. A process that has just checked its lock therefore cannot lose the lock before the
 * write.
 */
export function writeWholeFile(file: string, text: string, options: WholeFileOptions = {}): void {
  const { path, draft, mode } = prepare(file, options);
  try {
    writeFileSync(draft, text, { flag: 'wx', mode, flush: true });
    publish(draft, path, options.isNew);
  } finally {
    rmSync(draft, { force: true });
  }
}
