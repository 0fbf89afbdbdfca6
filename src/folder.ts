// Makes folders, and moves files. Node's own recursive mkdir never ends in a file system that takes none, such as /proc.

import { promises as files, renameSync } from 'node:fs';
import { dirname } from 'node:path';

/** For the owner alone. */
export const OWN_FOLDER_MODE = 0o700;

/**
 * Makes a folder and those above it, where they are not there. Those it makes have exactly that mode, whatever the umask; without one they have
 * what the umask leaves. Throws what the file system answers.
 */
export async function makeFolder(folder: string, mode?: number): Promise<void> {
  try {
    await makeOne(folder, mode);
  } catch (error) {
    if (!hasCode(error, 'ENOENT') || dirname(folder) === folder) throw error;
    await makeFolder(dirname(folder), mode);
    await makeOne(folder, mode);
  }
}

async function makeOne(folder: string, mode: number | undefined): Promise<void> {
  try {
    await files.mkdir(folder, { mode });
    if (mode !== undefined) await files.chmod(folder, mode);
  } catch (error) {
    if (!hasCode(error, 'EEXIST')) throw error;
  }
}

/** Moves a file onto another, whole or not at all. */
export function moveFile(from: string, to: string): void {
  untilFree(() => renameSync(from, to));
}

const BUSY_PAUSE_MS = 20;
const BUSY_TRIES = 50;

/** Windows refuses to open, replace or remove a file that another program has open for a moment: there it is tried again for a second. */
export function untilFree<Value>(work: () => Value, platform = process.platform): Value {
  for (let tries = 1; ; tries += 1) {
    try {
      return work();
    } catch (error) {
      const isBusy = platform === 'win32' && ['EPERM', 'EACCES', 'EBUSY'].some((code) => hasCode(error, code));
      if (!isBusy || tries === BUSY_TRIES) throw error;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, BUSY_PAUSE_MS);
    }
  }
}

/** Whether the file system answered with that code, such as `ENOENT`. */
export function hasCode(error: unknown, code: string): boolean {
  return error instanceof Error && 'code' in error && error.code === code;
}
