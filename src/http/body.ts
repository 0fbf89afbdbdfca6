// The body of an answer, unpacked and counted, so that no answer takes more memory than is set aside for it.

import { pipeline, type Readable, Transform } from 'node:stream';

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

/** The name of a `Content-Encoding`; `identity` for none. */
export function codingOf(contentEncoding: string | undefined): string {
  return (contentEncoding ?? '').trim().toLowerCase() || 'identity';
}

/** The body unpacked. Fails with a BodyError at the first byte of a coding that is not known. zlib is loaded for an answer that needs it. */
export function unpack(body: Readable, coding: string): Readable {
  if (coding === 'identity') return body;
  const zlib = process.getBuiltinModule('node:zlib');
  const decoder =
    coding === 'gzip' || coding === 'x-gzip'
      ? zlib.createGunzip()
      : coding === 'deflate'
        ? zlib.createInflate()
        : coding === 'br'
          ? zlib.createBrotliDecompress()
          : new Transform({ transform: (_chunk, _, done) => done(new BodyError('unknown-coding', coding)) });
  // Whoever reads hears of what goes wrong.
  pipeline(body, decoder, () => {});
  return decoder;
}

/** More than this is not set aside before it came. */
const MOST_ANNOUNCED_BYTES = 1024 * 1024;

function announcedBytes(contentLength: string | undefined, limitBytes: number): number {
  const bytes = Number(contentLength ?? 0);
  return Number.isSafeInteger(bytes) && bytes > 0 ? Math.min(bytes, limitBytes, MOST_ANNOUNCED_BYTES) : 0;
}

/** The bytes of a body, as far as they fit. */
export interface Store {
  /** Adds a chunk; false when it does not fit whole. */
  add(chunk: Buffer): boolean;
  bytes(): Buffer;
}

/** Opens one of the length announced, or that grows by doubling; the chunks themselves are let go of at once, for they would double the memory. */
export function openStore(headers: Readonly<Record<string, string>>, limitBytes: number): Store {
  let bytes = Buffer.allocUnsafeSlow(announcedBytes(headers['content-length'], limitBytes));
  let size = 0;
  return {
    add(chunk) {
      const kept = Math.min(chunk.length, limitBytes - size);
      if (size + kept > bytes.length) {
        const grown = Buffer.allocUnsafeSlow(Math.min(limitBytes, Math.max(2 * bytes.length, size + kept)));
        bytes.copy(grown, 0, 0, size);
        bytes = grown;
      }
      chunk.copy(bytes, size, 0, kept);
      size += kept;
      return kept === chunk.length;
    },
    bytes: () => bytes.subarray(0, size),
  };
}

/**
 * Reads a body to its end or to the limit, which counts unpacked bytes while they are unpacked. Resolves with what came and, when that is not
 * all of it, with what broke it off: a BodyError, or the error of the body itself.
 */
export async function readBody(
  body: Readable,
  headers: Readonly<Record<string, string>>,
  limitBytes: number,
): Promise<{ bytes: Buffer; error?: unknown }> {
  const coding = codingOf(headers['content-encoding']);
  const store = openStore(headers, limitBytes);
  let isCodingBroken = false;
  const unpacked = unpack(body, coding);
  // Asked before the pipeline hears of it and ends the body with the same error.
  unpacked.prependOnceListener('error', () => {
    isCodingBroken = body.errored === null;
  });
  try {
    for await (const chunk of unpacked as AsyncIterable<Buffer>)
      if (!store.add(chunk)) throw new BodyError('too-big', coding);
    return { bytes: store.bytes() };
  } catch (error) {
    const bytes = store.bytes();
    // Nothing at all is no broken coding: an answer to HEAD names one, too.
    if (body.readableEnded && !body.readableDidRead) return { bytes };
    const isTyped = error instanceof BodyError || !isCodingBroken;
    return { bytes, error: isTyped ? error : new BodyError('broken-coding', coding, error) };
  }
}
