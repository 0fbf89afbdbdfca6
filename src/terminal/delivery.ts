// Writes text to an output and waits until the reader of the output has accepted the text. Counts
// the bytes that were not delivered.

import { FleetError, reasonOf } from '../errors.js';
import type { Clock } from '../system/clock.js';

/**
 * Thrown when the reader of stdout closed the pipe, for example `| head -1`. The program then ends
 * without an error message (cli.md section 2).
 */
export class ReaderLeft extends Error {}

/**
 * The error of an abandoned write. A write is abandoned when the program ends and the reader has
 * stopped reading. `undeliveredBytes` counts the bytes that were not delivered.
 */
export class ReaderStopped extends Error {}

/** How long the program waits at exit for a reader that has stopped reading. */
const END_LIMIT_MS = 500;

/** A stream, or an object with the same methods. */
export interface OutputTarget {
  /** Whether the stream is a terminal. */
  readonly isTTY?: boolean | undefined;
  write(text: string | Uint8Array, done: (error?: Error | null) => void): unknown;
  on?(event: 'error' | 'close', listener: (error: NodeJS.ErrnoException) => void): unknown;
}

export interface Delivery {
  /**
   * Resolves when the reader has read the text. Rejects with ReaderLeft when the reader closed the
   * pipe, and with ReaderStopped when the program ends and the reader has stopped reading. Rejects
   * with a FleetError of kind `output` when writing fails (disk full), and of kind `hangup` when
   * the terminal was closed.
   */
  write(text: string | Uint8Array): Promise<void>;
  /**
   * Returns the number of bytes of abandoned writes. The reader may have read a part of the first
   * write.
   */
  undeliveredBytes(): number;
  /** Resolves when no write is waiting: each write was delivered, failed or was abandoned. */
  settled(): Promise<void>;
  /**
   * Called when the program is about to end. After this call, a write fails if the reader does not
   * accept it within half a second.
   */
  beginEnd(): void;
}

/** Opens a writer that delivers text to a stream. */
export function openDelivery(stream: OutputTarget, clock: Clock): Delivery {
  /**
   * The pending writes. Each entry has the length of its text in bytes, and the function that
   * settles its promise.
   */
  const waiting = new Map<() => void, number>();
  let last: Promise<void> = Promise.resolve();
  let failure: Error | undefined;
  let undelivered = 0;
  let isEnding = false;
  let cancelLimit: (() => void) | undefined;
  const isTerminal = stream.isTTY === true;

  function fail(error: Error): void {
    failure ??= error;
    if (failure instanceof ReaderStopped)
      for (const bytes of waiting.values()) undelivered += bytes;
    cancelLimit?.();
    for (const settle of waiting.keys()) settle();
    waiting.clear();
  }
  function limitWait(): void {
    cancelLimit?.();
    const isLimited = isEnding && waiting.size > 0;
    cancelLimit = isLimited
      ? clock.after(END_LIMIT_MS, () => fail(new ReaderStopped()))
      : undefined;
  }

  // Without a listener an EPIPE would end the process with a stack trace.
  stream.on?.('error', (error: NodeJS.ErrnoException) => fail(toOutputError(error, isTerminal)));
  stream.on?.('close', () => fail(new ReaderLeft()));
  return {
    undeliveredBytes: () => undelivered,
    async settled() {
      while (waiting.size > 0) await last.catch(() => {});
    },
    beginEnd() {
      isEnding = true;
      limitWait();
    },
    write(text) {
      if (text.length === 0) return Promise.resolve();
      last = new Promise((resolve, reject) => {
        const settle = () => (failure === undefined ? resolve() : reject(failure));
        waiting.set(settle, Buffer.byteLength(text));
        if (failure !== undefined) return fail(failure);
        if (cancelLimit === undefined) limitWait();
        stream.write(text, (error) => {
          if (error) return fail(toOutputError(error, isTerminal));
          waiting.delete(settle);
          limitWait();
          settle();
        });
      });
      return last;
    },
  };
}

/** Returns the error for a failed write to stdout. */
function toOutputError(error: NodeJS.ErrnoException, isTerminal: boolean): Error {
  if (error.code === 'EPIPE' || error.code === 'ERR_STREAM_DESTROYED') return new ReaderLeft();
  // Writing to a closed terminal fails even before the shell sends SIGHUP.
  if (error.code === 'EIO' && isTerminal) return new FleetError('hangup', 'hangup');
  return new FleetError('output', `stdout could not be written: ${reasonOf(error)}`, {
    cause: error,
    hint:
      error.code === 'ENOSPC'
        ? 'free some space and run the command again'
        : 'check the disk or the program that receives the output',
  });
}
