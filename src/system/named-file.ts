// Reads a file that the operator names, whatever it is: without blocking, bounded, ended by a signal or by silence.

import { constants, createReadStream, fstatSync, open } from 'node:fs';
import { Socket } from 'node:net';
import type { Readable } from 'node:stream';
import { isatty, ReadStream } from 'node:tty';
import { promisify } from 'node:util';
import type { Clock } from './clock.js';

interface NamedFileOptions {
  signal: AbortSignal;
  clock: Clock;
  /** The longest silence; 0 for no limit. */
  silenceMs: number;
}

/**
 * Opens a file: whether it is a regular one, not a pipe or a device that can be read once, and its bytes as they come, of any length. Rejects
 * and throws with the error of the system, with one that says that it is silent, and with the signal's reason.
 */
export async function openNamedFile(path: string, options: NamedFileOptions) {
  // A named pipe without a writer would block a thread that nothing can stop, and the end of the program with it.
  const fd = await promisify(open)(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0));
  const stats = fstatSync(fd);
  // What may have nothing to read yet is waited for; anything else answers at once.
  const isPipe = stats.isFIFO() || stats.isSocket();
  const stream = isatty(fd)
    ? new ReadStream(fd)
    : isPipe
      ? new Socket({ fd, writable: false })
      : createReadStream(path, { fd });
  return { isRegular: stats.isFile(), chunks: chunksOf(stream, options) };
}

async function* chunksOf(
  stream: Readable,
  { signal, silenceMs, clock }: NamedFileOptions,
): AsyncGenerator<Buffer, void, undefined> {
  const onAbort = () => void stream.destroy(signal.reason);
  const onSilence = () =>
    void stream.destroy(new Error(`nothing came from it for ${silenceMs / 1000} s (--timeout)`));
  const wait = () => (silenceMs === 0 ? () => {} : clock.after(silenceMs, onSilence));
  let cancel = wait();
  signal.addEventListener('abort', onAbort);
  try {
    // Also of what was aborted while the file was opened.
    signal.throwIfAborted();
    for await (const chunk of stream) {
      cancel();
      yield chunk;
      cancel = wait();
    }
  } finally {
    cancel();
    signal.removeEventListener('abort', onAbort);
    stream.destroy();
  }
}
