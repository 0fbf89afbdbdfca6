// The journal's file: records appended and flushed together, and a check after each flush that it is still this run's own file.

import { fstatSync, statSync } from 'node:fs';
import { constants, type FileHandle, open, realpath } from 'node:fs/promises';
import { dirname } from 'node:path';
import { FleetError, reasonOf, usageError } from '../../../errors.js';
import { hasCode, isDeviceName } from '../../../system/folder.js';

export type JournalFile = Awaited<ReturnType<typeof openJournalFile>>;

/** Asked after each flush with the size of the file and what was written to it; throws when it must not go on. */
export type AfterFlush = (size: number, written: Buffer) => Promise<void>;

function cannot(what: string, path: string, error: unknown): FleetError {
  return new FleetError('usage', `the journal ${path} cannot be ${what}: ${reasonOf(error)}`, {
    cause: error,
    hint: 'nothing was sent; give --journal a file that can be written',
  });
}

/**
 * Opens a regular file. Throws a FleetError of kind `usage` for anything else (a pipe or a device never ends, and remembers nothing), and
 * where it cannot be opened. Undefined where there is none to be read.
 */
async function openRegular(path: string, flags: number): Promise<FileHandle | undefined> {
  const isRead = flags === constants.O_RDONLY;
  if (isDeviceName(path)) throw notRegular(path);
  let handle: FileHandle | undefined;
  try {
    // Not blocking: a named pipe without a writer would hang before it can be refused.
    handle = await open(path, flags | constants.O_NONBLOCK, 0o666);
  } catch (error) {
    if (isRead && hasCode(error, 'ENOENT')) return undefined;
    if (!(hasCode(error, 'ENXIO') || hasCode(error, 'EISDIR'))) throw cannot(isRead ? 'read' : 'written', path, error);
  }
  if (handle !== undefined && fstatSync(handle.fd).isFile()) return handle;
  await handle?.close();
  throw notRegular(path);
}

function notRegular(path: string): FleetError {
  return usageError(`the journal ${path} is not a regular file`, 'nothing was sent; give --journal the name of a file');
}

/** Opens a journal's file, and makes it when there is none. Throws a FleetError of kind `usage` where that cannot be. */
export async function openJournalFile(path: string, afterFlush: AfterFlush) {
  const handle = (await openRegular(path, constants.O_RDWR | constants.O_CREAT | constants.O_APPEND)) as FileHandle;
  const { dev, ino } = fstatSync(handle.fd);
  return {
    /** The bytes from an offset to the end. */
    read: (from: number) => readFrom(handle, from, path),
    /**
     * Resolves when the text is on the disk and the file is still the one of its name. Texts that come while a flush is in flight share the
     * next one. Rejects with a FleetError of kind `output`, from then on always the same.
     */
    append: openAppender(handle, path, async (written) => {
      const { nlink, size } = fstatSync(handle.fd);
      if (nlink === 0 || !isStill(path, dev, ino)) throw lost(path, 'was deleted or replaced while the run used it');
      await afterFlush(size, written);
    }),
    /** Flushes the folder, so that a new file's name outlives a loss of power. */
    keepName: () => keepName(path),
    close: () => handle.close(),
  };
}

/** What a journal holds, without making or locking it; empty when there is none, unless there must be one. */
export async function peekFile(path: string, mustExist = false): Promise<Buffer> {
  const handle = await openRegular(path, constants.O_RDONLY);
  if (handle === undefined && mustExist) throw usageError(`there is no journal ${path}`, 'check the name of the file');
  if (handle === undefined) return Buffer.alloc(0);
  return readFrom(handle, 0, path).finally(() => handle.close());
}

function isStill(path: string, dev: number, ino: number): boolean {
  const now = statSync(path, { throwIfNoEntry: false });
  return now?.dev === dev && now.ino === ino;
}

/** The error of a run that may send nothing more because its journal is gone; exit 10. */
export function lost(path: string, why: string): FleetError {
  return new FleetError('output', `the journal ${path} ${why}`, {
    hint: 'no request is sent without a record, so the run was stopped; check the results before you run it again',
  });
}

const READ_BYTES = 1024 * 1024;

async function readFrom(handle: FileHandle, from: number, path: string): Promise<Buffer> {
  const parts: Buffer[] = [];
  let at = from;
  try {
    for (;;) {
      const { bytesRead, buffer } = await handle.read(Buffer.allocUnsafe(READ_BYTES), 0, READ_BYTES, at);
      if (bytesRead === 0) return Buffer.concat(parts);
      parts.push(buffer.subarray(0, bytesRead));
      at += bytesRead;
    }
  } catch (error) {
    throw cannot('read', path, error);
  }
}

/** Appends texts, flushed before their promise resolves, those that come meanwhile together; nothing more after a failure. */
function openAppender(
  handle: FileHandle,
  path: string,
  check: (written: Buffer) => Promise<void>,
): (text: string) => Promise<void> {
  let last = Promise.resolve();
  let next: { texts: string[]; flushed: Promise<void> } | undefined;

  async function write(texts: readonly string[]): Promise<void> {
    next = undefined;
    const bytes = Buffer.from(texts.join(''));
    try {
      await handle.appendFile(bytes);
      await handle.datasync();
      await check(bytes);
    } catch (error) {
      throw error instanceof FleetError ? error : notWritten(path, error);
    }
  }

  return (text) => {
    if (next === undefined) {
      const texts: string[] = [];
      // After one failure the file may end in half a line: nothing may be appended to that.
      last = last.then(() => write(texts));
      next = { texts, flushed: last };
    }
    next.texts.push(text);
    return next.flushed;
  };
}

function notWritten(path: string, error: unknown): FleetError {
  return new FleetError('output', `the journal ${path} could not be written: ${reasonOf(error)}`, {
    cause: error,
    hint: 'no request is sent without a record, so the run was stopped; free some space and run the command again',
  });
}

/** Some systems do not let folders be opened; the records are flushed all the same. */
async function keepName(path: string): Promise<void> {
  try {
    const folder = await open(dirname(await realpath(path)), 'r');
    await folder.sync().finally(() => folder.close());
  } catch {}
}
