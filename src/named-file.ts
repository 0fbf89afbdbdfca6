// A leaf: reads a file that the operator names, whatever it is: opened without blocking, bounded, ended by a signal and by silence.

import { type BigIntStats, close, constants, fstat, open, read, type Stats } from 'node:fs';
import { Socket } from 'node:net';
import { isatty, ReadStream } from 'node:tty';
import { promisify } from 'node:util';
import type { Clock } from './clock.js';

export interface NamedFileOptions {
  /** More is refused, with these words. */
  limitBytes: number;
  tooLarge: string;
  signal: AbortSignal;
  clock: Clock;
  /** How long nothing may come; 0 is for ever. */
  silenceMs: number;
}

export interface NamedFile {
  bytes: Buffer;
  /** False for a pipe or a device, which can be read once. */
  isRegular: boolean;
}

const READ_BYTES = 64 * 1024;

/**
 * Reads a file to its end. Rejects with the error of the system, with one that says that it is too large or silent, and with the
 * signal's reason.
 */
export async function readNamedFile(path: string, options: NamedFileOptions): Promise<NamedFile> {
  options.signal.throwIfAborted();
  // A named pipe without a writer would block a thread that nothing can stop, and the end of the program with it.
  const descriptor = await promisify(open)(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0));
  let isOpen = true;
  try {
    const stats = (await promisify(fstat)(descriptor)) as Stats;
    const isRegular = stats.isFile();
    if (!isStream(descriptor, stats)) return { bytes: await collect(chunksOf(descriptor), options), isRegular };
    const stream = isatty(descriptor) ? new ReadStream(descriptor) : new Socket({ fd: descriptor, writable: false });
    isOpen = false;
    return { bytes: await readStream(stream, options), isRegular };
  } finally {
    if (isOpen) await promisify(close)(descriptor);
  }
}

/** What may have nothing to read yet; anything else answers at once. */
function isStream(descriptor: number, stats: Stats | BigIntStats): boolean {
  return stats.isFIFO() || stats.isSocket() || isatty(descriptor);
}

async function* chunksOf(descriptor: number): AsyncGenerator<Buffer, void, undefined> {
  for (;;) {
    const { bytesRead, buffer } = await promisify(read)(
      descriptor,
      Buffer.allocUnsafe(READ_BYTES),
      0,
      READ_BYTES,
      null,
    );
    if (bytesRead === 0) return;
    yield buffer.subarray(0, bytesRead);
  }
}

async function readStream(stream: Socket | ReadStream, options: NamedFileOptions): Promise<Buffer> {
  const { signal, silenceMs, clock } = options;
  const end = (reason: unknown) => void stream.destroy(reason as Error);
  const onAbort = () => end(signal.reason);
  const wait = () =>
    silenceMs === 0
      ? () => {}
      : clock.after(silenceMs, () => end(new Error(`nothing came from it for ${silenceMs / 1000} s (--timeout)`)));
  let cancel = wait();
  stream.on('data', () => {
    cancel();
    cancel = wait();
  });
  signal.addEventListener('abort', onAbort);
  try {
    return await collect(stream, options);
  } finally {
    cancel();
    signal.removeEventListener('abort', onAbort);
    stream.destroy();
  }
}

async function collect(
  chunks: AsyncIterable<Buffer>,
  { limitBytes, tooLarge, signal }: NamedFileOptions,
): Promise<Buffer> {
  const parts: Buffer[] = [];
  let length = 0;
  for await (const chunk of chunks) {
    signal.throwIfAborted();
    parts.push(chunk);
    length += chunk.length;
    if (length > limitBytes) throw new Error(tooLarge);
  }
  return Buffer.concat(parts);
}
