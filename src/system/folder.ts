// Makes folders, moves files, and looks at paths. Node's own recursive mkdir never ends in a file system that takes none, such as /proc.

import { promises as files, renameSync } from 'node:fs';
import { dirname, isAbsolute, win32 } from 'node:path';

/** For the owner alone. */
export const OWN_FOLDER_MODE = 0o700;
export const OWN_FILE_MODE = 0o600;

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
      const isBusy =
        platform === 'win32' && ['EPERM', 'EACCES', 'EBUSY'].some((code) => hasCode(error, code));
      if (!isBusy || tries === BUSY_TRIES) throw error;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, BUSY_PAUSE_MS);
    }
  }
}

/** Whether the path names one file, whatever the current directory. On Windows it has a drive or a host: `/c/x` is on the current drive. */
export function isWholePath(path: string, platform = process.platform): boolean {
  return platform === 'win32' ? /^(?:[a-z]:[\\/]|[\\/]{2}[^\\/])/i.test(path) : isAbsolute(path);
}

/**
 * Returns the Windows path for a path of Git Bash or of a file URL: `c:\Users` for `/c/Users` and for
 * `/c:/Users`. Returns other paths unchanged.
 */
export function fromGitBash(path: string): string {
  const drive = /^[\\/]([a-z]):?(?=[\\/]|$)/i;
  return drive.test(path) ? win32.normalize(path.replace(drive, '$1:\\')) : path;
}

/**
 * Whether Windows reserves the name for a device, in every folder and with every extension: `NUL`,
 * `con.txt`. It also accepts the superscript digits of `COM¹`.
 */
export function isDeviceName(path: string, platform = process.platform): boolean {
  return (
    platform === 'win32' &&
    /^(?:con|prn|aux|nul|(?:com|lpt)[\d¹²³]|conin\$|conout\$)\s*(?:[.:]|$)/i.test(
      win32.basename(path),
    )
  );
}

/** Whether the file system answered with that code, such as `ENOENT`. */
export function hasCode(error: unknown, code: string): boolean {
  return error instanceof Error && 'code' in error && error.code === code;
}
