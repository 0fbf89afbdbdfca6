// Where a drawing goes: stdout, or a file that is there whole or not at all.

import { open, realpath, rename, rm, stat } from 'node:fs/promises';
import type { Context } from '../../context.js';
import { FleetError } from '../../errors.js';

export interface Target {
  write(text: string): Promise<void>;
  /** Everything was written. */
  end(): Promise<void>;
  /** It failed on the way: nothing of it stays. */
  discard(): Promise<void>;
}

/** Throws a FleetError of kind `output` for a file that cannot be written. */
export async function openTarget(context: Context, file: string | undefined): Promise<Target> {
  if (file === undefined) return { write: context.io.stdout.write, async end() {}, async discard() {} };
  const attempt = async <T>(work: () => Promise<T>): Promise<T> => {
    try {
      return await work();
    } catch (error) {
      throw new FleetError('output', `${file} could not be written: ${(error as Error).message}`, { cause: error });
    }
  };
  // What is no plain file, such as /dev/null or a pipe, is not to be replaced by one; a link leads to the file that is meant.
  const path = await realpath(file).catch(() => file);
  const isReplaced = await stat(path).then(
    (found) => found.isFile(),
    () => true,
  );
  const draft = isReplaced ? `${path}.${process.pid}.draft` : path;
  const handle = await attempt(() => open(draft, isReplaced ? 'wx' : 'w'));
  const discard = async () => {
    await handle.close().catch(() => {});
    if (isReplaced) await rm(draft, { force: true });
  };
  return {
    write: (text) => attempt(() => handle.appendFile(text)),
    end: () =>
      attempt(async () => {
        await handle.close();
        if (isReplaced) await rename(draft, path);
      }),
    discard,
  };
}
