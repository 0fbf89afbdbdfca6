// Creates folders, moves files and checks paths. In a file system where no folders can be created,
// such as /proc, Node's recursive mkdir never returns.

import { promises as files, renameSync } from 'node:fs';
import { dirname, isAbsolute, win32 } from 'node:path';

/** Only the owner has access. */
export const OWN_FOLDER_MODE = 0o700;
export const OWN_FILE_MODE = 0o600;

/**
 * Creates a folder and its missing parents. New folders get exactly this mode, regardless of the
 * umask. Without `mode`, the umask applies. Throws file system errors.
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

/** Atomically replaces one file with another. */
export function moveFile(from: string, to: string): void {
  untilFree(() => renameSync(from, to));
}

const BUSY_PAUSE_MS = 20;
const BUSY_TRIES = 50;

/**
 * On Windows, repeats an operation for up to a second. Windows refuses to open, replace or remove a
 * file while another program has it open.
 */
export function untilFree<Value>(work: () => Value, platform = process.platform): Value {
  for (let tries = 1; ; tries += 1) {
    try {
      return work();
    } catch (error) {
      const isBusy =
        platform === 'win32' && ['EPERM', 'EACCES', 'EBUSY'].some((code) => hasCode(error, code));
      if (!isBusy || tries === BUSY_TRIES) throw error;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, BUSY_PAUSE_MS);
    }
  }
}

/**
 * Whether a path does not depend on the current directory. On Windows, such a path must have a
 * drive or a host. For example, `/c/x` depends on the current drive.
 */
export function isWholePath(path: string, platform = process.platform): boolean {
  return platform === 'win32' ? /^(?:[a-z]:[\\/]|[\\/]{2}[^\\/])/i.test(path) : isAbsolute(path);
}

/**
 * Converts a path from Git Bash or from a file URL to a Windows path. For example, `/c/Users` and
 * `/c:/Users` become `c:\Users`. Returns other paths unchanged.
 */
export function fromGitBash(path: string): string {
  const drive = /^[\\/]([a-z]):?(?=[\\/]|$)/i;
  return drive.test(path) ? win32.normalize(path.replace(drive, '$1:\\')) : path;
}

/**
 * Whether Windows reserves the name for a device, in every folder and with every extension: `NUL`,
 * `con.txt`. Also returns true for names with superscript digits, such as `COM¹`.
 */
export function isDeviceName(path: string, platform = process.platform): boolean {
  return (
    platform === 'win32' &&
    /^(?:con|prn|aux|nul|(?:com|lpt)[\d¹²³]|conin\$|conout\$)\s*(?:[.:]|$)/i.test(
      win32.basename(path),
    )
  );
}

/** Whether the error has this file system error code, such as `ENOENT`. */
export function hasCode(error: unknown, code: string): boolean {
  return error instanceof Error && 'code' in error && error.code === code;
}
