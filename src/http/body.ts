// The body of an answer as it arrives: unpacked and counted, so that no answer takes more memory than is set aside for it.

import type { Zlib } from 'node:zlib';

/** The most that is read of an answer, unpacked (cli.md section 4, promise 6). */
export const ANSWER_LIMIT_BYTES = 64 * 1024 * 1024;

/** The most that is read of an answer that is no success: enough for its words. The rest is discarded. */
export const ERROR_BODY_LIMIT_BYTES = 64 * 1024;

/** A body that cannot be read: too large, packed in a way nobody asked for, or packed wrongly. */
export class BodyError extends Error {
  readonly kind: 'too-big' | 'unknown-coding' | 'broken-coding';
  readonly coding: string;
  /** The head of the answer, once it is known whose body it was. */
  head: { status: number; headers: Readonly<Record<string, string>> } = { status: 0, headers: {} };

  constructor(kind: BodyError['kind'], coding: string, cause?: unknown) {
    super(`${kind} (${coding})`, { cause });
    this.name = 'BodyError';
    this.kind = kind;
    this.coding = coding;
  }
}

export interface Body {
  /** Takes bytes as they come. False: no more before `hasRoom` is called. */
  take(chunk: Buffer): boolean;
  /** All bytes came; the listener hears of the end, or that it came too soon. */
  end(): void;
  /** What was unpacked so far. */
  soFar(): Buffer;
}

export interface BodyListener {
  hasRoom(): void;
  isWhole(bytes: Buffer): void;
  /** Told once, and nothing after it. */
  isUnreadable(error: BodyError): void;
}

type Decoder = NodeJS.ReadWriteStream & Zlib & { destroy(): void };

/** zlib is loaded for an answer that needs it. */
function openDecoder(coding: string): Decoder | undefined {
  const zlib = process.getBuiltinModule('node:zlib');
  if (coding === 'gzip' || coding === 'x-gzip') return zlib.createGunzip();
  if (coding === 'deflate') return zlib.createInflate();
  return coding === 'br' ? zlib.createBrotliDecompress() : undefined;
}

/**
 * Collects a body of that `Content-Encoding`. The limit counts unpacked bytes while they are unpacked: of what is beyond it nothing is
 * kept.
 */
export function openBody(contentEncoding: string | undefined, limitBytes: number, listener: BodyListener): Body {
  const coding = (contentEncoding ?? 'identity').trim().toLowerCase() || 'identity';
  /** Grows by doubling; the chunks themselves are let go of at once, for they would double the memory. */
  let store = Buffer.alloc(0);
  let size = 0;
  let isOver = false;
  let decoder: Decoder | undefined;

  const soFar = () => store.subarray(0, size);
  const fail = (error: BodyError) => {
    if (isOver) return;
    isOver = true;
    decoder?.destroy();
    listener.isUnreadable(error);
  };
  const finish = () => {
    if (isOver) return;
    isOver = true;
    listener.isWhole(soFar());
  };
  const keep = (chunk: Buffer) => {
    if (isOver) return;
    const room = limitBytes - size;
    const kept = chunk.length > room ? chunk.subarray(0, room) : chunk;
    if (size + kept.length > store.length) {
      const grown = Buffer.allocUnsafeSlow(Math.min(limitBytes, Math.max(2 * store.length, size + kept.length)));
      store.copy(grown, 0, 0, size);
      store = grown;
    }
    kept.copy(store, size);
    size += kept.length;
    if (chunk.length > room) fail(new BodyError('too-big', coding));
  };
  const unpack = (chunk: Buffer): boolean => {
    if (decoder === undefined) {
      decoder = openDecoder(coding);
      if (decoder === undefined) {
        fail(new BodyError('unknown-coding', coding));
        return true;
      }
      decoder.on('data', keep).on('end', finish).on('drain', listener.hasRoom);
      decoder.on('error', (error) => fail(new BodyError('broken-coding', coding, error)));
    }
    return decoder.write(chunk);
  };
  return {
    take(chunk) {
      if (isOver) return true;
      if (coding !== 'identity') return unpack(chunk);
      keep(chunk);
      return true;
    },
    end: () => (decoder === undefined ? finish() : void decoder.end()),
    soFar,
  };
}
