// Writes text to an output, waits until it is taken, and counts what was not.

import type { Clock } from '../clock.js';
import { FleetError, reasonOf } from '../errors.js';

/** The reader of stdout closed the pipe (`| head -1`): a quiet end, no error (cli.md section 2). */
export class ReaderLeft extends Error {
  constructor() {
    super('the reader of the output left');
    this.name = 'ReaderLeft';
  }
}

/** The program ends and the reader of an output takes nothing more; `undeliveredBytes` says how much it missed. */
export class ReaderStopped extends Error {
  constructor() {
    super('the reader of the output stopped reading');
    this.name = 'ReaderStopped';
  }
}

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
export function openDelivery(stream: OutputTarget, clock: Clock, toError = toOutputError): Delivery {
  /** How each write that waits is settled, its text, and its promise. */
  const waiting = new Map<() => void, { text: string | Uint8Array; taken: Promise<void> }>();
  let failure: Error | undefined;
  let undelivered = 0;
  let isEnding = false;
  let cancelLimit: (() => void) | undefined;

  function fail(error: Error): void {
    failure ??= error;
    cancelLimit?.();
    for (const settle of waiting.keys()) settle();
    waiting.clear();
  }
  function giveUp(): void {
    for (const { text } of waiting.values()) undelivered += Buffer.byteLength(text);
    fail(new ReaderStopped());
  }
  function limitWait(): void {
    if (isEnding && waiting.size > 0) cancelLimit ??= clock.after(END_LIMIT_MS, giveUp);
  }
  function take(settle: () => void): void {
    if (!waiting.delete(settle)) return;
    cancelLimit?.();
    cancelLimit = undefined;
    limitWait();
    settle();
  }

  // Without a listener an EPIPE would end the process with a stack trace.
  stream.on?.('error', (error: NodeJS.ErrnoException) => fail(toError(error)));
  stream.on?.('close', () => fail(new ReaderLeft()));
  return {
    undeliveredBytes: () => undelivered,
    async settled() {
      while (waiting.size > 0) await Promise.allSettled([...waiting.values()].map(({ taken }) => taken));
    },
    beginEnd() {
      isEnding = true;
      limitWait();
    },
    write(text) {
      if (text.length === 0) return Promise.resolve();
      if (failure !== undefined) {
        if (failure instanceof ReaderStopped) undelivered += Buffer.byteLength(text);
        return Promise.reject(failure);
      }
      let settle = () => {};
      const taken = new Promise<void>((resolve, reject) => {
        settle = () => (failure === undefined ? resolve() : reject(failure));
      });
      waiting.set(settle, { text, taken });
      limitWait();
      stream.write(text, (error) => {
        if (error) fail(toError(error));
        else take(settle);
      });
      return taken;
    },
  };
}

/** What a failed write to stdout means. */
function toOutputError(error: NodeJS.ErrnoException): Error {
  if (error.code === 'EPIPE' || error.code === 'ERR_STREAM_DESTROYED') return new ReaderLeft();
  return new FleetError('output', `stdout could not be written: ${reasonOf(error)}`, {
    cause: error,
    hint: error.code === 'ENOSPC' ? 'free some space and run the command again' : 'check where the output goes',
  });
}
