// Reads the body of a response: decompresses it and enforces the size limits.

import { pipeline, type Readable, Transform } from 'node:stream';

/** The maximum size of a response after decompression (cli.md section 4, promise 6). */
export const ANSWER_LIMIT_BYTES = 64 * 1024 * 1024;

/**
 * The maximum size of one resource, either alone or as an item of a list. The limit is small
 * because printing an item needs ten times the memory of its text.
 */
export const ITEM_LIMIT_BYTES = 1024 * 1024;

/**
 * The maximum number of bytes that are read from an error response. The error message is expected
 * in this part.
 */
export const ERROR_BODY_LIMIT_BYTES = 64 * 1024;

/** The error code for a body that exceeds its size limit. */
export const TOO_BIG_CODE = 'EBODYTOOBIG';

/**
 * Returns the error for a body that is too large, damaged, or compressed in an unknown way. The
 * error codes start with `EBODY`.
 */
function bodyError(code: string, message: string, cause?: unknown): Error {
  return Object.assign(new Error(message, { cause }), { code });
}

/**
 * Returns the compression from the `Content-Encoding` header, or `identity` when there is no
 * header.
 */
export function codingOf(contentEncoding: string | undefined): string {
  return (contentEncoding ?? '').trim().toLowerCase() || 'identity';
}

/**
 * Opens a decompressor for an encoding. For an unknown encoding, returns a stream that fails at the
 * first byte. zlib is loaded here, because most responses are not compressed.
 */
function openDecoder(coding: string): Transform {
  const zlib = process.getBuiltinModule('node:zlib');
  if (coding === 'gzip' || coding === 'x-gzip') return zlib.createGunzip();
  if (coding === 'deflate') return zlib.createInflate();
  if (coding === 'br') return zlib.createBrotliDecompress();
  const unknown = bodyError(
    'EBODYCODING',
    `is compressed ${/^[a-z-]{1,12}$/.test(coding) ? `as "${coding}"` : 'in an unknown way'}, which was not asked for`,
  );
  return new Transform({ transform: (_chunk, _, done) => done(unknown) });
}

/** Returns a stream of the decompressed body. */
export function unpack(body: Readable, coding: string): Readable {
  // The callback is empty, because the stream's reader gets the error.
  return coding === 'identity' ? body : pipeline(body, openDecoder(coding), () => {});
}

/**
 * The maximum memory that is reserved for a body before its bytes arrive. The limit is needed
 * because a sender may declare a `Content-Length` that is much larger than the body.
 */
const MOST_RESERVED_BYTES = 1024 * 1024;

/**
 * Opens a buffer that collects bytes up to a limit and doubles its size when it is full. Chunks are
 * copied and released immediately, because keeping them would double the memory. `expectedBytes` is
 * the body's declared size.
 */
function openStore(limitBytes: number, expectedBytes = 0) {
  let bytes = Buffer.allocUnsafeSlow(Math.min(limitBytes, MOST_RESERVED_BYTES, expectedBytes));
  let size = 0;
  return {
    /**
     * Adds a chunk. Returns false when the chunk exceeds the limit. In that case, only the
     * beginning of the chunk is kept.
     */
    add(chunk: Buffer): boolean {
      const kept = Math.min(chunk.length, limitBytes - size);
      if (size + kept > bytes.length) {
        const grown = Buffer.allocUnsafeSlow(
          Math.min(limitBytes, Math.max(2 * bytes.length, size + kept)),
        );
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
 * Decompresses and collects a body, and enforces the size limit during decompression. When the body
 * fails, `error` is the reason and `bytes` is the part that arrived before the failure.
 */
export async function collectBody(
  body: Readable,
  headers: Readonly<Record<string, string>>,
  limitBytes: number,
): Promise<{ bytes: Buffer; error?: unknown }> {
  // If the body failed in the same packet as the headers, its stream emitted the error before this
  // function was called.
  if (body.errored !== null) return { bytes: Buffer.alloc(0), error: body.errored };
  const coding = codingOf(headers['content-encoding']);
  const store = openStore(limitBytes, coding === 'identity' ? declaredLength(headers) : 0);
  let isEmpty = true;
  if (coding !== 'identity')
    body.once('data', () => {
      isEmpty = false;
    });
  const unpacked = unpack(body, coding);
  const error = await new Promise<NodeJS.ErrnoException | undefined>((resolve) => {
    unpacked.on('data', (chunk: Buffer) => {
      if (store.add(chunk)) return;
      const megabytes = limitBytes / 2 ** 20;
      resolve(
        bodyError(TOO_BIG_CODE, `is larger than ${megabytes} MB, and was not read to the end`),
      );
      unpacked.destroy();
      body.destroy();
    });
    unpacked.on('end', () => resolve(undefined)).on('error', resolve);
  });
  const bytes = store.bytes();
  if (error === undefined) return { bytes };
  if (error.name === 'ExchangeError' || error.code?.startsWith('EBODY')) return { bytes, error };
  // An empty body is not an error: the response to a HEAD request can declare a compression
  // although it has no body.
  if (isEmpty) return { bytes };
  return {
    bytes,
    error: bodyError('EBODYBROKEN', `has broken or incomplete ${coding} compression`, error),
  };
}

/** Returns the `Content-Length` of a response, or 0 when it is missing or invalid. */
function declaredLength(headers: Readonly<Record<string, string>>): number {
  const length = Number(headers['content-length'] ?? 0);
  return Number.isSafeInteger(length) && length > 0 ? length : 0;
}

/** Returns the first part of a body. Stops at the limit or at the first error. */
export async function readBeginning(body: Readable, limitBytes: number): Promise<Buffer> {
  const store = openStore(limitBytes);
  try {
    for await (const chunk of body as AsyncIterable<Buffer>) if (!store.add(chunk)) break;
  } catch {
    // The error is ignored, because the bytes that arrived before it are still useful.
  }
  return store.bytes();
}
