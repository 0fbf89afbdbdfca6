// Writes text to an output, waits until it is taken, and counts what was not.

import { FleetError, reasonOf } from '../errors.js';
import type { Clock } from '../system/clock.js';

/** The reader of stdout closed the pipe (`| head -1`): a quiet end, no error (cli.md section 2). */
export class ReaderLeft extends Error {}

/** The program ends and the reader of an output takes nothing more; `undeliveredBytes` says how much it missed. */
export class ReaderStopped extends Error {}

/** How long a reader may take nothing once the program ends. */
const END_LIMIT_MS = 500;

/** Takes texts: a stream, or its stand-in. */
export interface OutputTarget {
  write(text: string | Uint8Array, done: (error?: Error | null) => void): unknown;
  on?(event: 'error' | 'close', listener: (error: NodeJS.ErrnoException) => void): unknown;
}

export interface Delivery {
  /**
   * Resolves when the text has been taken. Rejects with ReaderLeft when the reader closed the pipe, with a FleetError
   * of kind `output` when it cannot be written (disk full), with ReaderStopped when the program ends and the reader takes nothing more.
   */
  write(text: string | Uint8Array): Promise<void>;
  /** Bytes of the writes that were given up because the reader took nothing more; of the first of them it may have taken a part. */
  undeliveredBytes(): number;
  /** Resolves when no write waits any more: each was taken, has failed, or was given up. */
  settled(): Promise<void>;
  /** From now on the reader has half a second for each write. */
  beginEnd(): void;
}

/** Hands texts to a stream, and keeps count of what was not taken. */
export function openDelivery(stream: OutputTarget, clock: Clock): Delivery {
  /** How each write that waits is settled, with its length. */
  const waiting = new Map<() => void, number>();
  let last: Promise<void> = Promise.resolve();
  let failure: Error | undefined;
  let undelivered = 0;
  let isEnding = false;
  let cancelLimit: (() => void) | undefined;

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
  stream.on?.('error', (error: NodeJS.ErrnoException) => fail(toOutputError(error)));
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
          if (error) return fail(toOutputError(error));
          waiting.delete(settle);
          limitWait();
          settle();
        });
      });
      return last;
    },
  };
}

/** What a failed write to stdout means. */
function toOutputError(error: NodeJS.ErrnoException): Error {
  if (error.code === 'EPIPE' || error.code === 'ERR_STREAM_DESTROYED') return new ReaderLeft();
  return new FleetError('output', `stdout could not be written: ${reasonOf(error)}`, {
    cause: error,
    hint:
      error.code === 'ENOSPC'
        ? 'free some space and run the command again'
        : 'check where the output goes',
  });
}
