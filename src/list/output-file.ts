// Writes a result or a drawing to stdout, or atomically to a file.

import { constants, promises as files } from 'node:fs';
import type { Context } from '../context.js';
import { FleetError, reasonOf } from '../errors.js';
import type { NamedOutput } from '../system/named-file.js';
import { followLinks, openWholeFile } from '../system/whole-file.js';

/**
 * Opens the file of `--file`, or stdout. The caller calls `end` after writing. When the command
 * fails before, the file is not created or changed. Throws a FleetError of kind `output` when the
 * file cannot be written.
 */
export async function openTarget(context: Context) {
  const target = await openFile(context, context.flags.file);
  context.atEnd(target.discard);
  return target;
}

async function openFile(context: Context, file: string | undefined) {
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
  // fleet writes into a pipe or a device, such as /dev/null, and does not replace it. A link is
  // followed to its target.
  const path = followLinks(file);
  const before = await files.stat(path).catch(() => undefined);
  const isReplaced = before === undefined || before.isFile();
  // Renaming a file only needs write access to the folder, so the access to the file itself is
  // checked here.
  if (before !== undefined) await attempt(() => files.access(path, constants.W_OK));
  if (!isReplaced) {
    const output = await attempt(() => openPipe(context, path));
    return {
      write: (text: string | Buffer) => attempt(() => output.write(Buffer.from(text))),
      end: () => attempt(output.close),
      discard: async () => output.close().catch(() => {}),
    };
  }
  const draft = await attempt(() => openWholeFile(path));
  return {
    write: (text: string | Buffer) => attempt(() => draft.write(text)),
    end: () => attempt(draft.end),
    discard: draft.discard,
  };
}

/** Opens a pipe or a device. The signal and `--timeout` limit how long this waits. */
async function openPipe({ clock, signal, settings }: Context, path: string): Promise<NamedOutput> {
  const silenceMs = (await settings()).timeout.value;
  const { openNamedOutput } = await import('../system/named-file.js');
  return openNamedOutput(path, { clock, signal, silenceMs });
}

/** Whether the result is shown on a terminal. */
export function isScreen({ io, flags }: Context): boolean {
  return io.stdout.isTerminal && flags.file === undefined;
}

/** Writes a complete result to stdout or to the file of `--file`. */
export async function writeResult(context: Context, text: string | Buffer): Promise<void> {
  await writeWhole(context, context.flags.file, text);
}

/** Writes a text to a file, or to stdout without a file name. Throws like `openTarget`. */
export async function writeWhole(
  context: Context,
  file: string | undefined,
  text: string | Buffer,
): Promise<void> {
  const target = await openFile(context, file);
  try {
    await target.write(text);
    await target.end();
  } catch (thrown) {
    await target.discard();
    throw thrown;
  }
}
