// Opens files of any type whose path is given in an option or a variable. Opening does not block. A
// signal or a timeout ends the reading and writing.

import {
  constants,
  createReadStream,
  createWriteStream,
  promises as files,
  fstatSync,
  open,
  type Stats,
} from 'node:fs';
import { Socket } from 'node:net';
import type { Readable, Writable } from 'node:stream';
import { isatty, ReadStream, WriteStream } from 'node:tty';
import { promisify } from 'node:util';
import { type Clock, sleep } from './clock.js';
import { hasCode } from './folder.js';

export interface NamedFileOptions {
  signal: AbortSignal;
  clock: Clock;
  /** How long to wait when no data arrives; 0 for no limit. */
  silenceMs: number;
}

interface Opened {
  fd: number;
  stats: Stats;
}

/** How often fleet checks whether a named pipe has a reader. */
const LOOK_EVERY_MS = 50;

const NONBLOCK = constants.O_NONBLOCK ?? 0;

/**
 * Opens a path without blocking. A blocked thread could not be stopped and would prevent the
 * program from exiting. When a named pipe is opened for writing, waits for a reader. Throws system
 * errors, the signal's reason, or an Error when the reader does not appear in time.
 */
async function openWithoutBlocking(
  path: string,
  flags: number,
  options: NamedFileOptions,
): Promise<Opened> {
  const { clock, signal, silenceMs } = options;
  const startedAt = clock.monotonicMs();
  for (;;) {
    signal.throwIfAborted();
    try {
      const fd = await promisify(open)(path, flags | NONBLOCK, 0o666);
      return { fd, stats: fstatSync(fd) };
    } catch (error) {
      if (!(await isPipeWithoutReader(path, error))) throw error;
    }
    if (silenceMs > 0 && clock.monotonicMs() - startedAt >= silenceMs)
      throw new Error(`nothing read from it for ${silenceMs / 1000} s (--timeout)`);
    await sleep(clock, LOOK_EVERY_MS, signal);
  }
}

/** Opening a named pipe for writing fails with ENXIO when it has no reader. */
async function isPipeWithoutReader(path: string, error: unknown): Promise<boolean> {
  if (!hasCode(error, 'ENXIO')) return false;
  const stats = await files.stat(path).catch(() => undefined);
  return stats?.isFIFO() === true;
}

/** Whether the file is a named pipe or a socket. Reading or writing such a file can block. */
function mustWait(stats: Stats): boolean {
  return stats.isFIFO() || stats.isSocket();
}

/**
 * Opens a file for reading. `isRegular` is false for a pipe or a device, which can be read only
 * once. `chunks` yields the bytes as they arrive. Opening and reading can throw system errors, the
 * signal's reason, or an Error when no data arrives for too long.
 */
export async function openNamedFile(path: string, options: NamedFileOptions) {
  const { fd, stats } = await openWithoutBlocking(path, constants.O_RDONLY, {
    ...options,
    // When a signal arrives while the file is being opened, it also ends the reading. This closes
    // the file.
    signal: new AbortController().signal,
  });
  const stream = isatty(fd)
    ? new ReadStream(fd)
    : mustWait(stats)
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
    // The signal may have been aborted while the file was opened.
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

/** A file that is written sequentially. */
export interface NamedOutput {
  /**
   * Resolves when the bytes are written. Rejects with a system error, the signal's reason, or an
   * Error when no bytes are written for too long.
   */
  write(bytes: Buffer): Promise<void>;
  close(): Promise<void>;
}

/** Opens an existing pipe or device for writing. Throws like `openNamedFile`. */
export async function openNamedOutput(
  path: string,
  options: NamedFileOptions,
): Promise<NamedOutput> {
  const { fd, stats } = await openWithoutBlocking(path, constants.O_WRONLY, options);
  const stream = isatty(fd)
    ? new WriteStream(fd)
    : mustWait(stats)
      ? new Socket({ fd, readable: false })
      : createWriteStream(path, { fd });
  return outputOf(stream, options);
}

function outputOf(stream: Writable, { signal, silenceMs, clock }: NamedFileOptions): NamedOutput {
  let failure: Error | undefined;
  stream.on('error', (error) => {
    failure ??= error;
  });
  const settle = (start: (done: (error?: Error | null) => void) => void) =>
    new Promise<void>((resolve, reject) => {
      const stop = (error: Error) => {
        failure ??= error;
        stream.destroy();
        end(error);
      };
      const onAbort = () => stop(signal.reason);
      const onSilence = () =>
        stop(new Error(`its reader took nothing for ${silenceMs / 1000} s (--timeout)`));
      const cancel = silenceMs === 0 ? () => {} : clock.after(silenceMs, onSilence);
      const end = (error?: Error | null) => {
        cancel();
        signal.removeEventListener('abort', onAbort);
        const reason = failure ?? error;
        if (reason === undefined || reason === null) resolve();
        else reject(hasCode(reason, 'EPIPE') ? new Error('its reader closed it') : reason);
      };
      signal.addEventListener('abort', onAbort);
      if (signal.aborted) onAbort();
      else start(end);
    });
  return {
    async write(bytes) {
      for (let from = 0; from < bytes.length; from += CHUNK_BYTES) {
        const part = bytes.subarray(from, from + CHUNK_BYTES);
        await settle((done) => stream.write(part, done));
      }
    },
    async close() {
      if (stream.destroyed) return;
      await settle((done) => stream.end(done));
    },
  };
}

/**
 * The size of a single write. Even a slow reader can read this many bytes within the time limit.
 */
const CHUNK_BYTES = 64 * 1024;
