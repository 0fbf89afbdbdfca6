// Reads a file that the operator names, whatever it is: without blocking, bounded, ended by a signal or by silence.

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
  /** The longest silence; 0 for no limit. */
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
  const parts: Buffer[] = [];
  let length = 0;
  let isRegular = false;
  for await (const chunk of readNamedChunks(path, { ...options, onOpen: (is) => (isRegular = is) })) {
    parts.push(chunk);
    length += chunk.length;
    if (length > options.limitBytes) throw new Error(options.tooLarge);
  }
  return { bytes: Buffer.concat(parts), isRegular };
}

export interface ChunkOptions extends Omit<NamedFileOptions, 'limitBytes' | 'tooLarge'> {
  /** Called with whether it is a regular file. */
  onOpen?(isRegular: boolean): void;
}

/** The bytes of a file as they come, of any length. Throws as readNamedFile does. */
export async function* readNamedChunks(path: string, options: ChunkOptions): AsyncGenerator<Buffer, void, undefined> {
  // A named pipe without a writer would block a thread that nothing can stop, and the end of the program with it.
  const descriptor = await promisify(open)(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0));
  let isOpen = true;
  try {
    const stats = (await promisify(fstat)(descriptor)) as Stats;
    options.onOpen?.(stats.isFile());
    if (isStream(descriptor, stats)) {
      const stream = isatty(descriptor) ? new ReadStream(descriptor) : new Socket({ fd: descriptor, writable: false });
      isOpen = false;
      yield* chunksOfStream(stream, options);
    } else yield* chunksOf(descriptor, options.signal);
  } finally {
    if (isOpen) await promisify(close)(descriptor);
  }
}

/** Pipes and devices may have nothing to read yet; anything else answers at once. */
function isStream(descriptor: number, stats: Stats | BigIntStats): boolean {
  return stats.isFIFO() || stats.isSocket() || isatty(descriptor);
}

async function* chunksOf(descriptor: number, signal: AbortSignal): AsyncGenerator<Buffer, void, undefined> {
  for (;;) {
    signal.throwIfAborted();
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

async function* chunksOfStream(
  stream: Socket | ReadStream,
  { signal, silenceMs, clock }: ChunkOptions,
): AsyncGenerator<Buffer, void, undefined> {
  const end = (reason: unknown) => void stream.destroy(reason as Error);
  const onAbort = () => end(signal.reason);
  const wait = () =>
    silenceMs === 0
      ? () => {}
      : clock.after(silenceMs, () => end(new Error(`nothing came from it for ${silenceMs / 1000} s (--timeout)`)));
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
