// Writes a result to stdout, or atomically to a file.

import { constants, promises as files } from 'node:fs';
import type { Context } from '../context.js';
import { FleetError, reasonOf } from '../errors.js';
import { OWN_FILE_MODE } from '../system/folder.js';
import type { NamedOutput } from '../system/named-file.js';
import { followLinks, openWholeFile } from '../system/whole-file.js';

/**
 * Opens the file from `--file`, or stdout. The caller must call `end` after writing. If the command
 * fails before it calls `end`, the file is neither created nor changed. Throws a FleetError of kind
 * `output` when the file cannot be written.
 */
export async function openTarget(context: Context) {
  const target = await openFile(context, context.flags.file);
  context.atEnd(target.discard);
  return target;
}

/** @param newMode the permissions of a new file. Default: the permissions that the umask allows */
async function openFile(context: Context, file: string | undefined, newMode?: number) {
  if (file === undefined)
    return { write: context.io.stdout.write, async end() {}, async discard() {} };
  const { signal } = context;
  const attempt = async <T>(work: () => Promise<T>): Promise<T> => {
    try {
      return await work();
    } catch (error) {
      signal.throwIfAborted();
      throw new FleetError('output', `${file} could not be written: ${reasonOf(error)}`, {
        cause: error,
      });
    }
  };
  // A symbolic link is followed to its target. A pipe or a device, such as /dev/null, is opened for
  // writing instead of being replaced.
  const path = followLinks(file);
  const before = await files.stat(path).catch(() => undefined);
  const isReplaced = before === undefined || before.isFile();
  // A write-protected file must not be replaced. The system would allow the replacement, because it
  // needs write access only to the folder of the file.
  if (before !== undefined) await attempt(() => files.access(path, constants.W_OK));
  if (!isReplaced) {
    const output = await attempt(() => openPipe(context, path));
    return {
      write: (text: string | Buffer) => attempt(() => output.write(Buffer.from(text))),
      end: () => attempt(output.close),
      discard: async () => output.close().catch(() => {}),
    };
  }
  const isModeSet = before === undefined && newMode !== undefined;
  const draft = await attempt(() => openWholeFile(path, isModeSet ? { mode: newMode } : {}));
  return {
    write: (text: string | Buffer) => attempt(() => draft.write(text)),
    end: () => attempt(draft.end),
    discard: draft.discard,
  };
}

/**
 * Opens a pipe or a device for writing. Stops waiting when the signal is aborted, or when the time
 * of `--timeout` is over.
 */
async function openPipe({ clock, signal, settings }: Context, path: string): Promise<NamedOutput> {
  const silenceMs = (await settings()).timeout.value;
  const { openNamedOutput } = await import('../system/named-file.js');
  return openNamedOutput(path, { clock, signal, silenceMs });
}

/** Whether the result is printed on a terminal. */
export function isScreen({ io, flags }: Context): boolean {
  return io.stdout.isTerminal && flags.file === undefined;
}

/** Writes a complete result to stdout, or to the file of `--file`. */
export async function writeResult(context: Context, text: string | Buffer): Promise<void> {
  await writeWhole(context, context.flags.file, text);
}

/**
 * Writes a secret to stdout or to the file from `--file`. Only the owner can read a new file. An
 * existing file keeps its permissions, because the operator has chosen them.
 */
export async function writeSecret(context: Context, text: string): Promise<void> {
  await writeWhole(context, context.flags.file, text, OWN_FILE_MODE);
}

/**
 * Writes text to a file, or to stdout when no file is given. Throws the same errors as
 * `openTarget`.
 */
export async function writeWhole(
  context: Context,
  file: string | undefined,
  text: string | Buffer,
  newMode?: number,
): Promise<void> {
  const target = await openFile(context, file, newMode);
  try {
    await target.write(text);
    await target.end();
  } catch (thrown) {
    await target.discard();
    throw thrown;
  }
}
